"""Settings from the environment and `.env`. They are read when an entry point is created, never at import."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal

from memoranda.display import shown
from memoranda.errors import InvalidInput
from memoranda.security.encryption import EncryptionKey, read_key


def _setting(variable: str, default: Any) -> Any:
    return field(default=default, metadata={"variable": variable})


def mask_password(url: str) -> str:
    """Return a URL with its password replaced by asterisks."""
    scheme, separator, rest = url.partition("://")
    login, at, host = rest.rpartition("@")
    if ":" in login:
        login = f"{login.partition(':')[0]}:***"
    return re.sub(r"(password=)[^&]*", r"\1***", f"{scheme}{separator}{login}{at}{host}")


def _without_password(value: object) -> object:
    return mask_password(value) if isinstance(value, str) and "://" in value else value


_POSITIVE: Final = (
    "short_term_ttl", "session_timeout", "max_conversation_history", "max_cache_size", "recall_ledger_size",
    "recall_ledger_days", "index_bytes",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MemoryConfig:
    """All settings. Each field names its environment variable."""

    db_url: str = _setting("MEMORY_DB_URL", "sqlite:///memories.db")
    read_url: str | None = _setting("MEMORY_READ_URL", None)
    """A standby of the PostgreSQL server in `db_url`: it answers long reads, once it has all that was written."""
    faiss_index_path: str | None = _setting("FAISS_INDEX_PATH", None)
    """The file of the search index; next to the database when None."""
    embedding_model: str | None = _setting("EMBEDDING_MODEL", None)
    use_gpu: bool = _setting("USE_GPU", False)
    index_bytes: int = _setting("MEMORY_INDEX_BYTES", 1 << 30)
    """How much memory the search index may take in one process. The users who asked least recently are dropped first,
    and loaded again when they ask. PostgreSQL with pgvector searches a user by itself who would take more alone."""
    storage_dir: str | None = _setting("MEMORY_STORAGE_DIR", None)
    """The folder that a relative database or index path starts from."""
    execution_records_dir: str | None = _setting("MEMORY_EXECUTION_RECORDS_DIR", None)
    """The folder where execution records are also appended as JSON Lines, one file for each agent."""
    audit_key: str | None = field(default=None, repr=False, metadata={"variable": "MEMORY_AUDIT_KEY"})
    """The key that signs execution records; from the file `<database>.key`, created at the first use, when None."""
    encryption_key: str | None = field(default=None, repr=False, metadata={"variable": "MEMORY_ENCRYPTION_KEY"})
    """The key of an encrypted database: 64 hexadecimal digits, or a passphrase."""
    encryption_key_file: str | None = _setting("MEMORY_ENCRYPTION_KEY_FILE", None)
    """A file with the key, in place of the key itself."""
    encryption_key_command: str | None = field(
        default=None, repr=False, metadata={"variable": "MEMORY_ENCRYPTION_KEY_COMMAND"}
    )
    """A command that prints the key, in place of the key itself."""
    redact: bool = _setting("MEMORY_REDACT", True)
    """Whether secrets are removed from execution records before they are written."""
    use_redis: bool = _setting("MEMORY_USE_REDIS", False)
    redis_url: str = _setting("MEMORY_REDIS_URL", "redis://localhost:6379/0")
    redis_fallback: bool = _setting("MEMORY_REDIS_FALLBACK", False)
    """Whether values are kept in memory when Redis does not answer at the start. `health()` is then degraded."""
    short_term_ttl: float = _setting("MEMORY_SHORT_TERM_TTL", 86_400.0)
    enable_vector_search: bool = _setting("MEMORY_ENABLE_VECTOR_SEARCH", True)
    vector_store: str | None = _setting("MEMORY_VECTOR_STORE", None)
    """The name of the search index: its file is `<name>.faiss` next to the database."""
    session_timeout: float = _setting("MEMORY_SESSION_TIMEOUT", 3600.0)
    auto_cleanup: bool = _setting("MEMORY_AUTO_CLEANUP", True)
    max_conversation_history: int = _setting("MEMORY_MAX_CONVERSATION_HISTORY", 100)
    cache_enabled: bool = _setting("MEMORY_CACHE_ENABLED", True)
    max_cache_size: int = _setting("MEMORY_MAX_CACHE_SIZE", 1000)
    llm: str | None = _setting("MEMORY_LLM", None)
    """The language model that also extracts facts from messages, such as `openai:gpt-4o-mini`; none when None."""
    extraction: bool = _setting("MEMORY_EXTRACTION", True)
    """Whether only messages worth keeping become memories; when off, every message does."""
    recall_ledger: bool = _setting("MEMORY_RECALL_LEDGER", True)
    """Whether recalls are kept, so that `replay` can repeat them."""
    recall_ledger_size: int = _setting("MEMORY_RECALL_LEDGER_SIZE", 10_000)
    """How many recalls a store keeps; the oldest go first."""
    recall_ledger_days: float = _setting("MEMORY_RECALL_LEDGER_DAYS", 30.0)
    """How long a recall is kept."""
    durability: Literal["full", "normal"] = _setting("MEMORY_DURABILITY", "full")
    """`full`: an acknowledged write is on disk. `normal`: a power cut may lose the last ones."""
    commit_size: int = _setting("MEMORY_COMMIT_SIZE", 0)
    """How many memories of one `remember` are committed together: with 0 all of them. The server uses 32, so that one
    tenant's long call does not hold up another's."""

    def __repr__(self) -> str:
        shown = ((each.name, getattr(self, each.name)) for each in fields(self) if each.repr)
        return f"MemoryConfig({', '.join(f'{name}={_without_password(value)!r}' for name, value in shown)})"

    def __post_init__(self) -> None:
        if isinstance(self.commit_size, bool) or not isinstance(self.commit_size, int) or self.commit_size < 0:
            raise InvalidInput(f"commit_size must be 0 or a number of memories, not {shown(self.commit_size)}")
        for name in _POSITIVE:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise InvalidInput(f"{name} must be a number above 0, not {shown(value)}")
        if self.durability not in ("full", "normal"):
            raise InvalidInput(f"durability must be 'full' or 'normal', not {shown(self.durability)}")


@dataclass(frozen=True, slots=True)
class Settings:
    """The result of `get_settings()`."""

    memory: MemoryConfig


def get_settings(env_file: str | Path | None = ".env") -> Settings:
    """Return the current settings: from the environment, else the `.env` file, else the defaults."""
    return Settings(MemoryConfig(**_parse_settings(_load_variables(env_file))))


def get_memory_config() -> dict[str, dict[str, str | float | bool | None]]:
    """Return the current settings that may be shown, by theme."""
    config = get_settings().memory
    return {
        "backend": {"type": "redis" if config.use_redis else "memory", "use_redis": config.use_redis},
        "storage": {
            "storage_dir": config.storage_dir,
            "execution_records_dir": config.execution_records_dir,
            "vector_store_name": config.vector_store,
        },
        "ttl": {"short_term": config.short_term_ttl, "session_timeout": config.session_timeout},
        "session": {
            "auto_cleanup": config.auto_cleanup,
            "max_conversation_history": config.max_conversation_history,
        },
        "vector_search": {"enabled": config.enable_vector_search, "embedding_model": config.embedding_model},
        "performance": {"cache_enabled": config.cache_enabled, "max_cache_size": config.max_cache_size},
    }


def get_user_settings(env_file: str | Path | None = ".env") -> Settings:
    """Return the current settings, with a database in the user's data folder where they name none.

    For programs that other programs start, in a folder that the user did not choose.
    """
    settings = get_settings(env_file)
    named = _load_variables(env_file).get("MEMORY_DB_URL", "").strip()
    if named or settings.memory.storage_dir is not None:
        return settings
    database = user_data_folder() / "memories.db"
    return Settings(replace(settings.memory, db_url=f"sqlite:///{database}", read_url=None))


def user_data_folder() -> Path:
    """Return the folder for this user's memories and models, as the platform wants it. It may not exist yet."""
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "memoranda"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support" / "memoranda"
        folder = Path(os.environ.get("XDG_DATA_HOME", ""))
        # The specification says that a relative path is ignored.
        return (folder if folder.is_absolute() else Path.home() / ".local" / "share") / "memoranda"
    except RuntimeError as error:
        raise InvalidInput(
            "the home folder is unknown: set HOME, or name a database with --db or MEMORY_DB_URL"
        ) from error


def _load_variables(env_file: str | Path | None) -> Mapping[str, str]:
    values: dict[str, str] = {}
    if env_file is not None and Path(env_file).is_file():
        from dotenv import dotenv_values

        values = {key: value for key, value in dotenv_values(env_file).items() if value is not None}
    return values | os.environ


def set_variables(env_file: str | Path | None = ".env") -> tuple[str, ...]:
    """Return the names of the variables that are set in the environment or the `.env` file."""
    return tuple(_load_variables(env_file))


_OTHER_VARIABLES: Final = ("MEMORY_SERVER_ALLOWED_HOSTS", "MEMORY_SERVER_ALLOWED_ORIGINS", "MEMORY_SERVER_PEPPER")
"""Variables that other parts read for themselves, such as the server."""


def known_variables() -> tuple[str, ...]:
    """Return the names of all variables that have a meaning here."""
    return (*(setting.metadata["variable"] for setting in fields(MemoryConfig)), *_OTHER_VARIABLES)


def _parse_settings(variables: Mapping[str, str]) -> dict[str, Any]:
    values = {}
    for setting in fields(MemoryConfig):
        variable = setting.metadata["variable"]
        if text := variables.get(variable, "").strip():
            values[setting.name] = _parse(variable, text, setting.default)
    return values


def _parse(variable: str, text: str, default: object) -> object:
    if isinstance(default, bool):
        return _parse_bool(variable, text)
    if isinstance(default, int | float):
        return _parse_number(variable, text, type(default))
    return text


def _parse_bool(variable: str, text: str) -> bool:
    lowered = text.lower()
    if lowered in ("1", "true", "yes", "on"):
        return True
    if lowered in ("0", "false", "no", "off"):
        return False
    raise InvalidInput(f"{variable} must be true or false, not {text!r}")


def _parse_number(variable: str, text: str, kind: type[int] | type[float]) -> int | float:
    try:
        return kind(text)
    except ValueError as error:
        raise InvalidInput(f"{variable} must be a number, not {text!r}") from error


def is_encrypted(config: MemoryConfig) -> bool:
    """Return whether the settings name an encryption key."""
    named = (config.encryption_key, config.encryption_key_file, config.encryption_key_command)
    return any(value is not None for value in named)


def encryption_key(config: MemoryConfig) -> EncryptionKey | None:
    """Return the key of the database, from where the settings say; None when they name none."""
    return read_key(config.encryption_key, config.encryption_key_file, config.encryption_key_command)


def with_encryption_key(config: MemoryConfig, key: str | None) -> MemoryConfig:
    """Return the settings with this key in place of the one that they name; unchanged when it is None."""
    if key is None:
        return config
    return replace(config, encryption_key=key, encryption_key_file=None, encryption_key_command=None)


def lower_scheme(url: str) -> str:
    """Return a URL with its scheme in lower case, which means the same."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme.lower()}{separator}{rest}" if separator else url


def database_url(config: MemoryConfig) -> str:
    """Return the URL of the database. A relative file is resolved against the storage folder, if one is set."""
    url = lower_scheme(config.db_url)
    prefix, _, name = url.partition(":///")
    if config.storage_dir is None or prefix != "sqlite" or not name or name == ":memory:" or Path(name).is_absolute():
        return url
    return f"sqlite:///{Path(config.storage_dir) / name}"


def index_path(config: MemoryConfig, database: Path | None) -> Path | None:
    """Return the path of the index file: the one that is set, else one next to the database."""
    if config.faiss_index_path is not None:
        path = Path(config.storage_dir or "") / config.faiss_index_path
        if database is not None and path.resolve() == database.resolve():
            raise InvalidInput(f"{path} is the database: give faiss_index_path another name, or leave it out")
        return path
    if database is None:
        return None
    path = database.with_name(f"{config.vector_store or database.stem}.faiss")
    # An index may be deleted and rebuilt at any time, so it must never be the database itself.
    return path if path != database else database.with_name(f"{database.name}.faiss")

"""Settings from the environment and `.env`. Read when a front door is built, never at import."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from memoranda.errors import InvalidInput


def _setting(variable: str, default: Any) -> Any:
    return field(default=default, metadata={"variable": variable})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig:
    """Everything that can be set; each field names its environment variable."""

    db_url: str = _setting("MEMORY_DB_URL", "sqlite:///memories.db")
    faiss_index_path: str | None = _setting("FAISS_INDEX_PATH", None)
    """Where the search index is kept; beside the database when not set."""
    embedding_model: str | None = _setting("EMBEDDING_MODEL", None)
    use_gpu: bool = _setting("USE_GPU", False)
    storage_dir: str | None = _setting("MEMORY_STORAGE_DIR", None)
    """The folder that a relative database or index path starts from."""
    execution_records_dir: str | None = _setting("MEMORY_EXECUTION_RECORDS_DIR", None)
    """Where execution records are also appended as lines of JSON, one file an agent."""
    audit_key: str | None = field(default=None, repr=False, metadata={"variable": "MEMORY_AUDIT_KEY"})
    """What execution records are signed with; a file `<database>.key`, made at the first use, when not set."""
    redact: bool = _setting("MEMORY_REDACT", True)
    """Whether secrets are taken out of execution records before they are written."""
    use_redis: bool = _setting("MEMORY_USE_REDIS", False)
    redis_url: str = _setting("MEMORY_REDIS_URL", "redis://localhost:6379/0")
    redis_fallback: bool = _setting("MEMORY_REDIS_FALLBACK", False)
    """Whether values are kept in memory when Redis does not answer at the start; `health()` then says degraded."""
    short_term_ttl: float = _setting("MEMORY_SHORT_TERM_TTL", 86_400.0)
    enable_vector_search: bool = _setting("MEMORY_ENABLE_VECTOR_SEARCH", True)
    vector_store: str | None = _setting("MEMORY_VECTOR_STORE", None)
    """The name of the search index: its file is `<name>.faiss` beside the database."""
    session_timeout: float = _setting("MEMORY_SESSION_TIMEOUT", 3600.0)
    auto_cleanup: bool = _setting("MEMORY_AUTO_CLEANUP", True)
    max_conversation_history: int = _setting("MEMORY_MAX_CONVERSATION_HISTORY", 100)
    cache_enabled: bool = _setting("MEMORY_CACHE_ENABLED", True)
    max_cache_size: int = _setting("MEMORY_MAX_CACHE_SIZE", 1000)
    llm: str | None = _setting("MEMORY_LLM", None)
    """The language model that reads what is said once more, such as `openai:gpt-4o-mini`; none when not set."""
    extraction: bool = _setting("MEMORY_EXTRACTION", True)
    """Whether only what is worth keeping of a conversation becomes a memory; off, every message does."""
    durability: Literal["full", "normal"] = _setting("MEMORY_DURABILITY", "full")
    """`full`: an acknowledged write is on disk. `normal`: a power cut may take the last ones."""

    def __post_init__(self) -> None:
        for name in ("short_term_ttl", "session_timeout", "max_conversation_history", "max_cache_size"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise InvalidInput(f"{name} must be a number above 0, not {value!r}")
        if self.durability not in ("full", "normal"):
            raise InvalidInput(f"durability must be 'full' or 'normal', not {self.durability!r}")


@dataclass(frozen=True, slots=True)
class Settings:
    """What `get_settings()` gives."""

    memory: MemoryConfig


def get_settings(env_file: str | Path | None = ".env") -> Settings:
    """Settings of this moment: the environment first, then the `.env` file, then the defaults."""
    return Settings(MemoryConfig(**_read(_variables(env_file))))


def _variables(env_file: str | Path | None) -> Mapping[str, str]:
    values: dict[str, str] = {}
    if env_file is not None and Path(env_file).is_file():
        from dotenv import dotenv_values

        values = {key: value for key, value in dotenv_values(env_file).items() if value is not None}
    return values | os.environ


def _read(variables: Mapping[str, str]) -> dict[str, Any]:
    given = {}
    for spec in fields(MemoryConfig):
        text = variables.get(spec.metadata["variable"], "").strip()
        if text:
            given[spec.name] = _parse(spec.metadata["variable"], text, spec.default)
    return given


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


def database_url(config: MemoryConfig) -> str:
    """Return the database's URL, a relative file resolved against the storage folder where one is set."""
    prefix, _, name = config.db_url.partition(":///")
    if config.storage_dir is None or prefix != "sqlite" or not name or name == ":memory:" or Path(name).is_absolute():
        return config.db_url
    return f"sqlite:///{Path(config.storage_dir) / name}"


def index_path(config: MemoryConfig, database: Path | None) -> Path | None:
    """Return the path of the index file: where it is set, else beside the database."""
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

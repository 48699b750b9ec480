from __future__ import annotations

from pathlib import Path

import pytest

from memoranda import InvalidInput, MemoryConfig, get_settings
from memoranda.settings import Settings


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in _VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)


_VARIABLES = {
    "MEMORY_DB_URL": ("db_url", "sqlite:///other.db", "sqlite:///other.db"),
    "FAISS_INDEX_PATH": ("faiss_index_path", "x.faiss", "x.faiss"),
    "EMBEDDING_MODEL": ("embedding_model", "fast", "fast"),
    "USE_GPU": ("use_gpu", "true", True),
    "MEMORY_INDEX_BYTES": ("index_bytes", "5000000", 5_000_000),
    "MEMORY_STORAGE_DIR": ("storage_dir", "data", "data"),
    "MEMORY_EXECUTION_RECORDS_DIR": ("execution_records_dir", "records", "records"),
    "MEMORY_USE_REDIS": ("use_redis", "yes", True),
    "MEMORY_AUDIT_KEY": ("audit_key", "correct horse battery", "correct horse battery"),
    "MEMORY_REDACT": ("redact", "no", False),
    "MEMORY_REDIS_FALLBACK": ("redis_fallback", "on", True),
    "MEMORY_REDIS_URL": ("redis_url", "redis://elsewhere:1/0", "redis://elsewhere:1/0"),
    "MEMORY_SHORT_TERM_TTL": ("short_term_ttl", "60", 60.0),
    "MEMORY_ENABLE_VECTOR_SEARCH": ("enable_vector_search", "off", False),
    "MEMORY_VECTOR_STORE": ("vector_store", "agent_memory", "agent_memory"),
    "MEMORY_SESSION_TIMEOUT": ("session_timeout", "5.5", 5.5),
    "MEMORY_AUTO_CLEANUP": ("auto_cleanup", "0", False),
    "MEMORY_MAX_CONVERSATION_HISTORY": ("max_conversation_history", "7", 7),
    "MEMORY_CACHE_ENABLED": ("cache_enabled", "False", False),
    "MEMORY_MAX_CACHE_SIZE": ("max_cache_size", "12", 12),
    "MEMORY_DURABILITY": ("durability", "normal", "normal"),
}


def test_defaults_match_the_documentation() -> None:
    assert get_settings() == Settings(MemoryConfig())
    config = MemoryConfig()
    assert (config.db_url, config.short_term_ttl, config.session_timeout) == ("sqlite:///memories.db", 86400, 3600)
    assert (config.max_conversation_history, config.max_cache_size) == (100, 1000)
    assert config.durability == "full"


@pytest.mark.parametrize("variable", sorted(_VARIABLES))
def test_each_variable_is_read(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    field, text, value = _VARIABLES[variable]
    monkeypatch.setenv(variable, text)
    assert getattr(get_settings().memory, field) == value


def test_environment_overrides_env_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("MEMORY_MAX_CACHE_SIZE=5\nMEMORY_DB_URL=sqlite:///file.db\n", encoding="utf-8")
    monkeypatch.setenv("MEMORY_MAX_CACHE_SIZE", "6")
    config = get_settings().memory
    assert (config.max_cache_size, config.db_url) == (6, "sqlite:///file.db")
    assert get_settings(env_file=None).memory.db_url == "sqlite:///memories.db"


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("USE_GPU", "maybe"),
        ("MEMORY_SHORT_TERM_TTL", "soon"),
        ("MEMORY_MAX_CACHE_SIZE", "0"),
        ("MEMORY_DURABILITY", "x"),
    ],
)
def test_invalid_value_is_named_in_the_error(variable: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(InvalidInput, match=text):
        get_settings()


def test_settings_print_no_password() -> None:
    config = MemoryConfig(
        db_url="postgresql://ann:s3@cret@host/db",
        read_url="postgresql://ann:s3cret@standby/db",
        redis_url="redis://:s3cret@host/0",
        audit_key="s3cret",
    )
    shown = repr(Settings(config))
    assert "cret" not in shown
    assert "db_url='postgresql://ann:***@host/db'" in shown
    assert "MemoryConfig(db_url='sqlite:///memories.db'" in repr(MemoryConfig())

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memoranda.cli.app import app
from memoranda.errors import InvalidInput, Unavailable
from memoranda.sessions import redis
from memoranda.settings import MemoryConfig, database_url
from memoranda.storage import database_file, open_store
from memoranda.storage.postgres.connections import parse_url


def open_redis(url: str) -> object:
    return redis._open_client(url, 0.1)


@pytest.mark.parametrize(
    ("read", "url"),
    [
        *((parse_url, f"postgresql://ann:{password}@host/db") for password in ("50%secret", "a/secret", "a?secret")),
        *((parse_url, f"postgresql://ann:{password}@host/db") for password in ("a#secret", "a[secret")),
        *((parse_url, f"postgresql://ann:{password}@host/db") for password in ("a@secret", "@secret", "a@b@secret")),
        *((parse_url, f"postgresql://ann:pw@host:{port}/db") for port in ("secret", "0", "65536")),
        (parse_url, "postgresql://ann:secret/db"),
        (parse_url, "postgresql://ann:secret@[host/db"),
        (parse_url, "postgresql://ann@host/db?pool_size=secret"),
        *((open_redis, f"redis://ann:secret@{rest}") for rest in ("[host/0", "host:port/0", "host:99999/0")),
        *((open_redis, f"redis://ann:{password}@host/0") for password in ("a/secret", "a[secret")),
        (open_redis, "redis+cluster://ann:secret@host:7000,other:port"),
    ],
)
def test_address_that_cannot_be_read_is_a_typed_error_without_its_password(
    read: Callable[[str], object], url: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(url)
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("pool_size=abc", "pool_size in the database URL must be a number"),
        ("pool_size=0", "pool_size in the database URL must be a number"),
        ("prepare_threshold=", "prepare_threshold in the database URL must be a number"),
        ("sslmod=require", "unknown option 'sslmod'"),
    ],
)
def test_option_that_cannot_be_used_is_named(option: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        parse_url(f"postgresql://host/db?{option}")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:secret@host/db", "postgresql://host/db"),
        ("postgresql://ann:secret@host:5433/db", "postgresql://host:5433/db"),
        ("postgresql://one:5433,two:5434/db", "postgresql://one:5433,two:5434/db"),
        ("postgresql://one,two/db?port=5433", "postgresql://one:5433,two:5433/db"),
        ("postgresql://[::1]:5433/db", "postgresql://[::1]:5433/db"),
        ("POSTGRESQL://host/db", "postgresql://host/db"),
    ],
)
def test_address_is_shown_with_its_ports_and_without_its_password(url: str, shown: str) -> None:
    assert parse_url(url).shown == shown


@pytest.mark.parametrize(
    ("command", "instead"),
    [(["restore", "a.backup"], "pg_restore"), (["encrypt"], "disk"), (["decrypt"], "disk"), (["rekey"], "disk")],
)
def test_commands_for_files_say_what_to_use_for_a_server(
    command: list[str], instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.backup").touch()
    for scheme in ("postgresql", "POSTGRES"):
        done = CliRunner().invoke(app, [*command, "--db", f"{scheme}://ann:secret@host/db"])
        said = " ".join((done.output + done.stderr).split())
        assert done.exit_code != 0
        assert "not a single file" in said, said
        assert instead in said
        assert "secret" not in said


def test_schemes_may_be_in_capital_letters(tmp_path: Path) -> None:
    config = MemoryConfig(db_url="SQLite:///a.db", storage_dir=str(tmp_path))
    assert database_file(database_url(config)) == tmp_path / "a.db"
    store = open_store(f"SQLITE:///{tmp_path}/a.db")
    assert store.path == tmp_path / "a.db"
    store.close()
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9/db"):
        open_store("PostgreSQL://127.0.0.1:9/db")

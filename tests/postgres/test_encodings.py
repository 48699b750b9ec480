"""Databases that could not hold every text are refused; what the environment says of encodings changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from memoranda.cli.app import app
from memoranda.errors import Incompatible
from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage import open_store
from memoranda.testing.fakes import HashEmbedder
from tests.postgres.server import OWNER, SERVICE, PostgresServer

KEY = "a key for the tests of encodings"


@pytest.fixture(params=["LATIN1", "SQL_ASCII"])
def database(server: PostgresServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a database that is not UTF-8."""
    name = f"encoded_{request.param.lower()}"
    server.execute(f"CREATE DATABASE {name} ENCODING '{request.param}' TEMPLATE template0 LOCALE 'C' OWNER {OWNER}")
    yield name
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("command", [["migrate"], ["add", "The boat is blue"], ["doctor"], ["serve"]])
def test_commands_refuse_a_database_that_is_not_utf8(
    server: PostgresServer, database: str, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_AUDIT_KEY", KEY)
    done = CliRunner().invoke(app, [*command, "--db", server.url(database, OWNER)])
    assert done.exit_code != 0
    assert "ENCODING 'UTF8' TEMPLATE template0" in " ".join((done.output + done.stderr).replace("│", " ").split())


def test_copy_and_stores_refuse_a_database_that_is_not_utf8(
    server: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("copy"))
    monkeypatch.setenv("EMBEDDING_MODEL", "fast")
    assert CliRunner().invoke(app, ["add", "The boat is blue", "--db", "a.db"]).exit_code == 0
    done = CliRunner().invoke(app, ["copy", "a.db", server.url(database, OWNER)])
    assert done.exit_code != 0
    assert "has the encoding" in " ".join((done.output + done.stderr).split())
    for open_it in (
        lambda: open_store(server.url(database, SERVICE)),
        lambda: open_store(server.url("empty", SERVICE), read_url=server.url(database, SERVICE)),
    ):
        with pytest.raises(Incompatible, match="has the encoding"):
            open_it()


@pytest.mark.parametrize("option", ["", "?client_encoding=latin1"])
def test_texts_are_sent_as_utf8_whatever_the_client_is_set_to(
    url: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    config = MemoryConfig(db_url=url + option, audit_key=KEY)
    with MemoryManager(config, embedder=HashEmbedder(8)) as manager:
        manager.add_memory("東京 is far", user="東京")
        assert [hit.content for hit in manager.recall("東京", user="東京")] == ["東京 is far"]
        assert manager.check().problems == ()

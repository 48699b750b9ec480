"""A standby that answers reads: never without what was written before."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from memoranda.cli.app import app
from memoranda.errors import Incompatible, InvalidInput
from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage import open_store
from memoranda.storage.postgres import replica
from memoranda.testing.fakes import HashEmbedder
from tests.postgres.server import PostgresServer, run_standby

AUDIT_KEY = "a key for the tests of replicas"


@pytest.fixture(scope="module")
def standby(server: PostgresServer) -> Iterator[PostgresServer]:
    with run_standby(server) as standby:
        yield standby


@pytest.fixture
def read_url(server: PostgresServer, standby: PostgresServer, url: str) -> str:
    return server.url(url.rpartition("/")[2]).replace(f":{server.port}/", f":{standby.port}/")


@pytest.fixture
def manager(url: str, read_url: str) -> Iterator[MemoryManager]:
    config = MemoryConfig(db_url=url, read_url=read_url, audit_key=AUDIT_KEY)
    with MemoryManager(config, embedder=HashEmbedder(64)) as manager:
        yield manager


def execute(server: PostgresServer, statement: str) -> object:
    with psycopg.connect(server.url("postgres", "postgres"), autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchone() if cursor.description else None


def wait_for_standby(server: PostgresServer, standby: PostgresServer) -> None:
    position = execute(server, "SELECT pg_current_wal_lsn()::text")
    assert isinstance(position, tuple)
    deadline = time.monotonic() + 120
    while execute(standby, f"SELECT pg_last_wal_replay_lsn() >= '{position[0]}'::pg_lsn") != (True,):
        assert time.monotonic() < deadline, "the standby does not catch up"
        time.sleep(0.05)


@contextmanager
def paused(standby: PostgresServer) -> Iterator[None]:
    """Let the standby repeat nothing, as one that is far behind."""
    execute(standby, "SELECT pg_wal_replay_pause()")
    try:
        yield
    finally:
        execute(standby, "SELECT pg_wal_replay_resume()")


def test_every_write_is_in_the_next_answer(manager: MemoryManager) -> None:
    for number in range(20):
        made = manager.add_memory(f"The boat number {number} is blue", user="ada")
        assert made.id in [hit.id for hit in manager.recall(f"boat number {number}", user="ada", limit=3)]
        assert len(manager.list_memories(user="ada", limit=100)) == number + 1


def test_long_reads_are_answered_by_the_standby(
    manager: MemoryManager, monkeypatch: pytest.MonkeyPatch, standby: PostgresServer
) -> None:
    monkeypatch.setattr(replica, "_WAIT_SECONDS", 60.0)
    manager.add_memories([f"The boat number {number} is blue" for number in range(50)], user="ada")
    store = manager._components.open().store
    store._ask_again_at = 0.0  # type: ignore[attr-defined]  # a slow start may have turned to the primary
    assert store.read(lambda tx: tx.execute(text("SELECT pg_is_in_recovery()")).scalar(), tenant="default")
    assert list(store.stream(lambda tx: iter(tx.execute(text("SELECT inet_server_port()")).all()))) == [(standby.port,)]
    assert len(manager.list_memories(user="ada", limit=300)) == 50


def test_writes_of_another_process_are_in_the_next_answer(manager: MemoryManager, url: str) -> None:
    with MemoryManager(MemoryConfig(db_url=url, audit_key=AUDIT_KEY), embedder=HashEmbedder(64)) as other:
        for number in range(10):
            made = other.add_memory(f"The goat number {number} is white", user="bob")
            assert [each.id for each in manager.list_memories(user="bob", limit=100)][-1] == made.id
            assert made.id in [hit.id for hit in manager.recall(f"goat number {number}", user="bob", limit=3)]


def test_standby_that_is_behind_is_not_asked(manager: MemoryManager, standby: PostgresServer) -> None:
    manager.add_memory("The boat is blue", user="ada")
    with paused(standby):
        for number in range(5):
            made = manager.add_memory(f"The boat number {number} is red", user="ada")
            assert made.id in [each.id for each in manager.list_memories(user="ada", limit=100)]
            assert made.id in [hit.id for hit in manager.recall(f"boat number {number}", user="ada")]


def test_standby_that_stops_is_not_missed(
    manager: MemoryManager, standby: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "_AWAY_SECONDS", 0.2)
    first = manager.add_memory("The boat is blue", user="ada")
    assert len(manager.list_memories(user="ada")) == 1
    standby.stop("immediate")
    try:
        second = manager.add_memory("The goat is white", user="ada")
        for _ in range(3):
            assert [each.id for each in manager.list_memories(user="ada")] == [first.id, second.id]
            assert second.id in [hit.id for hit in manager.recall("goat", user="ada")]
            time.sleep(0.2)
    finally:
        standby.start(log="standby.log")
    time.sleep(0.3)
    assert len(manager.list_memories(user="ada")) == 2


def test_server_that_is_no_standby_is_refused(url: str, server: PostgresServer) -> None:
    with pytest.raises(InvalidInput, match="not a standby"):
        open_store(url, read_url=url)
    with pytest.raises(InvalidInput, match="name one"):
        open_store(url, read_url="postgresql://one,two/memories")
    with pytest.raises(InvalidInput, match="MEMORY_READ_URL"):
        open_store("sqlite://", read_url=url)


def test_standby_of_another_database_is_refused(url: str, server: PostgresServer, standby: PostgresServer) -> None:
    other = server.new_database()
    with psycopg.connect(server.url(other.rpartition("/")[2], "postgres")) as connection:
        connection.execute("SET synchronous_commit = on")  # so that the position below is behind it
        connection.execute("UPDATE meta SET value = 'another' WHERE key = 'store_id'")
    name = other.rpartition("/")[2]
    there = server.url(name).replace(f":{server.port}/", f":{standby.port}/")
    wait_for_standby(server, standby)
    with pytest.raises(Incompatible, match="not a standby of"):
        open_store(url, read_url=there)


def test_standby_of_a_copy_of_the_database_is_refused(
    url: str, server: PostgresServer, standby: PostgresServer
) -> None:
    name = url.rpartition("/")[2]
    execute(server, f'CREATE DATABASE "{name}_copy" TEMPLATE "{name}"')  # with the id of the store
    wait_for_standby(server, standby)
    there = server.url(f"{name}_copy").replace(f":{server.port}/", f":{standby.port}/")
    with pytest.raises(Incompatible, match="not a standby of"):
        open_store(url, read_url=there)


def test_process_starts_while_its_standby_is_away(
    url: str, read_url: str, standby: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "_AWAY_SECONDS", 0.0)
    config = MemoryConfig(db_url=url, read_url=read_url, audit_key=AUDIT_KEY)
    standby.stop()
    with closing(MemoryManager(config, embedder=HashEmbedder(64))) as manager:
        try:
            store = manager._components.open().store  # opened here
            manager.add_memory("The boat is blue", user="ada")
            assert isinstance(store, replica.ReplicatedStore)
            assert len(manager.list_memories(user="ada")) == 1
            [problem] = manager.health().problems
            assert f"the replica postgresql://127.0.0.1:{standby.port}/" in problem
        finally:
            standby.start(log="standby.log")
        assert len(manager.list_memories(user="ada")) == 1
        assert manager.health().problems == ()
        assert store._standby is not None


def test_replica_that_is_behind_for_long_is_a_problem_of_health(
    manager: MemoryManager, standby: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "_AWAY_SECONDS", 0.0)
    with paused(standby):
        manager.add_memory("The boat is blue", user="ada")
        assert manager.health().problems == ()
        monkeypatch.setattr(replica, "_BEHIND_SECONDS", 0.0)
        [problem] = manager.health().problems
        assert "has been behind" in problem
    monkeypatch.setattr(replica, "_WAIT_SECONDS", 60.0)
    assert manager.health().problems == ()


def test_doctor_reports_a_replica_that_is_not_there(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_AUDIT_KEY", AUDIT_KEY)
    monkeypatch.setenv("MEMORY_READ_URL", "postgresql://nobody@127.0.0.1:9/memories")
    monkeypatch.setenv("MEMORY_DB_URL", url)
    done = CliRunner().invoke(app, ["doctor", "--json"])
    assert done.exit_code != 0
    [problem] = [each for each in json.loads(done.stdout) if each["state"] == "problem"]
    assert "127.0.0.1:9/memories is not used" in problem["detail"]

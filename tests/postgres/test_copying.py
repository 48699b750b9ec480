"""Moving a database from SQLite to PostgreSQL and back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Table, select

from memoranda.errors import Conflict, InvalidInput, Unavailable
from memoranda.manager.manager import MemoryManager
from memoranda.server.keys import open_keys
from memoranda.settings import MemoryConfig
from memoranda.storage import open_store
from memoranda.storage.base import ReadTransaction
from memoranda.storage.schema import api_keys, changes, claims, executions, memories, messages, receipts
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.copying import CopyReport, copy_store
from memoranda.types import ANY, Clock, Progress
from tests.postgres.server import OWNER, SERVICE, PostgresServer
from tests.unit.conftest import TickingClock

LATER = datetime(2026, 6, 1, tzinfo=UTC)
AUDIT_KEY = "a key for the tests of moving"
TABLES = (api_keys, changes, claims, executions, memories, messages, receipts)


def open_manager(url: str, clock: Clock = lambda: LATER) -> MemoryManager:
    config = MemoryConfig(db_url=url, audit_key=AUDIT_KEY)
    return MemoryManager(config, embedder=HashEmbedder(64), clock=clock)


def fill(manager: MemoryManager) -> None:
    for number in range(30):
        manager.remember(f"I bought house number {number} in Oslo.", user=f"user {number % 3}")
    first = manager.add_memory("The boat is blue.", user="ada", metadata={"tags": ["boat"]})
    second = manager.add_memory("The boat was sold.", user="ada")
    manager.update(first.id, content="The boat is green.", user="ada")
    manager.add_memory_association(first.id, second.id, "about", user="ada")
    manager.save_execution_record("a", {"status": "done", "duration_ms": 3.5})
    manager.add_knowledge("Rules: be kind.", source="rules")
    manager.forget(user="user 2")
    manager.recall("Which house?", user="user 1")
    manager.for_tenant("other").remember("I live in Bern.", user="eve")


def answers(manager: MemoryManager) -> list[Any]:
    hits = manager.recall("Which house did I buy?", user="user 1", limit=5)
    boat = manager.recall("boat", user="ada")
    return [
        [(hit.id, hit.score, hit.memory) for hit in hits],
        [(hit.id, hit.score, hit.memory) for hit in boat],
        manager.get_stats().by_type,
        manager.history(boat.hits[0].id, user="ada").versions,
        [memory.id for memory in manager.list_memories(user=ANY, limit=100)],
        [fact.value for fact in manager.for_tenant("other").facts(user="eve")],
        [manager.verify_receipt(receipt) for receipt in manager.receipts(user=ANY)],
        manager.verify_executions().ok,
    ]


def copy(source: str, target: str, progress: Progress | None = None) -> CopyReport:
    stores = open_store(source), open_store(target, copying=True)
    try:
        return copy_store(*stores, progress)
    finally:
        for store in stores:
            store.close()


def interrupt(done: int, total: int) -> None:
    if done > total / 2:
        raise KeyboardInterrupt


@pytest.fixture(scope="module")
def filled_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with memories, which tests copy."""
    path = tmp_path_factory.mktemp("filled") / "filled.db"
    with open_manager(f"sqlite:///{path}") as manager:
        fill(manager)
    return path


@pytest.fixture(scope="module")
def filled_database(server: PostgresServer) -> str:
    """The name of a database with memories, which tests copy."""
    url = server.new_database()
    with open_manager(url.replace(f"{SERVICE}@", f"{OWNER}@")) as manager:
        fill(manager)
    return url.rpartition("/")[2]


@pytest.fixture(params=["to PostgreSQL", "to SQLite"])
def urls(request: pytest.FixtureRequest, tmp_path: Path, server: PostgresServer) -> tuple[str, str]:
    """The URLs of a source with memories and of an empty target, as those who may copy to it."""
    if request.param == "to PostgreSQL":
        shutil.copy(request.getfixturevalue("filled_file"), tmp_path / "a.db")
        url: str = request.getfixturevalue("url")
        return f"sqlite:///{tmp_path}/a.db", url.replace(f"{SERVICE}@", f"{OWNER}@")
    source = server.new_database(template=request.getfixturevalue("filled_database"))
    return source.replace(f"{SERVICE}@", f"{OWNER}@"), f"sqlite:///{tmp_path}/b.db"


def test_copy_to_postgres_and_back_gives_the_same_answers(tmp_path: Path, url: str) -> None:
    first, owner_url = f"sqlite:///{tmp_path}/a.db", url.replace(f"{SERVICE}@", f"{OWNER}@")
    with open_manager(first, TickingClock()) as manager:
        fill(manager)
    with open_manager(first) as manager:
        expected = answers(manager)
    there = copy(first, owner_url)
    assert there.rows["memories"] > 20
    assert there.rows["vectors"] == there.rows["memories"]
    with open_manager(url) as manager:
        assert answers(manager) == expected
        assert manager.check().problems == ()
        new = manager.add_memory("Said on PostgreSQL.", user="ada")
    back = copy(owner_url, f"sqlite:///{tmp_path}/b.db")
    assert back.rows["memories"] == there.rows["memories"] + 1
    with open_manager(f"sqlite:///{tmp_path}/b.db") as manager:
        assert manager.get(new.id, user="ada").content == "Said on PostgreSQL."
        assert manager.check().problems == ()
        assert manager.add_memory("Said at home again.", user="ada").id > new.id


_NUMBERED = """
SELECT c.relname, a.attname FROM pg_class AS s JOIN pg_depend AS d ON d.objid = s.oid AND d.deptype IN ('a', 'i')
JOIN pg_class AS c ON c.oid = d.refobjid JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
WHERE s.relkind = 'S'"""


def test_rows_after_a_copy_get_new_numbers_in_every_table(tmp_path: Path, server: PostgresServer, url: str) -> None:
    first = f"sqlite:///{tmp_path}/a.db"
    with open_manager(first) as manager:
        fill(manager)
    copy(first, url.replace(f"{SERVICE}@", f"{OWNER}@"))
    with psycopg.connect(server.url(url.rpartition("/")[2], "postgres")) as superuser:
        columns = superuser.execute(_NUMBERED).fetchall()
        assert ("generations", "id") in columns
        for table, column in columns:
            query = f"SELECT nextval(pg_get_serial_sequence('{table}', '{column}')), max({column}) FROM {table}"
            new, last = superuser.execute(query.encode()).fetchone() or (0, 0)
            assert new > (last or 0), f"{table}.{column}"
    config = MemoryConfig(db_url=url, audit_key=AUDIT_KEY)
    with MemoryManager(config, embedder=HashEmbedder(32)) as manager:
        assert manager.reembed() > 20


def test_interrupted_copy_goes_on_and_writes_nothing_twice(
    urls: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KeyboardInterrupt):
        copy(*urls, interrupt)
    resumed = copy(*urls)
    assert caplog.messages == []  # half a copy is no damage
    assert 0 < resumed.written < sum(resumed.rows.values())
    assert copy(*urls).written == 0


def test_target_of_an_interrupted_copy_is_opened_by_nobody_until_it_is_complete(urls: tuple[str, str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        copy(*urls, interrupt)
    with pytest.raises(Unavailable, match="memoranda copy"):
        open_store(urls[1])
    with pytest.raises(Unavailable, match="memoranda copy"):
        open_manager(urls[1]).get_stats()
    copy(*urls)
    with open_manager(urls[1]) as manager:
        assert manager.check().problems == ()


def test_process_that_was_open_before_writes_nothing_while_others_copy(urls: tuple[str, str]) -> None:
    with open_manager(urls[1].replace(f"{OWNER}@", f"{SERVICE}@")) as before:
        assert before.list_memories(user=ANY) == []
        with pytest.raises(KeyboardInterrupt):
            copy(*urls, interrupt)
        with pytest.raises(Unavailable, match="memoranda copy"):
            before.add_memory("lost")
        copy(*urls)
        before.add_memory("kept")
        assert [memory.content for memory in before.list_memories()] == ["kept"]


def add_memory(url: str) -> None:
    with open_manager(url) as manager:
        manager.add_memory("Said after the move.")


def edit_memory(url: str) -> None:
    with open_manager(url) as manager:
        manager.update(manager.list_memories(user="ada")[0].id, content="Edited after the move.", user="ada")


def forget_user(url: str) -> None:
    with open_manager(url) as manager:
        manager.forget(user="user 1")


def create_key(url: str) -> None:
    with open_keys(MemoryConfig(db_url=url, audit_key=AUDIT_KEY)) as keys:
        keys.create("after the move", tenant="default", scopes=["read"])


def put_item(url: str) -> None:
    with open_manager(url) as manager:
        manager.put(("notes",), "k", {"text": "after the move"})


@pytest.mark.parametrize("change", [add_memory, edit_memory, forget_user, create_key, put_item])
@pytest.mark.parametrize("side", [0, 1], ids=["source", "target"])
def test_second_copy_after_a_change_is_refused_and_changes_nothing(
    urls: tuple[str, str], change: Callable[[str], None], side: int
) -> None:
    copy(*urls)
    change(urls[side])
    before = read_everything(urls[1])
    with pytest.raises(Conflict, match="empty database"):
        copy(*urls)
    assert read_everything(urls[1]) == before
    with open_manager(urls[1]) as manager:
        assert manager.check().problems == ()


def read_everything(url: str) -> dict[str, list[Any]]:
    store = open_store(url)
    try:
        return {table.name: store.read(partial(read_rows, table=table), tenant=ANY) for table in TABLES}
    finally:
        store.close()


def read_rows(tx: ReadTransaction, table: Table) -> list[Any]:
    return sorted((tuple(row) for row in tx.execute(select(table))), key=repr)


def test_target_with_data_of_its_own_is_refused(tmp_path: Path, url: str) -> None:
    with open_manager(url) as manager:
        manager.add_memory("mine")
    with open_manager(f"sqlite:///{tmp_path}/a.db") as manager:
        manager.add_memory("other")
    with pytest.raises(Conflict, match="empty database"):
        copy(f"sqlite:///{tmp_path}/a.db", url.replace(f"{SERVICE}@", f"{OWNER}@"))
    with pytest.raises(InvalidInput, match="same store"):
        copy(url, url)
    with open_manager(url) as manager:
        assert [memory.content for memory in manager.list_memories()] == ["mine"]


def test_target_that_has_only_a_key_to_its_server_is_refused(tmp_path: Path, url: str) -> None:
    create_key(url)
    with open_manager(f"sqlite:///{tmp_path}/a.db") as manager:
        manager.add_memory("other")
    with pytest.raises(Conflict, match="api_keys"):
        copy(f"sqlite:///{tmp_path}/a.db", url.replace(f"{SERVICE}@", f"{OWNER}@"))


def test_role_that_does_not_own_the_tables_is_refused_before_anything_is_written(tmp_path: Path, url: str) -> None:
    with open_manager(f"sqlite:///{tmp_path}/a.db") as manager:
        manager.add_memory("other")
    with pytest.raises(InvalidInput, match="owns the tables"):
        copy(f"sqlite:///{tmp_path}/a.db", url)
    with open_manager(url) as manager:
        assert manager.list_memories() == []


def test_copy_beside_a_writer_says_that_it_cannot_end_and_completes_when_the_writer_stops(
    urls: tuple[str, str],
) -> None:
    source, target = open_store(urls[0]), open_store(urls[1], copying=True)
    numbers = count()
    with open_manager(urls[0]) as writer, pytest.raises(Conflict, match="others write to the source"):
        copy_store(source, target, lambda *_: writer.add_memory(f"note {next(numbers)}", user="ada") and None)
    copy_store(source, target)
    assert target.check() == []
    for store in (source, target):
        store.close()

from __future__ import annotations

import gc
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.engine import base, default

from memoranda import (
    Closed,
    Conflict,
    Incompatible,
    InvalidInput,
    MemorandaError,
    MemoryManager,
    NotFound,
    Unavailable,
)
from memoranda.embedding.vectors import start_generation
from memoranda.storage.base import Durability, OwnedWork, Transaction
from memoranda.storage.meta import set_meta
from memoranda.storage.sqlite import connections
from memoranda.storage.sqlite.connections import Connections
from memoranda.storage.sqlite.file_lock import FileLock
from memoranda.storage.sqlite.store import open_sqlite
from memoranda.storage.sqlite.transaction import set_durability
from memoranda.testing.fakes import HashEmbedder
from tests.driver import sqlite3
from tests.unit.storage.sqlite.interrupts import interrupt_at


def test_interrupt_at_any_step_of_a_write_does_not_block_the_next(tmp_path: Path) -> None:
    step = 0
    (tmp_path / "a.db").touch()
    while interrupt_at(
        step, write, opened := Connections(tmp_path / "a.db"), "one", inside=[connections, base, default]
    ):
        write(opened, "two")
        opened.close()
        assert rows(tmp_path / "a.db")[-1] == "two", f"after an interrupt at step {step}"
        step += 1
    assert step > 10


def test_connections_dropped_without_close_leave_no_handle_open(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    opened = Connections(tmp_path / "a.db")
    write(opened, "one")
    opened.fetch("SELECT text FROM notes")
    last = weakref.ref(opened)
    del opened
    for _ in range(3):  # SQLAlchemy's pool is a reference cycle of its own
        gc.collect()
    assert last() is None
    assert not (tmp_path / "a.db-wal").exists()  # SQLite removes it with the last handle


def write_and_raise(opened: Connections, error: MemorandaError) -> None:
    with opened.writing() as connection:
        connection.exec_driver_sql("INSERT INTO notes VALUES ('refused')")
        raise error


def test_refused_work_is_undone_and_the_next_write_uses_the_same_handle(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    opened = Connections(tmp_path / "a.db")
    write(opened, "one")
    writer = opened._writer
    for refusal in (Conflict("changed"), NotFound("gone"), InvalidInput("wrong")):
        with pytest.raises(type(refusal)):
            write_and_raise(opened, refusal)
    write(opened, "two")
    assert opened._writer is writer
    opened.close()
    assert rows(tmp_path / "a.db") == ["one", "two"]


@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_write_to_removed_or_replaced_file_is_refused(tmp_path: Path, change: str) -> None:
    store = open_sqlite(tmp_path / "a.db")
    store.write(lambda tx: start_generation(tx, HashEmbedder(4).identity, activate=True))
    assert store.status().problems == ()
    (tmp_path / "a.db").rename(tmp_path / "elsewhere.db")
    if change == "replaced":
        open_sqlite(tmp_path / "b.db").close()
        (tmp_path / "b.db").rename(tmp_path / "a.db")
    with pytest.raises(Unavailable, match=f"{change} while it was open: close this, then open it again"):
        store.write(lambda tx: start_generation(tx, HashEmbedder(8).identity, activate=False))
    assert store.status().problems != ()
    store.close()


def write(opened: Connections, text: str) -> None:
    with opened.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS notes (text)")
        connection.exec_driver_sql("INSERT INTO notes VALUES (?)", (text,))


def rows(path: Path) -> list[str]:
    opened = Connections(path)
    try:
        return [text for (text,) in opened.fetch("SELECT text FROM notes ORDER BY rowid")]
    finally:
        opened.close()


@pytest.fixture
def opened(tmp_path: Path) -> Connections:
    (tmp_path / "a.db").touch()
    return Connections(tmp_path / "a.db")


def test_new_file_is_switched_to_wal_under_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.touch()
    with ThreadPoolExecutor(1) as pool:
        with FileLock(tmp_path / "a.db.lock")():
            opening = pool.submit(Connections, path)
            with pytest.raises(TimeoutError):
                opening.result(timeout=0.2)
            assert path.stat().st_size == 0
        opening.result().close()
    assert path.read_bytes()[18:20] == b"\x02\x02"


def test_consecutive_reads_share_a_connection(opened: Connections) -> None:
    assert [opened.fetch("SELECT ?", (n,)) for n in range(3)] == [[(0,)], [(1,)], [(2,)]]
    assert len(opened._raw.idle) == 1
    opened.close()


def test_failed_read_raises_memoranda_error_and_drops_connection(opened: Connections) -> None:
    with pytest.raises(MemorandaError):
        opened.fetch("SELECT nothing FROM nowhere")
    assert not opened._raw.idle
    assert not opened._raw.in_use
    assert opened.fetch("SELECT 1") == [(1,)]
    opened.close()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_close_during_reads_leaves_no_handle_open(opened: Connections) -> None:
    started = threading.Barrier(9)

    def read() -> None:
        started.wait()
        try:
            while True:
                opened.fetch("SELECT count(*) FROM sqlite_schema")
        except Closed:
            return

    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read) for _ in range(8)]
        started.wait()
        opened.close()
        for reader in readers:
            reader.result()
    assert [target for target in _open_files() if target.startswith(str(opened.path))] == []


def _open_files() -> list[str]:
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(entry.readlink()))
        except FileNotFoundError:
            continue
    return found


def test_handle_that_was_opened_read_only_is_replaced_at_the_next_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.db").touch()
    opened = Connections(tmp_path / "a.db")
    write(opened, "one")
    usual, made = connections.connect, list[str]()

    def connect(
        module: Any, path: str, *how: Any, **options: Any
    ) -> Any:  # as SQLite does when the system refuses to open a file for writing
        made.append(path)
        if len(made) > 1:
            return usual(module, path, *how, **options)
        return module.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)

    opened.drop_writer()
    monkeypatch.setattr(connections, "connect", connect)
    write(opened, "two")
    opened.close()
    assert len(made) == 2
    assert rows(tmp_path / "a.db")[-1] == "two"


def test_empty_database_beside_its_key_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryManager(path, embedder=HashEmbedder(8)) as manager:
        manager.save_execution_record("agent", {"status": "success"})
    path.write_bytes(b"")
    with pytest.raises(Incompatible, match=r"m\.db\.key beside it"), MemoryManager(path, embedder=HashEmbedder(8)):
        pass
    for file in tmp_path.glob("m.db*"):  # to begin a new one
        file.unlink()
    with MemoryManager(path, embedder=HashEmbedder(8)) as manager:
        assert manager.check().ok


def test_commit_of_works_that_need_not_be_durable_alone_waits_for_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed: list[str] = []

    def record(raw: Any, durability: Durability) -> None:
        changed.append(durability)
        set_durability(raw, durability)

    monkeypatch.setattr(connections, "set_durability", record)
    store = open_sqlite(tmp_path / "a.db")
    try:
        store.write(OwnedWork(lambda tx: set_meta(tx, "mark", "1"), durable=False))
        assert changed == ["normal", "full"]
        assert store.get_meta("mark") == "1"
        with pytest.raises(InvalidInput):
            store.write(OwnedWork(_refuse, durable=False))
        assert changed == ["normal", "full"] * 2
        assert store.write(lambda tx: tx.execute(text("PRAGMA synchronous")).scalar()) == 2
        assert changed == ["normal", "full"] * 2
    finally:
        store.close()


def _refuse(tx: Transaction) -> None:
    raise InvalidInput("no")


def test_creating_a_file_leaves_room_for_prepared_statements_of_later_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: dict[int, set[str]] = {}

    class Counting(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> Any:
            statements.setdefault(id(self), set()).add(sql)
            return super().execute(sql, *parameters)

        def cursor(self, *_: Any) -> Any:
            return super().cursor(CountingCursor)

    class CountingCursor(sqlite3.Cursor):
        def execute(self, sql: str, *parameters: Any) -> Any:
            statements.setdefault(id(self.connection), set()).add(sql)
            return super().execute(sql, *parameters)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Counting))
    with MemoryManager(f"sqlite:///{tmp_path / 'm.db'}", embedder=HashEmbedder(8)) as manager:
        manager.add_memory("one")
        assert 100 < max(map(len, statements.values())) < connections._CACHED_STATEMENTS // 2


def test_error_in_the_middle_of_rows_leaves_no_cursor_to_the_next_reader(tmp_path: Path) -> None:
    store, used = open_sqlite(tmp_path / "m.db"), list[Any]()

    def fail(tx: Any) -> None:
        used.append(tx.driver)
        rows = iter(tx.execute(text("SELECT 1 UNION ALL SELECT 2")))
        next(rows)
        raise ValueError("in the middle")

    with pytest.raises(ValueError, match="middle") as raised:
        store.read(fail)
    assert raised.value.__traceback__ is not None  # which keeps the rows
    assert store.read(lambda tx: getattr(tx, "driver", None)) is not used[0]
    store.close()

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.maintenance.forget import is_erasure_pending
from memoranda.storage.meta import set_meta
from memoranda.storage.schema import ERASURE_PENDING
from memoranda.storage.sqlite import compaction, connections
from memoranda.storage.sqlite import store as sqlite_store
from memoranda.storage.sqlite.store import SQLiteStore, open_sqlite
from memoranda.testing.fakes import HashEmbedder
from tests.driver import sqlite3
from tests.prove.children import Child
from tests.prove.faulty_disk import FULL, FaultyDisk, can_inject_faults

CANARY = "quokkazebu"


@pytest.fixture
def in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every file as too large to be written anew in one step."""
    monkeypatch.setattr(compaction, "_VACUUM_BYTES", 0)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(64)) as manager:
        yield manager


def fill(manager: MemoryManager, count: int = 200) -> None:
    """Store memories of two users, change and delete some, so that rows move between pages."""
    for part in range(0, count, 20):
        manager.add_memories(
            [f"{CANARY} {n} of ada " + "long " * (n * 37 % 400) for n in range(part, part + 20)], user="ada"
        )
        manager.add_memories(
            [f"thing {n} of bob " + "more " * (n * 53 % 300) for n in range(part, part + 20)], user="bob"
        )
    for number, memory in enumerate(manager.list_memories(count, user="ada")):
        if number % 3 == 0:
            manager.update(memory.id, content=f"{CANARY} changed {number} " + "wide " * (number * 7 % 500), user="ada")
        elif number % 3 == 1:
            manager.delete(memory.id, user="ada")


def files_with(folder: Path, word: str = CANARY) -> list[str]:
    return [file.name for file in folder.iterdir() if word.encode() in file.read_bytes().lower()]


def store_of(manager: MemoryManager) -> SQLiteStore:
    store = manager._components.open().store
    assert isinstance(store, SQLiteStore)
    return store


def wait_until_clean(store: SQLiteStore, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while is_erasure_pending(store):
        assert time.monotonic() < deadline, store.status().problems
        time.sleep(0.02)


@pytest.mark.usefixtures("in_place")
def test_forgotten_words_are_gone_from_a_file_cleared_in_place(manager: MemoryManager, tmp_path: Path) -> None:
    fill(manager)
    kept = [memory.content for memory in manager.list_memories(1000, user="bob")]
    assert files_with(tmp_path)
    assert manager.forget(user="ada").complete
    assert files_with(tmp_path) == []
    assert [memory.content for memory in manager.list_memories(1000, user="bob")] == kept
    assert manager.check().problems == ()


@pytest.mark.usefixtures("in_place")
def test_file_written_without_secure_delete_is_cleared_as_well(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "m.db")
    store.close()
    with closing(sqlite3.connect(tmp_path / "m.db", isolation_level=None)) as raw:
        raw.execute("PRAGMA secure_delete=OFF")
        for number in range(300):
            raw.execute("INSERT INTO meta VALUES (?, ?)", (f"k{number}", f"{CANARY} {number} " * (number % 90)))
        raw.execute("DELETE FROM meta WHERE key LIKE 'k%'")
    assert files_with(tmp_path)
    store = open_sqlite(tmp_path / "m.db")
    assert store.compact()
    assert files_with(tmp_path) == []
    assert store.check() == []
    store.close()


@pytest.mark.usefixtures("in_place")
def test_writers_of_other_stores_go_on_between_steps(
    manager: MemoryManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(manager)
    monkeypatch.setattr(compaction, "_STEP_SECONDS", 0.0)  # a step is one page
    monkeypatch.setattr(compaction, "_PAUSE", 0.001)
    monkeypatch.setattr(sqlite_store, "_COMPACT_SECONDS", 0.0)
    monkeypatch.setattr(compaction.scrub, "scrub_page", _slowly(compaction.scrub.scrub_page))
    other = MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(64))
    receipt = manager.forget(user="ada")
    assert {entry.store: entry.status for entry in receipt.stores}["database file"] == "pending"
    written = 0
    while is_erasure_pending(store_of(manager)) and written < 30:
        started = time.monotonic()
        other.add_memory(f"written during compaction {written}", user="cleo")
        assert time.monotonic() - started < 2.0  # a step and a commit, not the whole file
        written += 1
    assert written > 5
    monkeypatch.setattr(compaction, "_STEP_SECONDS", 0.05)
    wait_until_clean(store_of(manager))
    assert len(other.list_memories(1000, user="cleo")) == written
    other.close()
    assert files_with(tmp_path) == []
    assert manager.check().problems == ()


def _slowly(function):  # type: ignore[no-untyped-def]
    def slow(*arguments):  # type: ignore[no-untyped-def]
        time.sleep(0.002)
        return function(*arguments)

    return slow


@pytest.mark.usefixtures("in_place")
def test_erasure_during_a_pass_begins_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_STEP_SECONDS", 0.0)
    store = open_sqlite(tmp_path / "m.db")
    store.write(lambda tx: set_meta(tx, ERASURE_PENDING, "1"))
    steps = store._compaction
    assert [steps.try_step() for _ in range(5)] == ["more"] * 5
    assert steps._page == 6
    store.write(lambda tx: set_meta(tx, ERASURE_PENDING, "2"))
    assert steps.try_step() == "more"
    assert steps._page == 2
    monkeypatch.setattr(compaction, "_STEP_SECONDS", 5.0)
    assert steps.try_step() == "done"
    assert not is_erasure_pending(store)
    store.close()


@pytest.mark.usefixtures("in_place")
def test_failed_sync_of_cleared_pages_writes_the_file_anew(
    manager: MemoryManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(manager, 40)
    manager.forget(user="nobody")  # creates the key file, which is synced as well
    monkeypatch.setattr(sqlite_store, "_COMPACT_SECONDS", 0.0)
    monkeypatch.setattr(compaction, "_PAUSE", 60.0)  # no second attempt in the background

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        assert not manager.forget(user="ada").complete
    store = store_of(manager)
    assert "Input/output error" in store.status().problems[0]
    anew: list[bool] = []
    write_anew = store._compaction._write_anew
    monkeypatch.setattr(store._compaction, "_write_anew", lambda tx: anew.append(True) or write_anew(tx))
    assert store._compaction.try_step() == "done"
    assert anew
    assert files_with(tmp_path) == []
    assert manager.check().problems == ()


def test_background_thread_ends_with_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "_COMPACT_SECONDS", 0.0)
    store = open_sqlite(tmp_path / "m.db")
    store.write(lambda tx: set_meta(tx, ERASURE_PENDING, "1"))
    with store._connections.reading() as connection:  # a reader of old pages
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("SELECT count(*) FROM meta").all()
        store.write(lambda tx: set_meta(tx, "a", "b"))
        assert not store.compact()
    assert "memoranda-compaction" in {thread.name for thread in threading.enumerate()}
    store.close()
    assert "memoranda-compaction" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.skipif(not can_inject_faults(), reason="SQLite is linked into Python itself")
@pytest.mark.parametrize("full_for", [(".db", "-wal"), ("-wal",)], ids=["every file", "the log"])
@pytest.mark.parametrize("largest", [0, 1 << 30], ids=["in place", "written anew"])
def test_forget_on_a_full_disk_is_done_and_its_bytes_go_when_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_for: tuple[str, ...], largest: int
) -> None:
    monkeypatch.setattr(compaction, "_VACUUM_BYTES", largest)
    monkeypatch.setattr(connections, "_MODULES", {"sqlite3": "sqlite3"})
    with (
        FaultyDisk().installed() as disk,
        MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(64)) as manager,
    ):
        fill(manager, 40)
        write, store = store_of(manager).write, store_of(manager)

        def write_and_fill_the_disk_after_the_erasure(work, **options):  # type: ignore[no-untyped-def]
            result = write(work, **options)
            if is_erasure_pending(store):
                disk.fails = lambda operation, file: FULL if operation == "write" and file in full_for else 0
            return result

        with monkeypatch.context() as patch:
            patch.setattr(store, "write", write_and_fill_the_disk_after_the_erasure)
            receipt = manager.forget(user="ada")
        assert {entry.store: entry.status for entry in receipt.stores}["database file"] == "pending"
        assert manager.list_memories(user="ada") == []
        assert manager.receipt(receipt.id) == receipt
        assert is_erasure_pending(store)
        assert any("the disk is full" in each for each in store.status().problems)
        disk.fails = lambda _operation, _file: 0
        wait_until_clean(store)
        assert files_with(tmp_path) == []
        manager.upkeep()  # the next write that succeeds
        # The thread that cleaned the file clears its own problem a moment later.
        deadline = time.monotonic() + 20
        while store.status().problems and time.monotonic() < deadline:
            time.sleep(0.01)
        assert store.status().problems == ()
        finished = manager.receipt(receipt.id)
        assert finished.complete
        assert finished.ids == receipt.ids
        assert manager.check().problems == ()


@pytest.mark.usefixtures("in_place")
@pytest.mark.parametrize("delay", [0.0, 0.01, 0.03, 0.06, 0.1, 0.15])
def test_process_killed_while_it_clears_pages_loses_nothing(tmp_path: Path, delay: float) -> None:
    def open_manager() -> MemoryManager:
        return MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(64))

    with open_manager() as manager:
        fill(manager, 60)
        kept = [memory.content for memory in manager.list_memories(1000, user="bob")]

    def forget(pipe: int) -> None:
        manager = open_manager()
        manager.list_memories(1)
        os.write(pipe, b"{}\n")
        manager.forget(user="ada")
        time.sleep(10)

    child = Child(forget)
    next(child.messages(time.monotonic() + 20))
    time.sleep(delay)
    list(child.kill())
    with open_manager() as manager:
        left = manager.list_memories(1000, user="ada")
        assert [memory.content for memory in manager.list_memories(1000, user="bob")] == kept
        assert manager.check().problems == ()
        assert bool(left) == bool(files_with(tmp_path))

"""A forked child uses the store like any other process, whatever its parent does."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memoranda import MemoryManager, Unavailable
from memoranda.storage.sqlite.store import open_sqlite
from memoranda.testing.differential import StoreOperations
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import Scope

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with open_manager(tmp_path) as manager:
        manager.add_memory("the river")
        manager.recall("river")
        yield manager


def open_manager(folder: Path) -> MemoryManager:
    return MemoryManager(f"sqlite:///{folder}/memories.db", embedder=HashEmbedder(16))


def fork(work: Callable[[], object]) -> int:
    """Fork a child that exits with 0, or with 1 when `work` raises, after a minute at most; return its process id."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking with other threads running is what is tested here
        child = os.fork()
    if child == 0:  # pragma: no cover
        signal.alarm(60)
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return child


def succeeds(child: int) -> bool:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_writes_of_child_after_parent_closed_are_kept(manager: MemoryManager, tmp_path: Path) -> None:
    written, closed = os.pipe(), os.pipe()

    def write() -> None:
        manager.add_memory("before the parent closed")
        os.write(written[1], b".")
        os.read(closed[0], 1)
        manager.add_memories(["after it", "and after that"])
        manager.add_memory("and last")

    child = fork(write)
    os.read(written[0], 1)
    manager.close()
    os.write(closed[1], b".")
    assert succeeds(child)
    for end in (*written, *closed):
        os.close(end)
    with open_manager(tmp_path) as reopened:
        kept = [memory.content for memory in reopened.list_memories()]
        assert kept == ["the river", "before the parent closed", "after it", "and after that", "and last"]
        assert reopened.check().problems == ()


def test_child_does_not_wait_for_busy_threads_of_parent(manager: MemoryManager) -> None:
    stopped = threading.Event()

    def work(method: Callable[[str], object]) -> None:
        while not stopped.is_set():
            method("a busy river")

    def in_the_child() -> None:
        manager.add_memory("a child's river")
        assert len(manager.recall("a child's river")) > 1
        manager.close()

    threads = [threading.Thread(target=work, args=(method,)) for method in (manager.add_memory, manager.recall) * 2]
    for thread in threads:
        thread.start()
    try:
        assert all(succeeds(fork(in_the_child)) for _ in range(8))
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
    assert manager.check().problems == ()


def test_child_forked_during_a_read_raises_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoranda.storage.sqlite.connections._FORK_WAIT", 0.01)
    store = open_sqlite(tmp_path / "memories.db")

    def read_in_child() -> None:
        with pytest.raises(Unavailable, match="start a new process"):
            StoreOperations(store).find(Scope(), limit=1)

    with store._connections.reading():
        assert succeeds(fork(read_in_child))
    assert succeeds(fork(lambda: StoreOperations(store).find(Scope(), limit=1)))
    assert StoreOperations(store).find(Scope(), limit=1) == []
    store.close()


def test_close_in_child_keeps_temporary_store_of_parent() -> None:
    with MemoryManager("sqlite://", embedder=HashEmbedder(16)) as manager:
        manager.add_memory("the river")
        file = Path(manager.health().database)
        assert succeeds(fork(manager.close))
        assert file.exists()
        assert manager.get(1).content == "the river"
    assert not file.parent.exists()

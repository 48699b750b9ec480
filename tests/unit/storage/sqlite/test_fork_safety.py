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
from memoranda.storage.sqlite import scrub
from memoranda.storage.sqlite.file_lock import FileLock
from memoranda.storage.sqlite.scrub import RawFile
from memoranda.storage.sqlite.store import open_sqlite
from memoranda.testing.differential import StoreOperations
from memoranda.testing.fakes import HashEmbedder
from memoranda.threads import register_fork_handler
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


class _Interrupted:
    """A fork handler that Ctrl-C interrupts."""

    def before_fork(self) -> None:
        raise KeyboardInterrupt

    def after_fork(self, *, in_child: bool) -> None:
        raise KeyboardInterrupt


def test_interrupt_in_one_handler_of_a_fork_leaves_no_other_locked(tmp_path: Path) -> None:
    others = [_Interrupted() for _ in range(5)]  # in a set, so that some of them come before the store
    for other in others:
        register_fork_handler(other)
    with open_manager(tmp_path) as manager:
        assert succeeds(fork(lambda: manager.add_memory("in the child")))
        manager.add_memory("in the parent")
        assert not manager._components.open().store._connections._write_lock.locked()  # type: ignore[attr-defined]
        assert len(manager.list_memories()) == 2
    register_fork_handler(others[0])


def test_interrupt_while_a_fork_waits_for_a_lock_leaves_none_locked(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "a.db")
    connections = store._connections
    connections._open_lock.acquire()
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        connections.before_fork()
    timer.join()
    connections._open_lock.release()
    connections.after_fork(in_child=False)
    assert not connections._write_lock.locked()
    assert not connections._open_lock.locked()
    store.close()


def test_interrupted_close_never_closes_a_descriptor_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, close, closed = FileLock(tmp_path / "lock"), os.close, list[int]()

    def close_and_interrupt(fd: int) -> None:
        closed.append(fd)
        close(fd)
        raise KeyboardInterrupt

    with lock():
        pass
    with monkeypatch.context() as patch:
        patch.setattr(os, "close", close_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            lock.close()
        lock.close()
    assert len(closed) == 1


def test_handles_are_closed_after_an_interrupt_while_one_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_up = scrub._give_up

    def interrupt(key: tuple[int, int]) -> None:
        give_up(key)
        raise KeyboardInterrupt

    for name in ("a", "b"):
        (tmp_path / name).touch()
    first, second = RawFile(tmp_path / "a"), RawFile(tmp_path / "b")
    second.read_start(1)
    with monkeypatch.context() as patch:
        patch.setattr(scrub, "_give_up", interrupt)
        with pytest.raises(KeyboardInterrupt):
            first.close()
    key = second._key
    second.close()
    assert key not in scrub._handles

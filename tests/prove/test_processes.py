"""Many processes on one file: none fails, nothing is missing."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from memoranda.storage.sqlite.store import open_sqlite
from memoranda.testing.differential import StoreOperations
from memoranda.types import Scope
from tests.prove.children import Child, send
from tests.prove.operations import open_manager

WRITERS = 32
READERS = 2
WRITES = 5
TIMEOUT_S = 120.0


def write(path: Path, number: int, pipe: int) -> None:
    with open_manager(path) as manager:
        for step in range(WRITES):
            manager.add_memory(f"writer {number} turn {step}")
        manager.add_memories([f"writer {number} bulk {part}" for part in range(3)])
        manager.update(manager.add_memory(f"writer {number} draft").id, f"writer {number} final")
        manager.delete(manager.add_memory(f"writer {number} mistake").id)
        manager.save(f"agent {number}", "shared key", number, "long_term")
    send(pipe, finished=number)


def read(path: Path, pipe: int) -> None:
    with open_manager(path) as manager:
        while True:
            send(pipe, found=len(manager.recall("writer turn", limit=50)))
            time.sleep(0.02)


def test_32_processes_write_one_file_without_error(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    open_manager(path).__enter__().close()
    readers = [Child(partial(read, path)) for _ in range(READERS)]
    writers = [Child(partial(write, path, number)) for number in range(WRITERS)]
    sent = [message for writer in writers for message in wait_for_end(writer)]
    seen = [message for reader in readers for message in reader.kill()]
    assert sorted(message.get("finished", -1) for message in sent) == list(range(WRITERS)), sent
    assert [message["error"] for message in seen if "error" in message] == []
    assert len(seen) >= READERS
    assert_everything_is_stored(path)


def wait_for_end(writer: Child) -> list[dict[str, object]]:
    """Return what the writer sent until it ended."""
    return [*writer.messages(time.monotonic() + TIMEOUT_S), *writer.kill()]


def assert_everything_is_stored(path: Path) -> None:
    store = open_sqlite(path)
    try:
        contents = [memory.content for memory in StoreOperations(store).find(Scope(), limit=10_000)]
        saved = [
            StoreOperations(store).by_key(Scope(agent=f"agent {number}"), "shared key") for number in range(WRITERS)
        ]
        problems = store.check()
    finally:
        store.close()
    expected = [f"writer {n} turn {step}" for n in range(WRITERS) for step in range(WRITES)]
    expected += [f"writer {n} bulk {part}" for n in range(WRITERS) for part in range(3)]
    expected += [f"writer {n} final" for n in range(WRITERS)]
    assert sorted(text for text in contents if text.startswith("writer")) == sorted(expected)
    assert [memory and memory.value for memory in saved] == list(range(WRITERS))
    assert problems == []

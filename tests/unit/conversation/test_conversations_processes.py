"""Stored conversations that several processes share, some of which are killed."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda import MemoryConfig, MemoryManager, Message
from memoranda.storage.sqlite.store import open_sqlite

# Adds "<name>-<n>" for n from a start, and prints each n once `add_message` has returned.
WRITER = """
import sys
from memoranda import MemoryConfig, MemoryManager, Message

url, name, start, count, keep = sys.argv[1:]
config = MemoryConfig(db_url=url, enable_vector_search=False)
manager = MemoryManager(config, retention_policy="persistent", max_messages_per_agent=int(keep))
memory = manager.get_memory("Analyzer")
for n in range(int(start), int(start) + int(count)):
    memory.add_message(Message("user", "x" * (n % 5000), message_id=f"{name}-{n}"))
    print(n, flush=True)
manager.close()
"""


class Writers:
    """Starts writing processes, and kills them at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.children: list[subprocess.Popen[str]] = []

    def start(self, name: str, start: int, count: int, keep: int = 100_000) -> subprocess.Popen[str]:
        arguments = [f"sqlite:///{self.path}", name, str(start), str(count), str(keep)]
        child = subprocess.Popen([sys.executable, "-c", WRITER, *arguments], stdout=subprocess.PIPE, text=True)
        self.children.append(child)
        return child

    def end(self) -> None:
        for child in self.children:
            child.kill()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[Writers]:
    writers = Writers(tmp_path / "a.db")
    yield writers
    writers.end()


def output_lines(child: subprocess.Popen[str]) -> Iterator[str]:
    assert child.stdout is not None
    return child.stdout


def open_manager(path: Path) -> MemoryManager:
    config = MemoryConfig(db_url=f"sqlite:///{path}", enable_vector_search=False)
    return MemoryManager(config, retention_policy="persistent")


def read_ids(path: Path) -> list[str]:
    with open_manager(path) as manager:
        return [message.message_id for message in manager.get_memory("Analyzer").get_messages()]


def assert_intact(path: Path) -> None:
    store = open_sqlite(path)
    assert store.check() == []
    store.close()


@pytest.mark.parametrize("keep", [100_000, 20])
def test_acknowledged_messages_survive_a_kill(writers: Writers, keep: int) -> None:
    path, rng, acknowledged = writers.path, random.Random(keep), -1
    for _ in range(2):
        child = writers.start("a", acknowledged + 1, 100_000, keep)
        for _ in range(rng.randint(1, 60)):
            acknowledged = int(next(output_lines(child)))
        child.kill()
        acknowledged = max([acknowledged, *(int(line) for line in output_lines(child) if line.endswith("\n"))])
        child.wait()
        found = read_ids(path)
        # The next one may be there as well: written, but not yet acknowledged.
        newest = [int(each.removeprefix("a-")) for each in found]
        assert newest[-1] in (acknowledged, acknowledged + 1)
        assert newest == list(range(newest[-1] + 1))[-keep:]
        assert_intact(path)
        acknowledged = newest[-1]


def test_processes_write_to_one_conversation(writers: Writers) -> None:
    path, each = writers.path, 30
    with open_manager(path) as manager:
        memory = manager.get_memory("Analyzer")
        children = [writers.start(name, 0, each) for name in ("a", "b")]
        for child in children:
            next(output_lines(child))
        assert {"a-0", "b-0"} <= {message.message_id for message in memory.get_messages()}
        for n in range(each):
            memory.add_message(Message("user", "mine", message_id=f"c-{n}"))
        for child in children:
            assert len(list(output_lines(child))) == each - 1
            assert child.wait() == 0
    found = read_ids(path)
    for name in "abc":
        assert [key for key in found if key.startswith(name)] == [f"{name}-{n}" for n in range(each)]
    assert len(found) == 3 * each
    assert_intact(path)


def test_message_added_by_two_processes_is_kept_once(writers: Writers) -> None:
    path = writers.path
    children = [writers.start("same", 0, 60) for _ in range(2)]
    for child in children:
        assert len(list(output_lines(child))) == 60
        assert child.wait() == 0
    assert sorted(read_ids(path)) == sorted(f"same-{n}" for n in range(60))
    assert_intact(path)

"""Conversations in the store, shared by processes that come, go and die."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda import MemoryConfig, MemoryManager, Message
from memoranda.storage.sqlite.store import open_sqlite

# Says "<name>-<n>" for n from a start, and prints each once `add_message` has returned.
TALKER = """
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


class Talkers:
    """Starts children and leaves none behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.children: list[subprocess.Popen[str]] = []

    def start(self, name: str, start: int, count: int, keep: int = 100_000) -> subprocess.Popen[str]:
        arguments = [f"sqlite:///{self.path}", name, str(start), str(count), str(keep)]
        child = subprocess.Popen([sys.executable, "-c", TALKER, *arguments], stdout=subprocess.PIPE, text=True)
        self.children.append(child)
        return child

    def end(self) -> None:
        for child in self.children:
            child.kill()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()


@pytest.fixture
def talkers(tmp_path: Path) -> Iterator[Talkers]:
    talkers = Talkers(tmp_path / "a.db")
    yield talkers
    talkers.end()


def lines(child: subprocess.Popen[str]) -> Iterator[str]:
    assert child.stdout is not None
    return child.stdout


def open_manager(path: Path) -> MemoryManager:
    config = MemoryConfig(db_url=f"sqlite:///{path}", enable_vector_search=False)
    return MemoryManager(config, retention_policy="persistent")


def ids(path: Path) -> list[str]:
    with open_manager(path) as manager:
        return [message.message_id for message in manager.get_memory("Analyzer").get_messages()]


def assert_sound(path: Path) -> None:
    store = open_sqlite(path)
    assert store.check() == []
    store.close()


@pytest.mark.parametrize("keep", [100_000, 20])
def test_what_was_acknowledged_survives_a_kill(talkers: Talkers, keep: int) -> None:
    path, rng, acknowledged = talkers.path, random.Random(keep), -1
    for _ in range(4):
        child = talkers.start("a", acknowledged + 1, 100_000, keep)
        for _ in range(rng.randint(1, 60)):
            acknowledged = int(next(lines(child)))
        child.kill()
        acknowledged = max([acknowledged, *(int(line) for line in lines(child) if line.endswith("\n"))])
        child.wait()
        found = ids(path)
        # The one that was on its way may be there as well: it was written, and its writer could not say so.
        newest = [int(each.removeprefix("a-")) for each in found]
        assert newest[-1] in (acknowledged, acknowledged + 1)
        assert newest == list(range(newest[-1] + 1))[-keep:]
        assert_sound(path)
        acknowledged = newest[-1]


def test_processes_talk_into_one_conversation(talkers: Talkers) -> None:
    path, each = talkers.path, 60
    with open_manager(path) as manager:
        memory = manager.get_memory("Analyzer")
        children = [talkers.start(name, 0, each) for name in ("a", "b")]
        for child in children:
            next(lines(child))
        assert {"a-0", "b-0"} <= {message.message_id for message in memory.get_messages()}
        for n in range(each):
            memory.add_message(Message("user", "mine", message_id=f"c-{n}"))
        for child in children:
            assert len(list(lines(child))) == each - 1
            assert child.wait() == 0
    found = ids(path)
    for name in "abc":
        assert [key for key in found if key.startswith(name)] == [f"{name}-{n}" for n in range(each)]
    assert len(found) == 3 * each
    assert_sound(path)


def test_a_message_given_to_two_processes_is_kept_once(talkers: Talkers) -> None:
    path = talkers.path
    children = [talkers.start("same", 0, 60) for _ in range(2)]
    for child in children:
        assert len(list(lines(child))) == 60
        assert child.wait() == 0
    assert sorted(ids(path)) == sorted(f"same-{n}" for n in range(60))
    assert_sound(path)

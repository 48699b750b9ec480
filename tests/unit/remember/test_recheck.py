"""Writers that store nearly the same text at the same moment store one memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memoranda import MemoryManager, Message, Outcome
from memoranda.embedding.base import InputKind
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import FloatArray
from tests.driver import sqlite3
from tests.prove.children import Child, send

FIRST = "My sister Nora loves long hiking weeks in the Swiss Alps every summer."
SECOND = "my sister Nora loves long hiking weeks in the Swiss Alps every summer!"
TIMEOUT_S = 60.0


class InterruptedEmbedder(HashEmbedder):
    """Calls `action` before it embeds for the first time: after duplicates were searched, and before the write."""

    def __init__(self, action: Callable[[], object]) -> None:
        super().__init__(32)
        self._action: Callable[[], object] | None = action

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        action, self._action = self._action, None
        if action is not None:
            action()
        return super().embed(texts, kind=kind)


def open_manager(path: Path, embedder: HashEmbedder | None = None) -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=embedder or HashEmbedder(32))


def make_message(text: str, number: int = 1, *, role: str = "user") -> Message:
    return Message(role, text, f"m{number}", name="Ana" if role == "user" else None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


@pytest.fixture
def other(path: Path) -> Iterator[MemoryManager]:
    with open_manager(path) as manager:
        yield manager


def remember_during(path: Path, message: Message, action: Callable[[], object], **scope: Any) -> list[Outcome]:
    """Remember a message and call `action` between reading and writing."""
    with open_manager(path, InterruptedEmbedder(action)) as manager:
        return manager.remember(message, user="ana", **scope)


def contents(manager: MemoryManager) -> list[str]:
    return [memory.content for memory in manager.list_memories(user="ana")]


def logged_ids(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        return [row[0] for row in connection.execute("SELECT message_id FROM messages ORDER BY seq")]


def test_text_that_another_writer_stored_in_the_meantime_is_a_duplicate(path: Path, other: MemoryManager) -> None:
    (outcome,) = remember_during(path, make_message(SECOND, 2), lambda: other.remember(make_message(FIRST), user="ana"))
    assert (outcome.status, outcome.rule, outcome.message_id) == ("duplicate", "duplicate", "m2")
    assert outcome.memory is not None
    assert outcome.memory.content == FIRST
    assert contents(other) == [FIRST]
    assert logged_ids(path) == ["m1", "m2"]


def test_answer_that_repeats_a_new_memory_is_an_echo(path: Path, other: MemoryManager) -> None:
    answer = make_message(
        "Nora, your sister, loves long hiking weeks in the Swiss Alps every summer.", 2, role="assistant"
    )
    (outcome,) = remember_during(path, answer, lambda: other.remember(make_message(FIRST), user="ana"))
    assert (outcome.status, outcome.rule) == ("rejected", "echo")
    assert contents(other) == [FIRST]


def test_different_text_is_stored(path: Path, other: MemoryManager) -> None:
    (outcome,) = remember_during(
        path, make_message("I keep 14 hives in Porto.", 2), lambda: other.remember(make_message(FIRST), user="ana")
    )
    assert outcome.status == "stored"


def test_memories_of_other_sessions_and_users_are_ignored(path: Path, other: MemoryManager) -> None:
    def store_elsewhere() -> None:
        other.remember(make_message(FIRST), user="ana", session="one")
        other.remember(make_message(FIRST), user="bob")

    (outcome,) = remember_during(path, make_message(SECOND, 2), store_elsewhere, session="two")
    assert outcome.status == "stored"


def test_text_that_was_stored_and_deleted_is_stored(path: Path, other: MemoryManager) -> None:
    def store_and_delete() -> None:
        (outcome,) = other.remember(make_message(FIRST), user="ana")
        assert outcome.memory is not None
        other.delete(outcome.memory.id, user="ana")

    (outcome,) = remember_during(path, make_message(SECOND, 2), store_and_delete)
    assert outcome.status == "stored"


def test_other_parts_of_the_message_are_stored(path: Path, other: MemoryManager) -> None:
    text = f"{FIRST} My password is hunter2! The lease of the office runs until 2031."
    known = "The lease of the office runs until 2031"
    with open_manager(path, InterruptedEmbedder(lambda: other.remember(make_message(known, 7), user="ana"))) as manager:
        outcomes = manager.remember(make_message(text), user="ana")
    assert [(outcome.status, outcome.rule) for outcome in outcomes] == [
        ("stored", ""),
        ("rejected", "secret"),
        ("duplicate", "duplicate"),
    ]
    assert contents(other) == [known, FIRST]
    assert logged_ids(path) == ["m7", "m1"]


def test_only_one_of_many_threads_stores_the_same_text(path: Path) -> None:
    threads = 6
    barrier = threading.Barrier(threads)

    class WaitingEmbedder(HashEmbedder):
        def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
            barrier.wait(TIMEOUT_S)
            return super().embed(texts, kind=kind)

    with open_manager(path, WaitingEmbedder(32)) as manager, ThreadPoolExecutor(threads) as pool:
        outcomes = pool.map(lambda n: manager.remember(make_message(FIRST, n), user="ana")[0], range(threads))
        assert sorted(outcome.status for outcome in outcomes) == ["duplicate"] * (threads - 1) + ["stored"]
        assert contents(manager) == [FIRST]
    assert sorted(logged_ids(path)) == [f"m{n}" for n in range(threads)]


def _write(path: Path, text: str, number: int, go: int, pipe: int) -> None:
    def wait() -> None:
        send(pipe, read=number)
        os.read(go, 1)

    (outcome,) = remember_during(path, make_message(text, number), wait)
    send(pipe, status=outcome.status)


def test_only_one_of_two_processes_stores_the_same_text(path: Path, other: MemoryManager) -> None:
    gates = [os.pipe(), os.pipe()]
    texts = [FIRST, SECOND]
    children = [Child(partial(_write, path, texts[n], n, gates[n][0])) for n in range(2)]
    received = [child.messages(time.monotonic() + TIMEOUT_S) for child in children]
    assert [next(each) for each in received] == [{"read": 0}, {"read": 1}]
    for _, gate in gates:
        os.write(gate, b"!")
    statuses = sorted(str(next(each).get("status")) for each in received)
    for child in children:
        list(child.kill())
    for reader, writer in gates:
        os.close(reader)
        os.close(writer)
    assert statuses == ["duplicate", "stored"]
    assert len(contents(other)) == 1

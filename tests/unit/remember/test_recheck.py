"""Told nearly the same at the same moment: one memory comes of it, whoever is told."""

from __future__ import annotations

import os
import sqlite3
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
from tests.crash.children import Child
from tests.crash.writer import send

FIRST = "My sister Nora loves long hiking weeks in the Swiss Alps every summer."
SECOND = "My sister Nora loves hiking weeks in the Swiss Alps every summer"
PATIENCE_S = 60.0


class Interrupted(HashEmbedder):
    """Does something else first: what is embedded was read before, and is written after."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__(32)
        self._meanwhile: Callable[[], object] | None = meanwhile

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return super().embed(texts, kind=kind)


def opened(path: Path, embedder: HashEmbedder | None = None) -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=embedder or HashEmbedder(32))


def said(text: str, number: int = 1, *, role: str = "user") -> Message:
    return Message(role, text, f"m{number}", name="Ana" if role == "user" else None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


@pytest.fixture
def other(path: Path) -> Iterator[MemoryManager]:
    with opened(path) as manager:
        yield manager


def told_while(path: Path, message: Message, meanwhile: Callable[[], object], **scope: Any) -> list[Outcome]:
    """How a message ends that is read, then something else happens, then it is written."""
    with opened(path, Interrupted(meanwhile)) as manager:
        return manager.remember(message, user="ana", **scope)


def contents(manager: MemoryManager) -> list[str]:
    return [memory.content for memory in manager.list_memories(user="ana")]


def ledger(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        return [row[0] for row in connection.execute("SELECT message_id FROM messages ORDER BY seq")]


def test_what_another_writer_has_stored_by_now_is_no_news(path: Path, other: MemoryManager) -> None:
    (end,) = told_while(path, said(SECOND, 2), lambda: other.remember(said(FIRST), user="ana"))
    assert (end.status, end.rule, end.message_id) == ("duplicate", "near_duplicate", "m2")
    assert end.memory is not None
    assert end.memory.content == FIRST
    assert contents(other) == [FIRST]
    assert ledger(path) == ["m1", "m2"]


def test_an_answer_that_repeats_it_is_an_echo(path: Path, other: MemoryManager) -> None:
    answer = said("Nora, your sister, loves long hiking weeks in the Swiss Alps every summer.", 2, role="assistant")
    (end,) = told_while(path, answer, lambda: other.remember(said(FIRST), user="ana"))
    assert (end.status, end.rule) == ("rejected", "echo")
    assert contents(other) == [FIRST]


def test_news_stays_news(path: Path, other: MemoryManager) -> None:
    (end,) = told_while(path, said("I keep 14 hives in Porto.", 2), lambda: other.remember(said(FIRST), user="ana"))
    assert end.status == "stored"


def test_other_sessions_and_users_are_not_looked_at(path: Path, other: MemoryManager) -> None:
    def elsewhere() -> None:
        other.remember(said(FIRST), user="ana", session="one")
        other.remember(said(FIRST), user="bob")

    (end,) = told_while(path, said(SECOND, 2), elsewhere, session="two")
    assert end.status == "stored"


def test_what_was_stored_and_deleted_again_is_news(path: Path, other: MemoryManager) -> None:
    def come_and_go() -> None:
        (end,) = other.remember(said(FIRST), user="ana")
        assert end.memory is not None
        other.delete(end.memory.id, user="ana")

    (end,) = told_while(path, said(SECOND, 2), come_and_go)
    assert end.status == "stored"


def test_the_rest_of_a_message_is_kept(path: Path, other: MemoryManager) -> None:
    text = f"{FIRST} My password is hunter2! The lease of the office runs until 2031."
    known = "The lease of the office runs until 2031"
    with opened(path, Interrupted(lambda: other.remember(said(known, 7), user="ana"))) as manager:
        ends = manager.remember(said(text), user="ana")
    assert [(end.status, end.rule) for end in ends] == [
        ("stored", ""),
        ("rejected", "secret"),
        ("duplicate", "duplicate"),
    ]
    assert contents(other) == [known, FIRST]
    assert ledger(path) == ["m7", "m1"]


def test_of_many_threads_that_read_before_any_wrote_one_stores_it(path: Path) -> None:
    threads = 6
    together = threading.Barrier(threads)

    class Gathered(HashEmbedder):
        def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
            together.wait(PATIENCE_S)
            return super().embed(texts, kind=kind)

    with opened(path, Gathered(32)) as manager, ThreadPoolExecutor(threads) as pool:
        ends = pool.map(lambda n: manager.remember(said(FIRST, n), user="ana")[0], range(threads))
        assert sorted(end.status for end in ends) == ["duplicate"] * (threads - 1) + ["stored"]
        assert contents(manager) == [FIRST]
    assert sorted(ledger(path)) == [f"m{n}" for n in range(threads)]


def _write(path: Path, text: str, number: int, go: int, pipe: int) -> None:
    def wait() -> None:
        send(pipe, read=number)
        os.read(go, 1)

    (end,) = told_while(path, said(text, number), wait)
    send(pipe, status=end.status)


def test_of_two_processes_that_read_before_either_wrote_one_stores_it(path: Path, other: MemoryManager) -> None:
    gates = [os.pipe(), os.pipe()]
    texts = [FIRST, FIRST.replace("loves", "really loves")]  # each says the same as the other
    children = [Child(partial(_write, path, texts[n], n, gates[n][0])) for n in range(2)]
    heard = [child.messages(time.monotonic() + PATIENCE_S) for child in children]
    assert [next(each) for each in heard] == [{"read": 0}, {"read": 1}]
    for _, gate in gates:
        os.write(gate, b"!")
    ended = sorted(str(next(each).get("status")) for each in heard)
    for child in children:
        list(child.kill())
    for ends in gates:
        os.close(ends[0])
        os.close(ends[1])
    assert ended == ["duplicate", "stored"]
    assert len(contents(other)) == 1

"""Run Memoranda on a question set, through its public API only."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from evaluation.sets import Question, QuestionSet, Turn
from evaluation.vectors import CachedVectors
from memoranda import MemoryManager, Message

DEPTH = 50
"""Hits per question: a session is ranked by all of its hits, so more hits than the metrics use are needed."""
_PAGE = 1000


def open_store(store: Path, embedder: CachedVectors | None) -> MemoryManager:
    return MemoryManager(db_url=f"sqlite:///{store}", embedder=embedder)


def ingest(manager: MemoryManager, questions: QuestionSet) -> Iterator[tuple[int, float]]:
    """Remember every turn, session by session; yield (number of turns, seconds) per session."""
    for scope, turns in questions.scopes.items():
        for session, group in groupby(turns, key=lambda turn: turn.session):
            messages = [_to_message(turn) for turn in group]
            started = time.perf_counter()
            manager.remember(messages, user=scope, session=session)
            yield len(messages), time.perf_counter() - started


def ask(manager: MemoryManager, question: Question, mode: str | None, *, user_turns: bool) -> dict[str, Any]:
    """Recall for one question, and return the answer as JSON data; with `user_turns`, also a recall of user turns."""
    with _archived(manager, question):
        started = time.perf_counter()
        found = manager.recall(
            question.text, user=question.scope, limit=DEPTH, now=question.asked_at, mode=mode, explain=True
        )
    elapsed = (time.perf_counter() - started) * 1000
    answer: dict[str, Any] = {
        "turns": [hit.message_id for hit in found],
        "sessions": list(found.sessions),
        "answerable": found.answerable,
        "top": found[0].score if found else 0.0,
        "ms": elapsed,
        "signals": found.explanation.signals if found.explanation else {},
    }
    if user_turns:
        of_user = manager.recall(
            question.text,
            user=question.scope,
            limit=20,
            now=question.asked_at,
            mode=mode,
            where={"speaker": "user"},
        )
        answer["user_turns"] = [hit.message_id for hit in of_user]
    return answer


@contextmanager
def _archived(manager: MemoryManager, question: Question) -> Iterator[None]:
    """Archive the memories of the turns that a question must not find, and restore them."""
    ids, after = list[int](), 0
    while question.hidden and (page := manager.list_memories(_PAGE, after, user=question.scope)):
        ids += [memory.id for memory in page if memory.message_id in question.hidden]
        after = page[-1].id
    for memory_id in ids:
        manager.archive(memory_id, user=question.scope)
    yield
    for memory_id in ids:
        manager.restore(memory_id, user=question.scope)


def _to_message(turn: Turn) -> Message:
    return Message(role=turn.role, name=turn.speaker, content=turn.text, timestamp=turn.said_at, message_id=turn.id)

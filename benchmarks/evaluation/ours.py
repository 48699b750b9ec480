"""Memoranda under test, through its public API alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from evaluation.sets import Question, QuestionSet, Turn
from evaluation.vectors import KeptVectors
from memoranda import MemoryManager, Message

DEPTH = 50
"""Hits asked for where sessions are ranked: a session stands where its best hit stands."""


def open_store(store: Path, embedder: KeptVectors | None) -> MemoryManager:
    return MemoryManager(db_url=f"sqlite:///{store}", embedder=embedder)


def ingest(manager: MemoryManager, questions: QuestionSet) -> Iterator[tuple[int, float]]:
    """Remembers every turn, session by session; gives (turns, seconds) as it goes."""
    for scope, turns in questions.scopes.items():
        for session, group in groupby(turns, key=lambda turn: turn.session):
            said = [_message(turn) for turn in group]
            started = time.perf_counter()
            manager.remember(said, user=scope, session=session)
            yield len(said), time.perf_counter() - started


def ask(manager: MemoryManager, question: Question, mode: str | None, *, users_apart: bool) -> dict[str, Any]:
    """What one question brings back, as data that can be written as JSON."""
    started = time.perf_counter()
    found = manager.recall(
        question.text, user=question.scope, limit=DEPTH, now=question.asked_at, mode=mode, explain=True
    )
    elapsed = (time.perf_counter() - started) * 1000
    answer: dict[str, Any] = {
        "turns": [hit.message_id for hit in found],
        "sessions": list(dict.fromkeys(hit.session for hit in found)),
        "answerable": found.answerable,
        "top": found[0].score if found else 0.0,
        "ms": elapsed,
        "signals": found.explanation.signals if found.explanation else {},
    }
    if users_apart:
        said = manager.recall(
            question.text,
            user=question.scope,
            limit=20,
            now=question.asked_at,
            mode=mode,
            where={"speaker": "user"},
        )
        answer["user_turns"] = [hit.message_id for hit in said]
    return answer


def _message(turn: Turn) -> Message:
    return Message(role=turn.role, name=turn.speaker, content=turn.text, timestamp=turn.said_at, message_id=turn.id)

"""The question sets, read from where they lie: LoCoMo and LongMemEval-S as one turn and one question a line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

LOCOMO, LONGMEMEVAL = "locomo-dev", "longmemeval-s-dev"
_POOLED = 10


@dataclass(frozen=True, slots=True)
class Turn:
    """One message, as it is remembered."""

    id: str
    session: str
    said_at: datetime
    role: str
    speaker: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and which turns and sessions hold its answer."""

    id: str
    scope: str
    text: str
    asked_at: datetime
    category: str
    gold: tuple[str, ...]
    gold_sessions: tuple[str, ...]
    answerable: bool


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Conversations by scope, and the questions asked of them."""

    name: str
    scopes: dict[str, list[Turn]]
    questions: list[Question]

    def user_gold(self, question: Question) -> tuple[str, ...]:
        said = {turn.id for turn in self.scopes[question.scope] if turn.role == "user"}
        return tuple(id for id in question.gold if id in said)


def load(name: str, data: Path) -> QuestionSet:
    """A set by name: locomo, longmemeval, pooled, or pooled-all."""
    if name == "locomo":
        return _locomo(data / LOCOMO)
    rows, questions = _lines(data / LONGMEMEVAL / "corpus.jsonl.gz"), list(_longmemeval_questions(data))
    sessions: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["text"].strip():
            sessions.setdefault(row["session"], []).append(row)
    groups = {"longmemeval": len(questions), "pooled": _POOLED, "pooled-all": 1}[name]
    return _longmemeval(name, sessions, questions, min(groups, len(questions)))


def _locomo(folder: Path) -> QuestionSet:
    scopes: dict[str, list[Turn]] = {}
    for row in _lines(folder / "corpus.jsonl.gz"):
        shown = f"{row['text']} [{row['caption']}]" if row.get("caption") else row["text"]
        turn = Turn(row["id"], row["session"], _moment(row["ts"]), "user", row["speaker"], shown)
        scopes.setdefault(row["scope"], []).append(turn)
    questions = [_question(row, row["scope"], row["category"] != "adversarial") for row in _questions(folder)]
    return QuestionSet("locomo", scopes, questions)


def _longmemeval_questions(data: Path) -> Iterator[dict[str, Any]]:
    yield from _questions(data / LONGMEMEVAL)


def _longmemeval(
    name: str, sessions: dict[str, list[dict[str, Any]]], rows: list[dict[str, Any]], groups: int
) -> QuestionSet:
    """Every `groups`-th question shares a scope: one scope a question, or several haystacks poured together."""
    scopes: dict[str, list[Turn]] = {}
    questions = []
    for group in range(groups):
        haystack: dict[str, str] = {}
        for row in rows[group::groups]:
            for session, date in row["haystack"]:
                haystack.setdefault(session, date)
            questions.append(_question(row, f"{name}-{group}", "abstention" not in row["flags"]))
        scopes[f"{name}-{group}"] = [turn for item in haystack.items() for turn in _turns(*item, sessions)]
    return QuestionSet(name, scopes, questions)


def _turns(session: str, date: str, sessions: dict[str, list[dict[str, Any]]]) -> Iterator[Turn]:
    start = _moment(date)
    for row in sessions[session]:
        yield Turn(row["id"], session, start + timedelta(seconds=row["n"]), row["role"], None, row["text"])


def _question(row: dict[str, Any], scope: str, answerable: bool) -> Question:
    gold, gold_sessions = tuple(row["gold"]), tuple(row["gold_sessions"])
    return Question(row["id"], scope, row["text"], _moment(row["ts"]), row["category"], gold, gold_sessions, answerable)


def _questions(folder: Path) -> Iterable[dict[str, Any]]:
    return _lines(folder / "queries.jsonl.gz")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)

"""LongMemEval's knowledge-update questions: whether the newer evidence ranks above the older."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from evaluation.sets import LONGMEMEVAL, Question, QuestionSet, Turn, load
from evaluation.truth_runs import fresh_manager
from memoranda import MemoryManager, Message
from memoranda.embedding.base import Embedder

_LIMIT = 100


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """The ranks of the older and the newer evidence of one question; None when it was not found."""

    id: str
    older: int | None
    newer: int | None

    @property
    def passed(self) -> bool:
        return self.newer is not None and (self.older is None or self.newer < self.older)


def load_updates(data: Path) -> tuple[QuestionSet, list[Question]]:
    """Return the set, and its knowledge-update questions with at least two evidence turns."""
    questions = load("longmemeval", data.parent if data.name == LONGMEMEVAL else data)
    wanted = [item for item in questions.questions if item.category == "knowledge-update" and len(item.gold) > 1]
    return questions, wanted


def run_update(questions: QuestionSet, question: Question, embedder: Embedder, others: int) -> UpdateResult:
    """Store the evidence sessions and some other sessions of the question, and rank its evidence."""
    turns = _select(questions.scopes[question.scope], question.gold_sessions, others)
    said_at = {turn.id: turn.said_at for turn in turns}
    gold = sorted(question.gold, key=lambda id: said_at[id])
    with fresh_manager(embedder) as (manager, _):
        for session, group in groupby(turns, key=lambda turn: turn.session):
            manager.remember([_to_message(turn) for turn in group], user="u", session=session)
        return UpdateResult(question.id, *_rank(manager, question, gold))


def _rank(manager: MemoryManager, question: Question, gold: Sequence[str]) -> tuple[int | None, int | None]:
    hits = manager.recall(question.text, user="u", limit=_LIMIT, now=question.asked_at)
    ids = [hit.message_id for hit in hits]
    older, newer = (ids.index(id) if id in ids else None for id in (gold[0], gold[-1]))
    return older, newer


def _select(turns: Sequence[Turn], gold_sessions: Sequence[str], others: int) -> list[Turn]:
    """Return the turns of the evidence sessions and of the first `others` other sessions, in order of time."""
    sessions = list(dict.fromkeys(turn.session for turn in turns))
    kept = {*gold_sessions, *[session for session in sessions if session not in gold_sessions][:others]}
    return sorted((turn for turn in turns if turn.session in kept), key=lambda turn: turn.said_at)


def _to_message(turn: Turn) -> Message:
    return Message(role=turn.role, content=turn.text, timestamp=turn.said_at, message_id=turn.id)

"""Rerank the best hits with a cross-encoder, which reads question and text together: slower and better than vectors."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from memoranda.embedding.cross_encoder import LARGE, MAX_CHARACTERS, SMALL, open_cross_encoder
from memoranda.fork_safety import register_fork_handler
from memoranda.recall.rank import Ranking, to_scores
from memoranda.text import content_hash
from memoranda.types import ArmScore, FloatArray, Hit, Memory, Scope

if TYPE_CHECKING:
    from memoranda.storage.base import Store


@dataclass(frozen=True, slots=True)
class RerankPlan:
    """How a mode reranks."""

    model: str
    limit: int
    """How many of the best hits are reranked."""
    share: float
    """Share of the model's log-odds that is added to the sum: it reads better, but knows no speaker and no time."""
    alone: float
    """Share of the score of a reply alone; the rest is its score after the question that it replies to. What replies to
    no question is read alone. With 0, each hit is read once."""
    least_dialogue: float = 0.0
    """The share of the first hits that must be turns between people; with fewer, nothing is reranked."""
    characters: int | None = None
    """How much is read at most: of long texts, fewer hits are reranked, so that the time stays bounded."""


DEFAULT: Final = RerankPlan(SMALL, limit=15, share=0.15, alone=0.0, least_dialogue=0.5, characters=6_000)
BEST: Final = RerankPlan(LARGE, limit=20, share=0.3, alone=0.25)
_CACHED_PAIRS: Final = 20_000
_ASKS: Final = re.compile("[?\uff1f\u061f]")


class Reranking:
    """Reorders the best hits of a ranking; the model is loaded at the first call."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._pairs: OrderedDict[bytes, float] = OrderedDict()
        register_fork_handler(self)

    def before_fork(self) -> None:
        """Hold the cache, so that it is whole in the child."""
        self._lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:  # noqa: ARG002 - parent and child go on alike
        """Let others use the cache again."""
        self._lock.release()

    def rerank(
        self, plan: RerankPlan, question: str, scope: Scope, ranking: Ranking, hits: tuple[Hit, ...]
    ) -> tuple[Hit, ...]:
        """Return the same hits with the first ones reordered; scores still fall from first to last.

        Args:
            plan: Which model reads how many hits.
            question: The text of the question.
            scope: The scope in which the turns before the hits are read.
            ranking: The ranking that the hits come from.
            hits: The hits, best first.
        """
        first = hits[: plan.limit]
        rows: list[int] = ranking.candidates.rows_of(np.array([hit.id for hit in first], dtype=np.int64)).tolist()
        if not first or ranking.candidates.dialogue[rows].mean() < plan.least_dialogue:
            return hits
        readings = cut_readings(plan, self._make_readings(plan, scope, ranking, rows, first))
        count = readings[-1].number + 1
        first, rest, rows = hits[:count], hits[count:], rows[:count]
        texts = [reading.text for reading in readings]
        log_odds = np.zeros(len(first), dtype=np.float32)
        for reading, odds in zip(readings, self._score(plan.model, scope.tenant, question, texts), strict=True):
            log_odds[reading.number] += reading.weight * odds
        ordered = reorder(first, ranking.sums[rows], log_odds, plan.share)
        lowest = ordered[-1].score
        return (*ordered, *(replace(hit, score=min(hit.score, lowest)) for hit in rest))

    def _make_readings(
        self, plan: RerankPlan, scope: Scope, ranking: Ranking, rows: Sequence[int], hits: Sequence[Hit]
    ) -> list[PairText]:
        """Return what is read for each hit: its text, or its text after the question that it replies to, or both."""
        candidates = ranking.candidates
        previous = [candidates.previous(row) if candidates.dialogue[row] else None for row in rows]
        ids = {row: int(candidates.ids[row]) for row in previous if row is not None}
        turns = dict(zip(ids, self._store.get(scope, list(ids.values())), strict=True))
        readings: list[PairText] = []
        for number, (row, hit) in enumerate(zip(previous, hits, strict=True)):
            text, turn = _to_text(hit.memory), None if row is None else turns[row]
            asked = turn if turn and _ASKS.search(turn.content) else None
            weight = plan.alone if asked else 1.0
            if weight:
                readings.append(PairText(number, weight, text))
            if asked:
                readings.append(PairText(number, 1 - weight, f"{_to_text(asked)} {text}"))
        return readings

    def _score(self, model: str, tenant: str, question: str, texts: Sequence[str]) -> list[float]:
        """Return the score of each text, from the tenant's part of the cache where it was scored before."""
        keys = [content_hash(f"{model}\0{tenant}\0{question}\0{text}") for text in texts]
        with self._lock:
            found = {key: self._pairs[key] for key in keys if key in self._pairs}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            scores = open_cross_encoder(model).scores(question, list(missing.values()))
            fresh = dict(zip(missing, scores.tolist(), strict=True))
            with self._lock:
                self._pairs.update(fresh)
                while len(self._pairs) > _CACHED_PAIRS:
                    self._pairs.popitem(last=False)
            found.update(fresh)
        return [found[key] for key in keys]


@dataclass(frozen=True, slots=True)
class PairText:
    """A text that the model reads for a hit, and how much of the hit's score it makes."""

    number: int
    weight: float
    text: str


def cut_readings(plan: RerankPlan, readings: list[PairText]) -> list[PairText]:
    """Return what is read for the first hits that the plan allows by length, at least for the best one."""
    if plan.characters is None:
        return readings
    lengths = np.cumsum([min(len(reading.text), MAX_CHARACTERS) for reading in readings])
    beyond = [reading.number for reading, end in zip(readings, lengths, strict=True) if end > plan.characters]
    count = max(1, min(beyond, default=len(readings)))
    return [reading for reading in readings if reading.number < count]


def _to_text(memory: Memory) -> str:
    return f"{memory.speaker}: {memory.content}" if memory.speaker else memory.content


def reorder(hits: Sequence[Hit], sums: FloatArray, log_odds: FloatArray, share: float) -> list[Hit]:
    """Return the hits by their sums and a share of the model's log-odds, best first, with new scores and reasons.

    What counts is how far the log-odds are from their mean: they tell the hits apart, and the level of the scores stays
    that of hits that no model read.
    """
    gains = np.float32(share) * (log_odds - log_odds.mean())
    totals = sums + gains
    scores = to_scores(totals).tolist()
    ranks = 1 + np.count_nonzero(log_odds[None, :] > log_odds[:, None], axis=1)
    probabilities = 1.0 / (1.0 + np.exp(-log_odds.astype(np.float64)))
    ordered = []
    for number in np.argsort(-totals, kind="stable").tolist():
        reason = ArmScore("reranker", int(ranks[number]), float(probabilities[number]), float(gains[number]))
        ordered.append(replace(hits[number], score=scores[number], why=(*hits[number].why, reason)))
    return ordered

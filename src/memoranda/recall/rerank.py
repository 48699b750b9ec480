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
from memoranda.index.partition import MACHINE_ROLES
from memoranda.recall.rank import Ranking, to_scores
from memoranda.text.sentences import split_sentences
from memoranda.text.terms import content_hash
from memoranda.threads import register_fork_handler
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
    only_people: bool = False
    """Whether only what people say is reranked: turns between them, or their own words alone."""
    characters: int | None = None
    """How much is read at most: of long texts, fewer hits are reranked, so that the time stays bounded."""
    whole_turns: bool = False
    """Whether each hit is read after the whole turn before it, not only after its questions: longer, and better."""


DEFAULT: Final = RerankPlan(SMALL, limit=20, share=0.2, only_people=True, characters=6_000)
BEST: Final = RerankPlan(LARGE, limit=30, share=0.6, whole_turns=True)
_HALF: Final = 0.5
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
        self, plan: RerankPlan, question: str, scope: Scope, ranking: Ranking, hits: Sequence[Hit], sums: FloatArray
    ) -> tuple[Hit, ...]:
        """Return the same hits with the first ones reordered; scores still fall from first to last.

        Args:
            plan: Which model reads how many hits.
            question: The text of the question.
            scope: The scope in which the turns before the hits are read.
            ranking: The ranking that the hits come from.
            hits: The hits, best first; at least two.
            sums: The sum of each hit, in the order of the hits.
        """
        first = hits[: plan.limit]
        rows: list[int] = ranking.candidates.rows_of(np.array([hit.id for hit in first], dtype=np.int64)).tolist()
        if plan.only_people and not _is_said_by_people(first, ranking.candidates.dialogue[rows]):
            return tuple(hits)
        before = self._turns_before(scope, ranking, rows)
        read = [_after(turn, hit, whole=plan.whole_turns) for turn, hit in zip(before, first, strict=True)]
        texts = cut_texts(plan, read)
        log_odds = self._score(plan.model, scope.tenant, question, texts)
        ordered = reorder(hits[: len(texts)], sums[: len(texts)], log_odds, plan.share)
        lowest = ordered[-1].score
        return (*ordered, *(replace(hit, score=min(hit.score, lowest)) for hit in hits[len(texts) :]))

    def _turns_before(self, scope: Scope, ranking: Ranking, rows: Sequence[int]) -> list[Memory | None]:
        """Return the turn before each hit, where people take turns."""
        candidates = ranking.candidates
        previous = [candidates.previous(row) if candidates.dialogue[row] else None for row in rows]
        ids = {row: int(candidates.ids[row]) for row in previous if row is not None}
        turns: dict[int | None, Memory | None] = dict(zip(ids, self._store.get(scope, list(ids.values())), strict=True))
        return [turns.get(row) for row in previous]

    def _score(self, model: str, tenant: str, question: str, texts: Sequence[str]) -> FloatArray:
        """Return the log-odds of each text, from the tenant's part of the cache where it was scored before."""
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
        return np.array([found[key] for key in keys], dtype=np.float32)


def _is_said_by_people(hits: Sequence[Hit], dialogue: FloatArray) -> bool:
    """Return whether half of the hits or more are turns between people, or no machine and no document says any."""
    said = all(hit.memory.speaker not in (None, *MACHINE_ROLES) for hit in hits)
    return said or float(dialogue.mean()) >= _HALF


def cut_texts(plan: RerankPlan, texts: list[str]) -> list[str]:
    """Return the first texts that the plan allows by length, at least one."""
    if plan.characters is None:
        return texts
    lengths = np.cumsum([min(len(text), MAX_CHARACTERS) for text in texts])
    return texts[: max(1, int(np.count_nonzero(lengths <= plan.characters)))]


def _after(turn: Memory | None, hit: Hit, *, whole: bool) -> str:
    """Return the text of a hit after the whole turn before it, or after what that asks: the rest of it costs time."""
    text = _to_text(hit.memory)
    if turn is not None and not whole:
        questions = " ".join(sentence for sentence in split_sentences(turn.content) if _ASKS.search(sentence))
        turn = replace(turn, content=questions) if questions else None
    return text if turn is None else f"{_to_text(turn)} {text}"


def _to_text(memory: Memory) -> str:
    return f"{memory.speaker}: {memory.content}" if memory.speaker else memory.content


def reorder(hits: Sequence[Hit], sums: FloatArray, log_odds: FloatArray, share: float) -> list[Hit]:
    """Return the hits by their sums and a share of the model's log-odds, best first, with new scores and reasons.

    What counts is how far the log-odds are from their mean: they tell the hits apart, and the level of the scores stays
    that of hits that no model read. So does their spread: without that, a model that is sure of itself would give the
    first hits a score of 1.00 each.
    """
    gains = np.float32(share) * (log_odds - log_odds.mean())
    totals = sums + gains
    scores = to_scores(_with_spread_of(sums, totals)).tolist()
    ranks = 1 + np.count_nonzero(log_odds[None, :] > log_odds[:, None], axis=1)
    probabilities = 1.0 / (1.0 + np.exp(-log_odds.astype(np.float64)))
    ordered = []
    for number in np.argsort(-totals, kind="stable").tolist():
        reason = ArmScore("reranker", int(ranks[number]), float(probabilities[number]), float(gains[number]))
        ordered.append(replace(hits[number], score=scores[number], why=(*hits[number].why, reason)))
    return ordered


def _with_spread_of(sums: FloatArray, totals: FloatArray) -> FloatArray:
    """Return totals with the spread of sums around their mean, where they are spread more widely."""
    if totals.std() <= sums.std():
        return totals
    middle = totals.mean()
    narrowed: FloatArray = middle + (totals - middle) * (sums.std() / totals.std())
    return narrowed

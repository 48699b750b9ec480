"""What the arms found → one ranking. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.types import ArmScore, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm's view of the candidates: a score from 0 to 1 each, and how much the arm counts."""

    name: str
    weight: float
    scores: FloatArray
    """One a candidate, 0 where the arm has nothing to say."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in its place, with what each arm said of it."""

    id: int
    score: float
    why: tuple[ArmScore, ...]


def fuse(ids: IntArray, arms: Sequence[Arm], limit: int) -> list[Ranked]:
    """The best candidates by the weighted mean of the arms' scores; equal ones by id.

    Normalised scores are combined rather than ranks: how much better the first is than the second
    is what tells a good arm from a guessing one. One arm alone can carry a candidate in.
    """
    total = sum(arm.weight for arm in arms)
    if not len(ids) or not total:
        return []
    scores = np.sum([arm.weight * arm.scores for arm in arms], axis=0) / total
    best = np.lexsort((ids, -scores))[:limit]
    ranks = [_ranks(ids, arm.scores) for arm in arms]
    return [
        Ranked(
            int(ids[i]),
            float(min(1.0, max(0.0, scores[i]))),
            tuple(
                ArmScore(arm.name, int(rank[i]), float(arm.scores[i]))
                for arm, rank in zip(arms, ranks, strict=True)
                if arm.scores[i] > 0
            ),
        )
        for i in best
        if scores[i] > 0
    ]


def _ranks(ids: IntArray, scores: FloatArray) -> IntArray:
    """The place of each candidate in one arm, 1 being the best."""
    ranks = np.empty(len(ids), dtype=np.int64)
    ranks[np.lexsort((ids, -scores))] = np.arange(1, len(ids) + 1)
    return ranks

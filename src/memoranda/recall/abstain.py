"""Estimate how likely it is that memory holds an answer at all: a fixed logistic over three signals."""

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

from memoranda.recall.query import ROLES
from memoranda.recall.rank import Ranking
from memoranda.types import IntArray

_WEIGHTS = {"meaning": 2.0, "words": 2.0, "other_speaker": -1.5}
"""Fitted on LoCoMo's adversarial questions, rounded, and checked on LongMemEval's: see `benchmarks/quality.py`."""
_BIAS = -1.0


def answer_signals(
    ranking: Ranking, speakers: tuple[str, ...], allowed: NDArray[np.bool_] | None = None
) -> dict[str, float]:
    """Return the inputs of `answerable`; empty when there is no memory to answer from."""
    rows = np.arange(len(ranking.candidates)) if allowed is None else np.flatnonzero(allowed)
    if not len(rows):
        return {}
    best = rows[int(np.argmax(ranking.sums[rows]))]
    raw = {arm.name: arm.raw for arm in ranking.arms}
    names_one_person = len(speakers) == 1 and speakers[0] not in ROLES
    return {
        "top": float(ranking.sums[best]),
        "meaning": float(raw["dense"][best]) if "dense" in raw else 0.0,
        "words": float(raw["lexical"][rows].max()),
        "other_speaker": _lead_of_other_speakers(ranking, rows) if names_one_person else 0.0,
    }


def answerable(signals: dict[str, float]) -> float:
    """Return a probability; 0 when there is no memory to answer from."""
    if not signals:
        return 0.0
    return 1.0 / (1.0 + exp(-_BIAS - sum(weight * signals[name] for name, weight in _WEIGHTS.items())))


def _lead_of_other_speakers(ranking: Ranking, rows: IntArray) -> float:
    """Return how much the best memory leads the best one of the person asked about: a sign of the wrong person."""
    said = rows[ranking.gains["speaker"][rows] > 0]
    if not len(said):
        return 0.0
    return float(ranking.content[rows].max() - ranking.content[said].max())

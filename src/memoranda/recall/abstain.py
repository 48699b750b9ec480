"""How likely it is that memory holds an answer at all: a fixed logistic over a few signals. Pure."""

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

from memoranda.recall.query import ROLES
from memoranda.recall.rank import Ranking

_WEIGHTS = {"meaning": 2.0, "words": 2.0, "other_speaker": -1.5}
"""Fitted on LoCoMo's adversarial questions, rounded, and looked at on LongMemEval's: `benchmarks/quality.py`."""
_BIAS = -1.0


def signals(ranking: Ranking, speakers: tuple[str, ...], allowed: NDArray[np.bool_] | None = None) -> dict[str, float]:
    """What `answerable` is made from; empty when there is nothing to answer from."""
    rows = np.arange(len(ranking.field)) if allowed is None else np.flatnonzero(allowed)
    if not len(rows):
        return {}
    best = rows[int(np.argmax(ranking.sums[rows]))]
    raw = {arm.name: arm.raw for arm in ranking.arms}
    return {
        "top": float(ranking.sums[best]),
        "meaning": float(raw["dense"][best]) if "dense" in raw else 0.0,
        "words": float(raw["lexical"][rows].max()),
        "other_speaker": _said_by_another(ranking, rows) if _is_name(speakers) else 0.0,
    }


def answerable(found: dict[str, float]) -> float:
    """0…1; 0 when there is nothing to answer from."""
    if not found:
        return 0.0
    return 1.0 / (1.0 + exp(-_BIAS - sum(weight * found[name] for name, weight in _WEIGHTS.items())))


def _is_name(speakers: tuple[str, ...]) -> bool:
    return len(speakers) == 1 and speakers[0] not in ROLES


def _said_by_another(ranking: Ranking, rows: NDArray[np.int64]) -> float:
    """How much better the best of all fits than the best of the person asked about: a sign of the wrong person."""
    said = rows[ranking.gains["speaker"][rows] > 0]
    if not len(said):
        return 0.0
    return float(ranking.content[rows].max() - ranking.content[said].max())

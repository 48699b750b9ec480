"""The arms: each says how far above the usual a memory fits, within the scope alone. Pure.

An arm's numbers are standard deviations above the scope's own mean, so that arms of any scale can be added
up, and how much better the first is than the second is kept. In a small scope there is little to take a mean
of: what is usual elsewhere counts as so many more memories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from memoranda.index.base import TextIndex, VectorIndex
from memoranda.recall.base import Field, align
from memoranda.types import FloatArray, IntArray

DENSE_WEIGHT = 0.7
LEXICAL_WEIGHT = 0.3
_PRIOR_COUNT = 20
_PRIOR_SPREAD = 0.1
"""The usual deviation of cosines, as a share of what lies between unrelated and equal."""
_PRIOR_WORDS = (0.03, 0.08)
"""The usual mean and deviation of the share of a question's word weight that a text holds."""


@dataclass(frozen=True, slots=True)
class Arm:
    """What one arm says of each memory in the field."""

    name: str
    raw: FloatArray
    """0…1: how much of a fit, on the arm's own scale."""
    scores: FloatArray
    """Standard deviations above the usual."""


def dense_arm(query: FloatArray, vectors: VectorIndex, field: Field, usual: IntArray, baseline: float) -> Arm:
    """How close in meaning; `usual` are the ids that the mean is taken over."""
    cosines = vectors.scores(query, field.ids)
    sample = cosines if usual is field.ids else vectors.scores(query, usual)
    sample = sample[sample > -1.0]  # -1 stands for a memory that has no vector yet
    mean, deviation = _moments(sample, len(sample), (baseline, _PRIOR_SPREAD * (1.0 - baseline)))
    scores = np.where(cosines > -1.0, (cosines - mean) / deviation, 0.0)
    raw = np.clip((cosines - baseline) / (1.0 - baseline), 0.0, 1.0)
    return Arm("dense", raw.astype(np.float32), scores.astype(np.float32))


def lexical_arm(terms: Sequence[str], texts: TextIndex, field: Field) -> Arm:
    """How much of what the question's words weigh is in the text."""
    ceiling = texts.ceiling(terms)
    if not ceiling:
        return Arm("lexical", np.zeros(len(field), np.float32), np.zeros(len(field), np.float32))
    ids, found = texts.scores(terms)
    shares = align(field, ids, found) / np.float32(ceiling)
    sample = shares if field.total == len(field) else found / np.float32(ceiling)
    mean, deviation = _moments(sample, field.total, _PRIOR_WORDS)
    # Few texts share any word with most questions: one rare word must not look like a miracle.
    scores = (shares - mean) / max(deviation, _PRIOR_WORDS[1])
    return Arm("lexical", np.minimum(shares, 1.0), scores.astype(np.float32))


def content_scores(arms: Sequence[Arm]) -> FloatArray:
    """The arms as one number a memory; one arm alone can carry a memory in."""
    weights = {"dense": DENSE_WEIGHT, "lexical": LEXICAL_WEIGHT}
    total = sum(weights[arm.name] for arm in arms)
    mixed: FloatArray = np.sum([weights[arm.name] / total * arm.scores for arm in arms], axis=0, dtype=np.float32)
    return mixed


def _moments(sample: FloatArray, count: int, prior: tuple[float, float]) -> tuple[float, float]:
    """Mean and deviation of `count` numbers of which the sample holds all that are not 0, and the prior's."""
    usual, spread = prior
    numbers = sample.astype(np.float64)
    mean = (float(numbers.sum()) + _PRIOR_COUNT * usual) / (count + _PRIOR_COUNT)
    squares = float(numbers @ numbers) + _PRIOR_COUNT * (usual * usual + spread * spread)
    return mean, sqrt(max(squares / (count + _PRIOR_COUNT) - mean * mean, 1e-12))

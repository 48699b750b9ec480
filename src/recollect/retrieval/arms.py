"""The arms: each looks inside the scope only, and says how well a memory fits, from 0 to 1."""

from __future__ import annotations

import numpy as np

from recollect.index.base import TextIndex, VectorIndex
from recollect.retrieval.fuse import Arm
from recollect.retrieval.query import Query
from recollect.types import FloatArray, IntArray

DENSE_WEIGHT = 0.6
LEXICAL_WEIGHT = 0.4
_POOL = 100
"""The candidates an arm brings, at least; many more than asked for, since the other arm may prefer them."""


def candidates(query: Query, texts: TextIndex, vectors: VectorIndex | None, among: IntArray | None) -> IntArray:
    """The ids that any arm brings, each once."""
    pool = max(_POOL, 4 * query.limit)
    found = [texts.search(query.terms, pool, among=among)[0]]
    if vectors is not None and query.vector is not None:
        found.append(vectors.search(query.vector, pool, among=among)[0])
    return np.unique(np.concatenate(found))


def lexical_arm(query: Query, texts: TextIndex, ids: IntArray) -> Arm:
    """How much of what the question's words weigh is in the text."""
    matched, scores = texts.scores(query.terms)
    aligned = np.zeros(len(ids), dtype=np.float32)
    if len(matched):
        places = np.minimum(np.searchsorted(matched, ids), len(matched) - 1)
        there = matched[places] == ids
        aligned[there] = np.minimum(scores[places[there]] / texts.ceiling(query.terms), 1.0)
    return Arm("lexical", LEXICAL_WEIGHT, aligned)


def dense_arm(query: Query, vectors: VectorIndex, ids: IntArray) -> Arm:
    """How close in meaning, counted from what unrelated texts have in common."""
    assert query.vector is not None
    cosines: FloatArray = vectors.scores(query.vector, ids)
    scaled = (cosines - query.baseline) / (1.0 - query.baseline)
    return Arm("dense", DENSE_WEIGHT, np.clip(scaled, 0.0, 1.0).astype(np.float32))

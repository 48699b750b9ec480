"""Rows for partitions, some of them random."""

from __future__ import annotations

from math import inf

import numpy as np

from memoranda.storage.base import IndexRow, PartitionKey
from memoranda.testing.contracts import unit_rows

DIMENSION = 8
ANNA = PartitionKey("default", "anna")
BEN = PartitionKey("default", "ben")


def row(
    number: int,
    *,
    agent: str | None = None,
    session: str | None = None,
    speaker: str | None = None,
    valid_from: float = 0.0,
    valid_to: float = inf,
    expires_at: float = inf,
    terms: str = "",
    vector: bytes | None = None,
) -> IndexRow:
    times = (valid_from, valid_to, expires_at, valid_from, valid_from, inf)
    return IndexRow(number, agent, session, speaker, *times, terms, vector)


def random_row(rng: np.random.Generator, number: int) -> IndexRow:
    return row(
        number,
        agent=[None, "a", "b"][rng.integers(3)],
        session=[None, "s", "t", "u"][rng.integers(4)],
        speaker=[None, "Anna", "Ben"][rng.integers(3)],
        valid_from=float(rng.integers(100)),
        valid_to=[inf, float(rng.integers(100, 200))][rng.integers(2)],
        expires_at=[inf, float(rng.integers(100, 200))][rng.integers(2)],
        terms=" ".join(f"w{word}" for word in rng.integers(0, 30, size=6)),
        vector=unit_rows(rng, 1, DIMENSION).tobytes() if rng.random() < 0.9 else None,
    )

"""Deterministic texts, questions and vectors: the same for every system and every run."""

from __future__ import annotations

import random
from itertools import accumulate

import numpy as np

from peers.base import DIMENSION, FloatArray, Item, Query

SCOPE_SIZE = 100
"""The number of memories per user, at every store size."""

_WORDS_PER_TEXT = 16
_WORDS_PER_QUERY = 5
_BLOCK = 1000
_SYLLABLES = ("ka", "lo", "mi", "ren", "sto", "ba", "tir", "nel", "o", "vas", "du", "pre", "shi", "gan", "ul", "fe")


def _vocabulary(size: int = 4000) -> list[str]:
    rng = random.Random(7)
    words: dict[str, None] = {}
    while len(words) < size:
        words["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4)))] = None
    return list(words)


class Workload:
    """Items 0…count-1, so many per user, and questions about them."""

    def __init__(self, count: int, scope_size: int = SCOPE_SIZE) -> None:
        self.count = count
        self._scope_size = scope_size
        self._words = _vocabulary()
        # Word frequencies as in a natural language, so that common words match in every scope.
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))
        self._vectors = np.concatenate([_unit_block(block) for block in range(-(-count // _BLOCK))])
        self._rows = {self.item(number).text: number for number in range(count)}
        self._query_vectors: dict[str, FloatArray] = {}

    def item(self, number: int) -> Item:
        rng = random.Random(number)
        words = rng.choices(self._words, cum_weights=self._weights, k=_WORDS_PER_TEXT)
        # The number makes each text unique, so that no system merges two of them.
        return Item(text=f"{' '.join(words)} {number}.", user=f"user-{number // self._scope_size}")

    def query(self, seed: int, low: int, high: int) -> Query:
        """Return a question about one of the items low…high-1: some of its words, and a vector close to its vector."""
        rng = random.Random(1_000_003 + seed)
        number = rng.randrange(low, high)
        item = self.item(number)
        words = rng.sample(item.text.split()[:-1], _WORDS_PER_QUERY)
        text = f"{' '.join(words)}? ({seed})"
        self._query_vectors[text] = _add_noise(self._vectors[number], seed)
        return Query(text=text, user=item.user, gold=item.text)

    def wordless_query(self, seed: int, low: int, high: int) -> Query:
        """Return a question with the same vector as `query` and no word of any text: only vectors can answer it."""
        asked = self.query(seed, low, high)
        text = f"xx{seed}yy?"
        self._query_vectors[text] = self._query_vectors[asked.text]
        return Query(text=text, user=asked.user, gold=asked.gold)

    def nearest(self, query: Query, known: int, limit: int) -> set[str]:
        """Return the texts of the query's user, among the first `known` items, whose vectors are nearest to its."""
        first = int(query.user.removeprefix("user-")) * self._scope_size
        numbers = range(first, min(first + self._scope_size, known))
        scores = self._vectors[numbers.start : numbers.stop] @ self._query_vectors[query.text]
        return {self.item(first + int(position)).text for position in np.argsort(-scores)[:limit]}

    def vector(self, text: str) -> FloatArray:
        row = self._rows.get(text)
        return self._query_vectors[text] if row is None else self._vectors[row]


def _unit_block(block: int) -> FloatArray:
    rows = np.random.default_rng(block).standard_normal((_BLOCK, DIMENSION), dtype=np.float32)
    units: FloatArray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return units


def _add_noise(vector: FloatArray, seed: int) -> FloatArray:
    noise = np.random.default_rng(seed).standard_normal(DIMENSION, dtype=np.float32)
    result: FloatArray = vector + 0.5 * noise / np.linalg.norm(noise)
    result /= np.linalg.norm(result)
    return result

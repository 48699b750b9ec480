from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memoranda.embedding.base import EmbedderIdentity, InputKind
from memoranda.embedding.model import CachedEmbedder, CacheStatistics
from memoranda.embedding.static import StaticEmbedder
from memoranda.errors import InvalidInput, Unavailable
from memoranda.types import FloatArray


class Recorded:
    """The static embedder, with a list of what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.down = False
        self._inner = StaticEmbedder()

    @property
    def identity(self) -> EmbedderIdentity:
        return self._inner.identity

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        if self.down:
            raise Unavailable("down")
        self.asked += [f"{kind}:{text}" for text in texts]
        return self._inner.embed(texts, kind=kind)


def test_the_answer_is_that_of_the_model() -> None:
    texts = ["one", "two", "one", "three", "two"]
    cached = CachedEmbedder(Recorded())
    cached.embed(["two"], kind="passage")
    expected = StaticEmbedder().embed(texts, kind="passage")
    assert cached.embed(texts, kind="passage").tobytes() == expected.tobytes()


def test_a_text_is_embedded_once() -> None:
    model = Recorded()
    cached = CachedEmbedder(model)
    cached.embed(["one", "two", "one"], kind="passage")
    cached.embed(["two", "three"], kind="passage")
    assert model.asked == ["passage:one", "passage:two", "passage:three"]
    assert cached.statistics() == CacheStatistics(hits=2, misses=3, entries=3)


def test_a_question_and_a_stored_text_are_kept_apart() -> None:
    model = Recorded()
    cached = CachedEmbedder(model)
    cached.embed(["one"], kind="query")
    cached.embed(["one"], kind="passage")
    assert model.asked == ["query:one", "passage:one"]


def test_what_was_used_longest_ago_goes_first() -> None:
    model = Recorded()
    cached = CachedEmbedder(model, max_entries=2)
    for text in ("one", "two", "one", "three", "one", "two"):
        cached.embed([text], kind="query")
    assert model.asked == ["query:one", "query:two", "query:three", "query:two"]
    assert cached.statistics().entries == 2


def test_a_call_larger_than_the_cache_is_answered_whole() -> None:
    texts = [f"text {number}" for number in range(50)]
    cached = CachedEmbedder(Recorded(), max_entries=10)
    assert cached.embed(texts, kind="query").tobytes() == StaticEmbedder().embed(texts, kind="query").tobytes()
    assert cached.statistics().entries == 10


def test_memory_bounds_the_entries_too() -> None:
    cached = CachedEmbedder(Recorded(), max_entries=1000, max_bytes=5 * (256 * 4 + 300))
    cached.embed([f"text {number}" for number in range(50)], kind="query")
    assert cached.statistics().entries == 5


def test_changing_an_answer_changes_nothing_kept() -> None:
    cached = CachedEmbedder(Recorded())
    for _ in range(2):
        rows = cached.embed(["one"], kind="query")
        assert rows.tobytes() == StaticEmbedder().embed(["one"], kind="query").tobytes()
        rows[:] = 0


def test_a_failure_is_passed_on_and_not_kept() -> None:
    model = Recorded()
    cached = CachedEmbedder(model)
    model.down = True
    with pytest.raises(Unavailable):
        cached.embed(["one"], kind="query")
    model.down = False
    assert cached.embed(["one"], kind="query").shape == (1, 256)
    assert cached.statistics() == CacheStatistics(hits=0, misses=1, entries=1)


def test_clear_keeps_the_counts() -> None:
    cached = CachedEmbedder(Recorded())
    cached.embed(["one"], kind="query")
    cached.clear()
    assert cached.statistics() == CacheStatistics(hits=0, misses=1, entries=0)


def test_threads_share_it_safely() -> None:
    cached = CachedEmbedder(Recorded(), max_entries=20)
    texts = [f"text {number}" for number in range(40)]
    expected = StaticEmbedder().embed(texts, kind="query")

    def ask(start: int) -> bool:
        chosen = [(start + step) % 40 for step in range(15)]
        rows = cached.embed([texts[number] for number in chosen], kind="query")
        return bool(np.array_equal(rows, expected[chosen]))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(200)))
    counted = cached.statistics()
    assert counted.hits + counted.misses == 200 * 15
    assert counted.entries == 20


def test_no_texts_give_no_rows_and_bad_ones_are_refused() -> None:
    cached = CachedEmbedder(Recorded())
    assert cached.embed([], kind="query").shape == (0, 256)
    with pytest.raises(InvalidInput):
        cached.embed([""], kind="query")
    with pytest.raises(InvalidInput, match="max_entries"):
        CachedEmbedder(Recorded(), max_entries=0)

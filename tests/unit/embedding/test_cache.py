from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memoranda.embedding.base import EmbedderIdentity, InputKind
from memoranda.embedding.local import StaticEmbedder
from memoranda.embedding.model import CachedEmbedder, CacheStatistics
from memoranda.errors import InvalidInput, Unavailable
from memoranda.types import FloatArray


class RecordingEmbedder:
    """The static embedder, with a list of its inputs."""

    def __init__(self) -> None:
        self.inputs: list[str] = []
        self.down = False
        self._inner = StaticEmbedder()

    @property
    def identity(self) -> EmbedderIdentity:
        return self._inner.identity

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        if self.down:
            raise Unavailable("down")
        self.inputs += [f"{kind}:{text}" for text in texts]
        return self._inner.embed(texts, kind=kind)


def test_vectors_equal_those_of_the_model() -> None:
    texts = ["one", "two", "one", "three", "two"]
    cached = CachedEmbedder(RecordingEmbedder())
    cached.embed(["two"], kind="passage")
    expected = StaticEmbedder().embed(texts, kind="passage")
    assert cached.embed(texts, kind="passage").tobytes() == expected.tobytes()


def test_each_text_is_embedded_once() -> None:
    model = RecordingEmbedder()
    cached = CachedEmbedder(model)
    cached.embed(["one", "two", "one"], kind="passage")
    cached.embed(["two", "three"], kind="passage")
    assert model.inputs == ["passage:one", "passage:two", "passage:three"]
    assert cached.statistics() == CacheStatistics(hits=2, misses=3, entries=3)


def test_query_and_passage_are_cached_separately() -> None:
    model = RecordingEmbedder()
    cached = CachedEmbedder(model)
    cached.embed(["one"], kind="query")
    cached.embed(["one"], kind="passage")
    assert model.inputs == ["query:one", "passage:one"]


def test_least_recently_used_vector_is_dropped_first() -> None:
    model = RecordingEmbedder()
    cached = CachedEmbedder(model, max_entries=2)
    for text in ("one", "two", "one", "three", "one", "two"):
        cached.embed([text], kind="query")
    assert model.inputs == ["query:one", "query:two", "query:three", "query:two"]
    assert cached.statistics().entries == 2


def test_call_larger_than_the_cache_is_answered() -> None:
    texts = [f"text {number}" for number in range(50)]
    cached = CachedEmbedder(RecordingEmbedder(), max_entries=10)
    assert cached.embed(texts, kind="query").tobytes() == StaticEmbedder().embed(texts, kind="query").tobytes()
    assert cached.statistics().entries == 10


def test_memory_limit_bounds_the_entries() -> None:
    cached = CachedEmbedder(RecordingEmbedder(), max_entries=1000, max_bytes=5 * (256 * 4 + 300))
    cached.embed([f"text {number}" for number in range(50)], kind="query")
    assert cached.statistics().entries == 5


def test_changing_a_result_does_not_change_the_cache() -> None:
    cached = CachedEmbedder(RecordingEmbedder())
    for _ in range(2):
        rows = cached.embed(["one"], kind="query")
        assert rows.tobytes() == StaticEmbedder().embed(["one"], kind="query").tobytes()
        rows[:] = 0


def test_failure_is_raised_and_not_cached() -> None:
    model = RecordingEmbedder()
    cached = CachedEmbedder(model)
    model.down = True
    with pytest.raises(Unavailable):
        cached.embed(["one"], kind="query")
    model.down = False
    assert cached.embed(["one"], kind="query").shape == (1, 256)
    assert cached.statistics() == CacheStatistics(hits=0, misses=1, entries=1)


def test_clear_keeps_the_counts() -> None:
    cached = CachedEmbedder(RecordingEmbedder())
    cached.embed(["one"], kind="query")
    cached.clear()
    assert cached.statistics() == CacheStatistics(hits=0, misses=1, entries=0)


def test_cache_is_thread_safe() -> None:
    cached = CachedEmbedder(RecordingEmbedder(), max_entries=20)
    texts = [f"text {number}" for number in range(40)]
    expected = StaticEmbedder().embed(texts, kind="query")

    def embed_some(start: int) -> bool:
        chosen = [(start + step) % 40 for step in range(15)]
        rows = cached.embed([texts[number] for number in chosen], kind="query")
        return bool(np.array_equal(rows, expected[chosen]))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(embed_some, range(200)))
    statistics = cached.statistics()
    assert statistics.hits + statistics.misses == 200 * 15
    assert statistics.entries == 20


def test_empty_input_gives_no_rows_and_invalid_input_is_refused() -> None:
    cached = CachedEmbedder(RecordingEmbedder())
    assert cached.embed([], kind="query").shape == (0, 256)
    with pytest.raises(InvalidInput):
        cached.embed([""], kind="query")
    with pytest.raises(InvalidInput, match="max_entries"):
        CachedEmbedder(RecordingEmbedder(), max_entries=0)

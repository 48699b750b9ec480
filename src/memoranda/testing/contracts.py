"""Contracts of an embedder, a vector index and a `MessageLog`, as pytest suites to subclass."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import ClassVar

import numpy as np
import pytest

from memoranda.conversation.base import MessageLog
from memoranda.embedding.base import Embedder, InputKind
from memoranda.errors import InvalidInput
from memoranda.index.base import VectorIndex
from memoranda.messages.message import Message
from memoranda.types import FloatArray, IntArray

TEXTS = (
    "The cat sleeps on the warm stove.",
    "A cat slept upon the stove, which was warm.",
    "Quarterly revenue rose by eleven percent.",
    "x",
    "Das Fahrrad steht im Keller, neben dem alten Schlitten.",
    "猫がストーブの上で寝ている。",
    "🙂🙂 ok!!",
    "select * from memories; -- '\"%_",
    "word " * 2_000,
)
KINDS: tuple[InputKind, ...] = ("passage", "query")


class EmbedderContract:
    """The contract of an `Embedder`. Name the subclass `Test…`, and define a fixture `embedder`.

    Set `bitwise = False` for a model whose vectors repeat only within rounding, such as one behind a network.
    """

    bitwise: ClassVar[bool] = True
    tolerance: ClassVar[float] = 1e-4

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError("define a fixture named `embedder`")

    def assert_same(self, left: FloatArray, right: FloatArray) -> None:
        if self.bitwise:
            assert left.tobytes() == right.tobytes()
        else:
            np.testing.assert_allclose(left, right, atol=self.tolerance)

    def test_identity_names_model_and_never_changes(self, embedder: Embedder) -> None:
        identity = embedder.identity
        assert identity.provider
        assert identity.model
        assert identity.dimension > 0
        embedder.embed(["anything"], kind="query")
        assert embedder.identity == identity

    @pytest.mark.parametrize("kind", KINDS)
    def test_each_text_gets_a_finite_unit_vector(self, embedder: Embedder, kind: InputKind) -> None:
        rows = embedder.embed(list(TEXTS), kind=kind)
        assert rows.shape == (len(TEXTS), embedder.identity.dimension)
        assert rows.dtype == np.float32
        assert np.isfinite(rows).all()
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-4)

    def test_no_texts_give_no_vectors(self, embedder: Embedder) -> None:
        assert embedder.embed([], kind="passage").shape == (0, embedder.identity.dimension)

    @pytest.mark.parametrize("kind", KINDS)
    def test_same_text_gives_same_vector(self, embedder: Embedder, kind: InputKind) -> None:
        self.assert_same(embedder.embed(list(TEXTS), kind=kind), embedder.embed(list(TEXTS), kind=kind))

    def test_vector_does_not_depend_on_rest_of_batch(self, embedder: Embedder) -> None:
        together = embedder.embed(list(TEXTS), kind="passage")
        for text, row in zip(TEXTS, together, strict=True):
            self.assert_same(embedder.embed([text], kind="passage")[0], row)

    def test_vectors_are_in_order_of_texts(self, embedder: Embedder) -> None:
        forward = embedder.embed(list(TEXTS), kind="passage")
        backward = embedder.embed(list(reversed(TEXTS)), kind="passage")
        self.assert_same(np.ascontiguousarray(backward[::-1]), forward)

    def test_repeated_text_gives_repeated_vector(self, embedder: Embedder) -> None:
        rows = embedder.embed([TEXTS[0], TEXTS[2], TEXTS[0]], kind="passage")
        self.assert_same(rows[0], rows[2])
        assert not np.allclose(rows[0], rows[1])

    def test_changing_a_result_does_not_change_later_results(self, embedder: Embedder) -> None:
        first = embedder.embed([TEXTS[0]], kind="passage")
        kept = first.copy()
        if first.flags.writeable:
            first[:] = 0
        self.assert_same(embedder.embed([TEXTS[0]], kind="passage"), kept)

    def test_related_texts_are_closer_than_unrelated_ones(self, embedder: Embedder) -> None:
        cat, also_cat, revenue = embedder.embed(list(TEXTS[:3]), kind="passage")
        assert float(cat @ also_cat) > float(cat @ revenue) + 0.05

    @pytest.mark.parametrize("blank", ["", "   ", "\n\t"])
    @pytest.mark.parametrize("kind", KINDS)
    def test_blank_text_is_refused(self, embedder: Embedder, blank: str, kind: InputKind) -> None:
        with pytest.raises(InvalidInput):
            embedder.embed(["fine", blank], kind=kind)

    def test_threads_get_same_vectors_as_one_thread(self, embedder: Embedder) -> None:
        alone = [embedder.embed([text], kind="passage") for text in TEXTS]
        with ThreadPoolExecutor(4) as pool:
            tasks = [(n, pool.submit(embedder.embed, [text], kind="passage")) for n, text in enumerate(TEXTS)] * 2
            for position, task in tasks:
                self.assert_same(task.result(), alone[position])


DIMENSION = 16


class ExactIndex:
    """A `VectorIndex` that computes every cosine: the reference that other indexes are compared with."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._vectors: dict[int, FloatArray] = {}

    @property
    def dimension(self) -> int:
        return self._dimension

    def __len__(self) -> int:
        return len(self._vectors)

    def add(self, ids: IntArray, vectors: FloatArray) -> None:
        ids, vectors = np.asarray(ids), np.asarray(vectors)
        if vectors.shape != (len(ids), self._dimension):
            raise InvalidInput(f"vectors must have the shape {(len(ids), self._dimension)}, not {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise InvalidInput("vectors must be finite: remove NaN and infinity")
        self._vectors.update(zip(ids.tolist(), np.array(vectors, dtype=np.float32), strict=True))

    def remove(self, ids: IntArray) -> int:
        return sum(self._vectors.pop(number, None) is not None for number in np.asarray(ids).tolist())

    def search(self, query: FloatArray, limit: int, *, among: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        query = np.asarray(query, dtype=np.float32)
        if query.shape != (self._dimension,):
            raise InvalidInput(f"query must have {self._dimension} dimensions, not {query.shape}")
        allowed = self._vectors.keys() if among is None else set(np.asarray(among).tolist()) & self._vectors.keys()
        best = sorted((-float(self._vectors[number] @ query), number) for number in allowed)[:limit]
        ids = np.array([number for _, number in best], dtype=np.int64)
        return ids, np.array([-score for score, _ in best], dtype=np.float32)


def unit_rows(rng: np.random.Generator, count: int, dimension: int = DIMENSION) -> FloatArray:
    """Return random unit vectors, evenly distributed over all directions."""
    rows = rng.standard_normal((count, dimension)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


class IndexContract:
    """The contract of a `VectorIndex`. Name the subclass `Test…`, and define `make_index`.

    `recall` is the share of the exact neighbours that a result must hold: 1.0 unless the index is approximate at
    the sizes used here (a few hundred vectors).
    """

    recall: ClassVar[float] = 1.0

    def make_index(self, dimension: int) -> VectorIndex:
        raise NotImplementedError("define make_index in the subclass: it returns a new, empty index")

    @pytest.fixture
    def index(self) -> VectorIndex:
        return self.make_index(DIMENSION)

    def assert_neighbours(
        self,
        index: VectorIndex,
        reference: ExactIndex,
        query: FloatArray,
        limit: int,
        among: IntArray | None = None,
    ) -> None:
        ids, scores = index.search(query, limit, among=among)
        expected_ids, expected_scores = reference.search(query, limit, among=among)
        assert len(ids) == len(scores) == len(expected_ids)
        assert len(set(ids.tolist())) == len(ids)
        assert (np.diff(scores) <= 1e-6).all(), "best first"
        found = len(set(ids.tolist()) & set(expected_ids.tolist()))
        if self.recall == 1.0:
            assert ids.tolist() == expected_ids.tolist()
            np.testing.assert_allclose(scores, expected_scores, atol=1e-5)
        assert found >= self.recall * len(expected_ids)

    def test_new_index_is_empty(self, index: VectorIndex) -> None:
        assert index.dimension == DIMENSION
        assert len(index) == 0
        ids, scores = index.search(unit_rows(np.random.default_rng(0), 1)[0], 5)
        assert (len(ids), len(scores)) == (0, 0)

    @pytest.mark.parametrize("seed", range(8))
    def test_results_equal_brute_force_through_adds_replacements_and_removals(
        self, index: VectorIndex, seed: int
    ) -> None:
        rng, reference = np.random.default_rng(seed), ExactIndex(DIMENSION)
        for _ in range(12):
            ids = rng.choice(400, size=int(rng.integers(1, 60)), replace=False).astype(np.int64)
            vectors = unit_rows(rng, len(ids))
            index.add(ids, vectors)
            reference.add(ids, vectors)
            removed = rng.choice(400, size=int(rng.integers(0, 30)), replace=False).astype(np.int64)
            assert index.remove(removed) == reference.remove(removed)
            assert len(index) == len(reference)
            query, limit = unit_rows(rng, 1)[0], int(rng.integers(1, 30))
            self.assert_neighbours(index, reference, query, limit)
            among = np.sort(rng.choice(500, size=int(rng.integers(1, 200)), replace=False)).astype(np.int64)
            self.assert_neighbours(index, reference, query, limit, among)

    def test_filter_does_not_reduce_number_of_rows(self, index: VectorIndex) -> None:
        rng = np.random.default_rng(1)
        vectors = unit_rows(rng, 300)
        index.add(np.arange(300, dtype=np.int64), vectors)
        far = np.argsort(vectors @ vectors[0])[:7].astype(np.int64)
        ids, _ = index.search(vectors[0], 5, among=np.sort(far))
        assert len(ids) == 5
        assert set(ids.tolist()) <= set(far.tolist())

    def test_limit_above_size_returns_everything_once(self, index: VectorIndex) -> None:
        index.add(np.arange(5, dtype=np.int64), unit_rows(np.random.default_rng(2), 5))
        ids, _ = index.search(unit_rows(np.random.default_rng(3), 1)[0], 50)
        assert sorted(ids.tolist()) == [0, 1, 2, 3, 4]

    def test_empty_filter_returns_nothing(self, index: VectorIndex) -> None:
        index.add(np.arange(5, dtype=np.int64), unit_rows(np.random.default_rng(2), 5))
        ids, _ = index.search(unit_rows(np.random.default_rng(3), 1)[0], 5, among=np.empty(0, dtype=np.int64))
        assert len(ids) == 0

    def test_equal_vectors_are_sorted_by_id(self, index: VectorIndex) -> None:
        vector = np.zeros((1, DIMENSION), dtype=np.float32)
        vector[0, 3] = 1.0
        order = np.array([9, 2, 7, 40, 1], dtype=np.int64)
        index.add(order, np.repeat(vector, len(order), axis=0))
        ids, scores = index.search(vector[0], 3)
        assert ids.tolist() == [1, 2, 7]
        np.testing.assert_allclose(scores, 1.0, atol=1e-6)

    def test_replaced_vector_is_found_by_its_new_value(self, index: VectorIndex) -> None:
        axes = np.eye(DIMENSION, dtype=np.float32)
        index.add(np.array([1, 2], dtype=np.int64), axes[:2])
        index.add(np.array([1], dtype=np.int64), axes[5:6])
        assert len(index) == 2
        ids, scores = index.search(axes[0], 2)
        assert scores[ids.tolist().index(1)] == pytest.approx(0.0, abs=1e-6)
        assert index.search(axes[5], 1)[0].tolist() == [1]

    def test_large_ids_are_kept_exactly(self, index: VectorIndex) -> None:
        numbers = np.array([2**53 + 1, 2**53, 2**62], dtype=np.int64)
        index.add(numbers, np.eye(DIMENSION, dtype=np.float32)[:3])
        assert index.search(np.eye(DIMENSION, dtype=np.float32)[0], 1)[0].tolist() == [2**53 + 1]
        assert index.remove(numbers[1:]) == 2

    def test_index_copies_added_vectors(self, index: VectorIndex) -> None:
        vectors = np.eye(DIMENSION, dtype=np.float32)[:1].copy()
        index.add(np.array([1], dtype=np.int64), vectors)
        vectors[:] = 0
        assert index.search(np.eye(DIMENSION, dtype=np.float32)[0], 1)[1][0] == pytest.approx(1.0)

    def test_another_dimension_is_refused(self, index: VectorIndex) -> None:
        with pytest.raises(InvalidInput):
            index.add(np.array([1], dtype=np.int64), unit_rows(np.random.default_rng(0), 1, DIMENSION + 1))
        with pytest.raises(InvalidInput):
            index.search(unit_rows(np.random.default_rng(0), 1, DIMENSION + 1)[0], 1)
        assert len(index) == 0

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_vector_that_is_not_finite_is_refused(self, index: VectorIndex, value: float) -> None:
        vectors = unit_rows(np.random.default_rng(0), 2)
        vectors[1, 0] = value
        with pytest.raises(InvalidInput):
            index.add(np.array([1, 2], dtype=np.int64), vectors)
        assert len(index) == 0


_IDS = [str(n) for n in range(40)]
_FULL = Message(
    "assistant",
    {"thought": "früh ☀", "nested": [1, None, 2.5]},
    name="Ines",
    tool_calls=[{"id": "c1", "type": "function", "function": {"name": "trains", "arguments": "{}"}}],
    agent_calls=[{"agent_name": "Other", "request": {"a": [1]}}],
    structured_data={"k": [1, {"deep": True}]},
    images=["https://example.org/a.png"],
    timestamp=datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=UTC),
    metadata={"m": ["x"]},
)


class MessageLogContract:
    """The contract of a `MessageLog`. Name the subclass `Test…`, and define a fixture `log`."""

    @pytest.fixture
    def log(self) -> MessageLog:
        raise NotImplementedError("define a fixture named `log` that returns a new, empty log")

    @pytest.mark.parametrize("seed", range(6))
    def test_log_equals_plain_list_after_random_operations(self, log: MessageLog, seed: int) -> None:
        rng = random.Random(seed)
        model: list[Message] = []
        for _ in range(30):
            model = rng.choice([_append, _append, _delete, _pop, _replace])(log, model, rng)
            assert len(log) == len(model)
            assert log.read(0, len(log)) == model
            start, stop = sorted((rng.randint(0, len(model)), rng.randint(0, len(model))))
            assert log.read(start, stop) == model[start:stop]
            assert log.find_ids(_IDS) == {message.message_id for message in model}

    def test_message_is_returned_with_every_field(self, log: MessageLog) -> None:
        log.append([_FULL], keep=None)
        assert log.read(0, 1) == [_FULL]
        assert log.read(0, 1)[0].to_dict() == _FULL.to_dict()

    def test_skip_duplicates_keeps_first_message_of_an_id(self, log: MessageLog) -> None:
        first, second, other = (
            Message("user", text, message_id=key) for text, key in (("a", "1"), ("b", "1"), ("c", "2"))
        )
        log.append([first, second, first], keep=None, skip_duplicates=True)
        log.append([second, other], keep=None, skip_duplicates=True)
        assert log.read(0, 9) == [first, other]
        log.append([second], keep=None)
        assert log.read(0, 9) == [first, other, second]

    def test_id_outside_the_window_can_be_added_again(self, log: MessageLog) -> None:
        old, new = Message("user", "a", message_id="1"), Message("user", "b", message_id="2")
        log.append([old], keep=1, skip_duplicates=True)
        log.append([new], keep=1, skip_duplicates=True)
        log.append([old], keep=1, skip_duplicates=True)
        assert log.read(0, 9) == [old]

    def test_appending_nothing_still_truncates_to_keep(self, log: MessageLog) -> None:
        log.append(_random_messages(random.Random(1), 9), keep=None)
        newest = log.read(6, 9)
        log.append([], keep=3)
        assert log.read(0, 9) == newest
        log.append([], keep=0)
        assert len(log) == 0


def _random_messages(rng: random.Random, count: int) -> list[Message]:
    return [Message("user", f"{rng.random()}", message_id=rng.choice(_IDS)) for _ in range(count)]


def _append(log: MessageLog, model: list[Message], rng: random.Random) -> list[Message]:
    added, keep, skip = (
        _random_messages(rng, rng.randint(0, 8)),
        rng.choice([None, None, 0, 1, 5, 12]),
        rng.random() < 0.5,
    )
    log.append(added, keep=keep, skip_duplicates=skip)
    for message in added:
        if not skip or all(message.message_id != each.message_id for each in model):
            model = [*model, message]
    return model if keep is None else model[len(model) - min(keep, len(model)) :]


def _delete(log: MessageLog, model: list[Message], rng: random.Random) -> list[Message]:
    ends = [range(len(model) // 3), range(len(model) // 2, len(model)), range(0, len(model), 3)]
    anywhere = sorted(rng.sample(range(len(model)), rng.randint(0, len(model) // 2)))
    positions: Sequence[int] = rng.choice([*ends, anywhere])
    log.delete(positions)
    return [message for position, message in enumerate(model) if position not in set(positions)]


def _pop(log: MessageLog, model: list[Message], rng: random.Random) -> list[Message]:
    for _ in range(rng.randint(1, 3)):
        assert log.pop() == (model[-1] if model else None)
        model = model[:-1]
    return model


def _replace(log: MessageLog, model: list[Message], rng: random.Random) -> list[Message]:
    at = rng.randint(0, len(model))
    messages = rng.choice(
        [
            model[at:],
            model[:at],
            [*model[:at], *_random_messages(rng, rng.randint(1, 4)), *model[at:]],
            [*model[:at], *_random_messages(rng, 1), *model[at + 1 :]],
            model[::-1],
            [],
        ]
    )
    log.replace(messages)
    return messages

"""The contract of an embedder as a pytest suite: subclass it and define the fixture `embedder`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import pytest

from memoranda.embedding.base import Embedder, InputKind
from memoranda.errors import InvalidInput
from memoranda.types import FloatArray

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

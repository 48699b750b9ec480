"""What any embedder must do, as a pytest suite: inherit it and give the `embedder` fixture."""

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
    """Subclass it, name the class `Test…`, and define a fixture `embedder`.

    Set `bitwise = False` for a model that repeats its answers only within rounding, such as one
    behind a network.
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

    def test_identity_names_the_model_and_stays_the_same(self, embedder: Embedder) -> None:
        identity = embedder.identity
        assert identity.provider
        assert identity.model
        assert identity.dimension > 0
        embedder.embed(["anything"], kind="query")
        assert embedder.identity == identity

    @pytest.mark.parametrize("kind", KINDS)
    def test_one_finite_unit_row_per_text(self, embedder: Embedder, kind: InputKind) -> None:
        rows = embedder.embed(list(TEXTS), kind=kind)
        assert rows.shape == (len(TEXTS), embedder.identity.dimension)
        assert rows.dtype == np.float32
        assert np.isfinite(rows).all()
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-4)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        assert embedder.embed([], kind="passage").shape == (0, embedder.identity.dimension)

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_same_text_gives_the_same_vector(self, embedder: Embedder, kind: InputKind) -> None:
        self.assert_same(embedder.embed(list(TEXTS), kind=kind), embedder.embed(list(TEXTS), kind=kind))

    def test_a_vector_does_not_depend_on_its_neighbours(self, embedder: Embedder) -> None:
        together = embedder.embed(list(TEXTS), kind="passage")
        for text, row in zip(TEXTS, together, strict=True):
            self.assert_same(embedder.embed([text], kind="passage")[0], row)

    def test_rows_come_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        forward = embedder.embed(list(TEXTS), kind="passage")
        backward = embedder.embed(list(reversed(TEXTS)), kind="passage")
        self.assert_same(np.ascontiguousarray(backward[::-1]), forward)

    def test_a_repeated_text_gives_a_repeated_row(self, embedder: Embedder) -> None:
        rows = embedder.embed([TEXTS[0], TEXTS[2], TEXTS[0]], kind="passage")
        self.assert_same(rows[0], rows[2])
        assert not np.allclose(rows[0], rows[1])

    def test_a_result_is_the_callers_own(self, embedder: Embedder) -> None:
        first = embedder.embed([TEXTS[0]], kind="passage")
        kept = first.copy()
        if first.flags.writeable:
            first[:] = 0
        self.assert_same(embedder.embed([TEXTS[0]], kind="passage"), kept)

    def test_related_texts_are_nearer_than_unrelated_ones(self, embedder: Embedder) -> None:
        cat, also_cat, revenue = embedder.embed(list(TEXTS[:3]), kind="passage")
        assert float(cat @ also_cat) > float(cat @ revenue) + 0.05

    @pytest.mark.parametrize("blank", ["", "   ", "\n\t"])
    @pytest.mark.parametrize("kind", KINDS)
    def test_blank_text_is_refused(self, embedder: Embedder, blank: str, kind: InputKind) -> None:
        with pytest.raises(InvalidInput):
            embedder.embed(["fine", blank], kind=kind)

    def test_threads_get_the_answers_of_one_thread(self, embedder: Embedder) -> None:
        alone = [embedder.embed([text], kind="passage") for text in TEXTS]
        with ThreadPoolExecutor(4) as pool:
            tasks = [(at, pool.submit(embedder.embed, [TEXTS[at]], kind="passage")) for at in range(len(TEXTS))] * 2
            for position, task in tasks:
                self.assert_same(task.result(), alone[position])

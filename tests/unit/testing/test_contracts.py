from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from memoranda.embedding.base import InputKind
from memoranda.testing.contracts import EmbedderContract
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import FloatArray


class LongVectors(HashEmbedder):
    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        return super().embed(texts, kind=kind) * np.float32(2)


class BatchDependent(HashEmbedder):
    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        return np.roll(super().embed(texts, kind=kind), len(texts), axis=1)


class Reversed(HashEmbedder):
    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        return super().embed(texts, kind=kind)[::-1]


def test_embedder_contract_refuses_vectors_that_are_not_of_unit_length() -> None:
    with pytest.raises(AssertionError):
        EmbedderContract().test_each_text_gets_a_finite_unit_vector(LongVectors(), "passage")


@pytest.mark.parametrize("faulty", [BatchDependent(), Reversed()], ids=lambda faulty: type(faulty).__name__)
def test_embedder_contract_refuses_vectors_that_depend_on_the_batch(faulty: HashEmbedder) -> None:
    with pytest.raises(AssertionError):
        EmbedderContract().test_vector_does_not_depend_on_rest_of_batch(faulty)

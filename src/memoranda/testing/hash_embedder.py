"""An embedder for tests: instant, deterministic, no model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

from memoranda.embedding.base import EmbedderIdentity, Kind
from memoranda.text import clean_text, terms
from memoranda.types import FloatArray


class HashEmbedder:
    """Unit vectors from hashed words: the more words two texts share, the higher their cosine.

    It knows no meaning, only words; a test that needs synonyms needs a real model.
    """

    def __init__(self, dimension: int = 128) -> None:
        self._identity = EmbedderIdentity("memoranda.testing", "hash", dimension)

    @property
    def identity(self) -> EmbedderIdentity:
        return self._identity

    def embed(self, texts: Sequence[str], *, kind: Kind) -> FloatArray:
        import numpy as np

        rows = np.empty((len(texts), self._identity.dimension), dtype=np.float32)
        for position, text in enumerate(texts):
            rows[position] = _text_vector(clean_text(text, f"{kind} text"), self._identity.dimension)
        return rows


def _text_vector(text: str, dimension: int) -> FloatArray:
    import numpy as np

    # Sorted, because floating-point sums depend on their order and word order should not matter.
    words = sorted(set(terms(text))) or [text]
    total = np.sum([_word_vector(word, dimension) for word in words], axis=0)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


@lru_cache(maxsize=65_536)
def _word_vector(word: str, dimension: int) -> FloatArray:
    import numpy as np

    digest = hashlib.shake_128(word.encode("utf-8")).digest(dimension)
    # Odd numbers only: no component is zero, so no single word can give the zero vector.
    vector = np.frombuffer(digest, dtype=np.int8).astype(np.float32) * 2 + 1
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)

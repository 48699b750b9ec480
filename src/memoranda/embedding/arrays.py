"""What every embedder does with texts before, and with vectors after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memoranda.errors import InvalidType
from memoranda.text import clean_text

if TYPE_CHECKING:
    from memoranda.types import FloatArray


def checked_texts(texts: Sequence[str]) -> list[str]:
    """The texts, each of them fit to be embedded, or `InvalidInput` that says which is not."""
    if isinstance(texts, str):
        raise InvalidType("texts must be a list of strings, not one string: put it in a list")
    return [clean_text(text, f"texts[{number}]") for number, text in enumerate(texts)]


def unit(vector: FloatArray) -> FloatArray:
    """The vector at length 1, as float32; one of zeros stays as it is."""
    import numpy as np

    wide = vector.astype(np.float64)
    return (wide / (np.sqrt(np.sum(wide * wide)) or 1.0)).astype(np.float32)

from __future__ import annotations

from importlib.util import find_spec

import pytest

from recollect.embedding.model import EmbeddingModel
from recollect.errors import InvalidInput, MissingExtra

INSTALLED = find_spec("sentence_transformers") is not None


@pytest.mark.skipif(INSTALLED, reason="sentence-transformers is installed")
def test_without_the_library_the_extra_is_named() -> None:
    with pytest.raises(MissingExtra, match=r"recollect\[sentence-transformers\]"):
        EmbeddingModel("sentence-transformers:all-mpnet-base-v2")


@pytest.mark.skipif(not INSTALLED, reason="sentence-transformers is not installed")
def test_a_model_must_be_named() -> None:
    with pytest.raises(InvalidInput, match="which model"):
        EmbeddingModel("sentence-transformers")

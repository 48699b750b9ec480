"""The port of stage 7: what may read a question and its best hits once more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memoranda.types import FloatArray


class Reranker(Protocol):
    """Scores question and text read together. Safe to call from several threads."""

    def scores(self, question: str, texts: Sequence[str]) -> FloatArray:
        """How well each text answers, in order; log-odds, higher is better. `Unavailable` when it cannot run."""
        ...

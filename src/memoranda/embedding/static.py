"""The `fast` mode: a text is the mean of its tokens' vectors, looked up in a table. numpy only."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import memoranda_models
import numpy as np

from memoranda.embedding.base import EmbedderIdentity, InputKind, check_input_texts, unit
from memoranda.embedding.wordpiece import WordPiece

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memoranda.types import FloatArray

_ROWS: Final = "potion-base-8M.npy"
_SCALES: Final = "potion-base-8M.scale.npy"
_IDENTITY: Final = EmbedderIdentity("static", "potion-base-8M", 256, memoranda_models.SHA256[_ROWS], baseline=0.1)
# Bounds the memory of one text; the mean of so many tokens hardly moves with more of them.
_WINDOW: Final = 8_192


@dataclass(frozen=True, slots=True)
class _Table:
    tokens: WordPiece
    rows: NDArray[np.int8]
    scales: FloatArray


class StaticEmbedder:
    """An `Embedder` some hundred times faster than the default, and less exact. Reads 8,192 tokens of a text."""

    def __init__(self, model: str = "static", *, use_gpu: bool = False) -> None:
        del model, use_gpu  # There is one table, and it needs no GPU; the names serve the registry.
        self._loading = threading.Lock()
        self._table: _Table | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        return _IDENTITY

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:  # noqa: ARG002
        """One unit row per text, in order; a question and a stored text are read alike."""
        checked = check_input_texts(texts)
        table = self._loaded()
        rows = np.empty((len(checked), _IDENTITY.dimension), np.float32)
        for number, text in enumerate(checked):
            rows[number] = _mean(table, text)
        return rows

    def _loaded(self) -> _Table:
        with self._loading:
            if self._table is None:
                self._table = _load()
            return self._table


def _load() -> _Table:
    return _Table(
        tokens=WordPiece(memoranda_models.path("vocab.txt")),
        rows=np.load(memoranda_models.path(_ROWS), allow_pickle=False),
        scales=np.load(memoranda_models.path(_SCALES), allow_pickle=False),
    )


def _mean(table: _Table, text: str) -> FloatArray:
    unknown = table.tokens.unknown
    ids = [number for number in table.tokens.ids(text, _WINDOW) if number != unknown]
    # A text of unknown signs only still needs a direction: that of the sign for "unknown".
    taken = np.array(ids or [unknown])
    vectors = table.rows[taken].astype(np.float32) * table.scales[taken, None]
    return unit(vectors.sum(axis=0))

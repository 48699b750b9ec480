"""The `fast` model: the vector of a text is the mean of its token vectors, looked up in a table. numpy only."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import memoranda_models
import numpy as np

from memoranda.embedding.base import EmbedderIdentity, InputKind, check_input_texts, normalize
from memoranda.embedding.model_files import read_model_file
from memoranda.embedding.wordpiece import WordPiece

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memoranda.types import FloatArray

_ROWS: Final = "potion-base-8M.npy"
_SCALES: Final = "potion-base-8M.scale.npy"
_IDENTITY: Final = EmbedderIdentity("static", "potion-base-8M", 256, memoranda_models.SHA256[_ROWS], baseline=0.1)
# Bounds the memory of one text; more tokens hardly change the mean.
_WINDOW: Final = 8_192


@dataclass(frozen=True, slots=True)
class _Table:
    tokenizer: WordPiece
    rows: NDArray[np.int8]
    scales: FloatArray


class StaticEmbedder:
    """An `Embedder` about a hundred times faster than the default and less accurate. Reads 8,192 tokens of a text."""

    def __init__(self, model: str = "static", *, use_gpu: bool = False) -> None:
        del model, use_gpu  # There is one table and it needs no GPU; the registry passes both.
        self._lock = threading.Lock()
        self._table: _Table | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        return _IDENTITY

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:  # noqa: ARG002
        """Return one unit row per text, in order; both kinds of input are embedded alike."""
        checked = check_input_texts(texts)
        table = self._get_table()
        rows = np.empty((len(checked), _IDENTITY.dimension), np.float32)
        for number, text in enumerate(checked):
            rows[number] = _embed_text(table, text)
        return rows

    def _get_table(self) -> _Table:
        with self._lock:
            if self._table is None:
                # The checksum of the rows takes as long as the vocabulary: both at once.
                with ThreadPoolExecutor(1, "memoranda-load") as pool:
                    rows = pool.submit(_load_array, _ROWS)
                    tokenizer, scales = WordPiece(memoranda_models.path("vocab.txt")), _load_array(_SCALES)
                    self._table = _Table(tokenizer, rows.result(), scales)
            return self._table


def _load_array(name: str) -> Any:
    return np.load(BytesIO(read_model_file(memoranda_models.path(name))), allow_pickle=False)


def _embed_text(table: _Table, text: str) -> FloatArray:
    unknown = table.tokenizer.unknown
    ids = [number for number in table.tokenizer.ids(text, _WINDOW) if number != unknown]
    # A text of unknown characters only still needs a direction: that of the token for "unknown".
    indices = np.array(ids or [unknown])
    vectors = table.rows[indices].astype(np.float32) * table.scales[indices, None]
    return normalize(vectors.sum(axis=0))

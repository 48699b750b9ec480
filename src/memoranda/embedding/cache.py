"""Nothing is embedded twice: an embedder that remembers its latest vectors by the hash of their text."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from memoranda.embedding.arrays import checked_texts
from memoranda.embedding.base import Embedder, EmbedderIdentity, Kind
from memoranda.errors import InvalidInput
from memoranda.text import content_hash

if TYPE_CHECKING:
    from memoranda.types import FloatArray

_MAX_BYTES: Final = 64 * 1024 * 1024
# A key, a small array object and two dictionary slots, beside the vector itself.
_ENTRY_OVERHEAD: Final = 300


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """How the cache did since it was made."""

    hits: int
    """Texts answered without the model: known from before, or twice in one call."""
    misses: int
    """Texts that went through the model."""
    entries: int


class CachedEmbedder:
    """An `Embedder` in front of another one, with the vectors last used kept at hand.

    Keeps at most `max_entries` vectors, and fewer when they would take more than `max_bytes`.
    """

    def __init__(self, embedder: Embedder, *, max_entries: int = 1000, max_bytes: int = _MAX_BYTES) -> None:
        if max_entries < 1 or max_bytes < 1:
            raise InvalidInput("max_entries and max_bytes must be at least 1; to have no cache, leave the wrapper out")
        self._embedder = embedder
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._rows: OrderedDict[bytes, FloatArray] = OrderedDict()
        self._hits = 0
        self._misses = 0

    @property
    def identity(self) -> EmbedderIdentity:
        return self._embedder.identity

    def embed(self, texts: Sequence[str], *, kind: Kind) -> FloatArray:
        """One unit row per text, in order; only texts not seen lately go to the model, each once."""
        checked = checked_texts(texts)
        keys = [content_hash(f"{kind}\0{text}") for text in checked]
        rows = self._known(keys)
        missing = {key: text for key, text in zip(keys, checked, strict=True) if key not in rows}
        if missing:
            # Outside the lock: two threads may embed the same new text, and get the same vector.
            fresh = self._embedder.embed(list(missing.values()), kind=kind)
            rows.update(zip(missing, fresh, strict=True))
        self._keep(missing, rows, asked=len(keys))
        return self._matrix([rows[key] for key in keys])

    def statistics(self) -> CacheStatistics:
        with self._lock:
            return CacheStatistics(self._hits, self._misses, len(self._rows))

    def clear(self) -> None:
        """Drops every vector; the counts stay."""
        with self._lock:
            self._rows.clear()

    def _known(self, keys: Iterable[bytes]) -> dict[bytes, FloatArray]:
        found: dict[bytes, FloatArray] = {}
        with self._lock:
            for key in keys:
                row = self._rows.get(key)
                if row is not None:
                    self._rows.move_to_end(key)
                    found[key] = row
        return found

    def _keep(self, missing: Iterable[bytes], rows: dict[bytes, FloatArray], *, asked: int) -> None:
        new = list(missing)
        with self._lock:
            self._hits += asked - len(new)
            self._misses += len(new)
            for key in new[-self._capacity() :]:
                # A copy: a row that is a view would keep the whole batch in memory.
                self._rows[key] = rows[key].copy()
                self._rows.move_to_end(key)
            while len(self._rows) > self._capacity():
                self._rows.popitem(last=False)

    def _capacity(self) -> int:
        entry = 4 * self.identity.dimension + _ENTRY_OVERHEAD
        return max(1, min(self._max_entries, self._max_bytes // entry))

    def _matrix(self, rows: list[FloatArray]) -> FloatArray:
        import numpy as np

        if not rows:
            return np.empty((0, self.identity.dimension), np.float32)
        return np.stack(rows)

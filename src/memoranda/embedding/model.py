"""`EmbeddingModel`: text to vectors by the name of a model."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from memoranda import registry
from memoranda.embedding import models
from memoranda.embedding.base import DEFAULT_MODEL, Embedder, EmbedderIdentity, InputKind, check_input_texts
from memoranda.errors import InvalidInput, InvalidType
from memoranda.text import content_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memoranda.types import FloatArray


TextOrVector: TypeAlias = "str | FloatArray | Sequence[float]"

_ALIASES: Final = {
    "intfloat/e5-small-v2": "e5-small-v2",
    "sentence-transformers/all-MiniLM-L6-v2": "all-MiniLM-L6-v2",
}


class EmbedderFactory(Protocol):
    """What an entry of the registry's kind "embedder" must be.

    Called with what stands after the colon in `name:model`, or with the name where there is no colon.
    """

    def __call__(self, model: str, *, use_gpu: bool) -> Embedder: ...


class EmbeddingModel:
    """An embedding model by name, with a cache in front. Also an `Embedder`.

    Names: `e5-small-v2` (the default), `fast` (a static table), `all-MiniLM-L6-v2` and other models put there by
    `memoranda models add`, `openai:<model>`, `sentence-transformers:<model>`, and those of installed packages.
    Or a ready `Embedder`. Nothing is loaded before the first text. A `cache_size` of 0 turns the cache off.
    """

    def __init__(
        self, model_name: str | Embedder | None = None, *, use_gpu: bool = False, cache_size: int = 1000
    ) -> None:
        if cache_size < 0:
            raise InvalidInput(f"cache_size must be 0 or more, not {cache_size}")
        given = DEFAULT_MODEL if model_name is None else model_name
        embedder = open_embedder(given, use_gpu=use_gpu) if isinstance(given, str) else given
        self._embedder = CachedEmbedder(embedder, max_entries=cache_size) if cache_size else embedder

    @property
    def identity(self) -> EmbedderIdentity:
        return self._embedder.identity

    @property
    def model_name(self) -> str:
        return self.identity.model

    @property
    def dimension(self) -> int:
        return self.identity.dimension

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        """One unit row per text, in order."""
        return self._embedder.embed(texts, kind=kind)

    def encode(self, texts: str | Sequence[str], batch_size: int = 256, *, kind: InputKind = "passage") -> FloatArray:
        """A vector for one text, a matrix with a row each for several; all of length 1.

        `batch_size` is how many texts go to the model at a time; it never changes a vector.
        """
        if batch_size < 1:
            raise InvalidInput(f"batch_size must be at least 1, not {batch_size}")
        if isinstance(texts, str):
            vector: FloatArray = self.embed([texts], kind=kind)[0]
            return vector
        return self._encode_all(texts, batch_size, kind)

    def similarity(self, a: TextOrVector, b: TextOrVector) -> float:
        """The cosine of two texts or vectors, -1…1; what counts as close depends on the model."""
        import numpy as np

        left, right = self._vector(a), self._vector(b)
        if left.shape != right.shape:
            raise InvalidInput(f"two vectors of one size are needed, not {left.shape} and {right.shape}")
        length = float(np.linalg.norm(left) * np.linalg.norm(right))
        if not length:
            raise InvalidInput("a vector of zeros has no direction to compare")
        return float(np.clip(left @ right / length, -1.0, 1.0))

    def clear_cache(self) -> None:
        """Forgets every vector kept at hand."""
        if isinstance(self._embedder, CachedEmbedder):
            self._embedder.clear()

    def _encode_all(self, texts: Sequence[str], batch_size: int, kind: InputKind) -> FloatArray:
        import numpy as np

        starts = range(0, len(texts), batch_size)
        parts = [self.embed(texts[start : start + batch_size], kind=kind) for start in starts]
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), np.float32)

    def _vector(self, given: TextOrVector) -> NDArray[np.float64]:
        import numpy as np

        if isinstance(given, str):
            # Models with two kinds of input want equals compared as questions.
            return self.encode(given, kind="query").astype(np.float64)
        vector = np.asarray(given, np.float64)
        if vector.ndim != 1:
            raise InvalidType(f"a text or one vector is needed, not an array of shape {vector.shape}")
        return vector


def open_embedder(name: str, *, use_gpu: bool = False) -> Embedder:
    """The embedder of this name, without a cache; `InvalidInput` lists the names there are."""
    name = _ALIASES.get(name, name)
    provider, _, model = name.partition(":")
    try:
        factory: EmbedderFactory = registry.resolve("embedder", provider)
    except InvalidInput as error:
        return _open_added(name, use_gpu=use_gpu, otherwise=error)
    return factory(model or provider, use_gpu=use_gpu)


def _open_added(name: str, *, use_gpu: bool, otherwise: InvalidInput) -> Embedder:
    if models.find(name) is None:
        raise InvalidInput(_unknown(name)) from otherwise
    from memoranda.embedding.onnx import open_model  # numpy comes with it

    return open_model(name, use_gpu=use_gpu)


def _unknown(name: str) -> str:
    names = sorted({*registry.known_names("embedder"), *(spec.name for spec in models.added())})
    return (
        f"no embedding model is named {name!r}: known are {', '.join(names)} (openai and sentence-transformers as "
        "openai:<model>); `memoranda models add <folder or hub:name>` adds another one"
    )


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

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        """One unit row per text, in order; only texts not seen lately go to the model, each once."""
        checked = check_input_texts(texts)
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

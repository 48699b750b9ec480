"""`EmbeddingModel`: an embedding model by name, with a cache.

numpy is imported at its first use, so that a manager and an `EmbeddingModel` are made without it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from memoranda import registry
from memoranda.embedding import added_models
from memoranda.embedding.base import (
    DEFAULT_MODEL,
    CachesByTenant,
    Embedder,
    EmbedderIdentity,
    InputKind,
    SentenceEmbedder,
    check_input_texts,
    find_sentence_embedder,
)
from memoranda.errors import InvalidInput, InvalidType
from memoranda.text.terms import content_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memoranda.types import FloatArray


TextOrVector: TypeAlias = "str | FloatArray | Sequence[float]"

_ALIASES: Final = {
    "sentence-transformers/all-MiniLM-L6-v2": "all-MiniLM-L6-v2",
}


class EmbedderFactory(Protocol):
    """The type of a registry entry of the kind "embedder".

    It is called with the text after the colon in `name:model`, or with the whole name where there is no colon.
    """

    def __call__(self, model: str, *, use_gpu: bool) -> Embedder: ...


class EmbeddingModel:
    """An embedding model by name, with a cache. It is an `Embedder` too.

    The names are `e5-dialogue` (the default), `fast` (a static table), `all-MiniLM-L6-v2` and other models that were
    added with `memoranda models add`, `openai:<model>`, `sentence-transformers:<model>`, and those of installed
    packages. An `Embedder` can be passed instead of a name.
    """

    def __init__(
        self, model_name: str | Embedder | None = None, *, use_gpu: bool = False, cache_size: int = 1000
    ) -> None:
        """Create the model; it is loaded when the first text is embedded.

        Args:
            model_name: A name, or an `Embedder`; the default model when None.
            use_gpu: Run the model on CUDA.
            cache_size: How many vectors to keep in memory; 0 turns the cache off.
        """
        if cache_size < 0:
            raise InvalidInput(f"cache_size must be 0 or more, not {cache_size}")
        model = DEFAULT_MODEL if model_name is None else model_name
        embedder = open_embedder(model, use_gpu=use_gpu) if isinstance(model, str) else model
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
        """Return one unit row per text, in order."""
        return self._embedder.embed(texts, kind=kind)

    @property
    def gives_sentences(self) -> bool:
        """Whether it also gives the vectors of single sentences."""
        return find_sentence_embedder(self._embedder) is not None

    def embed_sentences(self, texts: Sequence[str]) -> Sequence[FloatArray]:
        """Return the vector of each text, then those of its sentences; `gives_sentences` must be True."""
        return _require_sentences(self._embedder).embed_sentences(texts)

    def for_tenant(self, tenant: str) -> Embedder:
        """Return this model with a part of the cache that only this tenant uses."""
        return self._embedder.for_tenant(tenant) if isinstance(self._embedder, CachesByTenant) else self._embedder

    def encode(self, texts: str | Sequence[str], batch_size: int = 256, *, kind: InputKind = "passage") -> FloatArray:
        """Return a unit vector for one text, or a matrix with a row per text for several.

        Args:
            texts: One text or several.
            batch_size: How many texts are passed to the model at a time; it never changes a vector.
            kind: Whether the texts are queries or stored texts.
        """
        import numpy as np

        if batch_size < 1:
            raise InvalidInput(f"batch_size must be at least 1, not {batch_size}")
        if isinstance(texts, str):
            vector: FloatArray = self.embed([texts], kind=kind)[0]
            return vector
        starts = range(0, len(texts), batch_size)
        batches = [self.embed(texts[start : start + batch_size], kind=kind) for start in starts]
        return np.concatenate(batches) if batches else np.empty((0, self.dimension), np.float32)

    def similarity(self, a: TextOrVector, b: TextOrVector) -> float:
        """Return the cosine of two texts or vectors, -1…1. Which value is high depends on the model."""
        import numpy as np

        left, right = self._to_vector(a), self._to_vector(b)
        if left.shape != right.shape:
            raise InvalidInput(f"two vectors of one size are needed, not {left.shape} and {right.shape}")
        length = float(np.linalg.norm(left) * np.linalg.norm(right))
        if not length:
            raise InvalidInput("a vector of zeros has no direction to compare")
        return float(np.clip(left @ right / length, -1.0, 1.0))

    def clear_cache(self) -> None:
        """Drop all cached vectors."""
        if isinstance(self._embedder, CachedEmbedder):
            self._embedder.clear()

    def _to_vector(self, value: TextOrVector) -> NDArray[np.float64]:
        import numpy as np

        if isinstance(value, str):
            # Models with two kinds of input compare texts of equal rank as queries.
            return self.encode(value, kind="query").astype(np.float64)
        vector = np.asarray(value, np.float64)
        if vector.ndim != 1:
            raise InvalidType(f"a text or one vector is needed, not an array of shape {vector.shape}")
        return vector


def open_embedder(name: str, *, use_gpu: bool = False) -> Embedder:
    """Return the embedder of this name, without a cache; `InvalidInput` lists the known names."""
    name = _ALIASES.get(name, name)
    provider, _, model = name.partition(":")
    try:
        factory: EmbedderFactory = registry.resolve("embedder", provider)
    except InvalidInput as error:
        if added_models.find(name) is None:
            raise InvalidInput(_unknown_name_message(name)) from error
        return open_model(name, use_gpu=use_gpu)
    return factory(model or provider, use_gpu=use_gpu)


def open_model(name: str, *, use_gpu: bool = False) -> Embedder:
    """Return the embedder of this name; for a model that was not added, the error names the command that adds it."""
    from memoranda.embedding.local import OnnxEmbedder, default_spec

    spec = default_spec() if name == DEFAULT_MODEL else added_models.find(name)
    if spec is None:
        raise InvalidInput(f"the model {name!r} is not on this machine yet: run `memoranda models add {name}`")
    return OnnxEmbedder(spec, use_gpu=use_gpu)


def _unknown_name_message(name: str) -> str:
    names = sorted({*registry.known_names("embedder"), *(spec.name for spec in added_models.list_all())})
    return (
        f"no embedding model is named {name!r}: known are {', '.join(names)} (openai and sentence-transformers as "
        "openai:<model>); `memoranda models add <folder or hub:name>` adds another one"
    )


def _require_sentences(embedder: Embedder) -> SentenceEmbedder:
    found = find_sentence_embedder(embedder)
    if found is None:
        raise InvalidInput(f"the model {embedder.identity.model} gives no vectors of sentences: use embed")
    return found


_MAX_BYTES: Final = 64 * 1024 * 1024
# A key, a small array object and two dictionary slots, in addition to the vector itself.
_ENTRY_OVERHEAD: Final = 300


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """Counts of a cache since it was created."""

    hits: int
    """Texts answered without the model: cached, or repeated in one call."""
    misses: int
    """Texts that the model embedded."""
    entries: int


class CachedEmbedder:
    """An `Embedder` that caches the most recently used vectors of another one.

    It keeps at most `max_entries` vectors, and fewer when they would take more than `max_bytes`.
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

    @property
    def gives_sentences(self) -> bool:
        return find_sentence_embedder(self._embedder) is not None

    def embed_sentences(self, texts: Sequence[str]) -> Sequence[FloatArray]:
        """Return the rows of the model itself: a text that is stored again has its vectors in the store."""
        return _require_sentences(self._embedder).embed_sentences(texts)

    def for_tenant(self, tenant: str) -> Embedder:
        """Return this embedder with a part of the cache that only this tenant uses."""
        return _TenantEmbedder(self, tenant)

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        """Return one unit row per text, in order. Only texts that are not cached go to the model, each once."""
        return self.embed_for("", texts, kind)

    def embed_for(self, tenant: str, texts: Sequence[str], kind: InputKind) -> FloatArray:
        """Return the same from a tenant's part of the cache; the empty name is for callers without a tenant."""
        import numpy as np

        checked = check_input_texts(texts)
        keys = [content_hash(f"{tenant}\0{kind}\0{text}") for text in checked]
        rows = self._get_cached(keys)
        missing = {key: text for key, text in zip(keys, checked, strict=True) if key not in rows}
        if missing:
            # Outside the lock: two threads may embed the same new text, with the same result.
            fresh = self._embedder.embed(list(missing.values()), kind=kind)
            rows.update(zip(missing, fresh, strict=True))
        self._store(list(missing), rows, requested=len(keys))
        return np.stack([rows[key] for key in keys]) if keys else np.empty((0, self.identity.dimension), np.float32)

    def statistics(self) -> CacheStatistics:
        """Return the counts."""
        with self._lock:
            return CacheStatistics(self._hits, self._misses, len(self._rows))

    def clear(self) -> None:
        """Drop all vectors; the counts are kept."""
        with self._lock:
            self._rows.clear()

    def _get_cached(self, keys: Iterable[bytes]) -> dict[bytes, FloatArray]:
        found: dict[bytes, FloatArray] = {}
        with self._lock:
            for key in keys:
                row = self._rows.get(key)
                if row is not None:
                    self._rows.move_to_end(key)
                    found[key] = row
        return found

    def _store(self, missing: list[bytes], rows: dict[bytes, FloatArray], *, requested: int) -> None:
        with self._lock:
            self._hits += requested - len(missing)
            self._misses += len(missing)
            for key in missing[-self._capacity() :]:
                # A copy: a row that is a view would keep the whole batch in memory.
                self._rows[key] = rows[key].copy()
                self._rows.move_to_end(key)
            while len(self._rows) > self._capacity():
                self._rows.popitem(last=False)

    def _capacity(self) -> int:
        entry = 4 * self.identity.dimension + _ENTRY_OVERHEAD
        return max(1, min(self._max_entries, self._max_bytes // entry))


@dataclass(frozen=True, slots=True)
class _TenantEmbedder:
    """A cached embedder as one tenant sees it."""

    cached: CachedEmbedder
    tenant: str

    @property
    def identity(self) -> EmbedderIdentity:
        return self.cached.identity

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        return self.cached.embed_for(self.tenant, texts, kind)

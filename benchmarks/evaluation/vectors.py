"""An embedder that caches its vectors on disk, so that a run can be stopped, repeated and varied in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memoranda.embedding.base import pack_sentences, unpack_sentences
from memoranda.embedding.model import EmbeddingModel
from memoranda.text.terms import content_hash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memoranda.embedding.base import EmbedderIdentity, InputKind

_SAVE_EVERY = 2_000


class CachedVectors:
    """An `Embedder` with a cache folder: cached vectors are read from it, missing ones are embedded and added."""

    def __init__(self, model: str | None, folder: Path) -> None:
        self._model = EmbeddingModel(model, cache_size=0)
        # Vectors of other weights would be found by their texts, and the figures would be those of another model.
        self._folder = folder = folder / self._model.identity.fingerprint[:12]
        self._rows: dict[bytes, NDArray[np.float16]] = {}
        self._new: dict[bytes, NDArray[np.float16]] = {}
        for keys in sorted(folder.glob("keys*.npy")):
            vectors = np.load(keys.with_name(keys.name.replace("keys", "vectors")))
            self._rows.update(zip((key.tobytes() for key in np.load(keys)), vectors, strict=True))
        self._sentences: dict[bytes, bytes] = {}
        self._new_sentences: dict[bytes, bytes] = {}
        for path in sorted(folder.glob("sentences*.npz")):
            with np.load(path) as stored:
                parts = np.split(stored["rows"], np.cumsum(stored["counts"])[:-1])
                self._sentences.update(
                    (key.tobytes(), part.tobytes()) for key, part in zip(stored["keys"], parts, strict=True)
                )

    @property
    def identity(self) -> EmbedderIdentity:
        return self._model.identity

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> NDArray[np.float32]:
        keys = [content_hash(f"{kind}\0{text}") for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._rows}
        if missing:
            rows = self._model.embed(list(missing.values()), kind=kind).astype(np.float16)
            self._new.update(zip(missing, rows, strict=True))
            self._rows.update(self._new)
            if len(self._new) >= _SAVE_EVERY:
                self.save()
        found = np.stack([self._rows[key] for key in keys]).astype(np.float32)
        # Half precision is enough for ranking, but changes the length of a vector a little.
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    @property
    def gives_sentences(self) -> bool:
        return self._model.gives_sentences

    def embed_sentences(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return the vector of each text, then those of its sentences."""
        keys = [content_hash(f"passage\0{text}") for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._sentences}
        for key, rows in zip(missing, self._model.embed_sentences(list(missing.values())), strict=True):
            self._new[key] = self._rows[key] = rows[0].astype(np.float16)
            self._new_sentences[key] = pack_sentences(rows[1:])
        self._sentences.update(self._new_sentences)
        if len(self._new) >= _SAVE_EVERY:
            self.save()
        own = self.embed(texts, kind="passage")
        size = own.shape[1]
        return [
            np.concatenate([vector[None], unpack_sentences(self._sentences[key], size)])
            for key, vector in zip(keys, own, strict=True)
        ]

    def save(self) -> None:
        """Write the new vectors to the folder."""
        self._save_sentences()
        if not self._new:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        number = len(list(self._folder.glob("keys*.npy")))
        keys = np.frombuffer(b"".join(self._new), dtype=np.uint8).reshape(-1, 16)
        np.save(self._folder / f"vectors-{number:04}.npy", np.stack(list(self._new.values())))
        np.save(self._folder / f"keys-{number:04}.npy", keys)
        self._new = {}

    def _save_sentences(self) -> None:
        if not self._new_sentences:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        number = len(list(self._folder.glob("sentences*.npz")))
        size = self.identity.dimension
        np.savez(
            self._folder / f"sentences-{number:04}.npz",
            keys=np.frombuffer(b"".join(self._new_sentences), dtype=np.uint8).reshape(-1, 16),
            counts=[len(rows) // size for rows in self._new_sentences.values()],
            rows=np.frombuffer(b"".join(self._new_sentences.values()), dtype=np.int8).reshape(-1, size),
        )
        self._new_sentences = {}

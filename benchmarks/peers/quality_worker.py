"""Asks one peer the questions of the quality benchmark, in the peer's own environment.

    python -m peers.quality_worker <peer> <folder>

Reads `task.json` and `vectors.npy` from the folder and writes `answers.json`.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

LIMIT = 50


class Lookup:
    """Precomputed vectors by text: passages first, then questions."""

    def __init__(self, folder: Path, task: dict[str, Any]) -> None:
        texts = [text for scope in task["scopes"].values() for text in scope["texts"]]
        questions = [question["text"] for question in task["questions"]]
        vectors = np.load(folder / "vectors.npy")
        self.dimension = vectors.shape[1]
        self._passages = dict(zip(map(_key, texts), vectors[: len(texts)], strict=True))
        self._questions = dict(zip(map(_key, questions), vectors[len(texts) :], strict=True))

    def __call__(self, text: str) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self._questions.get(_key(text), self._passages.get(_key(text)))
        return found


def _key(text: str) -> str:
    # Some systems strip whitespace before they embed a text.
    return " ".join(text.split())


class Peer(Protocol):
    """A system that stores turns and returns the ids of those it finds."""

    settings: str

    def add(self, scope: str, ids: Sequence[str], texts: Sequence[str]) -> None: ...

    def search(self, scope: str, text: str) -> list[str]: ...


class Mem0:
    """mem0ai on its default local store."""

    def __init__(self, folder: Path, lookup: Lookup) -> None:
        from mem0 import Memory
        from mem0.embeddings.base import EmbeddingBase

        class LookupEmbedding(EmbeddingBase):  # type: ignore[misc]
            def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002
                vector: list[float] = lookup(text).tolist()
                return vector

        logging.getLogger("mem0").setLevel(logging.ERROR)
        self.settings = f"mem0ai {version('mem0ai')}, infer=False, embedded Qdrant, the same vectors"
        store = {"path": str(folder / "qdrant"), "embedding_model_dims": lookup.dimension, "on_disk": True}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = LookupEmbedding()

    def add(self, scope: str, ids: Sequence[str], texts: Sequence[str]) -> None:
        for id, text in zip(ids, texts, strict=True):
            self._memory.add(text, user_id=scope, metadata={"turn": id}, infer=False)

    def search(self, scope: str, text: str) -> list[str]:
        found = self._memory.search(text, top_k=LIMIT, threshold=0.0, filters={"user_id": scope})
        return [row["metadata"]["turn"] for row in found["results"]]


class Chroma:
    """chromadb, one collection per scope."""

    def __init__(self, folder: Path, lookup: Lookup) -> None:
        import chromadb
        from chromadb.config import Settings

        self.settings = f"chromadb {chromadb.__version__}, HNSW cosine, a collection per scope, the same vectors"
        self._lookup = lookup
        self._client = chromadb.PersistentClient(str(folder / "chroma"), Settings(anonymized_telemetry=False))
        self._collections: dict[str, Any] = {}

    def add(self, scope: str, ids: Sequence[str], texts: Sequence[str]) -> None:
        collection = self._client.create_collection(
            scope, embedding_function=None, configuration={"hnsw": {"space": "cosine", "ef_search": 200}}
        )
        collection.add(ids=list(ids), documents=list(texts), embeddings=np.stack([self._lookup(t) for t in texts]))
        self._collections[scope] = collection

    def search(self, scope: str, text: str) -> list[str]:
        found = self._collections[scope].query(query_embeddings=[self._lookup(text)], n_results=LIMIT)
        return list(found["ids"][0])


class LangGraph:
    """LangGraph's in-memory store with its vector index."""

    def __init__(self, folder: Path, lookup: Lookup) -> None:  # noqa: ARG002
        from langgraph.store.memory import InMemoryStore

        def embed(texts: Sequence[str]) -> list[list[float]]:
            return [lookup(text).tolist() for text in texts]

        self.settings = (
            f"langgraph-checkpoint {version('langgraph-checkpoint')}, InMemoryStore with index, the same vectors"
        )
        self._store = InMemoryStore(index={"dims": lookup.dimension, "embed": embed, "fields": ["text"]})

    def add(self, scope: str, ids: Sequence[str], texts: Sequence[str]) -> None:
        for id, text in zip(ids, texts, strict=True):
            self._store.put((scope,), id, {"text": text})

    def search(self, scope: str, text: str) -> list[str]:
        return [hit.key for hit in self._store.search((scope,), query=text, limit=LIMIT)]


class Bm25s:
    """bm25s with stop words and a stemmer, one index per scope."""

    def __init__(self, folder: Path, lookup: Lookup) -> None:  # noqa: ARG002
        import bm25s
        import Stemmer

        self.settings = f"bm25s {version('bm25s')}, English stop words and stemmer, k1 0.9, b 0.4, an index per scope"
        self._bm25s, self._stemmer = bm25s, Stemmer.Stemmer("english")
        self._indexes: dict[str, tuple[Any, list[str]]] = {}

    def add(self, scope: str, ids: Sequence[str], texts: Sequence[str]) -> None:
        index = self._bm25s.BM25(k1=0.9, b=0.4)
        index.index(self._tokenize(list(texts)), show_progress=False)
        self._indexes[scope] = index, list(ids)

    def search(self, scope: str, text: str) -> list[str]:
        index, ids = self._indexes[scope]
        rows, scores = index.retrieve(self._tokenize([text]), k=min(LIMIT, len(ids)), show_progress=False)
        return [ids[row] for row, score in zip(rows[0], scores[0], strict=True) if score > 0]

    def _tokenize(self, texts: list[str]) -> Any:
        return self._bm25s.tokenize(texts, stopwords="en", stemmer=self._stemmer, show_progress=False)


class Dense:
    """Exact search over the same vectors."""

    settings = "exact cosine over the same vectors"

    def __init__(self, folder: Path, lookup: Lookup) -> None:  # noqa: ARG002
        self._lookup = lookup
        self._scopes: dict[str, tuple[NDArray[np.float32], list[str]]] = {}

    def add(self, scope: str, ids: Sequence[str], texts: Sequence[str]) -> None:
        self._scopes[scope] = np.stack([self._lookup(text) for text in texts]), list(ids)

    def search(self, scope: str, text: str) -> list[str]:
        vectors, ids = self._scopes[scope]
        best = np.argsort(-(vectors @ self._lookup(text)), kind="stable")[:LIMIT]
        return [ids[row] for row in best]


PEERS: dict[str, Any] = {"mem0": Mem0, "chromadb": Chroma, "langgraph": LangGraph, "bm25s": Bm25s, "dense": Dense}


def main(name: str, folder: Path) -> None:
    task = json.loads((folder / "task.json").read_text())
    answers: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        peer: Peer = PEERS[name](Path(scratch), Lookup(folder, task))
        for scope, turns in task["scopes"].items():
            peer.add(scope, turns["ids"], turns["texts"])
        for question in task["questions"]:
            started = time.perf_counter()
            found = peer.search(question["scope"], question["text"])
            answers[question["id"]] = {"turns": found, "ms": (time.perf_counter() - started) * 1000}
        (folder / "answers.json").write_text(json.dumps({"answers": answers, "settings": peer.settings}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

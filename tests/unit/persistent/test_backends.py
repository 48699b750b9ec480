from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memoranda import InvalidInput, InvalidType, MissingExtra, PersistentMemory
from memoranda.embedding.base import Embedder
from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import Incompatible, Unavailable
from memoranda.index.qdrant_edge import QdrantEdge
from memoranda.persistent.backends import BackendEmbedder, Mem0Backend, open_vector_store, to_embedder
from memoranda.persistent.base import MemoryNames
from memoranda.testing.contracts import EmbedderContract
from memoranda.testing.fakes import HashEmbedder

_REFERENCE = HashEmbedder(48)


def embed_texts(texts: list[str]) -> list[list[float]]:
    # Not unit vectors: a back end does not have to return those.
    return (3 * _REFERENCE.embed(texts, kind="passage")).tolist()  # type: ignore[no-any-return]


class EmbedBackend:
    model = "text-embedding-3-small"

    def embed(self, texts: list[str]) -> list[list[float]]:
        return embed_texts(texts)


class AsyncEmbedBackend:
    async def embed(self, texts: list[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return embed_texts(texts)


class EncodeBackend:
    def encode(self, texts: list[str]) -> Any:
        return np.array(embed_texts(texts))


class DocumentQueryBackend:
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return embed_texts(texts)

    def embed_query(self, text: str) -> list[float]:
        return embed_texts([text])[0]


class TestBackendEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return BackendEmbedder(EmbedBackend())


@pytest.mark.parametrize("backend", [EmbedBackend(), AsyncEmbedBackend(), EncodeBackend(), DocumentQueryBackend()])
def test_every_backend_form_returns_unit_vectors(backend: object) -> None:
    embedder = to_embedder(backend)
    assert embedder is not None
    assert embedder.identity.dimension == 48
    for kind in ("query", "passage"):
        rows = embedder.embed(["tea", "milk and honey"], kind=kind)  # type: ignore[arg-type]
        np.testing.assert_allclose(rows, _REFERENCE.embed(["tea", "milk and honey"], kind="query"), atol=1e-6)


async def test_async_backend_works_inside_running_loop() -> None:
    assert BackendEmbedder(AsyncEmbedBackend()).embed(["tea"], kind="query").shape == (1, 48)


def test_models_of_one_class_have_different_identities() -> None:
    first, second = EmbedBackend(), EmbedBackend()
    second.model = "text-embedding-3-large"
    assert BackendEmbedder(first).identity != BackendEmbedder(second).identity
    assert BackendEmbedder(first).identity.model == "text-embedding-3-small"


def test_known_dimension_is_not_measured() -> None:
    class Sized:
        dimension = 7

        def embed(self, texts: list[str]) -> list[list[float]]:
            raise AssertionError("not before the first text")

    assert BackendEmbedder(Sized()).identity.dimension == 7


def test_names_embedders_and_none_are_accepted() -> None:
    embedder = HashEmbedder(8)
    assert to_embedder(embedder) is embedder
    assert to_embedder(None) is None
    named = to_embedder("fast")
    assert isinstance(named, EmbeddingModel)


def test_object_that_cannot_embed_is_rejected() -> None:
    with pytest.raises(InvalidType, match="embed_documents and embed_query, embed, or encode"):
        to_embedder(object())


class FixedBackend:
    def __init__(self, answer: Any, dimension: int | None = None) -> None:
        self.answer = answer
        self.dimension = dimension

    def embed(self, texts: list[str]) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_backend_error_raises_unavailable() -> None:
    with pytest.raises(Unavailable, match="FixedBackend failed: no route"):
        BackendEmbedder(FixedBackend(OSError("no route"))).embed(["tea"], kind="query")


@pytest.mark.parametrize("answer", [None, [], [[]], "x", [["a"]], [[float("nan")]], [[1.0], [1.0, 2.0]]])
def test_answer_that_is_not_vectors_is_rejected(answer: Any) -> None:
    with pytest.raises(Incompatible, match="FixedBackend returned"):
        BackendEmbedder(FixedBackend(answer, dimension=2)).embed(["tea"], kind="query")


def test_wrong_number_or_size_of_vectors_is_rejected() -> None:
    with pytest.raises(Incompatible, match="shape"):
        BackendEmbedder(FixedBackend([[1.0, 0.0]] * 3)).embed(["tea", "milk"], kind="query")
    with pytest.raises(Incompatible, match="shape"):
        BackendEmbedder(FixedBackend([[1.0, 0.0]], dimension=3)).embed(["tea"], kind="query")


def test_backend_that_embeds_one_text_a_call_is_asked_for_each() -> None:
    class OneAtATime:
        def embed(self, texts: list[str]) -> list[list[float]]:
            return [[float(len(texts[0])), 0.0]]

    assert BackendEmbedder(OneAtATime()).embed(["a", "bb"], kind="passage").tolist() == [[1.0, 0.0]] * 2


def test_text_whose_vector_is_zeros_is_found_by_its_words(tmp_path: Path) -> None:
    backend = FixedBackend([[0.0, 0.0]])
    with PersistentMemory("agent", embedding_backend=backend, db_url=f"sqlite:///{tmp_path}/a.db") as memory:
        memory.record([{"role": "user", "content": "I like green tea"}, {"role": "user", "content": "I have a cat"}])
        assert "green tea" in memory.retrieve("Which tea do I like?")


@dataclass
class Config:
    """Has the attributes of mem0's configuration objects."""

    provider: Any
    config: Any = field(default_factory=dict)


@dataclass
class QdrantSettings:
    path: str
    collection_name: str = "mem0"
    embedding_model_dims: int = 1536
    url: str | None = None


def test_default_is_built_in_index() -> None:
    assert open_vector_store(None) == open_vector_store("faiss")
    assert open_vector_store(None).engine is None


def test_faiss_path_can_be_file_or_folder(tmp_path: Path) -> None:
    assert open_vector_store({"provider": "faiss", "config": {"path": "a.faiss"}}).faiss_path == "a.faiss"
    folder = open_vector_store(Config("faiss", {"path": str(tmp_path)}))
    assert folder.faiss_path == str(tmp_path / "memories.faiss")


@pytest.mark.parametrize(
    "config",
    [
        "qdrant",
        {"provider": "qdrant"},
        {"provider": "qdrant", "config": {"embedding_model_dims": 384, "on_disk": False, "path": "unused"}},
        Config("qdrant", None),
    ],
)
def test_qdrant_is_opened_from_every_form_of_config(config: Any) -> None:
    engine = open_vector_store(config).engine
    assert isinstance(engine, QdrantEdge)
    engine.close()


def test_settings_can_be_an_object(tmp_path: Path) -> None:
    engine = open_vector_store(Config("qdrant", QdrantSettings(str(tmp_path / "q")))).engine
    assert engine is not None
    engine.close()
    assert (tmp_path / "q" / "mem0").is_dir()


def test_unknown_store_lists_known_stores() -> None:
    with pytest.raises(
        InvalidInput, match="no vector_store is named 'milvus': known are chroma, faiss, pgvector, qdrant"
    ):
        PersistentMemory("a", vector_store_config={"provider": "milvus", "config": {}})


@pytest.mark.parametrize(
    ("config", "url"),
    [
        ({"host": "db", "dbname": "memories"}, "postgresql://db/memories"),
        (
            {"host": "db", "port": 6432, "user": "a@b", "password": "p/w:d", "dbname": "m", "sslmode": "require"},
            "postgresql://a%40b:p%2Fw%3Ad@db:6432/m?sslmode=require",
        ),
        ({"host": "::1", "dbname": "m", "collection_name": "mem0", "hnsw": True}, "postgresql://[::1]/m"),
        ({"connection_string": "postgres://db/m", "maxconn": 4}, "postgresql://db/m?pool_size=4"),
        ({"connection_string": "postgresql://db/m?a=1", "maxconn": 4}, "postgresql://db/m?a=1&pool_size=4"),
    ],
)
def test_pgvector_names_a_database(config: dict[str, Any], url: str) -> None:
    assert open_vector_store({"provider": "pgvector", "config": config}).db_url == url


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "a host and a dbname"),
        ({"host": "db"}, "a host and a dbname"),
        ({"connection_string": "host=db dbname=m"}, "must look like postgresql://"),
        ({"host": "db", "dbname": "m", "connection_pool": object()}, "no setting connection_pool"),
    ],
)
def test_pgvector_without_a_database_is_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        PersistentMemory("a", vector_store_config={"provider": "pgvector", "config": config})


def test_pgvector_and_another_database_are_refused() -> None:
    config = {"provider": "pgvector", "config": {"host": "db", "dbname": "m"}}
    for options in ({"db_url": "sqlite://"}, {"on_disk": False}):
        with pytest.raises(InvalidInput, match="a database of its own"):
            PersistentMemory("a", vector_store_config=config, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("provider", ["faiss", "qdrant"])
def test_collections_of_every_store_are_apart(provider: str, tmp_path: Path) -> None:
    def open_memory(name: str) -> PersistentMemory:
        config = {"provider": provider, "config": {"path": str(tmp_path / provider), "collection_name": name}}
        return PersistentMemory(
            "a", embedding_backend=HashEmbedder(16), vector_store_config=config, db_url=f"sqlite:///{tmp_path}/a.db"
        )

    with open_memory("alpha") as alpha:
        alpha.record([{"role": "user", "content": "My boat is called Nora."}])
    for name in ("alpha", "beta"):
        with open_memory(name) as memory:
            assert ("Nora" in memory.retrieve("What is my boat called?")) == (name == "alpha")


@pytest.mark.parametrize("provider", ["faiss", "qdrant"])
def test_vectors_of_another_size_than_configured_are_rejected(provider: str, tmp_path: Path) -> None:
    config = {"provider": provider, "config": {"path": str(tmp_path / "v"), "embedding_model_dims": 1536}}
    with pytest.raises(InvalidInput, match=r"1536.*16 numbers"):
        PersistentMemory("a", embedding_backend=HashEmbedder(16), vector_store_config=config)


def test_unknown_setting_is_rejected() -> None:
    with pytest.raises(
        InvalidInput, match="qdrant has no setting pth: known are api_key, client, collection_name, host"
    ):
        open_vector_store({"provider": "qdrant", "config": {"pth": "x"}})
    with pytest.raises(InvalidInput, match="faiss has no setting url"):
        open_vector_store({"provider": "faiss", "config": {"url": "x"}})


@pytest.mark.parametrize("config", [{}, {"config": {}}, 5, Config(None)])
def test_config_without_provider_is_rejected(config: Any) -> None:
    with pytest.raises(InvalidType, match="chroma, faiss, pgvector, qdrant"):
        open_vector_store(config)


def test_missing_chroma_raises_with_install_line() -> None:
    with pytest.raises(MissingExtra, match=r'pip install "memoranda\[chroma\]"'):
        open_vector_store("chroma")


def test_missing_mem0_raises_with_install_line() -> None:
    with pytest.raises(ImportError, match=r'pip install "memoranda\[mem0\]"'):
        PersistentMemory("a", mem0_config={"version": "v1.1"})


@pytest.mark.parametrize("provider", ["faiss", "qdrant"])
def test_answers_are_the_same_in_every_store(tmp_path: Path, provider: str) -> None:
    facts = ["Ann likes green tea", "Bob drives a red car", "Ann lives in Berlin", "Bob has two cats"]
    url = f"sqlite:///{tmp_path}/{provider}.db"
    config = {"provider": provider, "config": {"path": str(tmp_path / provider)}}
    with PersistentMemory("a", embedding_backend=HashEmbedder(64), vector_store_config=config, db_url=url) as memory:
        memory.save_to_memory("", facts)
        found = memory.recall_from_memory(["where does Ann live", "red car"], limit=1)["memories"]
    assert [text.split(" (")[0] for text in found] == ["Ann lives in Berlin", "Bob drives a red car"]


class FakeMem0:
    """Has the methods of `mem0.Memory` that the back end calls."""

    def __init__(self, results: list[dict[str, Any]] | None = None) -> None:
        self.results = results
        self.added: list[dict[str, Any]] = []

    def add(self, messages: Any, **arguments: Any) -> Any:
        if isinstance(self.results, Exception):
            raise self.results
        self.added.append({"messages": messages, **arguments})
        rows = [{"id": f"m{n}", "memory": message["content"], "event": "ADD"} for n, message in enumerate(messages)]
        return {"results": rows if self.results is None else self.results}

    def search(self, query: str, *, filters: dict[str, str], top_k: int) -> Any:
        assert filters == {"agent_id": "a", "run_id": "s"}
        rows = [row for call in self.added for row in call["messages"] if query in row["content"]][:top_k]
        return {
            "results": [
                {"id": f"m{n}", "memory": row["content"], "score": 0.5, "created_at": "2024-05-04T10:00:00+00:00"}
                for n, row in enumerate(rows)
            ]
        }

    def close(self) -> None: ...


def test_all_methods_use_mem0_with_its_scope_names() -> None:
    mem0 = FakeMem0()
    with PersistentMemory("a", session_name="s", mem0_config=mem0) as memory:
        (outcome,) = memory.record([{"role": "user", "content": "I like tea"}])
        assert (outcome.status, outcome.memory) == ("stored", None)
        assert memory.save_to_memory("why", ["tea is good"])["memory_ids"] == ["m0"]
        assert [call.get("infer", True) for call in mem0.added] == [True, False]
        assert memory.recall_from_memory(["tea"])["memories"] == ["I like tea", "tea is good"]
        text = memory.retrieve("tea")
    assert "## 2024-05-04 (Saturday)\n- I like tea [#1, mem0]" in text


def test_save_fails_if_mem0_stores_nothing() -> None:
    memory = PersistentMemory("a", session_name="s", mem0_config=FakeMem0(results=[]))
    (outcome,) = memory.record([{"role": "user", "content": "I like tea"}])
    assert (outcome.status, outcome.reason) == ("rejected", "mem0 stored no memories from these messages")
    assert memory.save_to_memory("", ["a", "b"]) == {
        "success": False,
        "message": "Saved 0, NOT saved 2: mem0 did not store them",
        "memory_ids": [],
    }


def test_mem0_error_is_reported_in_result() -> None:
    memory = PersistentMemory("a", session_name="s", mem0_config=FakeMem0(results=ValueError("no model")))  # type: ignore[arg-type]
    answer = memory.save_to_memory("", ["tea"])
    assert (answer["success"], answer["message"]) == (
        False,
        "Error saving to memory, nothing was saved: mem0 failed: no model",
    )


def test_mem0_backend_without_mem0_raises_with_install_line() -> None:
    with pytest.raises(MissingExtra, match=r'pip install "memoranda\[mem0\]"'):
        Mem0Backend({}, MemoryNames("a", None, None))
    with pytest.raises((MissingExtra, InvalidType)):
        Mem0Backend(5, MemoryNames("a", None, None))

"""`PersistentMemory` with mem0's settings of pgvector, on a real server."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from memoranda import PersistentMemory
from memoranda.errors import InvalidInput
from memoranda.testing.fakes import HashEmbedder


def test_collections_of_pgvector_are_apart(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_AUDIT_KEY", "a key for the tests of pgvector")

    def open_memory(**settings: object) -> PersistentMemory:
        config = {"provider": "pgvector", "config": {"connection_string": url, **settings}}
        return PersistentMemory("writer", "ada", embedding_backend=HashEmbedder(64), vector_store_config=config)

    with open_memory(collection_name="alpha") as alpha:
        alpha.record([{"role": "user", "content": "My boat is called Nora."}])
    for name, found in (("alpha", True), ("beta", False), (None, False)):
        with open_memory(collection_name=name) as memory:
            assert ("Nora" in memory.retrieve("What is my boat called?")) == found
    with pytest.raises(InvalidInput, match=r"1536.*64 numbers"):
        open_memory(embedding_model_dims=1536)


def test_pgvector_stores_in_the_database_that_it_names(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_AUDIT_KEY", "a key for the tests of pgvector")
    parts = urlsplit(url)
    config = {
        "provider": "pgvector",
        "config": {
            "host": parts.hostname,
            "port": parts.port,
            "user": parts.username,
            "dbname": parts.path.strip("/"),
            "collection_name": "memories",
            "embedding_model_dims": 64,
        },
    }
    for expected in (0, 1):
        with PersistentMemory(
            "writer", "ada", embedding_backend=HashEmbedder(64), vector_store_config=config
        ) as memory:
            assert memory.recall_from_memory("boat")["count"] == expected
            memory.record([{"role": "user", "content": "My boat is called Nora."}])
            assert "Nora" in memory.retrieve("What is my boat called?")

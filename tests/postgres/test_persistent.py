"""`PersistentMemory` with mem0's settings of pgvector, on a real server."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from memoranda import PersistentMemory
from memoranda.testing.fakes import HashEmbedder


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

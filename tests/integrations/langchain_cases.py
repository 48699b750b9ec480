"""LangChain's standard tests of vector stores, stores of bytes, and retrievers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documentation import run_page
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import (
    BaseStoreAsyncTests,
    BaseStoreSyncTests,
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

from memoranda import EmbeddingModel, MemoryManager
from memoranda.integrations.langchain import MemorandaByteStore, MemorandaRetriever, MemorandaVectorStore

VALUES = (b"one", b"two", b"three")


@pytest.fixture
def memory() -> Iterator[MemoryManager]:
    with MemoryManager("sqlite://", embedder=EmbeddingModel("static")) as manager:
        yield manager


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:  # type: ignore[override]
        store = MemorandaVectorStore("sqlite://", embedding=self.get_embeddings())
        yield store
        store.close()


class TestByteStore(BaseStoreSyncTests[bytes]):
    @pytest.fixture
    def kv_store(self, memory: MemoryManager) -> MemorandaByteStore:
        return MemorandaByteStore(memory)

    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return VALUES


class TestByteStoreAsync(BaseStoreAsyncTests[bytes]):
    @pytest.fixture
    async def kv_store(self, memory: MemoryManager) -> MemorandaByteStore:
        return MemorandaByteStore(memory)

    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return VALUES


class TestRetriever(RetrieversIntegrationTests):
    num_results_arg_name = "limit"

    @pytest.fixture(autouse=True)
    def _remembered(self, memory: MemoryManager) -> None:
        memory.add_memories([f"Ann likes tea number {number}" for number in range(5)])
        type(self)._memory = memory

    _memory: Any = None

    @property
    def retriever_constructor(self) -> type[MemorandaRetriever]:
        return MemorandaRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self._memory}

    @property
    def retriever_query_example(self) -> str:
        return "What does Ann like?"


def test_page_runs(tmp_path: Path) -> None:
    run_page("langchain.md", tmp_path)

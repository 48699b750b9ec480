"""A pytest plugin: LangGraph's store tests use our store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import langgraph.store.memory

from memoranda import EmbeddingModel, MemoryManager
from memoranda.integrations.langgraph import MemorandaStore

_MODEL = EmbeddingModel("static")


def _open(index: Any) -> Any:
    """Return a database in memory: without a model of the test's own, with one that loads at once."""
    return "sqlite://" if index and index.get("embed") else MemoryManager("sqlite://", embedder=_MODEL)


class InMemoryStore(MemorandaStore):
    def __init__(self, *, index: Any = None, ttl: Any = None) -> None:
        if index and "text_fields" in index:  # the SQLite store's word for the same
            index = {**index, "fields": index["text_fields"]}
        super().__init__(_open(index), index=index, ttl=ttl)


langgraph.store.memory.InMemoryStore = InMemoryStore


class SqliteStore(InMemoryStore):
    """With the methods that its tests call, and that have nothing to do here."""

    @classmethod
    @contextmanager
    def from_conn_string(cls, _: str, **options: Any) -> Iterator[SqliteStore]:
        yield cls(**options)

    def setup(self) -> None:
        """Nothing has to be set up."""

    def start_ttl_sweeper(self) -> None:
        """What has expired is never returned."""

    def stop_ttl_sweeper(self) -> None:
        """There is no sweeper."""


class AsyncSqliteStore(SqliteStore):
    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, _: str, **options: Any) -> AsyncIterator[SqliteStore]:
        yield cls(**options)

    async def setup(self) -> None:
        """Nothing has to be set up."""

    async def start_ttl_sweeper(self) -> None:
        """What has expired is never returned."""

    async def stop_ttl_sweeper(self) -> None:
        """There is no sweeper."""

    async def sweep_ttl(self) -> int:
        return super().sweep_ttl()


try:
    import langgraph.store.sqlite
    import langgraph.store.sqlite.aio
except ModuleNotFoundError:
    pass
else:
    langgraph.store.sqlite.SqliteStore = SqliteStore
    langgraph.store.sqlite.AsyncSqliteStore = AsyncSqliteStore
    langgraph.store.sqlite.aio.AsyncSqliteStore = AsyncSqliteStore

"""LangChain: a vector store, a retriever over recall, and a store of bytes. `pip install memoranda[langchain]`"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from inspect import iscoroutinefunction
from os import PathLike
from typing import Any

from memoranda import aio
from memoranda.errors import InvalidType, MissingExtra
from memoranda.integrations.langchain.vector_store import MemorandaVectorStore
from memoranda.integrations.managers import OpenedSource, OwnedNamespace, Source, open_source

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.stores import ByteStore
    from pydantic import PrivateAttr
except ModuleNotFoundError as error:
    raise MissingExtra("the LangChain adapter", "langchain") from error

__all__ = ["MemorandaByteStore", "MemorandaRetriever", "MemorandaVectorStore"]


class MemorandaRetriever(BaseRetriever):
    """A retriever over `recall`: what was remembered, in any way, in one scope."""

    memory: Any
    agent: str | None = None
    user: str | None = None
    session: str | None = None
    limit: int = 10
    min_score: float | None = None

    _owns_memory: bool = PrivateAttr(default=False)

    def __init__(self, memory: Any = None, **fields: Any) -> None:
        """Create a retriever over a manager, or the path or URL of a database; the default database when None."""
        is_owned = False
        if memory is None or isinstance(memory, aio.MemoryManager | str | PathLike):
            memory, is_owned = open_source(memory)
        recall = getattr(memory, "recall", None)
        if not callable(recall) or iscoroutinefunction(recall):
            raise InvalidType(
                f"memory must be a MemoryManager, not {type(memory).__name__}: write memory=MemoryManager(...)"
            )
        super().__init__(memory=memory, **fields)
        self._owns_memory = is_owned

    def close(self) -> None:
        """Close the manager if it was opened here."""
        if self._owns_memory:
            self.memory.close()

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        limit: int | None = None,
    ) -> list[Document]:
        scope = {"agent": self.agent, "user": self.user, "session": self.session}
        chosen = self.limit if limit is None else limit
        found = self.memory.recall(query, limit=chosen, min_score=self.min_score, **scope)
        return [
            Document(id=str(hit.id), page_content=hit.content, metadata={**hit.metadata, "score": hit.score})
            for hit in found
        ]


class MemorandaByteStore(OpenedSource, ByteStore):
    """Bytes by key, such as LangChain's caches and parent documents; `recall` does not find them."""

    def __init__(
        self,
        memory: Source = None,
        *,
        collection: str = "bytes",
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> None:
        self.memory, self._owns_memory = open_source(memory)
        self._items = OwnedNamespace(self.memory, ("langchain", collection), agent=agent, user=user, session=session)

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        return [None if item is None else b64decode(item.value) for item in map(self._items.get, keys)]

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        for key, value in key_value_pairs:
            if not isinstance(value, bytes):
                raise InvalidType(f"the value of {key!r} must be bytes, not {type(value).__name__}")
        self._items.put({key: b64encode(value).decode("ascii") for key, value in key_value_pairs}, False)

    def mdelete(self, keys: Sequence[str]) -> None:
        self._items.delete(keys)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        yield from (item.key for item in list(self._items.read()) if item.key.startswith(prefix or ""))

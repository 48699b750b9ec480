"""LangChain: a vector store, a retriever over recall, and a store of bytes. `pip install memoranda[langchain]`"""

from __future__ import annotations

import uuid
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import iscoroutinefunction
from os import PathLike
from typing import Any

from memoranda.errors import InvalidInput, InvalidType, MissingExtra
from memoranda.items.base import Item
from memoranda.manager.manager import MemoryManager

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.stores import ByteStore
    from langchain_core.vectorstores import VectorStore
except ModuleNotFoundError as error:
    raise MissingExtra("the LangChain adapter", "langchain") from error

from memoranda.integrations.langchain_items import ItemCollection, LangChainEmbedder


class MemorandaVectorStore(VectorStore):
    """Documents in a collection of Memoranda, found by meaning. `recall` finds them too.

    Args:
        memory: The manager, or the path or URL of a database; the default database when None.
        embedding: A LangChain embedding model, for a manager that is opened here; the built-in model when None.
        collection: The name of the collection.
        agent, user, session: The owner of the documents.
    """

    def __init__(
        self,
        memory: MemoryManager | str | PathLike[str] | None = None,
        *,
        embedding: Embeddings | None = None,
        collection: str = "documents",
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> None:
        if embedding is not None and isinstance(memory, MemoryManager):
            raise InvalidInput("the manager has its embedding model: leave out embedding, or pass a database's path")
        owner = {"agent": agent, "user": user, "session": session}
        embedder = None if embedding is None else LangChainEmbedder(embedding)
        self._embedding = embedding
        self._items = ItemCollection(memory, ("langchain", collection), owner, embedder)

    @property
    def embeddings(self) -> Embeddings | None:
        return self._embedding

    def close(self) -> None:
        """Close the manager if it was opened here."""
        self._items.close()

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **_: Any,
    ) -> list[str]:
        """Store texts and return their ids. A text whose id exists replaces the old one."""
        listed = list(texts)
        keys = [key or str(uuid.uuid4()) for key in (ids or [""] * len(listed))]
        described = metadatas or [{}] * len(listed)
        if not len(listed) == len(keys) == len(described):
            raise InvalidInput("give as many metadatas and ids as texts")
        values = {
            key: {"text": text, "metadata": meta} for key, text, meta in zip(keys, listed, described, strict=True)
        }
        self._items.put(values, ["text"])
        return keys

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool | None:
        """Delete documents by their ids; all of the collection when None."""
        keys = [item.key for item in self._items.walk()] if ids is None else ids
        self._items.delete(keys)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return [_to_document(item) for item in self._items.get(ids) if item is not None]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **_: Any
    ) -> list[tuple[Document, float]]:
        """Return the documents nearest to a query and their scores, higher is better, at most 1.

        Args:
            query: The query.
            k: The maximum number of documents.
            filter: Conditions on the metadata, such as `{"year": {"gte": 2024}}`.
        """
        found = self._items.search(k, query=query, filter=_on_metadata(filter))
        return [(_to_document(item), item.score) for item in found if item.score is not None]

    def similarity_search(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **_: Any
    ) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k, filter)]

    def _select_relevance_score_fn(self) -> Any:
        return lambda score: max(0.0, score)

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> MemorandaVectorStore:
        """Return a new vector store that holds the texts; the options are those of the class."""
        store = cls(embedding=embedding, **options)
        store.add_texts(texts, metadatas, ids=ids)
        return store


def _on_metadata(filter: object) -> dict[str, Any] | None:
    """Return the conditions on the metadata of a document as those on its item."""
    if filter is None:
        return None
    if not isinstance(filter, Mapping):
        raise InvalidType(f"filter must be a dict such as {{'year': 2024}}, not {type(filter).__name__}")
    return {f"metadata.{name}": value for name, value in filter.items()}


def _to_document(item: Item) -> Document:
    return Document(id=item.key, page_content=item.value["text"], metadata=item.value["metadata"])


class MemorandaRetriever(BaseRetriever):
    """A retriever over `recall`: what was remembered, in any way, in one scope."""

    memory: Any
    agent: str | None = None
    user: str | None = None
    session: str | None = None
    limit: int = 10
    min_score: float | None = None

    def __init__(self, **fields: Any) -> None:
        memory = fields.get("memory")
        recall = getattr(memory, "recall", None)
        if not callable(recall) or iscoroutinefunction(recall):
            raise InvalidType(
                f"memory must be a MemoryManager, not {type(memory).__name__}: write memory=MemoryManager(...)"
            )
        super().__init__(**fields)

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


class MemorandaByteStore(ByteStore):
    """Bytes by key, such as LangChain's caches and parent documents; `recall` does not find them."""

    def __init__(
        self,
        memory: MemoryManager | str | PathLike[str] | None = None,
        *,
        collection: str = "bytes",
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> None:
        owner = {"agent": agent, "user": user, "session": session}
        self._items = ItemCollection(memory, ("langchain", collection), owner)

    def close(self) -> None:
        """Close the manager if it was opened here."""
        self._items.close()

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        return [None if item is None else b64decode(item.value) for item in self._items.get(keys)]

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        for key, value in key_value_pairs:
            if not isinstance(value, bytes):
                raise InvalidType(f"the value of {key!r} must be bytes, not {type(value).__name__}")
        self._items.put({key: b64encode(value).decode("ascii") for key, value in key_value_pairs}, False)

    def mdelete(self, keys: Sequence[str]) -> None:
        self._items.delete(keys)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        yield from (item.key for item in list(self._items.walk()) if item.key.startswith(prefix or ""))

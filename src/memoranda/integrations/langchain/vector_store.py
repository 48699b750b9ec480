"""LangChain's vector store: documents in a collection, found by meaning."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import InvalidInput, InvalidType, MissingExtra
from memoranda.items.base import Item
from memoranda.persistent.backends import to_embedder

try:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import VectorStore
except ModuleNotFoundError as error:
    raise MissingExtra("the LangChain adapter", "langchain") from error

from memoranda.integrations.managers import OpenedSource, OwnedNamespace, Source, open_source


class MemorandaVectorStore(OpenedSource, VectorStore):
    """Documents in a collection of Memoranda, found by meaning. `recall` finds them too.

    Args:
        memory: The manager, or the path or URL of a database; the default database when None.
        embedding: A LangChain embedding model, for a manager that is opened here; the built-in model when None.
        collection: The name of the collection.
        agent, user, session: The owner of the documents.
    """

    def __init__(
        self,
        memory: Source = None,
        *,
        embedding: Embeddings | None = None,
        collection: str = "documents",
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> None:
        self._embedding = embedding
        self.memory, self._owns_memory = open_source(memory, to_embedder(embedding))
        self._items = OwnedNamespace(self.memory, ("langchain", collection), agent=agent, user=user, session=session)

    @property
    def embeddings(self) -> Embeddings | None:
        return self._embedding

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
        self._items.delete([item.key for item in self._items.read()] if ids is None else ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return [_to_document(item) for item in map(self._items.get, ids) if item is not None]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **_: Any
    ) -> list[tuple[Document, float]]:
        """Return the documents nearest to a query and their scores, higher is better, at most 1.

        Args:
            query: The query.
            k: The maximum number of documents.
            filter: Conditions on the metadata, such as `{"year": {"gte": 2024}}`.
        """
        return self._search(query, k, filter)

    def _search(
        self, query: str | list[float], k: int, filter: Mapping[str, Any] | None
    ) -> list[tuple[Document, float]]:
        found = self._items.search(k, query, _on_metadata(filter))
        return [(_to_document(item), item.score or 0.0) for item in found]

    def similarity_search(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **_: Any
    ) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k, filter)]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Mapping[str, Any] | None = None, **_: Any
    ) -> list[Document]:
        """Return the documents nearest to a vector of the store's embedding model."""
        return [document for document, _ in self._search(embedding, k, filter)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> list[Document]:
        """Return documents near a query that are unlike each other.

        Args:
            query: The query.
            k: The maximum number of documents.
            fetch_k: How many of the nearest they are chosen from.
            lambda_mult: 1 chooses the nearest, 0 those least alike.
            filter: Conditions on the metadata.
        """
        found = self.similarity_search_with_score(query, max(k, fetch_k), filter)
        return self._choose_diverse(found, k, lambda_mult)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> list[Document]:
        """Return documents near a vector that are unlike each other."""
        return self._choose_diverse(self._search(embedding, max(k, fetch_k), filter), k, lambda_mult)

    def _choose_diverse(self, found: list[tuple[Document, float]], limit: int, relevance: float) -> list[Document]:
        """Return documents that are near the query and unlike each other, by maximal marginal relevance."""
        if not found or limit < 1:
            return []
        embedder = to_embedder(self._embedding) or EmbeddingModel("fast")  # a table of words, which takes no time
        vectors = embedder.embed([document.page_content for document, _ in found], kind="passage")
        scores, alike = np.array([score for _, score in found]), vectors @ vectors.T
        chosen = [0]
        while len(chosen) < min(limit, len(found)):
            worth = relevance * scores - (1 - relevance) * alike[:, chosen].max(axis=1)
            worth[chosen] = -np.inf
            chosen.append(int(np.argmax(worth)))
        return [found[number][0] for number in chosen]

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

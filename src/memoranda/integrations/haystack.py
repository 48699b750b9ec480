"""A Haystack document store, and a retriever that searches it by words and meaning without an embedder of its own."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from os import PathLike
from typing import Any

from memoranda.aio.threads import in_thread
from memoranda.errors import Conflict, InvalidInput, InvalidType, MissingExtra
from memoranda.integrations.managers import OpenedSource, OwnedNamespace, Source, open_source
from memoranda.items.base import Item
from memoranda.validation import MAX_LIMIT, check_integer

try:
    from haystack import component, default_to_dict
    from haystack.dataclasses import Document
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy
    from haystack.utils.filters import document_matches_filter
except ModuleNotFoundError as error:
    raise MissingExtra("the Haystack adapter", "haystack") from error

Filters = dict[str, Any] | None


class MemorandaDocumentStore(OpenedSource):
    """Documents in a Memoranda database, each under its id. Their text is searched, their metadata is filtered."""

    def __init__(
        self,
        memory: Source = None,
        *,
        namespace: Sequence[str] = ("haystack",),
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
    ) -> None:
        """Create a document store.

        Args:
            memory: The manager, or the path or URL of the database; None for the settings of the environment.
            namespace: The names that the documents are below; two stores with different ones share nothing.
            user, agent, session: The owner of the documents.
        """
        self._database = str(memory) if isinstance(memory, str | PathLike) else memory
        self.memory, self._owns_memory = open_source(memory)
        self.items = OwnedNamespace(self.memory, namespace, user=user, agent=agent, session=session)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings of the store, for a saved pipeline."""
        if self._database is not None and not isinstance(self._database, str):
            raise InvalidInput("a store over a MemoryManager cannot be saved: give it the path of the database instead")
        return dict(default_to_dict(self, memory=self._database, namespace=list(self.items.names), **self.items.owner))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MemorandaDocumentStore:
        return cls(**data["init_parameters"])

    def count_documents(self) -> int:
        return self.items.count()[0]

    def filter_documents(self, filters: Filters = None) -> list[Document]:
        """Return the documents that match, in the order in which they were written."""
        return list(_select(map(_to_document, reversed(list(self.items.read()))), filters))

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Write documents in one commit and return how many. Without a policy, a known id is an error."""
        if not isinstance(documents, list) or not all(isinstance(each, Document) for each in documents):
            raise InvalidInput("documents must be a list of haystack Documents")
        new: dict[str, Document] = {}
        for document in documents:
            known = document.id in new or self.items.get(document.id)
            if known and policy is not DuplicatePolicy.OVERWRITE:
                if policy is DuplicatePolicy.SKIP:
                    continue
                raise DuplicateDocumentError(f"a document with the id {document.id!r} is stored already")
            new[document.id] = document
        try:
            self._put(new, new=policy is not DuplicatePolicy.OVERWRITE)
        except Conflict:  # somebody else wrote one of them meanwhile
            return self.write_documents(documents, policy)
        return len(documents) if policy is DuplicatePolicy.OVERWRITE else len(new)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents; ids that are not stored are ignored."""
        self.items.delete(document_ids)

    def delete_all_documents(self) -> None:
        self.delete_documents([document.id for document in self.filter_documents()])

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that match and return how many."""
        return self.items.delete([document.id for document in self.filter_documents(filters)])

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Add these fields to the metadata of the documents that match, in one commit, and return how many."""
        found = self.filter_documents(filters)
        for document in found:
            document.meta.update(meta)
        self._put({document.id: document for document in found})
        return len(found)

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        return len(self.filter_documents(filters))

    def count_unique_metadata_by_filter(self, filters: dict[str, Any], metadata_fields: list[str]) -> dict[str, int]:
        """Return how many different values each field has in the documents that match."""
        found = self.filter_documents(filters)
        return {name.removeprefix("meta."): len(_unique_values(found, name)) for name in metadata_fields}

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Return the type of each field of the metadata: boolean, int, float or keyword."""
        names = {bool: "boolean", int: "int", float: "float"}
        values = (pair for document in self.filter_documents() for pair in document.meta.items())
        return {key: {"type": names.get(type(value), "keyword")} for key, value in values if value is not None}

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """Return the smallest and the largest value of a field; None when its values cannot be compared."""
        values = _unique_values(self.filter_documents(), metadata_field)
        is_text = {isinstance(value, str) for value in values}
        comparable = len(is_text) == 1 and all(isinstance(value, int | float | str) for value in values)
        return {"min": min(values), "max": max(values)} if comparable else {"min": None, "max": None}

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: Filters = None,
    ) -> tuple[list[Any], int]:
        """Return a page of the different values of a field that contain a term, sorted as text; and how many."""
        values = _unique_values(self.filter_documents(filters), metadata_field)
        term = (search_term or "").lower()
        found = sorted((value for value in values if term in str(value).lower()), key=str)
        return found[from_ : from_ + size], len(found)

    def search(self, query: str, filters: Filters = None, top_k: int = 10) -> list[Document]:
        """Return the documents that fit a question and match the filters, best first, each with its score."""
        items = self.items.read(query, page=MAX_LIMIT if filters else min(top_k, MAX_LIMIT))
        return list(islice(_select(map(_to_document, items), filters), check_integer(top_k, "top_k")))

    def _put(self, documents: dict[str, Document], *, new: bool = False) -> None:
        values = {id: {**document.to_dict(flatten=False), "score": None} for id, document in documents.items()}
        self.items.put(values, ["content"], dict.fromkeys(values) if new else None)


def _in_thread(method: Any) -> Any:
    @functools.wraps(method)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return await in_thread(method, *args, **kwargs)

    return call


for _name in [name for name in vars(MemorandaDocumentStore) if not name.startswith("_") and "_dict" not in name]:
    setattr(MemorandaDocumentStore, f"{_name}_async", _in_thread(getattr(MemorandaDocumentStore, _name)))


@component
class MemorandaRetriever:
    """Finds the documents of a `MemorandaDocumentStore` that fit a question."""

    def __init__(self, document_store: MemorandaDocumentStore, *, filters: Filters = None, top_k: int = 10) -> None:
        """Create a retriever. Its filters and limit hold unless a run names others."""
        if not isinstance(document_store, MemorandaDocumentStore):
            raise InvalidType(f"document_store must be a MemorandaDocumentStore, not {type(document_store).__name__}")
        self.document_store = document_store
        self.filters, self.top_k = filters, check_integer(top_k, "top_k")

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: Filters = None, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return `documents`, best first, each with its score."""
        return {"documents": self.document_store.search(query, filters or self.filters, top_k or self.top_k)}

    run_async = _in_thread(run)


def _select(documents: Iterable[Document], filters: Filters) -> Iterator[Document]:
    if not filters:
        return iter(documents)
    document_matches_filter(filters, Document(content=""))  # a malformed filter is an error in an empty store too
    return (document for document in documents if document_matches_filter(filters, document))


def _unique_values(documents: Sequence[Document], field: str) -> list[Any]:
    """Return the different values of a field; 1, 1.0, "1" and True are different."""
    name = field.removeprefix("meta.")
    values = (document.meta[name] for document in documents if document.meta.get(name) is not None)
    return list({json.dumps(value, sort_keys=True): value for value in values}.values())


def _to_document(item: Item) -> Document:
    return Document.from_dict({**item.value, "id": item.key, "score": item.score})

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from haystack import Pipeline
from haystack.components.writers import DocumentWriter
from haystack.dataclasses import ByteStream, Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.testing import document_store as sync_mixins
from haystack.testing import document_store_async as async_mixins

from memoranda import MemoryManager
from memoranda.errors import InvalidInput
from memoranda.integrations.haystack import MemorandaDocumentStore, MemorandaRetriever

SYNC = [value for name, value in vars(sync_mixins).items() if name.endswith("Test")]
ASYNC = [value for name, value in vars(async_mixins).items() if name.endswith("Test")]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryManager]:
    with MemoryManager(tmp_path_factory.mktemp("haystack") / "memories.db") as manager:
        yield manager


@pytest.fixture
def document_store(memory: MemoryManager, request: pytest.FixtureRequest) -> MemorandaDocumentStore:
    return MemorandaDocumentStore(memory, namespace=("haystack", request.node.name))


class TestHaystackMixins(*SYNC):  # type: ignore[misc]
    """Every sync mixin that Haystack ships."""

    def test_write_documents(self, document_store: MemorandaDocumentStore) -> None:
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])


class TestHaystackAsyncMixins(*ASYNC):  # type: ignore[misc]
    """Every async mixin that Haystack ships."""

    async def test_write_documents_async(self, document_store: MemorandaDocumentStore) -> None:
        document = Document(content="test doc")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document])


DOCUMENTS = [
    Document(content="Rex the dog eats only fish.", meta={"kind": "pet"}),
    Document(content="The cat sleeps on the sofa.", meta={"kind": "pet"}),
    Document(content="The harbour of Lisbon opens at six.", meta={"kind": "place"}),
]


def test_pipeline_writes_and_finds_after_it_was_saved_and_loaded(tmp_path: Path) -> None:
    store = MemorandaDocumentStore(str(tmp_path / "memories.db"), user="ann")
    indexing = Pipeline()
    indexing.add_component("writer", DocumentWriter(store))
    assert indexing.run({"writer": {"documents": DOCUMENTS}})["writer"]["documents_written"] == 3
    asking = Pipeline()
    asking.add_component("retriever", MemorandaRetriever(store, top_k=1))
    store.memory.close()
    loaded = Pipeline.loads(asking.dumps(), allowed_modules=["memoranda.integrations.haystack"])
    found = loaded.run({"retriever": {"query": "What does the dog eat?"}})["retriever"]["documents"]
    assert [document.content for document in found] == ["Rex the dog eats only fish."]
    assert found[0].score > 0.1
    loaded.get_component("retriever").document_store.memory.close()


async def test_retriever_honours_limit_and_filters(document_store: MemorandaDocumentStore) -> None:
    document_store.write_documents(DOCUMENTS)
    places = {"field": "meta.kind", "operator": "==", "value": "place"}
    retriever = MemorandaRetriever(document_store, filters=places)
    assert [each.meta["kind"] for each in retriever.run("What does the dog eat?")["documents"]] == ["place"]
    pets = {"field": "meta.kind", "operator": "==", "value": "pet"}
    assert len((await retriever.run_async("harbour", filters=pets, top_k=1))["documents"]) == 1


def test_wrong_store_or_limit_is_an_error_that_says_so(document_store: MemorandaDocumentStore) -> None:
    with pytest.raises(TypeError, match="must be a MemorandaDocumentStore, not str"):
        MemorandaRetriever("documents.db")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="top_k is 0"):
        MemorandaRetriever(document_store, top_k=0)
    with pytest.raises(ValueError, match="top_k is -1"):
        MemorandaRetriever(document_store).run("fish", top_k=-1)
    assert MemorandaRetriever(document_store).run("fish", top_k=5000) == {"documents": []}


def test_stores_of_different_users_and_namespaces_share_nothing(document_store: MemorandaDocumentStore) -> None:
    document_store.write_documents(DOCUMENTS)
    for other in (
        MemorandaDocumentStore(document_store.memory, user="ann"),
        MemorandaDocumentStore(document_store.memory, namespace=(*document_store.items.names, "other")),
        MemorandaDocumentStore(document_store.memory, namespace=("haystack",)),
    ):
        assert (other.count_documents(), other.filter_documents(), other.search("dog")) == (0, [], [])
        other.write_documents(DOCUMENTS[:1])
        assert other.count_documents() == 1
    assert document_store.count_documents() == 3
    assert len(document_store.filter_documents()) == 3


def test_blob_embedding_and_metadata_come_back_as_they_were(document_store: MemorandaDocumentStore) -> None:
    blob = ByteStream(bytes(range(256)), meta={"page": 1}, mime_type="image/png")
    document = Document(blob=blob, embedding=[0.1, 1e-9, -3.0], meta={"tags": ["a", {"b": None}], "ключ": "значение"})
    document_store.write_documents([document])
    assert document_store.filter_documents() == [document]
    assert document_store.search("image") == []  # it has no text


def test_more_documents_than_a_page_are_all_read(document_store: MemorandaDocumentStore) -> None:
    documents = [Document(content=f"Page {number}", meta={"number": number}) for number in range(1203)]
    document_store.write_documents(documents)
    assert document_store.filter_documents() == documents
    late = {"field": "meta.number", "operator": ">=", "value": 1200}
    assert len(document_store.search("Page", late, top_k=5)) == 3


def test_failed_write_changes_nothing(document_store: MemorandaDocumentStore) -> None:
    document_store.write_documents(DOCUMENTS[:1])
    with pytest.raises(DuplicateDocumentError):
        document_store.write_documents([DOCUMENTS[1], DOCUMENTS[0]], DuplicatePolicy.FAIL)
    with pytest.raises(ValueError, match="meta"):
        document_store.write_documents([Document(id="x", content="x", meta={"bad": object()})])
    assert document_store.filter_documents() == DOCUMENTS[:1]


def test_malformed_filter_is_an_error_in_an_empty_store_too(document_store: MemorandaDocumentStore) -> None:
    with pytest.raises(FilterError):
        document_store.filter_documents({"operator": "AND"})


def test_store_over_a_manager_says_how_it_can_be_saved(document_store: MemorandaDocumentStore) -> None:
    with pytest.raises(InvalidInput, match="path of the database"):
        document_store.to_dict()

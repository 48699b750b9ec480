from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from memoranda import Closed, EmbeddingModel, InvalidInput, InvalidType, MemoryManager
from memoranda.integrations import managers
from memoranda.integrations.langchain import MemorandaByteStore, MemorandaRetriever, MemorandaVectorStore
from memoranda.testing.fakes import HashEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(tmp_path / "a.db", embedder=HashEmbedder(64)) as manager:
        yield manager


def test_documents_are_found_filtered_replaced_and_deleted(memory: MemoryManager) -> None:
    store = MemorandaVectorStore(memory)
    store.add_texts(["green tea", "black coffee"], [{"year": 2024}, {"year": 2020}], ids=["t", "c"])
    assert store.similarity_search("green tea", k=1)[0].id == "t"
    assert [found.id for found in store.similarity_search("green tea", filter={"year": {"lt": 2023}})] == ["c"]
    store.add_texts(["white tea"], ids=["t"])
    assert [found.page_content for found in store.get_by_ids(["t", "nothing"])] == ["white tea"]
    assert store.similarity_search_with_score("white tea", k=1)[0][1] == pytest.approx(1.0, abs=1e-4)
    store.add_texts(["a\0b, half \ud83d"], [{"k\0": "\udfff"}], ids=["t"])
    (odd,) = store.similarity_search("a\0b, half \ud83d", k=1)
    assert (odd.page_content, odd.metadata) == ("a\0b, half \ud83d", {"k\0": "\udfff"})
    store.delete(["t"])
    assert [found.id for found in store.similarity_search("tea")] == ["c"]
    store.delete()
    assert store.similarity_search("tea") == []


def test_as_many_documents_are_returned_as_are_asked_for(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(managers, "MAX_LIMIT", 10)
    monkeypatch.setattr(managers, "_MAX_KEYS", 10)
    store, ids = MemorandaVectorStore(memory), list(map(str, range(25)))
    store.add_texts([f"note {number} about tea" for number in ids], ids=ids)
    for size, expected in ((0, 0), (-1, 0), (3, 3), (23, 23), (5000, 25)):
        assert len({each.id for each in store.similarity_search("tea", k=size)}) == expected
    assert store.delete([]) is True
    assert store.delete(ids) is True
    assert store.similarity_search("tea") == []


def test_wrong_filter_or_memory_is_an_error_that_says_what_to_give(memory: MemoryManager) -> None:
    store = MemorandaVectorStore(memory)
    store.add_texts(["green tea"])
    for wrong in ("year = 2024", [("year", 2024)], 5, lambda document: True):
        with pytest.raises(InvalidType, match="filter must be a dict"):
            store.similarity_search("tea", filter=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="is not a field"):
        store.similarity_search("tea", filter={"$or": [{"year": 1}]})
    for other in (5, {}):
        with pytest.raises(InvalidType, match="memory must be a MemoryManager"):
            MemorandaRetriever(memory=other)


def test_collections_and_owners_are_apart(memory: MemoryManager) -> None:
    MemorandaVectorStore(memory, collection="a", user="ann").add_texts(["green tea"])
    assert MemorandaVectorStore(memory, collection="b", user="ann").similarity_search("tea") == []
    assert MemorandaVectorStore(memory, collection="a").similarity_search("tea") == []
    assert memory.recall("green tea", user="ann")[0].content == "green tea"


def test_a_model_of_langchains_embeds(tmp_path: Path) -> None:
    embedding = DeterministicFakeEmbedding(size=8)
    store = MemorandaVectorStore.from_texts(["tea", "coffee"], embedding, ids=["t", "c"], memory=tmp_path / "b.db")
    assert store.similarity_search("coffee", k=1)[0].id == "c"
    assert store.embeddings is embedding
    store.close()


def test_wrong_input_is_an_error_and_stores_nothing(memory: MemoryManager) -> None:
    store, values = MemorandaVectorStore(memory), MemorandaByteStore(memory)
    with pytest.raises(InvalidInput, match="has its embedding model"):
        MemorandaVectorStore(memory, embedding=DeterministicFakeEmbedding(size=8))
    with pytest.raises(InvalidInput, match="as many"):
        store.add_texts(["a", "b"], ids=["1"])
    with pytest.raises(InvalidType, match="must be bytes"):
        values.mset([("a", b"1"), ("b", "text")])  # type: ignore[list-item]
    assert memory.search_items() == []


def test_bytes_are_kept_and_never_recalled(memory: MemoryManager) -> None:
    store = MemorandaByteStore(memory)
    store.mset([("a/1", b"\x00tea"), ("b", b"")])
    assert store.mget(["b", "a/1", "c"]) == [b"", b"\x00tea", None]
    assert list(store.yield_keys(prefix="a/")) == ["a/1"]
    assert len(memory.recall("tea")) == 0
    store.mdelete(["a/1", "c"])
    assert list(store.yield_keys()) == ["b"]


def test_retriever_returns_what_was_remembered_in_its_scope(memory: MemoryManager) -> None:
    memory.add_memory("green tea", metadata={"topic": "drinks"}, user="ann")
    memory.add_memory("green cars", user="bo")
    (found,) = MemorandaRetriever(memory=memory, user="ann").invoke("green")
    assert (found.page_content, found.metadata["topic"]) == ("green tea", "drinks")
    assert found.metadata["score"] > 0


def test_langchains_messages_are_taken_as_messages(memory: MemoryManager) -> None:
    call = {"name": "look", "args": {"x": 1}, "id": "c1"}
    conversation = memory.get_memory("agent")
    conversation.add([HumanMessage("Where is it?", name="Ann"), AIMessage("", tool_calls=[call])])
    conversation.add(ToolMessage("on the table", tool_call_id="c1"))
    assert [(each.role, each.name) for each in conversation.messages] == [
        ("user", "Ann"),
        ("assistant", None),
        ("tool", None),
    ]
    assert conversation.messages[1].tool_calls is not None
    assert conversation.messages[2].tool_call_id == "c1"
    assert memory.remember(HumanMessage("I live in Ghent."))[0].status == "stored"


@pytest.fixture
def static_memory() -> Iterator[MemoryManager]:
    with MemoryManager("sqlite://", embedder=EmbeddingModel("static")) as manager:
        yield manager


def _vector_store(memory: MemoryManager) -> MemorandaVectorStore:
    store = MemorandaVectorStore(memory)
    texts = ["Green tea from Japan", "Green tea of Japan", "Black tea from India", "The car is red"]
    store.add_texts(texts, [{"n": number} for number in range(len(texts))], ids=["a", "b", "c", "d"])
    return store


def test_marginal_relevance_prefers_documents_that_are_unlike_each_other(static_memory: MemoryManager) -> None:
    store = _vector_store(static_memory)
    assert {each.id for each in store.max_marginal_relevance_search("green tea", k=2, lambda_mult=1.0)} == {"a", "b"}
    assert {each.id for each in store.max_marginal_relevance_search("green tea", k=2, lambda_mult=0.3)} & {"c", "d"}
    retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 3, "fetch_k": 4, "filter": {"n": {"lt": 3}}})
    assert {each.id for each in retriever.invoke("green tea")} == {"a", "b", "c"}
    assert store.max_marginal_relevance_search("  ") == store.similarity_search("") == []


def test_documents_are_found_by_a_vector(static_memory: MemoryManager) -> None:
    store = _vector_store(static_memory)
    vector = EmbeddingModel("static").encode("black tea", kind="query").tolist()
    assert store.similarity_search_by_vector(vector, k=1)[0].id == "c"
    assert [each.id for each in store.similarity_search_by_vector(vector, filter={"n": 3})] == ["d"]
    assert store.max_marginal_relevance_search_by_vector(vector, k=1)[0].id == "c"
    for wrong in ([1.0, 2.0], [], [float("nan")] * len(vector), [0.0] * len(vector)):
        with pytest.raises(InvalidInput, match="vector"):
            store.similarity_search_by_vector(wrong)


def test_retriever_opens_and_closes_the_database_of_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_DB_URL", f"sqlite:///{tmp_path / 'settings.db'}")
    for source in (tmp_path / "own.db", None):
        retriever = MemorandaRetriever(source, user="ann")
        retriever.memory.remember("Green tea is what I drink", user="ann")
        assert [each.page_content for each in retriever.invoke("tea")] == ["Green tea is what I drink"]
        retriever.close()
        with pytest.raises(Closed):
            retriever.invoke("tea")
    assert {file.name for file in tmp_path.glob("*.db")} == {"own.db", "settings.db"}

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from memoranda import InvalidInput, InvalidType, MemoryManager, NotFound, aio
from memoranda.integrations.mem0 import AsyncMemory, Memory, MemoryNotFound
from memoranda.integrations.mem0.filters import matches
from memoranda.testing.fakes import HashEmbedder

PAYLOAD = {"user_id": "ann", "topic": "Green Tea", "n": 3, "ok": True, "tags": ["a", "b"], "day": "2026-05-01"}


def open_manager(path: Path) -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}/m.db", embedder=HashEmbedder())


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with open_manager(tmp_path) as manager:
        yield manager


@pytest.fixture
def memory(manager: MemoryManager) -> Memory:
    return Memory(manager)


def texts(answer: dict[str, Any]) -> list[str]:
    return [each["memory"] for each in answer["results"]]


def test_messages_are_stored_as_they_are_without_infer(memory: Memory) -> None:
    said = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "I like tea", "name": "ann"},
        {"role": "user", "content": "I like tea"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "user", "content": [{"type": "text", "text": "and cake"}]},
    ]
    added = memory.add(said, user_id=7, agent_id=" a1 ", metadata={"k": 1, "run_id": "no"}, infer=False)["results"]  # type: ignore[typeddict-item]
    assert [(each["memory"], each["event"], each["actor_id"], each["role"]) for each in added] == [
        ("I like tea", "ADD", "ann", "user"),
        ("I like tea", "ADD", None, "user"),
        ("and cake", "ADD", None, "user"),
    ]
    found = memory.get(added[0]["id"])
    assert found is not None
    assert (found["user_id"], found["agent_id"], found["metadata"], "run_id" in found) == ("7", "a1", {"k": 1}, False)


def test_infer_remembers_without_a_model_and_reports_what_is_new(memory: Memory, manager: MemoryManager) -> None:
    said = [{"role": "user", "content": "Hi!"}, {"role": "user", "content": "My sister Eva lives in Porto."}]
    assert texts(memory.add(said, user_id="ann")) == ["My sister Eva lives in Porto."]
    assert memory.add(said, user_id="ann") == {"results": []}
    assert [hit.content for hit in manager.recall("Where does Eva live?", user="ann")] == [
        "My sister Eva lives in Porto."
    ]


def test_both_spellings_read_the_same(memory: Memory) -> None:
    for n in range(3):
        memory.add(f"note {n} about tea", user_id="ann", run_id="r1", infer=False)
    new = {"filters": {"user_id": "ann", "run_id": "r1"}, "top_k": 2}
    assert memory.search("tea", user_id="ann", run_id="r1", limit=2) == memory.search("tea", **new)  # type: ignore[arg-type]
    assert memory.get_all(user_id="ann", run_id="r1", limit=2) == memory.get_all(**new)  # type: ignore[arg-type]
    assert len(memory.search("tea", **new)["results"]) == 2  # type: ignore[arg-type]
    assert memory.get_all(user_id="ann", limit=0) == {"results": []}
    (first, *_) = memory.get_all(user_id="ann")["results"]
    memory.update(first["id"], data="changed")
    memory.update(first["id"], "changed again")
    assert [each["new_memory"] for each in memory.history(first["id"])][1:] == ["changed", "changed again"]


def test_each_spelling_has_the_limits_of_its_version(memory: Memory) -> None:
    for n in range(30):
        memory.add(f"note {n} about {'tea' if n % 2 else 'chess'}", user_id="ann", infer=False)
    assert len(memory.get_all(user_id="ann")["results"]) == 30
    assert len(memory.get_all(filters={"user_id": "ann"})["results"]) == 20
    assert len(memory.search("tea", user_id="ann")["results"]) == 30
    assert len(memory.search("tea", filters={"user_id": "ann"}, threshold=0)["results"]) == 20


def test_agent_alone_reads_every_user_and_a_user_reads_only_his_own(memory: Memory) -> None:
    memory.add("Ann likes tea", user_id="ann", agent_id="a1", infer=False)
    memory.add("Bob likes tea", user_id="bob", agent_id="a1", infer=False)
    assert texts(memory.search("tea", filters={"user_id": "ann"}, threshold=0)) == ["Ann likes tea"]
    assert sorted(texts(memory.search("tea", filters={"agent_id": "a1"}))) == ["Ann likes tea", "Bob likes tea"]
    assert texts(memory.get_all(filters={"user_id": "bob", "AND": [{"user_id": "ann"}]})) == []
    assert texts(memory.get_all(filters={"OR": [{"user_id": "bob"}, {"run_id": "r9"}]})) == ["Bob likes tea"]


def test_filters_leave_no_match_out_however_many_do_not_match(memory: Memory) -> None:
    for n in range(120):
        memory.add("tea tea tea", user_id="ann", metadata={"n": n}, infer=False)
    found = memory.search("tea", filters={"user_id": "ann", "n": {"gte": 110}}, top_k=10, threshold=0)["results"]
    assert sorted(each["metadata"]["n"] for each in found) == list(range(110, 120))


@pytest.mark.parametrize(
    ("filters", "held"),
    [
        ({"topic": "Green Tea"}, True),
        ({"topic": "green tea"}, False),
        ({"topic": ["Green Tea", "x"]}, True),
        ({"topic": {"contains": "Tea"}}, True),
        ({"topic": {"contains": "tea"}}, False),
        ({"topic": {"icontains": "tea"}}, True),
        ({"topic": "*"}, True),
        ({"n": 3}, True),
        ({"n": True}, False),
        ({"n": {"gt": 2, "lte": 3}}, True),
        ({"n": {"gt": 3}}, False),
        ({"n": {"gt": "x"}}, False),
        ({"n": {"nin": [1, 2]}}, True),
        ({"ok": True}, True),
        ({"ok": 1}, False),
        ({"tags": "b"}, True),
        ({"tags": {"in": ["c", "a"]}}, True),
        ({"day": {"gte": "2026-05-01", "lt": "2026-05-02T00:00:00+00:00"}}, True),
        ({"missing": {"ne": 1}}, False),
        ({"missing": None}, False),
        ({"user_id": "ann", "AND": [{"n": 3}, {"ok": True}]}, True),
        ({"OR": [{"n": 4}, {"ok": True}]}, True),
        ({"NOT": [{"n": 4}, {"ok": True}]}, False),
        ({"AND": [{"OR": [{"n": 3}, {"n": 4}]}, {"NOT": [{"n": 9}]}]}, True),
    ],
)
def test_filter_holds(filters: dict[str, Any], held: bool) -> None:
    assert matches(PAYLOAD, filters) is held


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"user_id": "u", "n": {"above": 1}}, "unknown operator 'above'"),
        ({"user_id": "u", "n": {}}, "needs an operator"),
        ({"user_id": "u", "n": {"in": 3}}, "need a list"),
        ({"user_id": "u", "OR": []}, "OR is an empty list"),
        ({"user_id": "u", "AND": {"n": 1}}, "AND needs a list"),
        ({"user_id": "u", "NOT": [{"n": {"x": 1}}]}, "unknown operator 'x'"),
        ({"user_id": " "}, "user_id is empty"),
        ({"n": 1}, "must name a user_id"),
        ("ann", "filters must be a dict"),
        ({"user_id": "ann", "$or": [{"topic": "x"}]}, "use AND, OR, NOT"),
        ({"user_id": "ann", "or": [{"topic": "x"}]}, "use AND, OR, NOT"),
        ({"user_id": {"ne": "bob"}}, "name the owners themselves"),
        ({"agent_id": {"nin": ["bob"]}}, "name the owners themselves"),
        ({"OR": [{"user_id": {"contains": ""}}]}, "name the owners themselves"),
        ({"OR": [{"user_id": "ann"}, {"topic": "x"}]}, "filters must name a user_id"),
    ],
)
def test_wrong_filter_is_an_error_also_in_an_empty_store(memory: Memory, filters: Any, message: str) -> None:
    for read in (memory.get_all, lambda **options: memory.search("tea", **options)):
        with pytest.raises(InvalidInput, match=message):
            read(filters=filters)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "At least one of"),
        ({"user_id": "u", "memory_type": "facts"}, "memory_type"),
        ({"user_id": "u", "prompt": "Find names"}, "leave out prompt"),
        ({"user_id": "u", "expiration_date": "soon"}, "YYYY-MM-DD"),
        ({"user_id": "u", "metadata": {"x": object()}}, "metadata"),
        ({"user_id": "u", "app_id": "x"}, "unknown argument 'app_id'"),
    ],
)
def test_wrong_add_changes_nothing(memory: Memory, manager: MemoryManager, arguments: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        memory.add("I like tea", infer=False, **arguments)
    for wrong in (None, 7, ["x", 7], [{"content": "no role"}]):
        with pytest.raises(InvalidInput):
            memory.add(wrong, user_id="u", infer=False)  # type: ignore[arg-type]
    assert manager.list_memories(user="u") == []


def test_unknown_id_is_none_or_an_error_that_is_a_value_error(memory: Memory) -> None:
    for unknown in ("x", "0", "930eb825-b9a3-4f4a-9069-cf677c6c5149", "00000000-0000-0000-0000-000000000009"):
        assert memory.get(unknown) is None
        assert memory.history(unknown) == []
        for call in (lambda: memory.delete(unknown), lambda: memory.update(unknown, "text")):  # noqa: B023
            with pytest.raises(MemoryNotFound, match=unknown) as raised:
                call()
            assert isinstance(raised.value, ValueError)
            assert isinstance(raised.value, NotFound)


def test_id_is_a_uuid_that_no_other_database_has(memory: Memory, tmp_path: Path) -> None:
    (mine,) = memory.add("tea", user_id="ann", infer=False)["results"]
    assert UUID(mine["id"]).version == 7
    (tmp_path / "other").mkdir()
    with open_manager(tmp_path / "other") as other:
        (theirs,) = Memory(other).add("cake", user_id="ann", infer=False)["results"]
    assert theirs["id"] != mine["id"]
    assert memory.get(theirs["id"]) is None
    with pytest.raises(MemoryNotFound):
        memory.delete(theirs["id"])
    for known in (mine["id"], mine["id"].upper(), "1"):
        found = memory.get(known)
        assert found is not None
        assert (found["memory"], found["id"]) == ("tea", mine["id"])


def test_expired_memory_is_hidden_until_it_is_asked_for(memory: Memory) -> None:
    (added,) = memory.add("tea offer", user_id="ann", expiration_date="2020-01-31", infer=False)["results"]
    assert texts(memory.get_all(user_id="ann")) == []
    assert texts(memory.search("tea", user_id="ann", threshold=0)) == []
    assert texts(memory.search("tea", user_id="ann", threshold=0, show_expired=True)) == ["tea offer"]
    memory.update(added["id"], expiration_date=None)
    assert texts(memory.get_all(user_id="ann")) == ["tea offer"]


def test_procedural_memory_is_the_whole_conversation(memory: Memory, manager: MemoryManager) -> None:
    said = [{"role": "user", "content": "Open the page"}, {"role": "assistant", "content": "Done"}]
    (added,) = memory.add(said, agent_id="a1", memory_type="procedural_memory")["results"]
    assert added["memory"] == "user: Open the page\nassistant: Done"
    assert manager.list_memories(agent="a1")[0].type == "procedural"


def test_timestamp_is_when_it_was_said(memory: Memory, manager: MemoryManager) -> None:
    memory.add("I like tea", user_id="ann", timestamp=1_700_000_000, infer=False)
    assert manager.list_memories(user="ann")[0].valid_from == datetime.fromtimestamp(1_700_000_000, UTC)


def test_metadata_may_set_when_a_memory_was_created_and_no_other_field(memory: Memory) -> None:
    given = {"created_at": "2020-01-01T00:00:00+00:00", "updated_at": "2020-02-02", "hash": "x", "data": "y", "id": "z"}
    (added,) = memory.add("I like tea", user_id="ann", metadata=given, infer=False)["results"]
    found = memory.get(added["id"])
    assert found is not None
    assert (found["memory"], found["metadata"], found["created_at"]) == ("I like tea", None, given["created_at"])
    assert found["updated_at"] > "2026"
    assert len(found["hash"]) == 32


def test_deleting_leaves_values_and_other_owners(memory: Memory, manager: MemoryManager) -> None:
    manager.put(("notes",), "k", {"text": "tea"}, user="ann")
    manager.save("a1", "k", "tea", "long_term")
    memory.add("I like tea", user_id="ann", infer=False)
    memory.add("I like tea", user_id="bob", infer=False)
    assert texts(memory.get_all(user_id="ann")) == ["I like tea"]
    assert memory.delete_all(user_id="ann") == {"message": "Memories deleted successfully!"}
    assert texts(memory.get_all(user_id="ann")) == []
    assert texts(memory.get_all(user_id="bob")) == ["I like tea"]
    with pytest.raises(InvalidInput):
        memory.delete_all()
    memory.reset()
    assert texts(memory.get_all(user_id="bob")) == []
    assert manager.get_item(("notes",), "k", user="ann") is not None
    assert manager.retrieve("a1", "k", "long_term") == "tea"


class MemoryConfig(BaseModel):
    """Has the fields of mem0's that matter here."""

    vector_store: dict[str, Any] = {}
    llm: dict[str, Any] = {"provider": "openai"}
    version: str = "v1.1"


def test_configuration_of_mem0_names_the_folder_and_the_collection(tmp_path: Path) -> None:
    def config(collection: str) -> dict[str, Any]:
        settings = {"path": str(tmp_path / "store"), "collection_name": collection, "embedding_model_dims": 32}
        return {"vector_store": {"provider": "qdrant", "config": settings}, "history_db_path": "x.db"}

    with Memory.from_config(config("one")) as memory:
        memory.add("I like tea", user_id="ann", infer=False)
    with Memory.from_config(config("two")) as memory:
        assert texts(memory.get_all(user_id="ann")) == []
    with Memory.from_config(config("one")) as memory:
        assert texts(memory.get_all(user_id="ann")) == ["I like tea"]
    with pytest.warns(UserWarning, match="embedder, llm are not used"):
        Memory.from_config({**config("one"), "llm": {}, "embedder": {}}).close()
    with Memory(MemoryConfig(vector_store=config("one")["vector_store"], version="v1.1")) as memory:
        assert texts(memory.get_all(user_id="ann")) == ["I like tea"]
    for wrong in (Memory, AsyncMemory):
        with pytest.raises(InvalidType, match="MemoryManager"):
            wrong({"vector_store": {}})  # type: ignore[operator]


def test_search_without_a_query_is_an_error_as_in_mem0(memory: Memory) -> None:
    for query in ("", "  ", None):
        with pytest.raises(ValueError, match="Invalid query"):
            memory.search(query, filters={"user_id": "ann"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "store",
    [
        {"provider": "pgvector", "config": {"host": "db.example", "dbname": "memories"}},
        {"provider": "qdrant", "config": {"url": "https://qdrant.example", "api_key": "k"}},
        {"provider": "qdrant", "config": {"host": "localhost", "port": 6333, "path": "store"}},
        {"provider": "pinecone"},
        {"provider": "redis", "config": {"collection_name": "mem0", "redis_url": "redis://example"}},
    ],
)
@pytest.mark.parametrize("kind", [Memory, AsyncMemory])
def test_configuration_of_a_remote_store_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any, store: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=r"path.*MemoryManager"):
        kind.from_config({"vector_store": store})
    for wrong in ("qdrant", {"config": "folder"}):
        with pytest.raises(InvalidType, match="vector_store must be a dict"):
            kind.from_config({"vector_store": wrong})
    assert list(tmp_path.iterdir()) == []


async def test_async_memory_gives_the_same_answers(tmp_path: Path) -> None:
    async with aio.MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder()) as manager:
        memory = AsyncMemory(manager)
        (added,) = (await memory.add("I like tea", user_id="ann", infer=False))["results"]
        assert texts(await memory.search("tea", user_id="ann")) == ["I like tea"]
        assert await memory.update(added["id"], "I like coffee") == {"message": "Memory updated successfully!"}
        assert len(await memory.history(added["id"])) == 2
        assert await memory.delete(added["id"]) == {"message": "Memory deleted successfully!"}
        assert await memory.get(added["id"]) is None
        memory.close()
        assert await memory.get_all(user_id="ann") == {"results": []}
    with pytest.raises(NotImplementedError):
        await memory.chat("hello")


async def test_async_memory_closes_its_own_manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with await AsyncMemory.from_config({"vector_store": {"config": {"path": "store"}}}) as memory:
        await memory.add("I like tea", user_id="ann", infer=False)
    memory.close()
    with Memory.from_config({"vector_store": {"config": {"path": "store"}}}) as other:
        assert texts(other.get_all(user_id="ann")) == ["I like tea"]

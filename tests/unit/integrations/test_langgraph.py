from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from memoranda import InvalidInput, InvalidType, MemoryManager
from memoranda.integrations.langgraph import MemorandaSaver, MemorandaStore
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with MemoryManager(tmp_path / "a.db", embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


def test_reads_of_a_batch_see_what_was_there_before_it_as_in_the_stores_of_langgraph(memory: MemoryManager) -> None:
    put, again, gone = (PutOp(("a",), "k", value) for value in ({"n": 1}, {"n": 2}, None))
    other = PutOp(("b",), "k", {"n": 3})
    batches = [
        [put, GetOp(("a",), "k"), again, other, SearchOp(("a",)), ListNamespacesOp()],
        [GetOp(("a",), "k"), gone, GetOp(("a",), "k"), SearchOp(()), put, gone, ListNamespacesOp()],
        [SearchOp(()), GetOp(("a",), "k"), ListNamespacesOp()],
    ]
    found = []
    for store in (MemorandaStore(memory), InMemoryStore()):
        results = [store.batch(ops) for ops in batches]
        found.append([[_plain(result) for result in each] for each in results])
    assert found[0][1] == [{"n": 2}, None, {"n": 2}, [{"n": 2}, {"n": 3}], None, None, [("a",), ("b",)]]
    # Without the namespaces: what LangGraph's store reads becomes a namespace of it.
    assert [each[:5] for each in found[0][:2]] == [each[:5] for each in found[1][:2]]
    assert found[0][2][:2] == found[1][2][:2] == [[{"n": 3}], None]


def _plain(result: Any) -> Any:
    if isinstance(result, list):
        return sorted((_plain(each) for each in result), key=str)
    return result.value if hasattr(result, "value") else result


def test_keys_and_names_that_cannot_be_kept_are_named(memory: MemoryManager) -> None:
    store = MemorandaStore(memory)
    for namespace, key, message in (
        (("n",), "k" * 600, "key.*at most 512"),
        (("n" * 600,), "k", "at most 512"),
        (("n",), "a\0b", "key.*NUL"),
        (("n",), "", "key"),
    ):
        with pytest.raises(InvalidInput, match=message):
            store.put(namespace, key, {"n": 1})
    with pytest.raises(InvalidNamespaceError):
        store.put(("a\0b",), "k", {"n": 1})
    assert store.search(()) == []


def test_what_the_contract_does_not_allow_is_refused(memory: MemoryManager) -> None:
    store = MemorandaStore(memory)
    for value in ([1], "text", 1):
        with pytest.raises(TypeError, match="value must be a dict"):
            store.put(("n",), "k", value)  # type: ignore[arg-type]
    for page in ({"limit": -1}, {"offset": -1}):
        with pytest.raises(InvalidInput, match="at least 0"):
            store.search((), **page)
        with pytest.raises(InvalidInput, match="at least 0"):
            store.list_namespaces(**page)
    assert store.search((), limit=0) == []
    value = {"text": "a\0b, half \ud83d", "k\0": ["\udfff"]}
    store.put(("n",), "k", value)
    assert [item.value for item in store.search((), query="half\0")] == [value]


def test_thread_that_cannot_be_kept_is_named_and_a_number_is_one(memory: MemoryManager) -> None:
    saver = MemorandaSaver(memory)
    for thread, subgraph, argument in (("t" * 512, "", "thread_id"), ("t", "s" * 512, "checkpoint_ns")):
        config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": subgraph}}
        with pytest.raises(InvalidInput, match=f"{argument} has 512 characters; at most 511 fit"):
            saver.put(config, empty_checkpoint(), {"source": "input", "step": -1}, {})
    numbered: Any = {"configurable": {"thread_id": 5, "checkpoint_ns": ""}}
    saver.put(numbered, empty_checkpoint(), {"source": "input", "step": -1}, {})
    assert len(list(saver.list(numbered))) == 1
    saver.delete_thread(5)  # type: ignore[arg-type]
    assert list(saver.list(None)) == []


def test_put_items_are_recalled_and_belong_to_one_owner(memory: MemoryManager) -> None:
    ann, bo = MemorandaStore(memory, user="ann"), MemorandaStore(memory, user="bo")
    ann.put(("n",), "k", {"text": "green tea"})
    assert bo.search(()) == []
    assert bo.get(("n",), "k") is None
    assert memory.recall("green tea", user="ann")[0].metadata["key"] == "k"
    assert len(memory.recall("green tea", user="bo")) == 0


def test_time_to_live_is_in_minutes_and_starts_again_on_reading(memory: MemoryManager, clock: FakeClock) -> None:
    store = MemorandaStore(memory, ttl={"default_ttl": 10})
    store.put(("n",), "k", {"text": "tea"})
    store.put(("n",), "forever", {"text": "tea"}, ttl=None)
    clock.advance(minutes=8)
    assert store.get(("n",), "k") is not None
    clock.advance(minutes=8)
    assert store.get(("n",), "k", refresh_ttl=False) is not None
    clock.advance(minutes=3)
    assert [item.key for item in store.search(("n",))] == ["forever"]
    assert store.sweep_ttl() == 1


def test_more_items_than_one_call_returns_are_read_in_pages(memory: MemoryManager) -> None:
    store = MemorandaStore(memory)
    store.batch([PutOp(("n",), str(number), {"n": number}, index=False) for number in range(1_050)])
    assert len(store.search(("n",), limit=2_000)) == 1_050
    assert len(store.search(("n",), limit=1_020, offset=40)) == 1_010


def test_filters_compare_values_and_operators(memory: MemoryManager) -> None:
    store = MemorandaStore(memory)
    store.put(("n",), "a", {"deep": {"eq": 1}, "n": 1})
    store.put(("n",), "b", {"n": 2})
    assert [item.key for item in store.search(("n",), filter={"deep": {"eq": 1}})] == ["a"]
    assert [item.key for item in store.search(("n",), filter={"n": {"$gt": 1}})] == ["b"]
    holds_itself: dict[str, Any] = {}
    holds_itself |= {"one": holds_itself, "two": holds_itself}
    for wrong in ({"n": holds_itself}, {"deep.eq": 1, "deep": {"eq": 1}}, {"$or": [{"n": 1}]}, [("n", 1)]):
        with pytest.raises((InvalidInput, InvalidType), match=r"filter|is not a field"):
            store.search(("n",), filter=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown operator"):
        store.search(("n",), filter={"n": {"$near": 1}})


@pytest.mark.parametrize(
    "conditions",
    [
        {"author": {"name": "Bo"}},
        {"author": {"born": {"$lt": 1990}}},
        {"author": {"home": {"city": {"$ne": "Ghent"}}, "name": "Bo"}},
        {"author": {"name": {"$eq": "Al"}, "born": {"$gte": 1950, "$lt": 2000}}},
        {"tags": ["a", "b"]},
    ],
)
def test_nested_filters_find_what_langgraphs_own_store_finds(memory: MemoryManager, conditions: dict[str, Any]) -> None:
    stores = (MemorandaStore(memory), InMemoryStore())
    for store in stores:
        store.put(("n",), "a", {"author": {"name": "Bo", "born": 1980, "home": {"city": "Bonn"}}, "tags": ["a", "b"]})
        store.put(("n",), "b", {"author": {"name": "Al", "born": 1995, "home": {"city": "Ghent"}}, "tags": ["a"]})
    found = [{item.key for item in store.search(("n",), filter=conditions)} for store in stores]
    assert found[0] == found[1]
    assert len(found[0]) == 1


def test_a_field_that_is_not_there_is_none_as_in_the_stores_of_langgraph(memory: MemoryManager) -> None:
    stores = MemorandaStore(memory), InMemoryStore()
    for store in stores:
        store.put(("n",), "a", {"color": None, "size": 1})
        store.put(("n",), "b", {"size": 1})
        store.put(("n",), "c", {"color": "red", "size": 1, "made": {"in": "Rome"}})
        store.put(("n",), "d", {"size": 2})
    for conditions in ({"color": None}, {"color": None, "size": 1}, {"made": {"in": None}}, {"size": None}):
        found = [{item.key for item in store.search(("n",), filter=conditions)} for store in stores]
        assert found[0] == found[1]
    assert len(stores[0].search(("n",), filter={"color": None}, limit=2, offset=2)) == 1


def test_wrong_use_is_an_error(memory: MemoryManager) -> None:
    with pytest.raises(InvalidInput, match="has its embedding model"):
        MemorandaStore(memory, index={"dims": 2, "embed": lambda texts: [[1.0, 0.0] for _ in texts]})
    store = MemorandaStore(memory)
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {"n": 1})])
    twice = (MatchCondition("prefix", ("a",)), MatchCondition("prefix", ("b",)))
    with pytest.raises(InvalidInput, match="at most one prefix"):
        store.batch([ListNamespacesOp(twice)])


async def test_a_model_of_the_callers_embeds(tmp_path: Path) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[float("tea" in text), 1.0 - float("tea" in text)] for text in texts]

    store = MemorandaStore(tmp_path / "b.db", index={"dims": 2, "embed": embed, "fields": ["text"]})
    await store.aput(("n",), "a", {"text": "green tea"})
    await store.aput(("n",), "b", {"text": "a car", "other": "tea"})
    found = await store.asearch(("n",), query="tea?")
    assert [(item.key, item.score) for item in found] == [("a", 1.0), ("b", 0.0)]
    store.close()


def _put(saver: MemorandaSaver, values: dict[str, Any], parent: Any = None, changed: Sequence[str] = ()) -> Any:
    """Store a checkpoint after its parent; `changed` channels get a new version and no value."""
    config = parent or {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    known = saver.get_tuple(parent).checkpoint["channel_versions"] if parent else {}  # type: ignore[union-attr]
    new = {name: saver.get_next_version(known.get(name), None) for name in (*values, *changed)}
    identity = {
        "id": f"{len(list(saver.list(None))):04}",
        "channel_values": values,
        "channel_versions": {**known, **new},
    }
    return saver.put(config, {**empty_checkpoint(), **identity}, {"step": 1}, new)  # type: ignore[typeddict-item]


def test_a_value_longer_than_an_item_is_stored_in_parts(memory: MemoryManager) -> None:
    saver, long = MemorandaSaver(memory), "é" * 1_500_000
    config = _put(saver, {"text": long})
    saver.put_writes(config, [("text", long)], "task")
    found = saver.get_tuple(config)
    assert found is not None
    assert found.checkpoint["channel_values"] == {"text": long}
    assert found.pending_writes == [("task", "text", long)]


def test_the_parts_of_long_values_are_copied_and_go_with_their_thread(memory: MemoryManager) -> None:
    saver, long = MemorandaSaver(memory), "é" * 200_000
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    checkpoint: Any = {**empty_checkpoint(), "channel_values": {"text": long}, "channel_versions": {"text": "1"}}
    stored = saver.put(config, checkpoint, {"note": long}, {"text": "1"})
    saver.put_writes(stored, [("text", long)], "task")
    saver.copy_thread("t", "copy")
    saver.delete_thread("t")
    found = saver.get_tuple({"configurable": {"thread_id": "copy"}})
    assert found is not None
    assert (found.checkpoint["channel_values"], found.metadata) == ({"text": long}, {"note": long})
    assert found.pending_writes == [("task", "text", long)]
    saver.delete_thread("copy")
    assert memory.namespaces(session="langgraph checkpoints") == []


def test_a_thread_goes_on_after_a_restart(tmp_path: Path) -> None:
    with MemoryManager(tmp_path / "a.db") as memory:
        first = _put(MemorandaSaver(memory), {"n": 1})
    with MemoryManager(tmp_path / "a.db") as memory:
        saver = MemorandaSaver(memory)
        second = _put(saver, {"n": 2}, first)
        latest = saver.get_tuple({"configurable": {"thread_id": "t"}})
        assert latest is not None
        assert (latest.checkpoint["channel_values"], latest.config, latest.parent_config) == ({"n": 2}, second, first)


def test_branches_of_a_thread_keep_their_own_values(memory: MemoryManager) -> None:
    saver = MemorandaSaver(memory)
    first = _put(saver, {"n": 1})
    left, right = _put(saver, {"n": 2}, first), _put(saver, {"n": 3}, first)
    assert [saver.get(each)["channel_values"]["n"] for each in (first, left, right)] == [1, 2, 3]  # type: ignore[index]


def test_pruning_keeps_what_delta_channels_are_rebuilt_from(memory: MemoryManager) -> None:
    saver = MemorandaSaver(memory)
    old = _put(saver, {"log": _DeltaSnapshot(["a"])})
    snapshot = _put(saver, {"log": _DeltaSnapshot(["a", "b"])}, old)
    middle = _put(saver, {"n": 2}, snapshot, changed=["log"])
    saver.put_writes(middle, [("log", "c")], "task")
    latest = _put(saver, {"n": 3}, middle, changed=["log"])
    saver.prune(["t"])
    kept = {found.config["configurable"]["checkpoint_id"] for found in saver.list(None)}
    assert kept == {config["configurable"]["checkpoint_id"] for config in (snapshot, middle, latest)}
    history = saver.get_delta_channel_history(config=latest, channels=["log"])["log"]
    assert (history["seed"].value, history["writes"]) == (["a", "b"], [("task", "log", "c")])


def test_pruning_keeps_only_the_latest_checkpoint_otherwise(memory: MemoryManager) -> None:
    saver = MemorandaSaver(memory)
    first = _put(saver, {"n": 1, "once": True})
    latest = _put(saver, {"n": 2}, first, changed=["once"])
    saver.prune(["t"])
    assert [found.config for found in saver.list(None)] == [latest]


def test_an_unknown_way_to_prune_is_an_error(memory: MemoryManager) -> None:
    with pytest.raises(InvalidInput, match="keep_latest or delete"):
        MemorandaSaver(memory).prune(["t"], strategy="sometimes")


def test_the_store_does_not_see_checkpoints(memory: MemoryManager) -> None:
    _put(MemorandaSaver(memory), {"n": 1})
    store = MemorandaStore(memory)
    store.put(("a",), "k", {"n": 1})
    assert [item.namespace for item in store.search(())] == [("a",)]
    assert store.list_namespaces() == [("a",)]
    assert len(memory.recall("n")) == 1

"""Bad input raises a typed error that says what to do, and changes nothing in the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from memoranda import (
    Closed,
    ConversationMemory,
    Incompatible,
    InvalidInput,
    MemorandaError,
    MemoryConfig,
    MemoryManager,
    Message,
    NotFound,
    ToolCallMsg,
    UpkeepSettings,
)
from memoranda.testing.fakes import HashEmbedder
from tests.driver import sqlite3

TABLES = ("memories", "messages", "vectors", "associations", "changes", "generations", "executions")
TEN_MEGABYTES = "ten megabytes " * (10_000_000 // 14)
LONE_SURROGATE = "half a \ud83d face"
FIRST_MOMENT = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
LAST_MOMENT = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12)))
circular: list[object] = []
circular.append(circular)

Call = Callable[[Any], object]


def dump(path: Path) -> dict[str, list[Any]]:
    """Return every row of the store, on a handle of its own."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return {table: sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in TABLES}
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.db"


@pytest.fixture
def manager(path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(16)) as manager:
        manager.add_memories(["the river is cold", "the lamp is green"], metadata={"n": 1})
        manager.remember([Message("user", "I moved to Porto")], user="ann")
        manager.add_memory_association(1, 2, "about", 0.5)
        manager.save("agent", "colour", "green", "long_term")
        yield manager


TEXTS: dict[str, tuple[object, str]] = {
    "empty": ("", "empty: give some text"),
    "blank": (" \n\t ", "empty: give some text"),
    "none": (None, "must be a string|must be a text|expected a Message"),
    "number": (42, "must be a string|must be a text|expected a Message"),
    "bytes": (b"bytes", "must be a string|must be a text|expected a Message"),
    "ten megabytes": (TEN_MEGABYTES, "split it into several"),
}
TEXT_METHODS: dict[str, Callable[[Any, Any], object]] = {
    "add_memory": lambda m, text: m.add_memory(text),
    "add_memories": lambda m, text: m.add_memories(["fine", text, "fine too"]),
    "remember": lambda m, text: m.remember(text),
    "remember several": lambda m, text: m.remember(["fine", text]),
    "update": lambda m, text: m.update(1, text) if text is not None else m.update(1),
    "recall": lambda m, text: m.recall(text),
    "search_memories": lambda m, text: m.search_memories(text),
    "search_memory": lambda m, text: m.search_memory(text),
    "search_similar": lambda m, text: m.search_similar("agent", text),
}

QUERY_METHODS = ("recall", "search_memories", "search_memory", "search_similar")
"""A blank query finds nothing: the loop of an agent may send one."""


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("method", TEXT_METHODS)
def test_bad_text_is_refused(manager: MemoryManager, path: Path, method: str, text: str) -> None:
    bad, advice = TEXTS[text]
    if text in ("empty", "blank") and method in QUERY_METHODS:
        assert list(TEXT_METHODS[method](manager, bad)) == []  # type: ignore[call-overload]
        return
    expected = "nothing to update" if (method, text) == ("update", "none") else advice
    assert_refused(path, InvalidInput, expected, lambda: TEXT_METHODS[method](manager, bad))


CALLS: dict[str, tuple[type[MemorandaError], str, Call]] = {
    "unknown type": (InvalidInput, "use one of short_term", lambda m: m.add_memory("x", "diary")),
    "type of another type": (InvalidInput, "use one of short_term", lambda m: m.add_memory("x", 3)),
    "unknown type to search": (InvalidInput, "use one of", lambda m: m.search_memories("x", ["diary"])),
    "types not a list": (InvalidInput, "types must be a list", lambda m: m.search_memories("x", 7)),
    "importance nan": (InvalidInput, "between 0 and 1", lambda m: m.add_memory("x", importance=float("nan"))),
    "importance infinite": (InvalidInput, "between 0 and 1", lambda m: m.add_memory("x", importance=float("inf"))),
    "importance above one": (InvalidInput, "between 0 and 1", lambda m: m.add_memory("x", importance=1.5)),
    "importance below zero": (InvalidInput, "between 0 and 1", lambda m: m.update(1, importance=-0.1)),
    "importance text": (InvalidInput, "number from 0 to 1", lambda m: m.add_memory("x", importance="high")),
    "importance bool": (InvalidInput, "number from 0 to 1", lambda m: m.remember("x", importance=True)),
    "importance in metadata": (
        InvalidInput,
        "between 0 and 1",
        lambda m: m.add_memory("x", metadata={"importance": 9}),
    ),
    "limit zero": (InvalidInput, "at least 1", lambda m: m.recall("x", limit=0)),
    "limit negative": (InvalidInput, "at least 1", lambda m: m.search_memories("x", limit=-1)),
    "limit text": (InvalidInput, "whole number", lambda m: m.recall("x", limit="10")),
    "limit bool": (InvalidInput, "whole number", lambda m: m.recall("x", limit=True)),
    "limit fraction": (InvalidInput, "whole number", lambda m: m.search_similar("agent", "x", top_k=2.5)),
    "limit beyond all": (InvalidInput, "at most", lambda m: m.recall("x", limit=10**9)),
    "get unknown": (NotFound, "no memory 999", lambda m: m.get(999)),
    "get foreign": (NotFound, "no memory 3", lambda m: m.get(3)),
    "get text": (InvalidInput, "whole number", lambda m: m.get("1")),
    "get none": (InvalidInput, "whole number", lambda m: m.get(None)),
    "get bool": (InvalidInput, "whole number", lambda m: m.get(True)),
    "get beyond 64 bits": (MemorandaError, "memory", lambda m: m.get(2**70)),
    "update unknown": (NotFound, "no memory 999", lambda m: m.update(999, "x")),
    "update foreign": (NotFound, "no memory 1", lambda m: m.update(1, "x", user="ann")),
    "update nothing": (InvalidInput, "nothing to update: give", lambda m: m.update(1)),
    "update beyond 64 bits": (MemorandaError, "memory", lambda m: m.update(2**70, "x")),
    "delete unknown": (NotFound, "999", lambda m: m.delete(999)),
    "delete one unknown of several": (NotFound, "999", lambda m: m.delete([1, 999, 2])),
    "delete foreign": (NotFound, "3", lambda m: m.delete(3, user="ben")),
    "delete text": (InvalidInput, "whole number", lambda m: m.delete("1")),
    "delete beyond 64 bits": (MemorandaError, "memory", lambda m: m.delete(2**70)),
    "link unknown": (NotFound, "999", lambda m: m.add_memory_association(1, 999)),
    "link foreign": (NotFound, "3", lambda m: m.add_memory_association(1, 3)),
    "link itself": (InvalidInput, "itself", lambda m: m.add_memory_association(1, 1)),
    "link too strong": (InvalidInput, "between 0 and 1", lambda m: m.add_memory_association(1, 2, strength=2)),
    "link nan": (InvalidInput, "between 0 and 1", lambda m: m.add_memory_association(1, 2, strength=float("nan"))),
    "link unnamed": (InvalidInput, "give some text", lambda m: m.add_memory_association(1, 2, "")),
    "related unknown": (NotFound, "no memory 999", lambda m: m.get_related_memories(999)),
    "related depth zero": (InvalidInput, "at least 1", lambda m: m.get_related_memories(1, depth=0)),
    "related depth huge": (InvalidInput, "at most", lambda m: m.get_related_memories(1, depth=10**6)),
    "metadata set": (InvalidInput, "JSON", lambda m: m.add_memory("x", metadata={"a": {1, 2}})),
    "metadata object": (InvalidInput, "JSON", lambda m: m.remember("x", metadata={"a": object()})),
    "metadata nan": (InvalidInput, "JSON", lambda m: m.add_memory("x", metadata={"a": float("nan")})),
    "metadata list": (InvalidInput, "must be a dict", lambda m: m.add_memory("x", metadata=["a"])),
    "metadata number key": (InvalidInput, "JSON keys are strings", lambda m: m.update(1, metadata={1: "a"})),
    "metadata circular": (InvalidInput, "holds itself", lambda m: m.add_memory("x", metadata={"a": circular})),
    "metadata huge": (InvalidInput, "split it up", lambda m: m.add_memory("x", metadata={"a": TEN_MEGABYTES})),
    "value set": (InvalidInput, "JSON", lambda m: m.save("agent", "k", {1, 2}, "long_term")),
    "value nan": (InvalidInput, "JSON", lambda m: m.save("agent", "k", float("nan"), "long_term")),
    "value bytes": (InvalidInput, "JSON", lambda m: m.save("agent", "k", b"x", "long_term")),
    "short value set": (InvalidInput, "JSON", lambda m: m.save("agent", "k", {1, 2})),
    "value of wrong kind": (InvalidInput, "'short_term' or 'long_term'", lambda m: m.save("agent", "k", 1, "episodic")),
    "value ttl": (InvalidInput, "ttl", lambda m: m.save("agent", "k", 1, "long_term", ttl=5)),
    "value ttl negative": (InvalidInput, "ttl", lambda m: m.save("agent", "k", 1, ttl=-5)),
    "key empty": (InvalidInput, "give some text", lambda m: m.save("agent", "", 1, "long_term")),
    "key none": (InvalidInput, "must be a string", lambda m: m.retrieve("agent", None, "long_term")),
    "agent empty": (InvalidInput, "give some text", lambda m: m.save("", "k", 1, "long_term")),
    "agent number": (InvalidInput, "must be a string", lambda m: m.add_memory("x", agent=7)),
    "user empty": (InvalidInput, "give some text", lambda m: m.remember("x", user="")),
    "user blank": (InvalidInput, "give some text", lambda m: m.recall("x", user="  ")),
    "user nul": (InvalidInput, "NUL", lambda m: m.add_memory("x", user="a\0b")),
    "session surrogate": (InvalidInput, "surrogate", lambda m: m.recall("x", session=LONE_SURROGATE)),
    "source list": (InvalidInput, "must be a string", lambda m: m.add_memory("x", source=["a"])),
    "time naive": (InvalidInput, "time zone", lambda m: m.add_memory("x", at=datetime(2024, 1, 1))),
    "time text": (InvalidInput, "ISO 8601", lambda m: m.remember("x", at="next Tuesday")),
    "time number": (InvalidInput, "datetime", lambda m: m.add_memory("x", at=1_700_000_000)),
    "now naive": (InvalidInput, "time zone", lambda m: m.recall("x", now="2024-01-01T00:00:00")),
    "unknown filter": (InvalidInput, "unknown filter 'colour': use", lambda m: m.recall("x", where={"colour": 1})),
    "unknown operator": (InvalidInput, "use eq, ne", lambda m: m.recall("x", where={"metadata": {"n": {"like": 1}}})),
    "filter not a dict": (InvalidInput, "must be a dict", lambda m: m.recall("x", where=["n"])),
    "filter by a list of lists": (InvalidInput, "compared", lambda m: m.recall("x", where={"metadata": {"n": [[1]]}})),
    "filter nan": (InvalidInput, "finite", lambda m: m.recall("x", where={"metadata": {"n": float("nan")}})),
    "filter order of a bool": (
        InvalidInput,
        "number",
        lambda m: m.recall("x", where={"metadata": {"n": {"gt": True}}}),
    ),
    "remember a number": (InvalidInput, "must be a text", lambda m: m.remember(7)),
    "remember a role": (InvalidInput, "role", lambda m: m.remember({"role": "robot", "content": "x"})),
    "remember a dict without role": (InvalidInput, "role", lambda m: m.remember({"content": "x"})),
    "remember one bad of many": (InvalidInput, "role", lambda m: m.remember(["a", {"role": "?", "content": "x"}])),
    "idempotency key empty": (InvalidInput, "give some text", lambda m: m.remember("x", idempotency_key="")),
    "cleanup beyond all time": (InvalidInput, "at most", lambda m: m.cleanup_old_memories(10**12)),
    "cleanup text": (InvalidInput, "number of days", lambda m: m.cleanup_old_memories("30")),
    "time before the first year": (InvalidInput, "outside the years", lambda m: m.add_memory("x", at=FIRST_MOMENT)),
    "time after the last year": (InvalidInput, "outside the years", lambda m: m.recall("x", now=LAST_MOMENT)),
    "message before the first year": (
        InvalidInput,
        "outside the years",
        lambda m: m.remember({"role": "user", "content": "x", "timestamp": FIRST_MOMENT}),
    ),
    "get of thousands of digits": (InvalidInput, "at most", lambda m: m.get(10**5000)),
    "limit of thousands of digits": (InvalidInput, "at most", lambda m: m.recall("x", limit=10**5000)),
    "importance of thousands of digits": (InvalidInput, "between", lambda m: m.add_memory("x", importance=10**5000)),
    "ttl of thousands of digits": (InvalidInput, "at most", lambda m: m.save("agent", "k", 1, ttl=10**5000)),
    "filter of thousands of digits": (
        InvalidInput,
        "smaller number",
        lambda m: m.recall("x", where={"metadata": {"n": 10**5000}}),
    ),
    "list beyond 64 bits": (InvalidInput, "at most", lambda m: m.list_memories(after=2**70)),
    "why not beyond 64 bits": (InvalidInput, "at most", lambda m: m.why_not("x", 2**70)),
    "delete many unknown": (NotFound, "and 29990 more", lambda m: m.delete(range(10**6, 10**6 + 30_000))),
    "several in one text": (InvalidInput, "list of texts or messages, not str", lambda m: m.add_memories("the river")),
    "several of nothing": (InvalidInput, "list of texts or messages, not NoneType", lambda m: m.add_memories(None)),
    "unknown filters of two types": (
        InvalidInput,
        "unknown filter 'zz', 1: use",
        lambda m: m.recall("x", where={1: 2, "zz": 3}),
    ),
    "filter without operator": (InvalidInput, "no operator", lambda m: m.recall("x", where={"metadata": {"n": {}}})),
    "filter exists text": (
        InvalidInput,
        "True or False",
        lambda m: m.recall("x", where={"metadata": {"n": {"exists": "no"}}}),
    ),
    "filter of too many values": (
        InvalidInput,
        "at most 10000",
        lambda m: m.recall("x", where={"metadata": {"n": list(range(10_001))}}),
    ),
    "filter of too many sources": (
        InvalidInput,
        "at most 10000",
        lambda m: m.recall("x", where={"source": ["s"] * 10_001}),
    ),
    "filter of too many keys": (
        InvalidInput,
        "at most 100",
        lambda m: m.recall("x", where={"metadata": {f"k{n}": 1 for n in range(101)}}),
    ),
    "cleanup negative": (InvalidInput, "at least 0", lambda m: m.cleanup_old_memories(-1)),
    "cleanup importance": (InvalidInput, "between 0 and 1", lambda m: m.cleanup_old_memories(1, 7)),
}


@pytest.mark.parametrize("case", CALLS)
def test_bad_argument_is_refused(manager: MemoryManager, path: Path, case: str) -> None:
    error, advice, call = CALLS[case]
    assert_refused(path, error, advice, lambda: call(manager))


LONG = 10**5000
"""An integer that Python refuses to write with digits, in an error as well as in JSON."""
PART = {"type": "text", "text": "x", "n": LONG}
OBJECTS: dict[str, Callable[[], object]] = {
    "a message's part": lambda: Message("user", [PART]),
    "a message's data": lambda: Message("user", {"a": LONG}),
    "a message's role": lambda: Message(LONG, "x"),  # type: ignore[arg-type]
    "a message's time": lambda: Message.from_dict({"role": "user", "content": "x", "timestamp": LONG}),
    "a message's result": lambda: Message.from_dict({"role": "tool", "tool_call_id": "1", "content": {"a": LONG}}),
    "a call's arguments": lambda: ToolCallMsg.from_dict({"id": "1", "name": "f", "arguments": {"a": LONG}}),
    "a conversation's message": lambda: ConversationMemory().add_message({"role": "user", "content": [PART]}),
    "a conversation's policy": lambda: ConversationMemory(retention_policy=LONG),  # type: ignore[arg-type]
    "a setting": lambda: MemoryConfig(commit_size=LONG, durability=LONG),  # type: ignore[arg-type]
    "a setting of upkeep": lambda: UpkeepSettings(important=LONG),
}


@pytest.mark.parametrize("case", OBJECTS)
def test_integer_of_thousands_of_digits_is_refused_with_an_error_that_can_be_read(case: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        OBJECTS[case]()
    assert 0 < len(str(raised.value)) < 500


def assert_refused(path: Path, error: type[MemorandaError], advice: str, call: Callable[[], object]) -> None:
    before = dump(path)
    with pytest.raises(error, match=advice) as raised:
        call()
    assert len(str(raised.value)) < 500, "the error message is too long to read"
    assert dump(path) == before


@pytest.mark.parametrize(
    "query",
    [
        "?!…",
        "the of and",
        "🙂🙃",
        "مرحبا بالعالم",
        "'; DROP TABLE memories; --",
        '"',
        "a OR b NEAR/2 c*",
        "x " * 100_000,
    ],
    ids=["punctuation", "stop words", "emoji", "right to left", "sql", "quote", "fts syntax", "100,000 words"],
)
def test_recall_accepts_any_text(manager: MemoryManager, query: str) -> None:
    found = manager.recall(query)
    assert all(0 <= hit.score <= 1 for hit in found)
    assert manager.recall("the river").hits[0].content == "the river is cold"


def test_number_too_large_for_a_column_matches_nothing(manager: MemoryManager) -> None:
    manager.add_memory("a big number", metadata={"n": 2**70})
    assert manager.get(5).metadata == {"n": 2**70}
    assert list(manager.recall("number", where={"metadata": {"n": 2**80}})) == []


def test_filter_can_list_thousands_of_values(manager: MemoryManager) -> None:
    for values in ([*range(9_000), "many", None, True], [*map(str, range(9_000)), 1]):
        found = manager.recall("river lamp", where={"metadata": {"n": values}})
        assert {hit.content for hit in found} == {"the river is cold", "the lamp is green"}


@pytest.mark.parametrize("now", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)])
def test_recall_accepts_first_and_last_year(manager: MemoryManager, now: datetime) -> None:
    for when in ("yesterday", "this week", "last night", "five minutes ago", "between yesterday and tomorrow"):
        assert manager.recall(f"was the river cold {when}?", now=now)


def test_escaped_nul_in_metadata_is_kept_and_real_nul_is_replaced(manager: MemoryManager) -> None:
    code = {r"\u0000": r"print('\u0000')", "slash": "\\\\u0000", "half": r"\ud83d"}
    assert manager.add_memory("a snippet", metadata=code).metadata == code
    for bad in ("\0", "\\\0", "\\\\\0", "\0\0", LONE_SURROGATE, "\\\ud83d"):
        replaced = bad.replace("\0", "\ufffd").replace("\ud83d", "\ufffd")
        assert manager.add_memory("a snippet", metadata={"code": bad}).metadata == {"code": replaced}


def test_cleanup_accepts_fraction_of_a_day(manager: MemoryManager) -> None:
    assert manager.cleanup_old_memories(0.5, 1.0).removed == 0
    assert manager.cleanup_old_memories(0, 1.0).removed == 3


def test_metadata_can_be_any_mapping(manager: MemoryManager) -> None:
    assert manager.add_memory("x", metadata=MappingProxyType({"n": 2})).metadata == {"n": 2}


def test_closed_manager_raises_closed(path: Path) -> None:
    manager = MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(16))
    manager.add_memory("kept", at=datetime(2024, 1, 1, tzinfo=UTC))
    manager.close()
    manager.close()
    before = dump(path)
    for call in (manager.add_memory, manager.recall, manager.remember):
        with pytest.raises(Closed, match="make a new one"):
            call("x")
    assert dump(path) == before


class TestOtherEmbedder:
    def test_other_dimension_is_refused_with_advice(self, manager: MemoryManager, path: Path) -> None:
        manager.close()
        before = dump(path)
        with MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(32)) as other:
            for call in (other.add_memory, other.recall, other.remember):
                with pytest.raises(Incompatible, match="reembed"):
                    call("the river")
            assert dump(path) == before

    def test_reembed_switches_to_other_dimension(self, manager: MemoryManager, path: Path) -> None:
        manager.close()
        with MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(32)) as other:
            assert other.reembed() == 4
            assert other.recall("cold river")[0].content == "the river is cold"
            other.add_memory("another")
        sizes = {len(row[2]) for row in dump(path)["vectors"]}
        assert sizes == {4 * 32}

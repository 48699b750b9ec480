"""`mem0_config` with a fake mem0. The real package is tested in its own environment: `make engines`."""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import InvalidType, MissingExtra, PersistentMemory
from memoranda.persistent.base import MemoryNames
from memoranda.persistent.mem0 import Mem0Backend


class FakeMem0:
    """Has the methods of `mem0.Memory` that the back end calls."""

    def __init__(self, results: list[dict[str, Any]] | None = None) -> None:
        self.results = results
        self.added: list[dict[str, Any]] = []

    def add(self, messages: Any, **arguments: Any) -> Any:
        if isinstance(self.results, Exception):
            raise self.results
        self.added.append({"messages": messages, **arguments})
        rows = [{"id": f"m{n}", "memory": message["content"], "event": "ADD"} for n, message in enumerate(messages)]
        return {"results": rows if self.results is None else self.results}

    def search(self, query: str, *, filters: dict[str, str], top_k: int) -> Any:
        assert filters == {"agent_id": "a", "run_id": "s"}
        rows = [row for call in self.added for row in call["messages"] if query in row["content"]][:top_k]
        return {
            "results": [
                {"id": f"m{n}", "memory": row["content"], "score": 0.5, "created_at": "2024-05-04T10:00:00+00:00"}
                for n, row in enumerate(rows)
            ]
        }

    def close(self) -> None: ...


def test_all_methods_use_mem0_with_its_scope_names() -> None:
    mem0 = FakeMem0()
    with PersistentMemory("a", session_name="s", mem0_config=mem0) as memory:
        (outcome,) = memory.record([{"role": "user", "content": "I like tea"}])
        assert (outcome.status, outcome.memory) == ("stored", None)
        assert memory.save_to_memory("why", ["tea is good"])["memory_ids"] == ["m0"]
        assert [call.get("infer", True) for call in mem0.added] == [True, False]
        assert memory.recall_from_memory(["tea"])["memories"] == ["I like tea", "tea is good"]
        text = memory.retrieve("tea")
    assert "## 2024-05-04 (Saturday)\n- I like tea [#1, mem0]" in text


def test_save_fails_if_mem0_stores_nothing() -> None:
    memory = PersistentMemory("a", session_name="s", mem0_config=FakeMem0(results=[]))
    (outcome,) = memory.record([{"role": "user", "content": "I like tea"}])
    assert (outcome.status, outcome.reason) == ("rejected", "mem0 stored no memories from these messages")
    assert memory.save_to_memory("", ["a", "b"]) == {
        "success": False,
        "message": "Saved 0, NOT saved 2: mem0 did not store them",
        "memory_ids": [],
    }


def test_mem0_error_is_reported_in_result() -> None:
    memory = PersistentMemory("a", session_name="s", mem0_config=FakeMem0(results=ValueError("no model")))  # type: ignore[arg-type]
    answer = memory.save_to_memory("", ["tea"])
    assert (answer["success"], answer["message"]) == (False, "Nothing was saved: mem0 failed: no model")


def test_missing_mem0_raises_with_install_line() -> None:
    with pytest.raises(MissingExtra, match=r'pip install "memoranda\[mem0\]"'):
        Mem0Backend({}, MemoryNames("a", None, None))
    with pytest.raises((MissingExtra, InvalidType)):
        Mem0Backend(5, MemoryNames("a", None, None))

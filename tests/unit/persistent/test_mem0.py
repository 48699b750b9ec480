"""What `mem0_config` does with what mem0 answers. The real package has its own environment: `make engines`."""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import InvalidType, MissingExtra, PersistentMemory
from memoranda.persistent.base import Names
from memoranda.persistent.mem0 import Mem0


class Shelf:
    """A ready memory with mem0's two verbs, as `mem0.Memory` has them."""

    def __init__(self, kept: list[dict[str, Any]] | None = None) -> None:
        self.kept = kept
        self.added: list[dict[str, Any]] = []

    def add(self, messages: Any, **arguments: Any) -> Any:
        if isinstance(self.kept, Exception):
            raise self.kept
        self.added.append({"messages": messages, **arguments})
        rows = [{"id": f"m{n}", "memory": message["content"], "event": "ADD"} for n, message in enumerate(messages)]
        return {"results": rows if self.kept is None else self.kept}

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


def test_the_verbs_run_on_mem0_under_its_names() -> None:
    shelf = Shelf()
    with PersistentMemory("a", session_name="s", mem0_config=shelf) as memory:
        (end,) = memory.record([{"role": "user", "content": "I like tea"}])
        assert (end.status, end.memory) == ("stored", None)
        assert memory.save_to_memory("why", ["tea is good"])["memory_ids"] == ["m0"]
        assert [call.get("infer", True) for call in shelf.added] == [True, False]
        assert memory.recall_from_memory(["tea"])["memories"] == ["I like tea", "tea is good"]
        text = memory.retrieve("tea")
    assert "## 2024-05-04 (Saturday)\n- I like tea [#1, mem0]" in text


def test_what_mem0_did_not_keep_is_no_success() -> None:
    memory = PersistentMemory("a", session_name="s", mem0_config=Shelf(kept=[]))
    (end,) = memory.record([{"role": "user", "content": "I like tea"}])
    assert (end.status, end.reason) == ("rejected", "mem0 kept nothing of these messages")
    assert memory.save_to_memory("", ["a", "b"]) == {
        "success": False,
        "message": "Saved 0, NOT saved 2: mem0 did not keep them",
        "memory_ids": [],
    }


def test_an_error_of_mem0_is_told() -> None:
    memory = PersistentMemory("a", session_name="s", mem0_config=Shelf(kept=ValueError("no model")))  # type: ignore[arg-type]
    answer = memory.save_to_memory("", ["tea"])
    assert (answer["success"], answer["message"]) == (False, "Nothing was saved: mem0 failed: no model")


def test_without_mem0_the_install_line_is_named() -> None:
    with pytest.raises(MissingExtra, match=r'pip install "memoranda\[mem0\]"'):
        Mem0({}, Names("a", None, None))
    with pytest.raises((MissingExtra, InvalidType)):
        Mem0(5, Names("a", None, None))

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from memoranda import (
    ConversationMemory,
    InvalidInput,
    InvalidType,
    MemoryBase,
    MemoryManager,
    Message,
    PersistentMemory,
    PersistentMemoryBase,
)
from memoranda.testing.fakes import HashEmbedder

MESSAGES = [
    {"role": "user", "content": "My name is Alice"},
    {"role": "assistant", "content": "Nice to meet you, Alice!"},
]


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        yield manager


@pytest.fixture
def memory(manager: MemoryManager) -> PersistentMemory:
    return PersistentMemory(agent_name="my_agent", manager=manager)


def count(manager: MemoryManager) -> int:
    return manager.get_stats().long_term_entries


def test_at_least_one_name_is_required() -> None:
    with pytest.raises(ValueError, match="At least one of agent_name, user_name or session_name"):
        PersistentMemory()
    with pytest.raises(InvalidInput, match="agent_name is empty"):
        PersistentMemory(agent_name="  ")


def test_recorded_messages_are_retrieved(memory: PersistentMemory) -> None:
    assert [outcome.status for outcome in memory.record(MESSAGES)] == ["stored", "stored"]
    text = memory.retrieve("What is the user's name?", limit=1)
    assert "user: My name is Alice" in text
    assert "Nice to meet you" not in text


def test_empty_memory_returns_empty_text(memory: PersistentMemory) -> None:
    assert memory.retrieve("anything") == ""
    assert memory.recall_from_memory(["anything"]) == {"success": True, "memories": [], "count": 0}


def test_recording_history_after_every_turn_stores_each_message_once(
    memory: PersistentMemory, manager: MemoryManager
) -> None:
    for turns in range(1, 21):
        memory.record([{"role": "user", "content": f"turn {n}"} for n in range(turns)])
    assert count(manager) == 20


def test_same_text_at_another_time_is_another_message(memory: PersistentMemory, manager: MemoryManager) -> None:
    message = {"role": "user", "content": "I ran ten miles today"}
    days = ["2024-05-04T10:00:00Z", "2024-05-05T10:00:00Z"]
    memory.record([{**message, "timestamp": day} for day in days])
    memory.record([{**message, "timestamp": day} for day in days])
    assert count(manager) == 2


def test_only_user_and_assistant_messages_are_stored(memory: PersistentMemory, manager: MemoryManager) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    outcomes = memory.record(
        [
            {"role": "system", "content": "Be brief."},
            None,
            Message("user", "I like tea"),
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "content": "42", "tool_call_id": "c1"},
        ]
    )
    assert [outcome.status for outcome in outcomes] == ["rejected", "stored", "rejected", "rejected"]
    assert ["system" in outcomes[0].reason, "no text" in outcomes[2].reason] == [True, True]
    assert count(manager) == 1


def test_recalled_text_is_not_stored_again(memory: PersistentMemory, manager: MemoryManager) -> None:
    memory.record(MESSAGES)
    recalled = memory.retrieve("name")
    echo, mixed = memory.record(
        [{"role": "user", "content": recalled}, {"role": "user", "content": f"{recalled}\nI also like tea."}]
    )
    assert echo.status == "rejected"
    assert mixed.memory is not None
    assert mixed.memory.content == "I also like tea."
    assert count(manager) == 3


@pytest.mark.parametrize("nothing", [None, [], [None]])
def test_recording_nothing_returns_no_outcomes(memory: PersistentMemory, nothing: Any) -> None:
    assert memory.record(nothing) == []


@pytest.mark.parametrize("wrong", ["a text", 5, [5], [{"role": "king", "content": "x"}]])
def test_invalid_message_is_rejected_and_nothing_stored(
    memory: PersistentMemory, manager: MemoryManager, wrong: Any
) -> None:
    with pytest.raises(InvalidInput):
        memory.record(wrong)
    with pytest.raises(InvalidInput):
        memory.record([*MESSAGES, {"role": "king", "content": "x"}])
    assert count(manager) == 0


@pytest.mark.parametrize(
    "query",
    [
        "favourite tea",
        {"role": "user", "content": "favourite tea"},
        Message("user", "favourite tea"),
        [
            Message("user", "hello"),
            {"role": "assistant", "content": "hi"},
            {"role": "user", "content": "favourite tea"},
        ],
        [{"role": "system", "content": "x"}, {"role": "user", "content": [{"type": "text", "text": "favourite tea"}]}],
    ],
)
def test_query_can_be_text_message_or_list(memory: PersistentMemory, query: Any) -> None:
    memory.save_to_memory("", ["Her favourite tea is Assam", "He drives to work"])
    assert "Assam" in memory.retrieve(query, limit=1)


@pytest.mark.parametrize("query", ["", "  ", [], [{"role": "system", "content": "only rules"}]])
def test_query_without_text_finds_nothing(memory: PersistentMemory, query: Any) -> None:
    memory.save_to_memory("", ["Her favourite tea is Assam"])
    assert memory.retrieve(query) == ""


@pytest.mark.parametrize("query", [5, [5]])
def test_query_of_a_wrong_type_is_refused(memory: PersistentMemory, query: Any) -> None:
    with pytest.raises(InvalidInput):
        memory.retrieve(query)


def test_long_conversation_is_queried_by_its_end(memory: PersistentMemory) -> None:
    memory.save_to_memory("", ["Her favourite tea is Assam", "filler filler filler"])
    talk = [{"role": "user", "content": "filler " * 2_000}, {"role": "user", "content": "what is her favourite tea"}]
    assert "Assam" in memory.retrieve(talk, limit=2)


def test_agent_saves_and_recalls_facts(memory: PersistentMemory, manager: MemoryManager) -> None:
    saved = memory.save_to_memory("personal", ["User's favorite color is blue", "User works as a teacher"])
    assert saved == {"success": True, "message": "Saved 2", "memory_ids": [1, 2]}
    assert manager.get(1, agent="my_agent").metadata == {"thinking": "personal"}
    found = memory.recall_from_memory(["favorite color", "works"], limit=2)
    assert (found["success"], found["count"]) == (True, 2)
    assert [text.split(" (")[0] for text in found["memories"]] == [
        "User's favorite color is blue",
        "User works as a teacher",
    ]


def test_saving_known_fact_reports_it(memory: PersistentMemory) -> None:
    memory.save_to_memory("", "User likes tea")
    again = memory.save_to_memory("", ["User likes tea", "User likes milk"])
    assert again == {"success": True, "message": "Saved 1, known already 1", "memory_ids": [1, 2]}


def test_every_keyword_gets_results(memory: PersistentMemory) -> None:
    memory.save_to_memory("", [f"tea number {n}" for n in range(10)] + ["the car is red"])
    found = memory.recall_from_memory(["tea number", "car red"], limit=3)["memories"]
    assert any("the car is red" in text for text in found)
    assert 3 < len(found) == len(set(found)) <= 6  # three for each


@pytest.mark.parametrize("content", [[], [""], "  ", ["fine", " "], 5, None, [5], b"x"])
def test_failed_save_is_reported_and_stores_nothing(
    memory: PersistentMemory, manager: MemoryManager, content: Any
) -> None:
    answer = memory.save_to_memory("why", content)
    assert (answer["success"], answer["memory_ids"]) == (False, [])
    assert "Error saving to memory" in answer["message"]
    assert count(manager) == 0


@pytest.mark.parametrize(("keywords", "limit"), [([], 5), ([""], 5), (5, 5), (["tea"], 0), (["tea"], "x"), (None, 1)])
def test_failed_recall_is_reported(memory: PersistentMemory, keywords: Any, limit: Any) -> None:
    answer = memory.recall_from_memory(keywords, limit)
    assert (answer["success"], answer["memories"], answer["count"]) == (False, [], 0)
    assert answer["message"]


def test_closed_store_is_reported_and_logged(memory: PersistentMemory, manager: MemoryManager, caplog: Any) -> None:
    manager.close()
    with caplog.at_level(logging.ERROR):
        assert memory.save_to_memory("", ["tea"])["success"] is False
        assert memory.recall_from_memory(["tea"])["success"] is False
    assert len(caplog.records) == 2


def test_failing_backend_is_reported(tmp_path: Path) -> None:
    class Broken:
        dimension = 8

        def embed(self, texts: list[str]) -> list[list[float]]:
            raise ConnectionError("no route")

    with PersistentMemory("a", embedding_backend=Broken(), db_url=f"sqlite:///{tmp_path}/b.db") as memory:
        answer = memory.save_to_memory("", ["tea"])
    assert answer["success"] is False
    assert "no route" in answer["message"]


def test_names_keep_memories_apart(manager: MemoryManager) -> None:
    choices = list(product([None, "x", "y"], repeat=3))[1:]
    memories = {names: PersistentMemory(*names, manager=manager) for names in choices}
    for names, memory in memories.items():
        memory.save_to_memory("", [f"secret of {names}"])
    for names, memory in memories.items():
        found = memory.recall_from_memory(["secret"], limit=50)["memories"]
        agent, user, session = names
        expected = [
            other for other in choices if agent in (None, other[0]) and user == other[1] and session in (None, other[2])
        ]
        assert sorted(text.split(" (2")[0] for text in found) == sorted(f"secret of {other}" for other in expected)


def test_memory_survives_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    with PersistentMemory("a", embedding_backend=HashEmbedder(64), db_url=url) as memory:
        memory.record(MESSAGES)
    with PersistentMemory("a", embedding_backend=HashEmbedder(64), db_url=url) as memory:
        assert "Alice" in memory.retrieve("name")


def test_database_comes_from_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_DB_URL", f"sqlite:///{tmp_path}/set.db")
    with PersistentMemory("a", embedding_backend=HashEmbedder(64)) as memory:
        memory.record(MESSAGES)
    assert (tmp_path / "set.db").exists()


def test_memory_not_on_disk_is_private_and_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first = PersistentMemory("a", embedding_backend=HashEmbedder(64), on_disk=False)
    second = PersistentMemory("a", embedding_backend=HashEmbedder(64), on_disk=False)
    first.record(MESSAGES)
    assert second.retrieve("name") == ""
    first.close()
    first.close()
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_unclosed_private_memory_is_deleted_with_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    PersistentMemory("a", embedding_backend=HashEmbedder(64), on_disk=False)
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_conflicting_arguments_are_rejected(manager: MemoryManager) -> None:
    with pytest.raises(InvalidInput, match="leave db_url out"):
        PersistentMemory("a", manager=manager, db_url="sqlite:///x.db")
    with pytest.raises(InvalidInput, match="leave on_disk=False out"):
        PersistentMemory("a", manager=manager, on_disk=False)
    with pytest.raises(InvalidInput, match="on_disk=False keeps nothing"):
        PersistentMemory("a", db_url="sqlite:///x.db", on_disk=False)
    with pytest.raises(InvalidInput, match="mem0_config brings its own store"):
        PersistentMemory("a", mem0_config={}, manager=manager)
    with pytest.raises(InvalidType, match="embed_documents"):
        PersistentMemory("a", embedding_backend=object())


def test_custom_memory_implements_four_methods_and_gets_tools() -> None:
    class Notebook(PersistentMemoryBase):
        def __init__(self, agent_name: str) -> None:
            super().__init__(agent_name)
            self.pages: list[str] = []

        def record(self, messages: Any) -> list[Any]:
            return []

        def retrieve(self, query: Any, limit: int = 5) -> str:
            return "\n".join(self.pages[:limit])

        def save_to_memory(self, thinking: str, content: Any) -> Any:
            self.pages += content
            return {"success": True, "message": "ok", "memory_ids": []}

        def recall_from_memory(self, keywords: Any, limit: int = 5) -> Any:
            return {"success": True, "memories": self.pages, "count": len(self.pages)}

    notebook = Notebook("n")
    notebook.tools().run(
        {"type": "tool_use", "id": "1", "name": "save_to_memory", "input": {"thinking": "", "content": ["x"]}}
    )
    assert notebook.retrieve("anything") == "x"
    assert (notebook.agent_name, notebook.user_name, notebook.session_name) == ("n", None, None)
    with pytest.raises(TypeError, match="abstract"):
        PersistentMemoryBase("n")  # type: ignore[abstract]


def test_conversation_memory_is_a_memory_base() -> None:
    assert isinstance(ConversationMemory(), MemoryBase)
    with pytest.raises(TypeError, match="abstract"):
        MemoryBase()  # type: ignore[abstract]

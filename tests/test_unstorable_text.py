"""NUL bytes and lone surrogates, which Python and JSON have and no database holds.

JSON comes back exactly, a text to search has U+FFFD in their place, a query finds, and a name is refused: on each
database and over REST.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoranda import InvalidInput, MemoryManager, Message, PersistentMemory, SummarizingMemory, create_session
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.chats import export_conversation, import_conversation
from tests.server.in_process import open_server

BAD = "bees\0 and \ud83d honey"
CLEAN = "bees\ufffd and \ufffd honey"
VALUE: dict[str, Any] = {"text": BAD, "k\0": [BAD, {"deep": "\udfff"}], "escaped": r"\u0000 \ud83d"}


class UnstorableText:
    """The rule, for one `manager`."""

    def test_text_is_stored_with_replacements_and_loses_no_neighbour(self, manager: MemoryManager) -> None:
        outcomes = manager.remember(["I keep ten goats.", f"I keep {BAD}.", {"role": "user", "content": f"My {BAD}."}])
        assert [outcome.status for outcome in outcomes] == ["stored"] * 3
        texts = [outcome.memory.content for outcome in outcomes if outcome.memory]
        assert texts == ["I keep ten goats.", f"I keep {CLEAN}.", f"My {CLEAN}."]
        assert manager.add_memory(BAD).content == CLEAN
        assert manager.update(manager.add_memory("wax").id, BAD).content == CLEAN

    def test_query_finds(self, manager: MemoryManager) -> None:
        manager.add_memory("honey from the bees")
        assert manager.recall(BAD)[0].content == manager.search_memories(BAD)[0].content == "honey from the bees"
        assert "honey from the bees" in str(manager.context(BAD))

    def test_metadata_is_compared_with_replacements(self, manager: MemoryManager) -> None:
        memory = manager.add_memory("honey", metadata={"k\0": BAD})
        assert manager.get(memory.id).metadata == {"k\ufffd": CLEAN}
        for wanted in (BAD, CLEAN, [BAD]):
            assert [hit.id for hit in manager.recall("honey", where={"metadata": {"k\0": wanted}})] == [memory.id]

    def test_recall_with_a_filter_is_replayed_and_loses_no_neighbour(self, manager: MemoryManager) -> None:
        manager.add_memory("honey from the bees")
        other = manager.recall("honey")
        filtered = manager.recall("honey", where={"metadata": {"k\0": BAD}, "after": "2020-01-01T00:00:00Z"})
        similar = manager.search_similar("a", "honey", filter_metadata={"k\0": BAD})
        assert similar == []
        assert manager.replay(other.id).recall.hits == other.hits
        where = manager.replay(filtered.id).parameters["where"]
        assert where == {"metadata": {"k\ufffd": CLEAN}, "after": "2020-01-01T00:00:00Z"}

    def test_value_comes_back_exactly(self, manager: MemoryManager) -> None:
        manager.put(("n",), "k", VALUE)
        found = manager.get_item(("n",), "k")
        assert found is not None
        assert found.value == VALUE
        assert [item.value for item in manager.search_items(("n",), query=BAD)] == [VALUE]
        for kind in ("short_term", "long_term"):
            manager.save("agent", "k", VALUE, kind)
            assert manager.retrieve("agent", "k", kind) == VALUE
        assert manager.search_similar("agent", BAD)

    def test_execution_record_comes_back_exactly(self, manager: MemoryManager) -> None:
        manager.save_execution_record("agent", {"status": "completed", "output": VALUE})
        assert manager.get_execution_records("agent")[0]["output"] == VALUE

    def test_conversation_comes_back_exactly(self, manager: MemoryManager) -> None:
        manager.set_retention_policy("agent", "persistent")
        manager.get_memory("agent").add({"role": "user", "content": BAD, "extra": VALUE})
        found = manager.get_memory("agent").get_messages()[0]
        assert (found["content"], found["extra"]) == (BAD, VALUE)

    @pytest.mark.parametrize("name", ["a\0b", "a\ud83d"])
    def test_name_is_refused(self, manager: MemoryManager, name: str) -> None:
        for call in (
            lambda: manager.add_memory("x", user=name),
            lambda: manager.put(("n",), name, 1),
            lambda: manager.save("agent", name, 1),
            lambda: manager.remember({"role": "user", "content": "x", "name": name}),
            lambda: manager.remember({"role": "user", "content": "x", "message_id": name}),
        ):
            with pytest.raises(InvalidInput, match=r"NUL|surrogate"):
                call()
        assert manager.list_memories() == []


class LocalUnstorableText(UnstorableText):
    def test_session_comes_back_exactly(self, manager: MemoryManager) -> None:
        with create_session("flow", manager, metadata=VALUE) as session:
            session.add_conversation_message("agent", "user", BAD, metadata=VALUE)
            assert session.metadata == VALUE
            (message,) = manager.get_conversation_history("flow")
            assert (message["content"], message["metadata"]) == (BAD, VALUE)


class TestOnSQLite(LocalUnstorableText):
    @pytest.fixture
    def manager(self, tmp_path: Path) -> Iterator[MemoryManager]:
        with MemoryManager(tmp_path / "memories.db", embedder=HashEmbedder(16)) as manager:
            yield manager

    def test_replay_knowledge_and_transfer(self, manager: MemoryManager, tmp_path: Path) -> None:
        manager.put(("n",), "k", VALUE)
        manager.add_knowledge(f"All about {BAD}.", source="handbook", metadata={"k": BAD})
        recall = manager.recall("honey")
        assert [hit.content for hit in manager.replay(recall.id).recall] == [hit.content for hit in recall]
        manager.export_jsonl(tmp_path / "all.jsonl")
        with MemoryManager(tmp_path / "other.db", embedder=HashEmbedder(16)) as other:
            other.import_jsonl(tmp_path / "all.jsonl")
            found = other.get_item(("n",), "k")
            assert found is not None
        assert found.value == VALUE

    def test_files_of_a_conversation(self, manager: MemoryManager, tmp_path: Path) -> None:
        message = Message("user", BAD, metadata=VALUE)
        for suffix in ("json", "jsonl"):
            export_conversation([message], tmp_path / f"chat.{suffix}")
            assert import_conversation(tmp_path / f"chat.{suffix}") == [message]
        export_conversation([message], tmp_path / "chat.md")
        assert CLEAN in (tmp_path / "chat.md").read_text("utf-8")
        memory = manager.get_memory("agent")
        memory.add(message)
        memory.save_to_file(tmp_path / "memory.json")
        assert json.loads((tmp_path / "memory.json").read_bytes())["messages"][0]["content"] == BAD

    def test_window_and_summary_of_a_conversation(self) -> None:
        memory = SummarizingMemory(max_messages=4)
        for number in range(6):
            memory.add({"role": "user", "content": f"I live in town {number} with {BAD}."})
        assert BAD in memory.get_window(1000)[-1].content
        assert CLEAN in memory.summaries[0]

    def test_persistent_memory(self, manager: MemoryManager) -> None:
        memory = PersistentMemory(agent_name="a", manager=manager)
        memory.record([{"role": "user", "content": f"I keep {BAD}."}])
        assert CLEAN in memory.retrieve(BAD)
        assert memory.save_to_memory("why\0", [BAD])["success"]
        assert memory.recall_from_memory([BAD])["count"]


class TestOverRest(UnstorableText):
    @pytest.fixture
    def manager(self, tmp_path: Path) -> Iterator[Any]:
        with open_server(tmp_path) as server, server.client(server.key()) as manager:
            yield manager

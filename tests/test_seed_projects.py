"""What the projects behind the seed documents do with their memory, done with ours: only the import line differs."""

from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import faiss
import pytest

import memoranda
import memoranda.aio
from memoranda import (
    ConversationMemory,
    InMemoryBackend,
    MemoryBackend,
    MemoryEntry,
    MemoryManager,
    MemoryType,
    Message,
    Namespace,
    PersistentMemory,
    RedisBackend,
    SessionContext,
    create_session,
)
from memoranda.client import MemoryManager as RemoteManager
from memoranda.messages.message import text_of
from memoranda.persistent.backends import to_llm
from memoranda.testing.fakes import HashEmbedder
from tests.server.running import serving


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(tmp_path / "memories.db", embedder=HashEmbedder()) as opened:
        yield opened


class TestConversation:
    def test_empty_conversation_is_true(self) -> None:
        assert ConversationMemory()
        assert memoranda.aio.ConversationMemory()

    def test_agent_that_asks_whether_it_has_a_memory_stores(self) -> None:
        class Agent:
            def __init__(self, memory: ConversationMemory | None = None) -> None:
                self.memory = memory

            def hear(self, text: str) -> None:
                if self.memory:
                    self.memory.add_message({"role": "user", "content": text})

        agent = Agent(ConversationMemory())
        agent.hear("hello")
        assert agent.memory is not None
        assert agent.memory.size() == 1

    def test_persistent_conversation_is_kept_by_the_next_process(self, tmp_path: Path) -> None:
        program = (
            "from memoranda import ConversationMemory\n"
            "memory = ConversationMemory(retention_policy='persistent')\n"
            "print(len(memory))\n"
            "memory.add_message({'role': 'user', 'content': 'hello'})\n"
        )
        lengths = [
            subprocess.run(
                [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
            ).stdout.strip()
            for _ in range(2)
        ]
        assert lengths == ["0", "1"]


class TestMessageIsADict:
    def test_every_way_to_read_a_dict_works(self) -> None:
        message = Message("user", "hi", name="ann", metadata={"tags": ["a"]})
        plain = message.to_dict()
        assert isinstance(message, dict)
        assert list(message) == list(plain) == list(message.keys())
        assert dict(message) == {**message} == dict(message.items()) == message.copy() == plain
        assert list(message.values()) == list(plain.values())
        assert len(message) == len(plain) == 6
        assert json.loads(json.dumps([message])) == [plain]
        assert message == plain
        assert (message.get("name"), message.get("images"), message.get("colour", "blue")) == ("ann", None, "blue")

    def test_changing_what_was_read_changes_no_message(self) -> None:
        message = Message("user", "hi", metadata={"tags": ["a"]})
        message["metadata"]["tags"].append("b")
        dict(message)["metadata"]["tags"].append("c")
        assert message.metadata == {"tags": ["a"]}
        with pytest.raises(TypeError, match=r"cannot be changed: change a copy of it, dict\(message\), .*replace"):
            message["content"] = "bye"
        with pytest.raises(TypeError, match="cannot be changed"):
            message.update(content="bye")

    def test_messages_that_a_conversation_returns_are_copies_to_change(self) -> None:
        memory = ConversationMemory()
        memory.add({"role": "user", "content": "Original", "id": "m1", "tags": ["a"], "metadata": {"mood": "glad"}})
        reads: list[Any] = [
            lambda: memory.get_messages()[0],
            lambda: memory.get_recent(1)[0],
            memory.get_last_message,
            lambda: memory.get_messages_by_role("user")[0],
            lambda: memory.get_window(1000)[0],
        ]
        before = memory.to_dict()
        for read in reads:
            copy = read()
            copy["content"] = "Modified"
            copy["tags"].append("b")
            copy["metadata"]["mood"] = "sad"
            copy |= {"turn": 3}
            copy.update(name="ann")
            assert (copy.pop("id"), copy.setdefault("turn", 4)) == ("m1", 3)
            del copy["timestamp"], copy["message_id"]
            assert (copy.content, copy.name, copy.role, copy.message_id) == ("Modified", "ann", "user", "m1")
            assert copy.metadata == {"mood": "sad", "tags": ["a", "b"], "turn": 3}
            assert json.loads(json.dumps(copy)) == dict(copy) == copy
            assert sorted(copy) == ["content", "metadata", "name", "role", "tags", "turn"]
            assert memory.to_dict() == before
            with pytest.raises(memoranda.InvalidInput, match="content"):
                copy["content"] = object()
            assert copy["content"] == "Modified"
            copy.content = "Said in another way"
            assert copy["content"] == copy.content == "Said in another way"
            copy.content = "Modified"
        other = ConversationMemory()
        other.add(copy)
        copy["content"] = "Changed after it was added"
        assert [(each.content, each["tags"]) for each in other.get_messages()] == [("Modified", ["a", "b"])]
        copy["id"] = "m2"
        other.add(copy)
        assert [each.message_id for each in other.get_messages()] == ["m1", "m2"]

    @pytest.mark.parametrize(
        ("given", "role", "text"),
        [
            ({"role": "function", "name": "f", "content": "x"}, "tool", "x"),
            ({"role": "User", "content": "x"}, "user", "x"),
            ({"role": "human", "content": "x"}, "user", "x"),
            ({"type": "human", "content": "x"}, "user", "x"),
            ({"role": "user", "content": 5}, "user", "5"),
            ({"role": "user", "content": True}, "user", "true"),
            ({"role": "user", "content": ["a", {"text": "b"}]}, "user", "a\nb"),
            ({"role": "user", "content": [1, None]}, "user", "[1, null]"),
            ({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, "assistant", ""),
            ({"type": "reasoning", "id": "rs_1", "summary": []}, "assistant", ""),
            ({"type": "function_call_output", "call_id": "c", "output": [1]}, "tool", "[1]"),
        ],
    )
    def test_any_dict_message_is_kept_as_it_was(
        self, tmp_path: Path, given: dict[str, Any], role: str, text: str
    ) -> None:
        memory = ConversationMemory()
        memory.add(given)
        with MemoryManager(tmp_path / "m.db", retention_policy="persistent", embedder=HashEmbedder()) as manager:
            manager.get_memory("a").add(given)
        with MemoryManager(tmp_path / "m.db", retention_policy="persistent", embedder=HashEmbedder()) as manager:
            stored = manager.get_memory("a").get_messages()
        for message in (*memory.get_messages(), *stored):
            assert {key: message[key] for key in given} == given
            assert (message.role, text_of(message)) == (role, text)

    def test_keys_of_a_dict_message_come_back_as_they_were(self, tmp_path: Path) -> None:
        given = {"role": "user", "content": "hi", "id": "m1", "agent_id": "a", "turn": 3, "tags": None, "x": {"y": [1]}}
        given |= {"metadata": {"agent_id": "b", "mood": "glad"}}
        memory = ConversationMemory()
        memory.add([given, {"role": "user", "content": "bye", "turn": 4}])
        memory.save_to_file(tmp_path / "c.json")
        loaded = ConversationMemory()
        loaded.load_from_file(tmp_path / "c.json")
        with MemoryManager(tmp_path / "m.db", retention_policy="persistent", embedder=HashEmbedder()) as manager:
            manager.get_memory("a").add(given)
        with MemoryManager(tmp_path / "m.db", retention_policy="persistent", embedder=HashEmbedder()) as manager:
            stored = manager.get_memory("a").get_messages()[0]
        original = memory.get_messages()[0]
        copies = [original, loaded.get_messages()[0], stored, pickle.loads(pickle.dumps(original))]  # noqa: S301 - our own bytes
        for message in [*copies, replace(original, name="ann")]:
            for plain in (dict(message), message.copy(), json.loads(json.dumps(message)), {**message}):
                assert {key: plain[key] for key in given} == given
            assert message.metadata == {"agent_id": "b", "mood": "glad", "turn": 3, "x": {"y": [1]}}
        last = memory.get_messages()[1]
        assert (last["turn"], last.metadata, "metadata" in dict(last), "id" in dict(last)) == (
            4,
            {"turn": 4},
            False,
            False,
        )

    def test_id_agent_and_epoch_time_of_a_dict_message_are_kept(self) -> None:
        memory = ConversationMemory()
        memory.add({"role": "user", "content": "hi", "id": "m1", "agent_id": "writer", "timestamp": 1_700_000_000.5})
        kept = memory.get_messages()[0]
        assert (kept["id"], kept["agent_id"], kept.get("agent_id")) == ("m1", "writer", "writer")
        assert "agent_id" in kept
        assert kept.timestamp == datetime(2023, 11, 14, 22, 13, 20, 500_000, tzinfo=UTC)
        assert Message.from_dict({"role": "user", "timestamp": "1700000000.5"}).timestamp == kept.timestamp
        in_milliseconds = Message("user", timestamp=1_700_000_000_500)
        assert in_milliseconds.timestamp == kept.timestamp
        with pytest.raises(memoranda.InvalidInput, match="out of range"):
            Message("user", timestamp=1e300)

    def test_automatic_loop_of_an_agent_survives_a_message_without_text(self, tmp_path: Path) -> None:
        with PersistentMemory(agent_name="a", db_url=f"sqlite:///{tmp_path / 'p.db'}") as memory:
            assert memory.save_to_memory(None, ["The sky is blue"], metadata={"turn": 2})["success"]
            assert not memory.save_to_memory("why", ["The sea is wet"], metadata=5)["success"]  # type: ignore[arg-type]
            memory.save_to_memory("why", ["The sky is blue at noon", "The grass is green"])
            assert memory.recall_from_memory(["sky", "grass"], limit=1)["count"] == 2
            for nothing in ("", " ", "\0", [], None, [None], {}, {"role": "user", "content": ""}):
                assert memory.retrieve(nothing) == ""  # type: ignore[arg-type]
            assert "sky" in memory.retrieve([None, {"role": "user", "content": "the sky?"}])  # type: ignore[list-item]

    async def test_conversation_is_read_and_cut_as_there(self) -> None:
        memory = memoranda.aio.ConversationMemory()
        await memory.add([{"role": "user", "content": str(number)} for number in range(3)])
        for no_limit in (None, 0, -3):
            assert len(await memory.get_messages(limit=no_limit)) == 3
        assert await memory.get_messages_by_role("nobody") == []
        with pytest.raises(IndexError):
            await memory.delete(-1)
        with pytest.raises(NotImplementedError, match="PersistentMemory"):
            await memory.retrieve("anything")
        memory.messages = memory.messages + [{"role": "user", "content": "3"}]  # type: ignore[assignment]  # noqa: RUF005
        assert [each["content"] for each in memory.messages] == ["0", "1", "2", "3"]

    def test_openai_client_takes_messages_as_they_are(self) -> None:
        from openai._utils import maybe_transform as transform  # what the SDK does with messages before it sends them
        from openai.types.chat import ChatCompletionMessageParam

        memory = ConversationMemory()
        memory.add([{"role": "user", "content": "hi"}, Message("assistant", "hello")])
        sent = transform(memory.get_messages(), list[ChatCompletionMessageParam])
        assert [(each["role"], each["content"]) for each in sent] == [("user", "hi"), ("assistant", "hello")]


def test_parts_of_a_message_are_json_and_can_be_copied() -> None:
    for part in (
        memoranda.ToolCallMsg(id="c", call_id="c", type="function", name="search", arguments="{}"),
        memoranda.AgentCallMsg(agent_name="Analyzer", request={"rows": [1, 2]}),
        memoranda.MessageContent(thought="x", next_action="invoke_agent", action_input={"agent_name": "A"}),
    ):
        assert json.loads(json.dumps(part)) == dict(part)
        assert pickle.loads(pickle.dumps(part)) == replace(part) == part  # noqa: S301
        assert type(part).from_dict(part.to_dict()) == part


class TestEntries:
    def test_source_may_be_in_the_metadata(self, manager: MemoryManager) -> None:
        entry = manager.add_memory("The sky is blue", "long_term", metadata={"source": "conversation-7"})
        assert entry.source == "conversation-7"
        assert manager.add_memory("Water is wet", "long_term", {"source": "doc-1"}).source == "doc-1"
        assert manager.add_memory("Grass is green", source="book", metadata={"source": "web"}).source == "book"
        for blank in (7, None, "", "  "):
            entry = manager.add_memory("Snow is white", metadata={"source": blank})
            assert (entry.source, entry.metadata["source"]) == (None, blank)

    def test_entry_has_its_embedding(self, manager: MemoryManager) -> None:
        added = manager.add_memory("The sky is blue")
        found = manager.search_memory("sky", limit=1)[0]
        expected = HashEmbedder().embed(["The sky is blue"], kind="passage")[0]
        for embedding in (added.embedding, manager.get(added.id).embedding, found["embedding"]):
            assert embedding == pytest.approx(expected.tolist())
        assert added == manager.get(added.id) == replace(added)

    def test_entry_has_its_six_fields_and_every_result_is_one(self, manager: MemoryManager) -> None:
        names = ["content", "embedding", "metadata", "timestamp", "source", "importance_score"]
        assert [each.name for each in fields(MemoryEntry)] == names
        entry = MemoryEntry(
            content="The sky is blue",
            embedding=[0.5],
            metadata={},
            timestamp=datetime.now(UTC),
            source="doc-1",
            importance_score=0.7,
        )
        entry.importance_score = 0.9
        assert (entry["source"], entry.to_dict()["importance_score"]) == ("doc-1", 0.9)
        added = manager.add_memory("The sky is blue", MemoryType.LONG_TERM)
        (found,) = manager.search_memory("sky", MemoryType.LONG_TERM)
        for result in (entry, added, found):
            assert isinstance(result, MemoryEntry)
            assert all(getattr(result, name, None) is not None for name in names if name != "source")
        assert (found.source, found["source"], found.embedding) == ("unknown", "unknown", added.embedding)
        assert [manager.get(added.id).source, manager.recall("sky")[0].source] == [None, None]

    def test_what_a_manager_returns_is_json(self, manager: MemoryManager) -> None:
        one, other = (manager.add_memory(text, metadata={"n": [1]}) for text in ("The sky is blue", "I like pizza"))
        link = manager.add_memory_association(one.id, other.id, strength=0.5)
        (related,) = manager.get_related_memories(one.id)
        stats, summary = manager.get_stats(), manager.cleanup_old_memories(30, 0.3, dry_run=True)
        for value in (link, related, manager.search_memories("sky")[0], stats, summary, *manager.users()):
            assert json.loads(json.dumps(value)) == dict(value)
        assert related["memory"]["content"] == related["content"] == related.memory.content == "I like pizza"
        assert json.loads(json.dumps(one.to_dict()))["metadata"] == {"n": [1]}
        assert {link, link} == {link}

    def test_search_results_have_time_and_importance(self, manager: MemoryManager) -> None:
        added = manager.add_memory("The sky is blue", metadata={"importance": 0.8})
        found = manager.search_memory("sky", "semantic")[0]
        assert (found["timestamp"], found["importance_score"]) == (added.valid_from, 0.8)
        assert found.timestamp == added.timestamp


class TestAgents:
    def test_results_can_be_changed_like_dicts(self, manager: MemoryManager) -> None:
        for text in ("The sky is blue", "The sea is wet"):
            manager.add_memory(text, "semantic", metadata={"topic": "nature"})
        manager.add_memory_association(1, 2, "related_to", 0.8)
        related = manager.get_related_memories(1)[0]
        assert (related["memory"].content, related["strength"]) == ("The sea is wet", 0.8)
        assert related["relationship"] == {"type": "related_to", "strength": 0.8}
        assert json.loads(json.dumps(related))["memory"]["content"] == "The sea is wet"
        for result in (manager.search_memories("sky")[0], manager.search_memory("sky")[0], related):
            text = result.content
            result["rank"] = 1
            result["content"] = "changed"
            result.update(keys=2)
            result["metadata"]["seen"] = True
            assert (result["rank"], result.get("keys"), "rank" in result) == (1, 2, True)
            assert (result["content"], result["metadata"]) == ("changed", {"topic": "nature", "seen": True})
            assert json.loads(json.dumps(result)).items() >= {"rank": 1, "content": "changed", "keys": 2}.items()
            assert (result.content, result.metadata) == (text, {"topic": "nature"})
            assert isinstance(pickle.loads(pickle.dumps(result))["memory"], memoranda.Memory)  # noqa: S301

    def test_search_takes_the_lowest_score_and_cleanup_counts_what_it_deleted(self, manager: MemoryManager) -> None:
        manager.add_memory("The sky is blue", "semantic", metadata={"importance": 0.1})
        (found,) = manager.search_memories("sky blue", ["semantic"], 5, 0.0)
        assert manager.search_memories("sky blue", ["semantic"], 5, min_score=found.score + 0.001) == []
        for dry_run, deleted in ((True, 0), (False, 1)):
            report = manager.cleanup_old_memories(max_age_days=0, min_importance=0.3, dry_run=dry_run)
            counts = {"total_found": 1, "deleted": deleted, "skipped": 0}
            assert json.loads(json.dumps(report)).items() >= counts.items()

    def test_cleanup_of_one_type_and_links_of_some_strength(self, manager: MemoryManager) -> None:
        for text, kind in (("The sky is blue", "semantic"), ("I like pizza", "episodic"), ("Water is wet", "semantic")):
            manager.add_memory(text, kind, metadata={"importance": 0.1})
        for other, strength in ((2, 0.4), (3, 0.8)):
            manager.add_memory_association(1, other, "related_to", strength)
        assert [each.memory.id for each in manager.get_related_memories(1, min_strength=0.5)] == [3]
        report = manager.cleanup_old_memories(0, 0.3, memory_types=["episodic"], dry_run=False)
        assert (report["deleted"], [each.id for each in manager.list_memories()]) == (1, [1, 3])
        assert manager.cleanup_old_memories(0, 0.3, memory_types=[], dry_run=False)["deleted"] == 0

    @pytest.mark.parametrize("remote", [False, True])
    def test_association_has_metadata(self, manager: MemoryManager, tmp_path: Path, remote: bool) -> None:
        with serving(tmp_path) if remote else nullcontext() as url, RemoteManager(url) if url else manager as used:
            one, other = (used.add_memory(text, generate_embedding=True).id for text in ("The sky is blue", "Tea"))
            first = used.add_memory_association(one, other, "related_to", 0.8, metadata={"why": ["colour"]})
            assert first.metadata == first["metadata"] == {"why": ["colour"]}
            (related,) = used.get_related_memories(other)
            assert related["link_metadata"] == {"why": ["colour"]}
            assert related["relationship"] == {"type": "related_to", "strength": 0.8}
            used.add_memory_association(one, other, "related_to", 0.5)
            assert used.get_related_memories(one)[0].link_metadata == {}

    def test_what_is_not_embedded_is_an_item(self, manager: MemoryManager) -> None:
        with pytest.raises(memoranda.InvalidInput, match=r"put\(\.\.\., index=False\)"):
            manager.add_memory("The sky is blue", generate_embedding=False)

    def test_memory_is_read_and_deleted_by_its_number(self, manager: MemoryManager) -> None:
        added = manager.add_memory("The sky is blue", "semantic")
        anns = manager.add_memory("The sky was red", user="ann")
        assert manager.get_memory(added.id) == added
        assert manager.get_memory(7) is manager.get_memory(anns.id) is None
        assert manager.get_memory(anns.id, user="ann") == anns
        assert manager.delete_memory(anns.id) is False
        assert [manager.delete_memory(added.id) for _ in range(2)] == [True, False]
        assert manager.get_memory(added.id) is None
        with pytest.raises(memoranda.InvalidInput):
            manager.delete_memory(0)
        assert isinstance(manager.get_memory("1"), ConversationMemory)

    async def test_async_memory_is_read_and_deleted_by_its_number(self, tmp_path: Path) -> None:
        async with memoranda.aio.MemoryManager(tmp_path / "m.db", embedder=HashEmbedder()) as manager:
            added = await manager.add_memory("The sky is blue")
            assert await manager.get_memory(added.id) == added
            assert await manager.delete_memory(added.id)
            assert await manager.get_memory(added.id) is None

    @pytest.mark.parametrize("auto_cleanup", [False, True])
    def test_cleanup_of_a_session(self, manager: MemoryManager, auto_cleanup: bool) -> None:
        session = create_session("w", manager, auto_cleanup=auto_cleanup)
        session.save_agent_memory("writer", "draft", "text")
        session.save_agent_memory("writer", "lesson", "text", "long_term")
        session.add_conversation_message("writer", "assistant", "done")
        assert session.cleanup() is True
        assert (session.is_active, session.get_conversation_history()) == (True, [])
        assert session.retrieve_agent_memory("writer", "draft") is None
        assert session.retrieve_agent_memory("writer", "lesson", "long_term") == "text"
        session.add_conversation_message("writer", "assistant", "again")
        session.end_session()
        assert len(manager.get_conversation_history("w")) == (0 if auto_cleanup else 1)
        assert session.cleanup() is True
        assert (session.is_active, manager.get_conversation_history("w")) == (False, [])

    def test_embedding_model_is_given_or_named(self, tmp_path: Path) -> None:
        models: list[Any] = [HashEmbedder(8), memoranda.EmbeddingModel("fast"), "fast"]
        for number, dimension in enumerate((8, 256, 256)):
            with MemoryManager(db_url=tmp_path / f"{number}.db", embedding_model=models[number]) as manager:
                assert len(manager.add_memory("The sky is blue").embedding or ()) == dimension
        with pytest.raises(memoranda.InvalidInput, match="not both"):
            MemoryManager(embedder=HashEmbedder(), embedding_model="fast")

    def test_statistics_and_summaries_are_dicts(self, manager: MemoryManager) -> None:
        with create_session("w", manager, metadata={"team": "red"}) as session:
            session.save_agent_memory("writer", "draft", "text")
            session.add_conversation_message("writer", "assistant", "done")
            stats, summary = manager.get_stats(), session.get_session_summary()
            history = session.get_conversation_history()
        for record in (stats, summary, history[0]):
            assert isinstance(record, dict)
            assert json.loads(json.dumps(record)) == record
        assert (stats["long_term_entries"], stats["active_sessions"]) == (0, 1)
        assert summary["active_agents"] == ["writer"]
        assert (summary["total_interactions"], summary["conversation_messages"]) == (2, 1)
        assert (summary["is_active"], summary["metadata"]) == (True, {"team": "red"})
        assert summary["started_at"] == summary.started_at.isoformat()
        assert history[0]["timestamp"] == history[0].timestamp.isoformat()

    def test_statistics_name_the_folders_and_count_the_messages(self, manager: MemoryManager, tmp_path: Path) -> None:
        before = manager.get_stats()
        assert (before["conversation_history_size"], before["vector_store_loaded"]) == (0, False)
        assert before["storage_dir"] == before["embeddings_dir"] == str(tmp_path)
        manager.add_memory("The sky is blue")
        manager.search_memories("sky")
        with create_session("w", manager) as session, create_session("v", manager) as other:
            for number in range(3):
                session.add_conversation_message("writer", "assistant", str(number))
            other.add_conversation_message("writer", "assistant", "done")
            after = manager.get_stats()
        assert (after["conversation_history_size"], after["vector_store_loaded"]) == (4, True)

    def test_configuration_is_shown_and_redis_is_asked_only_when_it_is_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("MEMORY_SHORT_TERM_TTL", "60")
        shown = memoranda.get_memory_config()
        assert json.loads(json.dumps(shown)) == shown
        assert (shown["backend"]["use_redis"], shown["ttl"]["short_term"]) == (False, 60)
        assert memoranda.get_redis_client() is None
        monkeypatch.setenv("MEMORY_USE_REDIS", "true")
        monkeypatch.setenv("MEMORY_REDIS_URL", "redis://127.0.0.1:1/0")
        with pytest.raises(memoranda.Unavailable, match=r"127\.0\.0\.1:1"):
            memoranda.get_redis_client()
        monkeypatch.setenv("MEMORY_REDIS_FALLBACK", "true")
        assert memoranda.get_redis_client() is None

    def test_conversation_of_a_workflow_is_read_in_pages(self, manager: MemoryManager) -> None:
        with create_session("w", manager) as session:
            for number in range(5):
                session.add_conversation_message("writer", "assistant", str(number))
            for read in (session.get_conversation_history, partial(manager.get_conversation_history, "w")):
                pages = [[each.content for each in read(2, offset=start)] for start in (0, 2, 4, 6)]
                assert pages == [["3", "4"], ["1", "2"], ["0"], []]
                assert [each.content for each in read(offset=3)] == ["0", "1"]

    def test_saved_values_are_found_by_their_metadata(self, manager: MemoryManager) -> None:
        manager.save("writer", "best_practices", ["Personalize emails"], memory_type="long_term")
        manager.save("writer", "guidelines", ["Keep emails short"], memory_type="long_term")
        found = manager.search_similar("writer", "emails", filter_metadata={"key": "best_practices"})
        assert [(hit["key"], hit["metadata"]["agent_id"]) for hit in found] == [("best_practices", "writer")]
        assert found[0]["similarity_score"] == found[0].score
        assert datetime.fromisoformat(found[0]["metadata"]["timestamp"]) == found[0].memory.recorded_at
        assert manager.search_similar("writer", "emails", filter_metadata={"key": "other"}) == []

    def test_manager_takes_policy_and_length_by_position(self) -> None:
        with MemoryManager("session", 2) as manager:
            memory = manager.get_memory("a")
            memory.add([{"role": "user", "content": str(number)} for number in range(4)])
            assert [message.content for message in memory.get_messages()] == ["2", "3"]

    def test_dict_messages_of_other_forms_come_back_as_they_were(self, manager: MemoryManager) -> None:
        given: list[dict[str, Any]] = [
            {"type": "function_call_output", "call_id": "c1", "output": "found"},
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": "x", "timestamp": "2024-01-01T00:00:00", "id": 5},
            {"role": "user", "content": "y", "timestamp": 1700000000.5, "id": "q"},
        ]
        memory = manager.get_memory("a")
        manager.set_retention_policy("a", "persistent")
        memory.add(given)
        for stored in (memory.get_messages(), [Message.from_dict(each) for each in memory.to_dict()]):
            for message, original in zip(stored, given, strict=True):
                assert {key: dict(message)[key] for key in original} == original
                assert "timestamp" not in message.metadata
            assert [message.role for message in stored] == ["tool", "system", "user", "user"]
            assert (stored[0].tool_call_id, stored[0].content, stored[2].message_id) == ("c1", "found", "5")

    def test_saved_values_are_found_by_their_own_fields(self, manager: MemoryManager) -> None:
        for name, channel in (("c1", "email"), ("c2", "phone")):
            value = {
                "text": f"{name} converts well",
                "channel": channel,
                "from": {"city": "Rome"},
                "workflow_id": "w",
            }
            manager.save("writer", name, value, "long_term")
        found = manager.search_similar("writer", "converts", filter_metadata={"channel": "email"})
        assert [(hit["key"], hit["agent_id"], hit["value"]["channel"]) for hit in found] == [("c1", "writer", "email")]
        assert found[0].value == manager.retrieve("writer", "c1", "long_term")
        both: list[dict[str, Any]] = [
            {"from": {"city": "Rome"}},
            {"from.city": "Rome"},
            {"memory_type": "long_term"},
            {"channel": {"in": ["email", "phone"]}},
        ]
        for given in both:
            assert len(manager.search_similar("writer", "converts", filter_metadata=given)) == 2
        long = "The brief says: " + "more tea " * 500
        manager.save("writer", "c3", {"text": "c3 converts", "brief": long, "tags": ["a" * 2000]}, "long_term")
        for wanted in (long, {"eq": long}, {"in": ["x", long]}):
            found = manager.search_similar("writer", "converts", filter_metadata={"brief": wanted})
            assert [hit["key"] for hit in found] == ["c3"]
        for given in ({"from": {"city": "Oslo"}}, {"memory_type": "fact"}, {"brief": long + "x"}):
            assert manager.search_similar("writer", "converts", filter_metadata=given) == []

    def test_long_term_values_of_a_workflow_stay_in_it(self, manager: MemoryManager) -> None:
        with create_session("campaign_1", manager) as session:
            session.save_agent_memory("writer", "slogan", "Tea for all", memory_type="long_term")
        assert manager.search_similar("writer", "tea slogan") == []
        named = manager.search_similar("writer", "tea slogan", filter_metadata={"workflow_id": "campaign_1"})
        assert [hit["key"] for hit in named] == ["slogan"]

    def test_backends_are_memory_backends(self) -> None:
        assert isinstance(InMemoryBackend(), MemoryBackend)
        assert issubclass(RedisBackend, MemoryBackend)

    def test_backend_keeps_values_under_plain_keys(self, manager: MemoryManager) -> None:
        backend: Any = InMemoryBackend()
        assert backend.set("short_term:writer:draft", {"title": "Tea"}, ttl=60) is True
        assert backend.set("short_term:editor:draft", None) is True
        assert (backend.get("short_term:writer:draft"), backend.get("other")) == ({"title": "Tea"}, None)
        assert backend.keys() == backend.keys("*") == ["short_term:editor:draft", "short_term:writer:draft"]
        assert backend.keys("short_term:w*") == ["short_term:writer:draft"]
        assert backend.count(Namespace(manager._tenant)) == 0
        assert (backend.delete("other"), backend.delete("short_term:writer:draft")) == (True, True)
        assert (backend.clear(), backend.keys()) == (True, [])
        for wrong in (lambda: backend.keys(5), lambda: backend.set("k", {1}), lambda: backend.get(None)):
            with pytest.raises(memoranda.InvalidType):
                wrong()

    def test_session_says_who_is_in_it_and_for_how_long(self, manager: MemoryManager) -> None:
        session = SessionContext("w9", manager, metadata={"a": 1}, auto_cleanup=True)
        session.save_agent_memory("writer", "draft", "text")
        session.add_conversation_message("writer", "assistant", "done")
        assert (session.is_active, session.ended_at, session.metadata) == (True, None, {"a": 1})
        assert session.active_agents == ["writer"]
        assert session.get_conversation_history()[0]["workflow_id"] == "w9"
        summary = session.end_session()
        assert not session.is_active
        assert session.ended_at is not None
        assert session.get_session_duration() == session.ended_at - session.started_at
        assert session.active_agents == ["writer"]
        assert len(session.agent_interactions) == summary["total_interactions"] == 2
        assert {"agent_id": "writer", "action": "save"} in session.agent_interactions
        assert session.get_session_summary() == summary
        assert manager.clear_session("w9") is True

    def test_workflow_keeps_whatever_an_agent_says(self, manager: MemoryManager) -> None:
        said: list[tuple[str, Any]] = [
            ("assistant", ""), ("agent", "ready"), ("tool", {"rows": [1, None]}), ("critic", None),
            ("developer", "Be brief"),
        ]  # fmt: skip
        with create_session("w", manager) as session:
            for role, content in said:
                message = session.add_conversation_message("writer", role, content)
                assert message["content"] == content
            history = session.get_conversation_history()
            for wrong in ({"role": "", "content": "x"}, {"role": 5, "content": "x"}, {"role": "user", "content": {1}}):
                with pytest.raises(memoranda.MemorandaError):
                    session.add_conversation_message("writer", **wrong)  # type: ignore[arg-type]
            assert session.get_conversation_history(0) == history
            assert session.get_conversation_history(2) == history[-2:]
        assert [each["content"] for each in json.loads(json.dumps(history))] == [content for _, content in said]
        assert [each["role"] for each in history] == ["assistant", "agent", "tool", "critic", "system"]
        assert list(history[0]) == ["agent_id", "role", "content", "timestamp", "metadata", "workflow_id"]

    def test_execution_records_and_reports_are_json(self, manager: MemoryManager) -> None:
        manager.save_execution_record("writer", {"status": "success", "output": {"n": 3}})
        records = manager.get_execution_records("writer")
        assert isinstance(records, list)
        (plain,) = json.loads(json.dumps(records))
        assert (plain["record_id"], plain["status"], plain["output"]) == (records[0].id, "success", {"n": 3})
        assert plain["timestamp"] == records[0].recorded_at.isoformat()
        assert json.loads(json.dumps(manager.cleanup_old_memories(30, 0.3, dry_run=True)))["dry_run"] is True
        assert json.loads(json.dumps([manager.get_execution_stats(), *manager.agents()]))[0]["count"] == 1
        assert (records + [])[:1] == records[:1] == list(records)  # noqa: RUF005
        assert records
        assert not manager.get_execution_records("nobody")

    def test_execution_records_have_the_names_of_their_file(self, manager: MemoryManager) -> None:
        record_id = manager.save_execution_record("writer", {"status": "success", "output": 3})
        record = manager.get_execution_records("writer")[0]
        assert (record["record_id"], record["status"], record["output"]) == (record_id, "success", 3)
        assert record["timestamp"] == record["recorded_at"] == record.recorded_at.isoformat()
        manager.save_execution_record("writer", {"timestamp": "noon", "agent_id": "eve", "record_id": "x", "tries": 2})
        own = manager.get_execution_records("writer")[0]
        assert (own["record"]["timestamp"], own["tries"]) == ("noon", 2)
        assert (own["timestamp"], own["agent_id"], own["record_id"]) == (own["recorded_at"], "writer", own.id)
        assert own.get("output") is None
        assert "output" not in own


class TestManager:
    def test_name_of_a_policy_is_no_database(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with MemoryManager("persistent", embedder=HashEmbedder()) as manager:
            assert manager.get_memory("Analyzer").retention_policy == "persistent"
        assert not (tmp_path / "persistent").exists()

    def test_manager_in_a_folder_of_its_own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        folders: dict[str, Any] = {"storage_dir": Path("data") / "memory", "embeddings_dir": Path("data") / "vectors"}
        with MemoryManager(**folders, use_redis=False, redis_client=object(), embedder=HashEmbedder()) as manager:
            assert manager.save("writer", "slogan", "Tea for all", "long_term")
            assert manager.search_similar("writer", "tea")
        assert [path.name for path in (tmp_path / "data" / "memory").glob("*.db")] == ["memories.db"]
        assert [path.name for path in (tmp_path / "data" / "vectors").iterdir()] == ["memories.faiss"]
        for wrong in ({"use_redis": True, "redis_client": 5}, {**folders, "faiss_index_path": "x"}, {"storage_dir": 5}):
            with pytest.raises(memoranda.MemorandaError):
                MemoryManager(**wrong)

    def test_manager_of_the_settings(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MEMORY_STORAGE_DIR", str(tmp_path / "stored"))
        with memoranda.create_memory_manager() as manager:
            assert manager.save("writer", "draft", 1)
        assert (tmp_path / "stored").is_dir()

    @pytest.mark.parametrize("search", [False, True])
    def test_index_file_that_was_named_is_written(self, tmp_path: Path, search: bool) -> None:
        path = tmp_path / "memories.faiss"
        for count in (1, 2):
            with MemoryManager(db_url=tmp_path / "m.db", faiss_index_path=path, embedder=HashEmbedder()) as manager:
                manager.add_memory("The sky is blue", MemoryType.SEMANTIC)
                if search:
                    assert manager.search_memories("sky")
                assert manager.health().problems == ()
            index = faiss.read_index(str(path))
            (near,) = index.search(HashEmbedder().embed(["The sky is blue"], kind="query"), 1)[1]
            assert (index.ntotal, near.tolist()) == (count, [1])

    def test_no_index_file_without_a_name(self, tmp_path: Path) -> None:
        with MemoryManager(tmp_path / "m.db", embedder=HashEmbedder()) as manager:
            manager.add_memory("The sky is blue")
            assert manager.search_memories("sky")
        assert list(tmp_path.glob("*.faiss")) == []

    def test_faiss_settings_of_mem0_are_taken(self, tmp_path: Path) -> None:
        settings: dict[str, Any] = {
            "collection_name": "notes", "path": str(tmp_path / "faiss"), "distance_strategy": "cosine",
            "normalize_L2": True, "embedding_model_dims": 128,
        }  # fmt: skip
        (tmp_path / "faiss").mkdir()
        with PersistentMemory(
            agent_name="a",
            db_url=f"sqlite:///{tmp_path / 'p.db'}",
            embedding_backend=HashEmbedder(),
            vector_store_config={"provider": "faiss", "config": settings},
        ) as memory:
            memory.save_to_memory("", ["The sky is blue"])
            assert "sky" in memory.retrieve("sky")

    def test_async_conversation_is_true_and_reads_like_dicts(self) -> None:
        async def run() -> list[str]:
            memory = memoranda.aio.ConversationMemory()
            await memory.add({"role": "user", "content": "Hello!"})
            messages = await memory.get_messages()
            messages.insert(0, {"role": "system", "content": "Relevant memories: none"})
            return [each["content"] for each in messages]

        assert asyncio.run(run()) == ["Relevant memories: none", "Hello!"]


@dataclass
class Chunk:
    """One piece of a streamed answer, as a back end of the seed's project yields it."""

    type: str
    content: str | None = None
    error: str | None = None


class StreamingBackend:
    """A language model with nothing but `stream_with_tools`."""

    def __init__(self, *chunks: Chunk) -> None:
        self.chunks = chunks
        self.asked: list[Any] = []

    async def stream_with_tools(self, messages: list[Any], tools: list[Any], **_: Any) -> AsyncIterator[Chunk]:
        self.asked.append((messages, tools))
        for chunk in self.chunks:
            yield chunk


class TestTeamOfAgents:
    """How an agent of a team records its turns, and reads what the winner of an earlier turn knew."""

    async def test_memories_of_the_winner_of_a_turn_are_marked_as_its_own(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path / 'team.db'}"
        for agent, text in (("a", "The budget is 40 euro"), ("b", "The budget is in the blue folder")):
            async with memoranda.aio.PersistentMemory(agent_name=agent, session_name="s", db_url=url) as memory:
                await memory.record([{"role": "assistant", "content": text}], metadata={"turn": 1})
                await memory.record([{"role": "assistant", "content": f"{agent} had soup for lunch"}], metadata=None)
        async with memoranda.aio.PersistentMemory(agent_name="a", session_name="s", db_url=url) as memory:
            own = await memory.retrieve("Where is the budget?", limit=5, previous_winners=None)
            both = await memory.retrieve(
                [{"role": "user", "content": "Where is the budget?"}],
                limit=5,
                previous_winners=[{"agent_id": "b", "turn": 1}, {"agent_id": "a", "turn": 1}],
            )
            one_turn = await memory.retrieve("Who had soup?", previous_winners=[{"agent_id": "b", "turn": 1}])
            every_turn = await memory.retrieve("Who had soup?", previous_winners=[{"agent_id": "b"}])
            with pytest.raises(memoranda.InvalidInput, match="no agent_id"):
                await memory.retrieve("budget", previous_winners=[{"turn": 1}])
        assert "40 euro" in own
        assert "blue folder" not in own
        assert "[From b Turn 1] (assistant): The budget is in the blue folder" in both
        assert "40 euro" in both
        assert "b had soup" not in one_turn
        assert "[From b] (assistant): b had soup" in every_turn

    def test_winner_of_another_session_or_user_is_not_shown(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path / 'team.db'}"
        with PersistentMemory("b", "ann", "s", db_url=url) as theirs:
            theirs.record({"role": "user", "content": "The key is under the mat"}, metadata={"turn": 1})
        for user, session in (("eve", "s"), ("ann", "t"), (None, "s")):
            with PersistentMemory("a", user, session, db_url=url) as memory:
                assert memory.retrieve("key", previous_winners=[{"agent_id": "b", "turn": 1}]) == ""

    def test_types_and_messages_as_they_are(self, tmp_path: Path) -> None:
        manager = MemoryManager(tmp_path / "m.db", embedder=HashEmbedder())
        memory = PersistentMemory(agent_name="a", manager=manager, memory_type="procedural_memory")
        memory.record({"role": "user", "content": "Always run the tests before a release"})
        memory.record({"role": "user", "content": "Hello!"}, memory_type="semantic", infer=False)
        memory.record({"role": "user", "content": "Hi there!"})
        with pytest.raises(memoranda.InvalidInput, match="unknown memory type"):
            memory.record({"role": "user", "content": "Tea at four"}, memory_type="sematic")
        kept = {each.content: each.type for each in manager.list_memories(agent="a")}
        manager.close()
        assert kept == {"Always run the tests before a release": "procedural", "Hello!": "semantic"}

    def test_backend_that_only_streams_extracts_facts(self, tmp_path: Path) -> None:
        backend = StreamingBackend(
            Chunk("reasoning", "hm"), Chunk("content", "tw"), Chunk("content", "o"), Chunk("done")
        )
        assert to_llm(backend).complete("one and one?", max_tokens=5) == "two"
        assert backend.asked == [([{"role": "user", "content": "one and one?"}], [])]
        with PersistentMemory(agent_name="a", llm_backend=backend, db_url=f"sqlite:///{tmp_path / 'p.db'}") as memory:
            memory.record({"role": "user", "content": "I moved to Oslo in May"})
        assert "I moved to Oslo" in backend.asked[1][0][0]["content"]
        failing = to_llm(StreamingBackend(Chunk("error", error="no credit")))
        with pytest.raises(memoranda.Unavailable, match="no credit"):
            failing.complete("?", max_tokens=5)

    def test_function_that_returns_embeddings_embeds(self, tmp_path: Path) -> None:
        class Backend:
            async def __call__(self, texts: list[str]) -> Any:
                return SimpleNamespace(embeddings=HashEmbedder(8).embed(texts, kind="passage"))

        url = f"sqlite:///{tmp_path / 'p.db'}"
        with PersistentMemory(agent_name="a", embedding_backend=Backend(), db_url=url) as memory:
            memory.save_to_memory("", ["The sky is blue"])
            assert "sky" in memory.retrieve("sky")

    @pytest.mark.parametrize("nested", [False, True])
    def test_models_by_their_configuration(self, tmp_path: Path, nested: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)

        def config(**settings: Any) -> dict[str, Any]:
            return {"provider": "openai", "config": settings} if nested else {"provider": "openai", **settings}

        answers = config(model="gpt-4.1-nano", api_key="k", openai_base_url="http://127.0.0.1:9/v1", temperature=0.1)
        vectors = config(model="text-embedding-3-small", api_key="k", embedding_dims=1536)
        with PersistentMemory(
            agent_name="a", llm_config=answers, embedding_config=vectors, db_url=tmp_path / "p.db", debug=True
        ) as memory:
            assert (memory.agent_id, memory.user_id, memory.session_id) == ("a", None, None)
        for wrong, message in (
            (config(api_key="k"), "llm_config names no model"),
            (config(model="m", api_key="k", colour=1), "openai has no setting colour"),
            ({"provider": "opnai", "model": "m"}, "no llm is named 'opnai'"),
            ({"model": "m"}, "llm_config needs a provider"),
        ):
            with pytest.raises(memoranda.InvalidInput, match=message):
                PersistentMemory(agent_name="a", llm_config=wrong, db_url=tmp_path / "p.db")

    @pytest.mark.filterwarnings("ignore:Payload indexes have no effect", "ignore:Local mode performs")
    def test_clients_of_one_qdrant_server_are_shared(self, tmp_path: Path) -> None:
        from qdrant_client import QdrantClient

        client = QdrantClient(":memory:")
        for agent in ("a", "b"):
            with PersistentMemory(
                agent_name=agent,
                qdrant_client=client,
                db_url=tmp_path / f"{agent}.db",
                embedding_backend=HashEmbedder(),
            ) as memory:
                memory.save_to_memory("", [f"{agent} likes tea"])
                assert f"{agent} likes tea" in memory.retrieve("tea")
        assert client.get_collections().collections

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"llm_config": {}, "llm_backend": "x"}, "llm_backend or llm_config, not both"),
            ({"embedding_config": {}, "embedding_backend": "x"}, "embedding_backend or embedding_config, not both"),
            ({"qdrant_client": 1, "vector_store_config": "faiss"}, "vector_store_config or qdrant_client, not both"),
            ({"memory_type": "procedure"}, "unknown memory type"),
        ],
    )
    def test_arguments_that_exclude_each_other_are_refused(
        self, tmp_path: Path, arguments: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(memoranda.InvalidInput, match=message):
            PersistentMemory(agent_name="a", db_url=f"sqlite:///{tmp_path / 'p.db'}", **arguments)
        assert list(tmp_path.iterdir()) == []

    def test_unknown_argument_is_named(self) -> None:
        with pytest.raises(TypeError, match="embeding_config"):
            PersistentMemory(agent_name="a", embeding_config={})  # type: ignore[call-arg]

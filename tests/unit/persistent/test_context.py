from __future__ import annotations

import inspect
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda import (
    Closed,
    ConversationContext,
    ConversationMemory,
    InvalidInput,
    MemoryConfig,
    MemoryManager,
    MemoryTypes,
    Message,
    aio,
)
from memoranda.testing.fakes import HashEmbedder


@pytest.fixture
def config(tmp_path: Path) -> MemoryConfig:
    return MemoryConfig(db_url=f"sqlite:///{tmp_path}/a.db", enable_vector_search=False)


def test_message_is_added_to_history_and_found_at_once(config: MemoryConfig) -> None:
    with ConversationContext("support-1", config) as context:
        assert isinstance(context.history, ConversationMemory)
        message = Message("user", "My parcel to Lisbon is late", name="Ines")
        context.add_message(message)
        context.add_message({"role": "assistant", "content": "I will ask the carrier."})
        [hit] = context.memory.search_memory(query="parcel Lisbon", memory_type=MemoryTypes.SHORT_TERM)
        assert hit.content == "My parcel to Lisbon is late"
        assert hit.metadata == {"role": "user", "source": context.id}
        assert (hit.source, hit.session, hit.message_id) == ("support-1", "support-1", message.message_id)
        assert hit.memory.valid_from == message.timestamp
        assert [m.role for m in context.history.get_messages()] == ["user", "assistant"]


def test_same_id_continues_conversation_and_other_id_does_not_see_it(config: MemoryConfig) -> None:
    for text in ("first", "second"):
        with ConversationContext("a", config) as context:
            context.add_message(Message("user", text))
    with ConversationContext("a", config) as context, ConversationContext("b", config) as other:
        assert [m.content for m in context.history.get_messages()] == ["first", "second"]
        assert len(other.history) == 0
        assert other.memory.search_memory("first", MemoryTypes.SHORT_TERM, session=other.id) == []


def test_repeated_message_is_ignored(config: MemoryConfig) -> None:
    message = Message("user", "parcel")
    with ConversationContext("a", config) as context:
        for _ in range(2):
            context.add_message(message)
        context.add_message(Message("user", "parcel"))
        assert len(context.history) == 2
        assert len(context.memory.search_memory("parcel", MemoryTypes.SHORT_TERM)) == 2


def test_message_without_text_is_only_in_history(config: MemoryConfig) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "track", "arguments": "{}"}}
    with ConversationContext("a", config) as context:
        context.add_message(Message("assistant", tool_calls=[call]))
        assert len(context.history) == 1
        assert context.memory.get_stats().long_term_entries == 0


def test_short_term_memory_expires_and_history_stays(tmp_path: Path) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    manager = MemoryManager(
        MemoryConfig(db_url=f"sqlite:///{tmp_path}/a.db", short_term_ttl=60),
        embedder=HashEmbedder(64),
        clock=lambda: now,
    )
    with manager, ConversationContext("a", memory=manager) as context:
        context.add_message(Message("user", "parcel"))
        assert len(manager.search_memory("parcel", "short_term")) == 1
        now += timedelta(seconds=61)
        assert manager.search_memory("parcel", "short_term") == []
        assert len(context.history) == 1


def test_shared_manager_stays_open_and_sets_retention_policy(config: MemoryConfig) -> None:
    with MemoryManager(config) as manager:
        with ConversationContext("a", memory=manager) as context:
            context.add_message(Message("user", "parcel"))
            assert context.history.retention_policy == "session"
        assert manager.get_memory(session="a") is context.history
        assert len(context.history) == 1


def test_close_twice_is_allowed_and_later_calls_raise_closed(config: MemoryConfig) -> None:
    context = ConversationContext("a", config)
    context.close()
    context.close()
    with pytest.raises(Closed):
        context.add_message(Message("user", "late"))
    with pytest.raises(InvalidInput, match="conversation_id"):
        ConversationContext(" ", config)
    with pytest.raises(InvalidInput, match="role"), ConversationContext("a", config) as other:
        other.add_message({"content": "who says?"})


async def test_async_context_adds_and_finds_messages(config: MemoryConfig) -> None:
    async with aio.ConversationContext("a", config) as context:
        assert isinstance(context.history, aio.ConversationMemory)
        assert isinstance(context.memory, aio.MemoryManager)
        await context.add_message(Message("user", "My parcel to Lisbon is late"))
        found = await context.memory.search_memory(query="parcel", memory_type=MemoryTypes.SHORT_TERM)
        assert [hit.metadata["source"] for hit in found] == [context.id]
        assert [m.content for m in await context.history.get_messages()] == ["My parcel to Lisbon is late"]
        assert await context.memory.get_memory(session="a") is context.history
    await context.close()
    async with aio.MemoryManager(config, retention_policy="persistent") as manager:
        async with aio.ConversationContext("a", memory=manager) as again:
            assert await again.history.size() == 1
        assert await manager.get_memory(session="a") is again.history


def test_async_context_has_same_methods_and_arguments() -> None:
    for name in ("__init__", "add_message", "close"):
        async_method, method = getattr(aio.ConversationContext, name), getattr(ConversationContext, name)
        assert inspect.signature(async_method) == inspect.signature(method)
        assert inspect.iscoroutinefunction(async_method) == (name != "__init__")

"""`MemorandaMemory` with AutoGen itself: an agent with a scripted model, every kind of content, and its limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken, Image
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient
from PIL import Image as Picture

from memoranda import InvalidInput, InvalidType, MemoryManager, aio
from memoranda.integrations.autogen import MemorandaMemory
from memoranda.testing.fakes import HashEmbedder

PEANUTS, EVA = "I am allergic to peanuts.", "My sister Eva lives in Porto."


@pytest.fixture
async def manager(tmp_path: Path) -> AsyncIterator[aio.MemoryManager]:
    async with aio.MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder()) as manager:
        yield manager


def content(text: Any, kind: Any = MemoryMimeType.TEXT, **metadata: Any) -> MemoryContent:
    return MemoryContent(content=text, mime_type=kind, metadata=metadata or None)


def texts(result: Any) -> list[Any]:
    return [each.content for each in result.results]


async def test_agent_gets_what_fits_its_question(manager: aio.MemoryManager) -> None:
    memory = MemorandaMemory(manager, user="ann")
    await memory.add(content(PEANUTS))
    await manager.remember(EVA, user="ann")
    await MemorandaMemory(manager, user="bob").add(content("I am allergic to cats."))
    model = ReplayChatCompletionClient(["Peanuts."])
    agent = AssistantAgent("cook", model_client=model, memory=[memory])
    result = await agent.run(task="What am I allergic to?")
    assert result.messages[-1].content == "Peanuts."
    (prompt,) = [call["messages"] for call in model.create_calls]
    shown = [message.content for message in prompt if "memoranda-memory" in str(message.content)]
    assert len(shown) == 1
    assert PEANUTS in shown[0]
    assert "cats" not in shown[0]


async def test_query_and_context_see_only_their_owner(manager: aio.MemoryManager) -> None:
    ann, bob = MemorandaMemory(manager, user="ann", agent="a1"), MemorandaMemory(manager, user="bob", agent="a1")
    await ann.add(content(PEANUTS))
    assert texts(await ann.query("peanuts")) == [PEANUTS]
    assert texts(await bob.query("peanuts")) == []
    context = BufferedChatCompletionContext(buffer_size=5)
    assert texts((await bob.update_context(context)).memories) == []
    assert await context.get_messages() == []


async def test_every_kind_of_content_comes_back_as_it_was(manager: aio.MemoryManager) -> None:
    memory = MemorandaMemory(manager)
    picture = Image(Picture.new("RGB", (3, 2), "red"))
    for each in (
        content(PEANUTS, "text/markdown", topic="health"),
        content({"city": "Porto", "n": [1, None]}, MemoryMimeType.JSON),
        content(picture, MemoryMimeType.IMAGE, title="a red picture"),
        content(b"\x00\xff", "application/x-own", title="two bytes"),
    ):
        await memory.add(each)
    found = (await memory.query("Porto picture bytes peanuts")).results
    assert [each.mime_type for each in found] == [
        MemoryMimeType.MARKDOWN,
        MemoryMimeType.JSON,
        MemoryMimeType.IMAGE,
        "application/x-own",
    ]
    assert [found[0].content, found[1].content, found[3].content] == [
        PEANUTS,
        {"city": "Porto", "n": [1, None]},
        b"\x00\xff",
    ]
    assert found[2].content.to_base64() == picture.to_base64()
    assert (found[0].metadata or {})["topic"] == "health"
    assert 0 <= (found[0].metadata or {})["score"] <= 1
    assert texts(await memory.query("a red picture", limit=1))[0].to_base64() == picture.to_base64()
    assert texts(await memory.query(" ")) == []


async def test_clear_deletes_what_this_memory_added(manager: aio.MemoryManager) -> None:
    one, other = MemorandaMemory(manager, user="ann", name="one"), MemorandaMemory(manager, user="ann", name="two")
    await one.add(content(PEANUTS))
    await other.add(content(EVA))
    await manager.remember("I like tea.", user="ann")
    await one.clear()
    assert sorted(texts(await one.query("peanuts Eva tea"))) == ["I like tea.", EVA]


async def test_context_gets_the_newest_memories_before_any_question(manager: aio.MemoryManager) -> None:
    memory = MemorandaMemory(manager, limit=2)
    for text in ("one is red", "two is green", "three is blue"):
        await memory.add(content(text))
    context = BufferedChatCompletionContext(buffer_size=5)
    assert texts((await memory.update_context(context)).memories) == ["two is green", "three is blue"]
    (message,) = await context.get_messages()
    assert "three is blue" in message.content
    await context.add_message(UserMessage(content=["What is red?", Image(Picture.new("RGB", (1, 1)))], source="user"))
    assert "one is red" in texts((await memory.update_context(context)).memories)


async def test_cancelled_token_cancels_the_call(manager: aio.MemoryManager) -> None:
    token = CancellationToken()
    token.cancel()
    memory = MemorandaMemory(manager)
    with pytest.raises(asyncio.CancelledError):
        await memory.add(content(PEANUTS), token)
    with pytest.raises(asyncio.CancelledError):
        await memory.query("peanuts", token)


async def test_configuration_makes_the_same_memory(tmp_path: Path, manager: aio.MemoryManager) -> None:
    first = MemorandaMemory(db_url=f"sqlite:///{tmp_path}/own.db", user="ann", limit=3, name="notes")
    await first.add(content(PEANUTS))
    saved = first.dump_component()
    await first.close()
    second = Memory.load_component(saved.model_dump())
    assert isinstance(second, MemorandaMemory)
    assert (second.name, texts(await second.query("peanuts"))) == ("notes", [PEANUTS])
    await second.close()
    with pytest.raises(InvalidInput, match="db_url"):
        MemorandaMemory(manager).dump_component()


async def test_every_source_is_taken(tmp_path: Path) -> None:
    with MemoryManager(tmp_path / "own.db") as blocking:
        await MemorandaMemory(blocking, user="ann").add(content(PEANUTS))
    second = Memory.load_component(MemorandaMemory(tmp_path / "own.db", user="ann").dump_component().model_dump())
    assert isinstance(second, MemorandaMemory)
    assert texts(await second.query("peanuts")) == [PEANUTS]
    await second.close()
    with pytest.raises(InvalidType, match=r"memoranda\.MemoryManager, or the path"):
        MemorandaMemory(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="not both"):
        MemorandaMemory(aio.MemoryManager(), db_url="x.db")

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools import load_memory, preload_memory
from google.genai import types
from pydantic import Field

from memoranda import aio
from memoranda.errors import InvalidInput, NotFound
from memoranda.integrations.google_adk import MemorandaMemoryService

DOG = "My dog Rex is allergic to chicken and eats only fish."


class ScriptedLlm(BaseLlm):
    """Gives the replies in order, and keeps what it was asked."""

    replies: list[types.Part]
    seen: list[LlmRequest] = Field(default_factory=list)

    async def generate_content_async(self, request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse]:
        self.seen.append(request)
        yield LlmResponse(content=types.Content(role="model", parts=[self.replies.pop(0)]))


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[MemorandaMemoryService]:
    async with aio.MemoryManager(tmp_path / "memories.db") as manager:
        yield MemorandaMemoryService(manager)


def say(text: str, role: str = "user") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


async def chat(service: MemorandaMemoryService, llm: ScriptedLlm, text: str, *, user: str, tool: Any) -> Session:
    """Run an agent on one message in a new session, and return the session."""
    sessions = InMemorySessionService()
    agent = LlmAgent(name="helper", model=llm, tools=[tool])
    runner = Runner(app_name="pets", agent=agent, session_service=sessions, memory_service=service)
    session = await sessions.create_session(app_name="pets", user_id=user)
    async for _ in runner.run_async(user_id=user, session_id=session.id, new_message=say(text)):
        pass
    found = await sessions.get_session(app_name="pets", user_id=user, session_id=session.id)
    assert found is not None
    return found


async def test_agent_finds_by_its_tool_what_was_said_in_another_session(service: MemorandaMemoryService) -> None:
    call = types.Part(function_call=types.FunctionCall(name="load_memory", args={"query": "food of the dog"}))
    llm = ScriptedLlm(model="scripted", replies=[types.Part(text="Noted."), call, types.Part(text="Fish.")])
    first = await chat(service, llm, DOG, user="ann", tool=load_memory)
    await service.add_session_to_memory(first)
    second = await chat(service, llm, "What can I feed my dog?", user="ann", tool=load_memory)
    (answer,) = [part.function_response for e in second.events for part in e.content.parts if part.function_response]
    assert [entry.content.parts[0].text for entry in answer.response["result"].memories] == [DOG]


async def test_memory_is_preloaded_for_its_own_user_only(service: MemorandaMemoryService) -> None:
    llm = ScriptedLlm(model="scripted", replies=[types.Part(text="Ok.") for _ in range(3)])
    await service.add_session_to_memory(await chat(service, llm, DOG, user="ann", tool=preload_memory))
    await chat(service, llm, "What can I feed my dog?", user="ann", tool=preload_memory)
    assert DOG in str(llm.seen[-1].contents)
    await chat(service, llm, "What can I feed my dog?", user="bob", tool=preload_memory)
    assert "Rex" not in str(llm.seen[-1])


def event(id: str, text: str, author: str = "user", **fields: Any) -> Event:
    return Event(id=id, author=author, content=say(text), **fields)


async def test_session_that_is_added_again_adds_only_what_is_new(service: MemorandaMemoryService) -> None:
    session = Session(id="s", app_name="pets", user_id="ann", events=[event("1", DOG)])
    await service.add_session_to_memory(session)
    session.events += [event("2", "My cat\0 is called \ud83dTom."), event("3", "I live in Lisbon.")]
    await service.add_session_to_memory(session)
    stored = await service.memory.list_memories(user="ann", agent="pets", session="s")
    assert [memory.content for memory in stored] == [DOG, "My cat\ufffd is called \ufffdTom.", "I live in Lisbon."]
    found = await service.search_memory(app_name="pets", user_id="ann", query="Where do I live\0?")
    assert found.memories[0].content.parts[0].text == "I live in Lisbon."


async def test_deleted_memory_does_not_come_back_with_its_session(service: MemorandaMemoryService) -> None:
    session = Session(id="s", app_name="pets", user_id="ann", events=[event("1", DOG)])
    await service.add_session_to_memory(session)
    found = await service.search_memory(app_name="pets", user_id="ann", query="dog")
    await service.delete_memory(app_name="pets", user_id="ann", memory_id=found.memories[0].id)
    await service.add_session_to_memory(session)
    assert (await service.search_memory(app_name="pets", user_id="ann", query="dog")).memories == []


async def test_unfinished_and_silent_events_are_left_out(service: MemorandaMemoryService) -> None:
    silent = Event(id="2", author="user", content=None)
    await service.add_events_to_memory(
        app_name="pets", user_id="ann", events=[event("1", "My dog Rex is", partial=True), silent, event("3", " ")]
    )
    assert await service.memory.list_memories(user="ann") == []


async def test_direct_memories_keep_author_time_and_metadata(service: MemorandaMemoryService) -> None:
    entry = MemoryEntry(
        content=say(DOG), author="vet", timestamp="2026-03-01T10:00:00+00:00", custom_metadata={"ward": 3}
    )
    await service.add_memory(app_name="pets", user_id="ann", memories=[entry], custom_metadata={"clinic": "north"})
    (found,) = (await service.search_memory(app_name="pets", user_id="ann", query="dog")).memories
    assert (found.author, found.timestamp) == ("vet", "2026-03-01T10:00:00+00:00")
    assert (found.custom_metadata["ward"], found.custom_metadata["clinic"]) == (3, "north")


async def test_search_of_another_app_or_with_an_empty_question_finds_nothing(service: MemorandaMemoryService) -> None:
    await service.add_events_to_memory(app_name="pets", user_id="ann", events=[event("1", DOG)])
    assert (await service.search_memory(app_name="bank", user_id="ann", query="dog")).memories == []
    assert (await service.search_memory(app_name="pets", user_id="ann", query=" ")).memories == []


async def test_deletion_of_another_users_memory_fails_and_changes_nothing(service: MemorandaMemoryService) -> None:
    await service.add_events_to_memory(app_name="pets", user_id="ann", events=[event("1", DOG)])
    (found,) = (await service.search_memory(app_name="pets", user_id="ann", query="dog")).memories
    with pytest.raises(NotFound):
        await service.delete_memory(app_name="pets", user_id="bob", memory_id=found.id)
    with pytest.raises(InvalidInput, match="search_memory"):
        await service.delete_memory(app_name="pets", user_id="ann", memory_id="first")
    assert len((await service.search_memory(app_name="pets", user_id="ann", query="dog")).memories) == 1

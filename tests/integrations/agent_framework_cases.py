from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, AgentSession, BaseChatClient, ChatResponse, Message

from memoranda import aio
from memoranda.integrations.agent_framework import MemorandaContextProvider

DOG = "My dog Rex is allergic to chicken and eats only fish."


class ScriptedClient(BaseChatClient):
    """Gives the same reply to everything, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[list[Message]] = []

    async def _inner_get_response(self, *, messages: Sequence[Message], **_: Any) -> ChatResponse:
        self.seen.append(list(messages))
        return ChatResponse(messages=[Message("assistant", ["A fish diet it is."])])


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[aio.MemoryManager]:
    async with aio.MemoryManager(tmp_path / "memories.db") as manager:
        yield manager


def session_of(user: str) -> AgentSession:
    session = AgentSession()
    session.state["memoranda"] = {"user": user}
    return session


async def test_agent_is_given_what_its_user_said_in_another_session(memory: aio.MemoryManager) -> None:
    client = ScriptedClient()
    agent = Agent(client=client, context_providers=[MemorandaContextProvider(memory, user="ann")])
    first = AgentSession()
    await agent.run(DOG, session=first)
    await agent.run("What can I feed my dog?", session=AgentSession())
    (note, question) = client.seen[-1]
    assert DOG in note.text
    assert question.text == "What can I feed my dog?"
    assert note.additional_properties["_attribution"]["origin_session_ids"] == [first.session_id]


async def test_one_agent_serves_many_users_and_mixes_nothing(memory: aio.MemoryManager) -> None:
    client = ScriptedClient()
    agent = Agent(client=client, context_providers=[MemorandaContextProvider(memory)])
    await agent.run(DOG, session=session_of("ann"))
    await agent.run("What can I feed my dog?", session=session_of("bob"))
    assert [message.text for message in client.seen[-1]] == ["What can I feed my dog?"]
    await agent.run("What can I feed my dog?", session=session_of("ann"))
    assert DOG in client.seen[-1][0].text


async def test_run_is_remembered_with_session_and_speaker(memory: aio.MemoryManager) -> None:
    agent = Agent(
        client=ScriptedClient(), context_providers=[MemorandaContextProvider(memory, user="ann", agent="vet")]
    )
    session = AgentSession(session_id="visit")
    await agent.run([Message("user", [DOG], author_name="Ann"), Message("system", ["Be brief."])], session=session)
    stored = await memory.list_memories(user="ann", agent="vet", session="visit")
    assert (stored[0].content, stored[0].speaker) == (DOG, "Ann")
    assert "Be brief." not in [each.content for each in stored]


async def test_run_without_words_adds_nothing(memory: aio.MemoryManager) -> None:
    client = ScriptedClient()
    agent = Agent(client=client, context_providers=[MemorandaContextProvider(memory, user="ann")])
    await agent.run([Message("user", [" "])], session=AgentSession())
    assert len(client.seen[-1]) == 1

"""An agent of Microsoft's Agent Framework that remembers its users: pip install "memoranda[agent-framework]"."""

import asyncio
from collections.abc import Sequence
from typing import Any

from agent_framework import Agent, AgentSession, BaseChatClient, ChatResponse, Message

from memoranda import aio
from memoranda.integrations.agent_framework import MemorandaContextProvider


class Echo(BaseChatClient):
    """Answers with what it is told, so that the example runs without a key. Use any chat client instead."""

    async def _inner_get_response(self, *, messages: Sequence[Message], **_: Any) -> ChatResponse:
        told = " ".join(message.text for message in messages)
        return ChatResponse(messages=[Message("assistant", [f"I was told: {told}"])])


async def main() -> None:
    async with aio.MemoryManager("agent_framework.db") as memory:
        agent = Agent(client=Echo(), context_providers=[MemorandaContextProvider(memory)])

        async def say(user: str, text: str) -> str:
            session = AgentSession()
            session.state["memoranda"] = {"user": user}
            return (await agent.run(text, session=session)).text

        await say("ann", "My dog Rex is allergic to chicken and eats only fish.")
        print("to ann:", await say("ann", "What can I feed my dog?"))
        print("to bob:", await say("bob", "What can I feed my dog?"))


asyncio.run(main())

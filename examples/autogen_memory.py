"""An AutoGen agent that remembers its user in a later run.

python examples/autogen_memory.py        (pip install "memoranda[autogen]" autogen-agentchat autogen-ext)
"""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_ext.models.replay import ReplayChatCompletionClient

from memoranda import aio
from memoranda.integrations.autogen import MemorandaMemory


async def main() -> None:
    async with aio.MemoryManager("autogen.db") as manager:
        memory = MemorandaMemory(manager, user="ann")
        await memory.add(MemoryContent(content="I am allergic to peanuts.", mime_type=MemoryMimeType.TEXT))
        # What another interface remembers of the same user is there too.
        await manager.remember("My sister Eva lives in Porto.", user="ann")

        # Answers from a list, so that this runs without a key: use a real client instead.
        model = ReplayChatCompletionClient(["Rice, without peanuts."])
        agent = AssistantAgent("cook", model_client=model, memory=[memory])
        result = await agent.run(task="What am I allergic to?")

        recalled = [message for message in result.messages if message.type == "MemoryQueryEvent"]
        print("recalled:", recalled[0].content[0].content)
        print("answer:", result.messages[-1].content)
        print("query:", [each.content for each in (await memory.query("Where does Eva live?", limit=1)).results])


if __name__ == "__main__":
    asyncio.run(main())

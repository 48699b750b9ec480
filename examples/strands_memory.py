"""A Strands agent that remembers earlier conversations: pip install "memoranda[strands]"."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent
from strands.memory import MemoryManager
from strands.models.model import Model

from memoranda import aio
from memoranda.integrations.strands import MemorandaStore


class Echo(Model):
    """Answers with what it is told, so that the example runs without a key. Use any model of Strands instead."""

    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: list[Any], *_: Any, **__: Any) -> AsyncIterator[Any]:
        told = " ".join(block["text"] for message in messages for block in message["content"])
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": f"I was told: {told}"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


async def main() -> None:
    async with aio.MemoryManager("strands.db") as memory:
        for text in ("My dog Rex is allergic to chicken and eats only fish.", "What can I feed my dog?"):
            # A new agent each time: it knows only what is in memory.
            store = MemorandaStore(memory, user="ann")
            manager = MemoryManager(stores=[store])
            agent = Agent(model=Echo(), memory_manager=manager, callback_handler=None)
            answer = await agent.invoke_async(text)
            await manager.flush()
        print(answer)


asyncio.run(main())

"""A PydanticAI agent that keeps notes in files of its own: pip install "memoranda[pydantic-ai]"."""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness.memory import Memory

from memoranda import aio
from memoranda.integrations.pydantic_ai import MemorandaStore

NOTE = "Ann's dog Rex is allergic to chicken and eats only fish."


async def main() -> None:
    async with aio.MemoryManager("notes.db") as manager:
        capability = Memory(store=MemorandaStore(manager, user="ann"))

        # Writes a note when it is called first, so that the example runs without a key. Use any model instead.
        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            if len(messages) == 1:
                tools = [tool.name for tool in info.function_tools]
                print("tools:", ", ".join(sorted(tools)))
                return ModelResponse([ToolCallPart("write_memory", {"content": NOTE})])
            return ModelResponse([TextPart("Noted.")])

        agent = Agent(FunctionModel(answer), capabilities=[capability])
        print((await agent.run("Remember what my dog eats.")).output)

        # What the agent wrote is recalled like everything else.
        print("recalled:", (await manager.recall("What can I feed the dog?", user="ann"))[0].content)


asyncio.run(main())

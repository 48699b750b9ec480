"""A LlamaIndex agent that remembers earlier chats: pip install "memoranda[llama-index]"."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms.mock import MockFunctionCallingLLMWithChatMemoryOfLastCall
from llama_index.core.memory import Memory

from memoranda import aio
from memoranda.integrations.llama_index import MemorandaMemoryBlock

# Repeats what it is told, so that the example runs without a key. Use any function calling model instead.
llm = MockFunctionCallingLLMWithChatMemoryOfLastCall()


def open_chat(block: MemorandaMemoryBlock, session: str, token_limit: int) -> Memory:
    # By default LlamaIndex counts tokens with tiktoken, which is downloaded at first use.
    return Memory.from_defaults(
        session_id=session, token_limit=token_limit, memory_blocks=[block], tokenizer_fn=str.split
    )


async def main() -> None:
    async with aio.MemoryManager("llama.db") as memory:
        block = MemorandaMemoryBlock(memory, user="ann")
        agent = FunctionAgent(tools=[], llm=llm)

        # A small limit, so that messages leave the short-term queue after a few turns and become memories.
        monday = open_chat(block, "monday", token_limit=40)
        for text in (
            "My dog Rex is allergic to chicken and eats only fish.",
            "I moved to Lisbon in May, and I work at the harbour now.",
            "Tell me something about the sea.",
        ):
            await agent.run(text, memory=monday)

        friday = open_chat(block, "friday", token_limit=2000)
        await agent.run("What can I feed my dog?", memory=friday)
        (system, *_) = llm.last_chat_messages
        print("the model is given:")
        print(system.content)


asyncio.run(main())

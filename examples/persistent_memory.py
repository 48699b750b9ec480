"""Long-term memory with two interfaces: one for the program and one for the agent."""

import asyncio

from memoranda.aio import PersistentMemory


async def main() -> None:
    # With only a name, it uses memories.db in the current folder.
    memory = PersistentMemory(agent_name="my_agent", on_disk=True)

    # Developer interface: record a conversation
    await memory.record(
        [{"role": "user", "content": "My name is Alice"}, {"role": "assistant", "content": "Nice to meet you, Alice!"}]
    )

    # Developer interface: retrieve what is relevant, as text for a prompt
    relevant = await memory.retrieve("What's the user's name?")
    print(relevant)

    # Agent tool interface: the agent saves what is important
    result = await memory.save_to_memory(
        thinking="User shared personal information",
        content=["User's favorite color is blue", "User works as a teacher"],
    )
    print(result["message"])

    # Agent tool interface: the agent recalls
    result = await memory.recall_from_memory(keywords=["favorite color", "job"], limit=5)
    for mem in result["memories"]:
        print(mem)
    await memory.close()


asyncio.run(main())

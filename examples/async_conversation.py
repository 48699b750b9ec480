"""A conversation in an async program: add, read, filter and truncate messages, then save the state."""

import asyncio

from memoranda.aio import ConversationMemory


async def main() -> None:
    memory = ConversationMemory()

    await memory.add({"role": "user", "content": "Hello!"})
    await memory.add({"role": "assistant", "content": "Hi there!"})

    messages = await memory.get_messages()
    print(f"Stored {len(messages)} messages")

    recent = await memory.get_messages(limit=10)
    user_messages = await memory.get_messages_by_role("user")
    print(f"{len(recent)} recent, {len(user_messages)} by the user: {user_messages[0]['content']}")

    await memory.truncate_to_size(100)
    state = memory.state_dict()
    await memory.clear()

    new_memory = ConversationMemory()
    new_memory.load_state_dict(state)
    print(f"{await memory.size()} after clearing, {await new_memory.size()} after loading the state")


if __name__ == "__main__":
    asyncio.run(main())

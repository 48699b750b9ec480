"""Developer-controlled memory: the program retrieves and records around every turn."""

import asyncio

from memoranda.aio import ConversationMemory, PersistentMemory


class Backend:
    """Call your model here with the messages. This example repeats the memories in the prompt."""

    async def chat(self, messages: list) -> str:
        known = [line for line in str(messages[0]["content"]).splitlines() if line.startswith("- user:")]
        return f"I remember {len(known)} things you said: {known}"


class MyAgent:
    def __init__(self) -> None:
        self.backend = Backend()
        self.conversation_memory = ConversationMemory()
        self.persistent_memory = PersistentMemory(agent_name="agent_1")

    async def chat(self, user_message: str) -> str:
        await self.conversation_memory.add({"role": "user", "content": user_message})

        # Memories from earlier conversations; "" if there are none.
        context = await self.persistent_memory.retrieve(user_message)
        messages = await self.conversation_memory.get_messages()
        if context:
            messages.insert(0, {"role": "system", "content": f"Relevant memories: {context}"})

        response = await self.backend.chat(messages)
        await self.conversation_memory.add({"role": "assistant", "content": response})

        # Record the whole history each time: known messages and recalled text are not stored again.
        await self.persistent_memory.record(messages)
        return response


async def main() -> None:
    first = MyAgent()
    print(await first.chat("My daughter Mia starts school in September."))
    await first.persistent_memory.close()

    later = MyAgent()  # another day: an empty conversation, the same memory
    print(await later.chat("When does Mia start school?"))
    await later.persistent_memory.close()


asyncio.run(main())

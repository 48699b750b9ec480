"""An agent that searches earlier messages before it answers."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence

from memoranda import Hit, MemoryConfig, MemoryTypes, Message
from memoranda.aio import ConversationContext


class Agent:
    async def process(self, message: Message, context: ConversationContext) -> AsyncIterator[str]:
        # Retrieve relevant memories
        memories = await context.memory.search_memory(
            query=str(message.content), memory_type=MemoryTypes.SHORT_TERM, limit=1
        )

        # Add memories to prompt context
        prompt_context = self._build_prompt_context(message, memories)
        await context.add_message(message)

        # Call your model here; this example repeats its prompt.
        for word in prompt_context.split():
            yield word

    def _build_prompt_context(self, message: Message, memories: Sequence[Hit]) -> str:
        known = "; ".join(f"the {hit.metadata['role']} said {hit.content!r}" for hit in memories)
        return f"To {message.content!r} I know: {known or 'nothing yet'}"


async def main(folder: str) -> None:
    config = MemoryConfig(db_url=f"sqlite:///{folder}/memories.db")
    async with ConversationContext("trip-to-lisbon", config) as context:
        for text in (
            "My flight to Lisbon leaves on Friday at nine.",
            "I am allergic to peanuts.",
            "When does my flight leave?",
        ):
            answer = [word async for word in Agent().process(Message("user", text), context)]
            print(f"> {text}\n{' '.join(answer)}")
        print(f"{await context.history.size()} messages in the history of {context.id!r}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(main(name))

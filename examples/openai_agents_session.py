"""An agent of the OpenAI Agents SDK that remembers its user across sessions.

python examples/openai_agents_session.py        (pip install "memoranda[openai-agents]")
"""

import asyncio

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from memoranda import aio
from memoranda.integrations.openai_agents import MemorandaSession


async def main() -> None:
    set_tracing_disabled(True)
    async with aio.MemoryManager("agents.db", retention_policy="persistent", max_messages_per_agent=None) as memory:

        @function_tool
        async def recall(query: str) -> str:
            """Look up what the user said in earlier sessions."""
            return await memory.context(query, user="ann") or "nothing"

        # Answers from a list, so that this runs without a key: leave `model` out for a real one.
        model = ScriptedModel()
        agent = Agent(name="travel helper", instructions="Use recall before you answer.", tools=[recall], model=model)

        monday = MemorandaSession("monday", memory, user="ann")
        model.enqueue([assistant_message("A window seat it is.")])
        await Runner.run(agent, "I always want a window seat, and I am allergic to peanuts.", session=monday)

        friday = MemorandaSession("friday", memory, user="ann")
        model.enqueue([function_call("recall", {"query": "What is the user allergic to?"}, call_id="1")])
        model.enqueue([assistant_message("Booked, without peanuts.")])
        result = await Runner.run(agent, "Book my flight and a meal.", session=friday)

        print("recalled:", "allergic to peanuts" in str(await friday.get_items()))
        print("answer:", result.final_output)
        print("items:", len(await monday.get_items()), "on monday,", len(await friday.get_items()), "on friday")


if __name__ == "__main__":
    asyncio.run(main())

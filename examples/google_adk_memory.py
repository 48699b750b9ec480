"""A Google ADK agent that remembers earlier sessions: pip install "memoranda[google-adk]"."""

import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import preload_memory
from google.genai import types

from memoranda import aio
from memoranda.integrations.google_adk import MemorandaMemoryService


class Echo(BaseLlm):
    """Answers with what it is told, so that the example runs without a key. Use the name of a model instead."""

    async def generate_content_async(self, request: LlmRequest, *_: bool, **__: bool) -> AsyncGenerator[LlmResponse]:
        text = "\n".join(part.text for content in request.contents for part in content.parts if part.text)
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=f"I was told: {text}")]))


async def main() -> None:
    async with aio.MemoryManager("adk.db") as memory:
        service = MemorandaMemoryService(memory)
        sessions = InMemorySessionService()
        agent = LlmAgent(name="helper", model=Echo(model="echo"), tools=[preload_memory])
        runner = Runner(app_name="pets", agent=agent, session_service=sessions, memory_service=service)

        async def say(text: str) -> str:
            session = await sessions.create_session(app_name="pets", user_id="ann")
            message = types.Content(role="user", parts=[types.Part(text=text)])
            answer = ""
            async for event in runner.run_async(user_id="ann", session_id=session.id, new_message=message):
                answer = event.content.parts[0].text
            ended = await sessions.get_session(app_name="pets", user_id="ann", session_id=session.id)
            await service.add_session_to_memory(ended)
            return answer

        await say("My dog Rex is allergic to chicken and eats only fish.")
        print(await say("What can I feed my dog?"))


asyncio.run(main())

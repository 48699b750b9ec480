"""The transcripts of the Claude Agent SDK in Memoranda: resumed anywhere, and recalled.

python examples/claude_agent_sessions.py        (pip install "memoranda[claude-agent-sdk]")
"""

import asyncio

from claude_agent_sdk import get_session_messages_from_store, project_key_for_directory

from memoranda import aio
from memoranda.integrations.claude_agent_sdk import MemorandaSessionStore

SESSION = "6f9619ff-8b86-4011-b42d-00c04fc964ff"


def said(number: int, role: str, text: str) -> dict[str, object]:
    """Return an entry of a transcript, as the SDK writes it."""
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    entry = {"type": role, "uuid": f"00000000-0000-4000-8000-00000000000{number}", "sessionId": SESSION}
    parent = None if number == 1 else f"00000000-0000-4000-8000-00000000000{number - 1}"
    return {**entry, "parentUuid": parent, "message": message, "timestamp": "2026-03-01T12:00:00Z"}


async def main() -> None:
    async with aio.MemoryManager("claude.db") as memory:
        # With a key: query(prompt=…, options=ClaudeAgentOptions(session_store=store)). The SDK then calls `append`.
        store = MemorandaSessionStore(memory, user="ann")
        key = {"project_key": project_key_for_directory("."), "session_id": SESSION}
        entries = [said(1, "user", "My sister Eva lives in Porto."), said(2, "assistant", "Noted.")]
        await store.append(key, entries)
        await store.append(key, entries)  # sent again after a timeout: stored once

        messages = await get_session_messages_from_store(store, SESSION, directory=".")
        print([message.type for message in messages])
        found = await memory.recall("Where does Eva live?", user="ann")
        print("recalled:", "Porto" in found[0].content)


if __name__ == "__main__":
    asyncio.run(main())

"""A memory service for Google's Agent Development Kit (ADK)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memoranda.display import shown
from memoranda.errors import InvalidInput, MissingExtra
from memoranda.integrations.managers import RELEVANT, AsyncOpenedSource, Source, open_async
from memoranda.types import Hit, Memory
from memoranda.validation import copy_json_object

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types
except ModuleNotFoundError as error:
    raise MissingExtra("the Google ADK adapter", "google-adk") from error

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

_DELETED = ("google-adk", "deleted events")
"""The namespace of items that name the events whose memories were deleted."""


class MemorandaMemoryService(AsyncOpenedSource, BaseMemoryService):
    """The memory of ADK agents, for `Runner(memory_service=...)`.

    The app of ADK is the `agent` of a memory, and its user and session are the `user` and `session`: a search sees one
    user of one app, in every session.
    """

    def __init__(self, memory: Source = None, *, limit: int = 10, min_score: float | None = RELEVANT) -> None:
        """Create a memory service.

        Args:
            memory: The manager, or the path or URL of the database; None for the settings of the environment.
            limit: The maximum number of memories that a search returns.
            min_score: The lowest score of such a memory; None for any. By default, what is hardly related to the
                question is left out.
        """
        self.memory, self._owns_memory = open_async(memory)
        self.limit = limit
        self.min_score = min_score

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember what was said in a session. Adding it again remembers only what is new."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember what was said in some events. An event adds nothing again, even when its memory was deleted.

        Args:
            app_name: The app, stored as the agent.
            user_id: The user.
            events: The events; unfinished ones and those without a text are left out.
            session_id: The session.
            custom_metadata: A JSON object stored with each memory.
        """
        metadata = copy_json_object(custom_metadata or {}, "custom_metadata")
        spoken = {event.id: event for event in events if not event.partial and _text_of(event.content).strip()}
        messages = [
            {**_to_message(_text_of(event.content), event.author, event.timestamp), "message_id": id}
            for id, event in spoken.items()
            if not await self._was_deleted(app_name, user_id, id)
        ]
        if messages:
            await self.memory.remember(messages, agent=app_name, user=user_id, session=session_id, metadata=metadata)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories as they are, all or none.

        Args:
            app_name: The app, stored as the agent.
            user_id: The user.
            memories: The memories.
            custom_metadata: A JSON object stored with each memory, besides its own.
        """
        shared = copy_json_object(custom_metadata or {}, "custom_metadata")
        messages = [_entry_to_message(entry, shared) for entry in memories]
        await self.memory.remember(messages, agent=app_name, user=user_id, keep_all=True)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the memories of a user that answer a question, best first; none for an empty question."""
        if not query.strip():
            return SearchMemoryResponse()
        found = await self.memory.recall(
            query, agent=app_name, user=user_id, limit=self.limit, min_score=self.min_score
        )
        return SearchMemoryResponse(memories=[_to_entry(hit) for hit in found])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete a memory by the id that a search returned; raise `NotFound` when this user of this app has none."""
        if memory_id is None or not memory_id.isdecimal():
            raise InvalidInput(f"memory_id is {shown(memory_id)}: give the id of an entry that search_memory returned")
        memory = await self.memory.get(int(memory_id), agent=app_name, user=user_id)
        if memory.message_id is not None:  # or the event would bring it back when its session is added again
            await self.memory.put(_DELETED, memory.message_id, True, index=False, agent=app_name, user=user_id)
        await self.memory.delete(memory.id, agent=app_name, user=user_id)

    async def _was_deleted(self, app_name: str, user_id: str, event_id: str) -> bool:
        return await self.memory.get_item(_DELETED, event_id, agent=app_name, user=user_id) is not None


def _text_of(content: types.Content | None) -> str:
    parts = (content.parts if content else None) or ()
    return " ".join(part.text for part in parts if part.text and not part.thought)


def _to_message(text: str, author: str | None, timestamp: float | str | None) -> dict[str, Any]:
    speaker = {} if author in (None, "user") else {"name": author}
    return {"role": "assistant" if speaker else "user", "content": text, "timestamp": timestamp, **speaker}


def _entry_to_message(entry: MemoryEntry, shared: Mapping[str, Any]) -> dict[str, Any]:
    text = _text_of(entry.content)
    if not text.strip():
        raise InvalidInput("a memory has no text: give its content a part with text")
    message = _to_message(text, entry.author, entry.timestamp)
    return {**message, "metadata": {**shared, **copy_json_object(entry.custom_metadata, "custom_metadata")}}


def _to_entry(hit: Hit) -> MemoryEntry:
    memory: Memory = hit.memory
    role = "user" if memory.trust == "user" else "model"
    return MemoryEntry(
        id=str(memory.id),
        content=types.Content(role=role, parts=[types.Part(text=memory.content)]),
        author=memory.speaker or role,
        timestamp=memory.valid_from.isoformat(),
        custom_metadata={**memory.metadata, "score": hit.score, "session_id": memory.session},
    )

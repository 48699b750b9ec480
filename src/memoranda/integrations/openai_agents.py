"""A `Session` of the OpenAI Agents SDK: the history of a chat in Memoranda, and what was said in it as memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from memoranda import aio
from memoranda.errors import InvalidInput, MissingExtra
from memoranda.integrations.managers import AsyncOpenedSource, Source, open_async
from memoranda.messages.message import Message, text_of, to_plain_dict
from memoranda.text.checks import clean_text
from memoranda.validation import check_integer

try:
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
except ModuleNotFoundError as error:
    raise MissingExtra("the session for the OpenAI Agents SDK", "openai-agents") from error

Item: TypeAlias = TResponseInputItem

_KEY: Final = "openai_item"
"""Where the metadata of a message has the item as the SDK gave it."""
_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_REMEMBERED: Final = ("user", "assistant")


class MemorandaSession(AsyncOpenedSource):
    """A session for `Runner.run(..., session=...)`.

    The items of a run are stored as they are, and what the user and the assistant say is remembered, so that
    `memory.recall` and `memory.context` find it in every later session of the same user and agent. `pop_item` and
    `clear_session` change the history only; `memory.forget` removes memories.
    """

    def __init__(
        self,
        session_id: str,
        memory: Source = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        remember: bool = True,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        """Create a session, or continue the one with this id.

        Args:
            session_id: The id of the session.
            memory: The manager, with stored conversations of any length: `memoranda.aio.MemoryManager(
                retention_policy="persistent", max_messages_per_agent=None)`. The path or URL of a database, or None
                for the settings of the environment, opens such a one, which `close` closes.
            user, agent: The owner of the history and of the memories.
            remember: Whether what is said becomes memories; False stores the history only.
            session_settings: The SDK's settings, with the `limit` of `get_items`.
        """
        self.session_id = clean_text(session_id, "session_id")
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or SessionSettings())
        self.memory, self._owns_memory = open_async(memory, retention_policy="persistent", max_messages_per_agent=None)
        self._user = user
        self._agent = agent
        self._remembers = remember

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Return all items, or the newest `limit`, oldest first."""
        history = await self._get_history()
        count = resolve_session_limit(limit, self.session_settings)
        # As in the SDK's own session, a limit below 0 is none.
        newest = None if count is None else check_integer(count, "limit", minimum=None)
        found = await (history.get_messages() if newest is None or newest < 0 else history.get_recent(newest))
        return [_to_item(each) for each in found]

    async def add_items(self, items: Sequence[Item]) -> None:
        """Add items at the end: all of them or, on an error, none."""
        history = await self._get_history()
        messages = [_to_message(item) for item in items]
        if not messages:
            return
        said = [_as_said(each) for each in messages if each.role in _REMEMBERED and text_of(each)]
        if said and self._remembers:
            # First, because this can be repeated: the caller gives the items again when either step fails.
            await self.memory.remember(said, agent=self._agent, user=self._user, session=self.session_id)
        await history.add(messages, allow_duplicates=True)

    async def pop_item(self) -> Item | None:
        """Remove the newest item and return it; None when there is none."""
        message = await (await self._get_history()).pop()
        return None if message is None else _to_item(message)

    async def clear_session(self) -> None:
        """Remove all items. What was remembered stays."""
        await (await self._get_history()).clear()

    async def _get_history(self) -> aio.ConversationMemory:
        history = await self.memory.get_memory(self._agent, user=self._user, session=self.session_id)
        if history.in_memory or history.max_messages is not None:
            raise InvalidInput(
                "this manager would drop items of the session: make it with "
                'MemoryManager(..., retention_policy="persistent", max_messages_per_agent=None)'
            )
        return history


def _to_message(item: Item) -> Message:
    """Return the message that stores an item: who said what, and the item itself in the metadata."""
    plain = to_plain_dict(item)
    role = _ROLES.get(str(plain.get("role")), "tool" if str(plain.get("type")).endswith("_output") else "assistant")
    return Message(role, _text_of_item(plain) or None, metadata={_KEY: plain})


def _to_item(message: Message) -> Any:
    """Return the item of a message; one that others added to the conversation is a plain chat message."""
    stored = message.get("metadata") or {}
    return stored[_KEY] if _KEY in stored else {"role": message.role, "content": text_of(message)}


def _text_of_item(item: Mapping[str, object]) -> str:
    """Return the words of a chat message; "" for calls, results and reasoning, which nobody said."""
    content = item.get("content")
    if item.get("role") not in _ROLES or content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    return "\n".join(part for part in parts if isinstance(part, str))


def _as_said(message: Message) -> Message:
    """Return the message without the item, which would be copied into each of its memories."""
    return Message(message.role, message.content, message_id=message.message_id, timestamp=message.timestamp)

"""A LlamaIndex chat store: the messages of chats, by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from memoranda.errors import Conflict, MissingExtra
from memoranda.integrations.managers import Source, open_async, read_all
from memoranda.items.base import Item

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
except ModuleNotFoundError as error:
    raise MissingExtra("the LlamaIndex adapter", "llama-index") from error

_ROLES = {
    **{"user": "user", "assistant": "assistant", "chatbot": "assistant", "model": "assistant"},
    **{"system": "system", "developer": "system", "tool": "tool", "function": "tool"},
}
_CHATS = ("llama-index", "chats")


class MemorandaChatStore(AsyncDBChatStore):
    """The messages of chats in a Memoranda database, for `Memory.from_defaults(chat_store=...)`.

    What is said is remembered at once, so that a `MemorandaMemoryBlock` of the same user recalls it in other chats.
    """

    memory: Any = Field(exclude=True, description="The manager that stores the messages.")
    user: str | None = None
    agent: str | None = None
    remember: bool = True
    _owns_memory: bool = PrivateAttr(default=False)

    def __init__(
        self,
        memory: Source = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        remember: bool = True,
    ) -> None:
        """Create a chat store.

        Args:
            memory: The manager, or the path or URL of the database; None for the settings of the environment.
            user, agent: The owner of the chats: those of others are not seen, even under the same key.
            remember: False keeps the messages only, and remembers nothing of what they say.
        """
        opened, is_owned = open_async(memory)
        super().__init__(memory=opened, user=user, agent=agent, remember=remember)
        self._owns_memory = is_owned

    async def close(self) -> None:
        """Close the manager if it was opened here."""
        if self._owns_memory:
            await self.memory.close()

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = MessageStatus.ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """Return the messages of a chat, oldest first: those in the short-term queue, archived ones, or all."""
        found = [_to_chat_message(item) for item in await self._read(key, status)]
        start = offset or 0
        return found[start : None if limit is None else start + limit]

    async def count_messages(self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE) -> int:
        return len(await self._read(key, status))

    async def add_message(self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE) -> None:
        await self.add_messages(key, [message], status)

    async def add_messages(
        self, key: str, messages: Sequence[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Add messages to a chat in one commit, and remember what they say."""
        if self.remember and (spoken := [to_dict(message) for message in messages if message.content]):
            await self.memory.remember(spoken, user=self.user, agent=self.agent, session=key)
        values = [{"message": message.model_dump(mode="json"), "status": status.value} for message in messages]
        is_added = not values
        while not is_added:
            first = await self._next_number(key)
            new = {f"{number:012}": value for number, value in enumerate(values, start=first)}
            # When another process was faster, they are numbered again.
            with suppress(Conflict):
                await self._put(key, new, dict.fromkeys(new))
                is_added = True

    async def set_messages(
        self, key: str, messages: Sequence[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Replace the messages of a chat."""
        old = await self._read(key, None)
        await self.add_messages(key, messages, status)
        await self._delete(key, old)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete a message by its number in the chat, which counts from 1, and return it; None when there is none."""
        found = [item for item in await self._read(key, None) if int(item.key) == idx]
        await self._delete(key, found)
        return _to_chat_message(found[0]) if found else None

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        await self._delete(key, await self._read(key, status))

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Delete the oldest messages of the short-term queue and return them."""
        oldest = (await self._read(key, MessageStatus.ACTIVE))[:n]
        await self._delete(key, oldest)
        return [_to_chat_message(item) for item in oldest]

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Take the oldest messages out of the short-term queue and return them."""
        oldest = (await self._read(key, MessageStatus.ACTIVE))[:n]
        values = {item.key: {**item.value, "status": MessageStatus.ARCHIVED.value} for item in oldest}
        if values:
            await self._put(key, values, {item.key: item.updated_at for item in oldest})
        return [_to_chat_message(item) for item in oldest]

    async def get_keys(self) -> list[str]:
        """Return the keys of all chats, sorted."""
        owner = {"user": self.user, "agent": self.agent}
        found = await read_all(
            lambda limit, offset: self.memory.namespaces(_CHATS, limit=limit, offset=offset, **owner)
        )
        return [each.namespace[-1] for each in found]

    async def _read(self, key: str, status: MessageStatus | None) -> list[Item]:
        where = {} if status is None else {"status": status.value}
        options: dict[str, Any] = {"filter": where, "order": "key", "user": self.user, "agent": self.agent}
        return await read_all(
            lambda limit, offset: self.memory.search_items((*_CHATS, key), limit=limit, offset=offset, **options)
        )

    async def _next_number(self, key: str) -> int:
        last = await self.memory.search_items((*_CHATS, key), order="-key", limit=1, user=self.user, agent=self.agent)
        return int(last[0].key) + 1 if last else 1

    async def _put(self, key: str, values: dict[str, Any], expected: dict[str, Any]) -> None:
        await self.memory.put_many(
            (*_CHATS, key), values, index=False, expected=expected, user=self.user, agent=self.agent
        )

    async def _delete(self, key: str, items: Sequence[Item]) -> None:
        keys = [item.key for item in items]
        await self.memory.delete_item((*_CHATS, key), keys, user=self.user, agent=self.agent)


def _to_chat_message(item: Item) -> ChatMessage:
    message: ChatMessage = ChatMessage.model_validate(item.value["message"])
    return message


def to_dict(message: ChatMessage) -> dict[str, Any]:
    """Return a message of LlamaIndex as one of Memoranda."""
    return {"role": _ROLES.get(message.role.value, "assistant"), "content": message.content}

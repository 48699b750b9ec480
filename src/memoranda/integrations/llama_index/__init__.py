"""LlamaIndex: a memory block, and a chat store. `pip install memoranda[llama-index]`"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from memoranda.errors import MissingExtra
from memoranda.integrations.llama_index.chat_store import MemorandaChatStore, to_dict
from memoranda.integrations.managers import Source, open_async

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock
except ModuleNotFoundError as error:
    raise MissingExtra("the LlamaIndex adapter", "llama-index") from error

__all__ = ["MemorandaChatStore", "MemorandaMemoryBlock"]


class MemorandaMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory of a LlamaIndex `Memory`, for `memory_blocks=[...]`.

    It remembers the messages that leave the short-term queue, under the session id of the chat, and recalls for the
    latest question from every session of its user and agent.
    """

    memory: Any = Field(exclude=True, description="The manager that stores the memories.")
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    budget: int = 1500
    _owns_memory: bool = PrivateAttr(default=False)

    def __init__(
        self,
        memory: Source = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        budget: int = 1500,
        name: str = "long_term_memory",
        **fields: Any,
    ) -> None:
        """Create a block.

        Args:
            memory: The manager, or the path or URL of the database; None for the settings of the environment.
            user, agent: The owner of what is remembered, and the scope of what is recalled.
            session: Recall only from this session, and remember in it; when None, recall from every session and
                remember in the one of the chat.
            budget: The maximum number of tokens of the recalled text.
            name: The tag around the text in the prompt.
            fields: `description`, `priority` and `accept_short_term_memory`, as in every block.
        """
        scope = {"user": user, "agent": agent, "session": session}
        opened, is_owned = open_async(memory)
        super().__init__(memory=opened, **scope, budget=budget, name=name, **fields)
        self._owns_memory = is_owned

    async def close(self) -> None:
        """Close the manager if it was opened here."""
        if self._owns_memory:
            await self.memory.close()

    async def _aget(self, messages: Sequence[ChatMessage] | None = None, **_: Any) -> str:
        question = _find_question(messages or ())
        if question is None:
            return ""
        found = await self.memory.context(
            question, user=self.user, agent=self.agent, session=self.session, budget=self.budget
        )
        return str(found)

    async def _aput(self, messages: Sequence[ChatMessage]) -> None:
        for session, group in groupby(messages, key=self._session_of):
            spoken = [to_dict(message) for message in group if message.content]
            if spoken:
                await self.memory.remember(spoken, user=self.user, agent=self.agent, session=session)

    def _session_of(self, message: ChatMessage) -> str | None:
        # LlamaIndex names the session of the chat in each message that leaves its queue.
        chat: str | None = message.additional_kwargs.get("session_id")
        return self.session or chat


def _find_question(messages: Sequence[ChatMessage]) -> str | None:
    """Return what the user said last; None when nothing was said."""
    said = (message.content for message in reversed(messages) if message.role.value == "user" and message.content)
    return next(said, None)

"""The async twins of the conversation memories: same names, same results, awaited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Generic, ParamSpec, Self, TypeVar

from memoranda.aio.threads import in_thread
from memoranda.conversation import memory, summarizing
from memoranda.conversation.base import MessageLog
from memoranda.conversation.memory import AnyMessage
from memoranda.conversation.window import MessageView, TokenCounter
from memoranda.llm.base import LLM
from memoranda.messages.message import Message
from memoranda.types import JSON, Usage

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Core = TypeVar("_Core", bound=memory.ConversationMemory)

_FEW = 1_000
"""So many messages are walked through in well under a millisecond."""


class _Conversation(Generic[_Core]):
    """What both twins share: one line a method over the synchronous memory.

    Off the event loop runs what waits for a disk or a model, and what takes long: a file, a token count, a long
    conversation as a whole. What is left costs less than the way to a thread and back, and runs inline.
    `len`, `messages` and the state are not awaited: where the messages are kept in a store, they wait for it.
    """

    def __init__(self, core: _Core) -> None:
        self._core = core

    async def _quick(self, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Inline while the messages are few and in this process; else off the event loop."""
        if self._core.in_memory and len(self._core) <= _FEW:
            return work(*args, **kwargs)
        return await in_thread(work, *args, **kwargs)

    @property
    def messages(self) -> MessageView:
        """The messages as a list that is always up to date."""
        return self._core.messages

    @messages.setter
    def messages(self, messages: Iterable[AnyMessage]) -> None:
        self._core.messages = messages

    @property
    def max_messages(self) -> int | None:
        """How many messages are kept; None for all."""
        return self._core.max_messages

    @property
    def retention_policy(self) -> str:
        """How long the conversation is kept."""
        return self._core.retention_policy

    @property
    def in_memory(self) -> bool:
        """Whether the messages are kept in this process alone."""
        return self._core.in_memory

    def __len__(self) -> int:
        return len(self._core)

    async def size(self) -> int:
        """How many messages there are."""
        return await self._quick(self._core.size)

    async def add_message(self, message: AnyMessage) -> None:
        """Adds one message; one whose id is already here is skipped."""
        await self.add(message)

    async def add(self, messages: AnyMessage | Iterable[AnyMessage] | None, allow_duplicates: bool = False) -> None:
        """Adds one message, several, or none: all of them or, on an error, not one."""
        one = messages is None or isinstance(messages, Message | Mapping)
        await (self._quick if one else in_thread)(self._core.add, messages, allow_duplicates)

    async def get_messages(self, limit: int | None = None) -> list[Message]:
        """All messages, or the newest `limit`, oldest first."""
        return await self._quick(self._core.get_messages, limit)

    async def get_recent(self, n: int = 10) -> list[Message]:
        """The newest `n` messages, oldest first."""
        return await self._quick(self._core.get_recent, n)

    async def get_messages_by_role(self, role: str, limit: int | None = None) -> list[Message]:
        """The messages of one role, or the newest `limit` of them, oldest first."""
        return await self._quick(self._core.get_messages_by_role, role, limit)

    async def get_last_message(self) -> Message | None:
        """The newest message; None when there is none."""
        return await self._quick(self._core.get_last_message)

    async def get_window(self, max_tokens: int) -> list[Message]:
        """The system message and the newest turns that fit; a tool call is never parted from its results."""
        return await in_thread(self._core.get_window, max_tokens)

    async def delete(self, index: int | Iterable[int]) -> None:
        """Deletes by position, negative ones from the end: all of them or, on an `IndexError`, not one."""
        await self._quick(self._core.delete, index)

    async def truncate_to_size(self, max_size: int) -> None:
        """Keeps the newest `max_size` messages."""
        await self._quick(self._core.truncate_to_size, max_size)

    async def clear(self) -> None:
        """Removes all messages."""
        await self._quick(self._core.clear)

    async def move_to(self, log: MessageLog, retention_policy: str) -> None:
        """Goes on in another log, after what that one holds; on an error everything stays as it was."""
        await in_thread(self._core.move_to, log, retention_policy)

    async def to_dict(self) -> list[dict[str, JSON]]:
        """All messages as plain JSON data."""
        return await in_thread(self._core.to_dict)

    def state_dict(self) -> dict[str, JSON]:
        """Everything that `load_state_dict` needs, as plain JSON data. Not awaited."""
        return self._core.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, object], strict: bool = True) -> None:
        """Replaces what is here by a saved state; on an error everything stays as it was. Not awaited."""
        self._core.load_state_dict(state_dict, strict)

    async def save_to_file(self, filepath: str | PathLike[str]) -> None:
        """Writes the conversation as JSON; the file is the old one or the new one, never half of each."""
        await in_thread(self._core.save_to_file, filepath)

    async def load_from_file(self, filepath: str | PathLike[str]) -> None:
        """Replaces what is here by a saved file; when it is damaged, everything stays as it was."""
        await in_thread(self._core.load_from_file, filepath)


class ConversationMemory(_Conversation[memory.ConversationMemory]):
    """The messages of one conversation, the oldest dropped beyond `max_messages`."""

    def __init__(
        self,
        max_messages: int | None = None,
        retention_policy: str = "session",
        *,
        counter: TokenCounter | None = None,
        log: MessageLog | None = None,
    ) -> None:
        super().__init__(memory.ConversationMemory(max_messages, retention_policy, counter=counter, log=log))

    @classmethod
    def over(cls, core: memory.ConversationMemory) -> Self:
        """The twin of a conversation that exists already: both show the same messages."""
        twin = cls.__new__(cls)
        _Conversation.__init__(twin, core)
        return twin


class SummarizingMemory(_Conversation[summarizing.SummarizingMemory]):
    """A conversation whose oldest half, when it is full, moves into `summaries` and out of the window."""

    def __init__(
        self,
        max_messages: int = 50,
        retention_policy: str = "session",
        *,
        llm: LLM | None = None,
        ratio: float = 0.1,
        counter: TokenCounter | None = None,
        log: MessageLog | None = None,
        archive: MessageLog | None = None,
    ) -> None:
        core = summarizing.SummarizingMemory(
            max_messages, retention_policy, llm=llm, ratio=ratio, counter=counter, log=log, archive=archive
        )
        super().__init__(core)

    async def add(self, messages: AnyMessage | Iterable[AnyMessage] | None, allow_duplicates: bool = False) -> None:
        """Adds one message, several, or none; a conversation that is full then is summarised."""
        await in_thread(self._core.add, messages, allow_duplicates)

    @property
    def summaries(self) -> list[str]:
        """The summaries so far, oldest first."""
        return self._core.summaries

    @property
    def degraded(self) -> str | None:
        """Why the last summary had to do without the model; None when it did not."""
        return self._core.degraded

    @property
    def usage(self) -> Usage:
        """What the model was asked for all summaries so far."""
        return self._core.usage

    async def summary_message(self) -> Message | None:
        """The summaries as a message to put in front; None while there are none."""
        return await in_thread(self._core.summary_message)

    async def originals(self, summary: int | None = None) -> list[Message]:
        """The messages that were summarised: all of them, or those behind one of `summaries`."""
        return await in_thread(self._core.originals, summary)

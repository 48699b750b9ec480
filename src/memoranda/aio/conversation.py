"""The async versions of the conversation memories: same names, same results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Generic, NoReturn, ParamSpec, Self, TypeVar

from memoranda.aio.threads import in_thread
from memoranda.conversation import memory, summarizing
from memoranda.conversation.base import AnyMessage, MessageLog, MessageView, TokenCounter
from memoranda.llm.base import LLM
from memoranda.messages.message import Message
from memoranda.types import JSON, Usage

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Core = TypeVar("_Core", bound=memory.ConversationMemory)

_INLINE_LIMIT = 1_000
"""Reading this many messages takes well under a millisecond."""


class _Conversation(Generic[_Core]):
    """The methods that both classes share: one line per method over the synchronous memory.

    Calls that wait for a disk or a model, and long ones (files, token counts, long conversations), run off the event
    loop. All other calls cost less than a switch to a thread and run inline. `len`, `messages` and the state are not
    awaited: if the messages are in a store, they block until it answers.
    """

    def __init__(self, core: _Core) -> None:
        self._core = core

    async def _run(self, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Run inline if there are few messages and they are in this process; otherwise in a thread."""
        if self._core.in_memory and len(self._core) <= _INLINE_LIMIT:
            return work(*args, **kwargs)
        return await in_thread(work, *args, **kwargs)

    @property
    def messages(self) -> MessageView:
        """The messages, as a list that is always up to date."""
        return self._core.messages

    @messages.setter
    def messages(self, messages: Iterable[AnyMessage]) -> None:
        self._core.messages = messages

    @property
    def max_messages(self) -> int | None:
        """The maximum number of messages; None for no limit."""
        return self._core.max_messages

    @property
    def retention_policy(self) -> str:
        """How long the conversation is kept."""
        return self._core.retention_policy

    @property
    def in_memory(self) -> bool:
        """Whether the messages are only in this process."""
        return self._core.in_memory

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self._core)

    async def size(self) -> int:
        """Return the number of messages."""
        return await self._run(self._core.size)

    async def add_message(self, message: AnyMessage) -> None:
        """Add one message; it is skipped if its id is known."""
        await self.add(message)

    async def add(self, messages: AnyMessage | Iterable[AnyMessage] | None, allow_duplicates: bool = False) -> None:
        """Add one message, several, or none. On an error, none is added."""
        one = messages is None or isinstance(messages, Message | Mapping)
        await (self._run if one else in_thread)(self._core.add, messages, allow_duplicates)

    async def get_messages(self, limit: int | None = None) -> list[Message]:
        """Return copies of all messages, or of the newest `limit`, oldest first; a limit below 1 is none."""
        return await self._run(self._core.get_messages, limit)

    async def get_recent(self, n: int = 10) -> list[Message]:
        """Return the newest `n` messages, oldest first."""
        return await self._run(self._core.get_recent, n)

    async def get_messages_by_role(self, role: str, limit: int | None = None) -> list[Message]:
        """Return the messages of one role, or the newest `limit` of them, oldest first."""
        return await self._run(self._core.get_messages_by_role, role, limit)

    async def get_last_message(self) -> Message | None:
        """Return the newest message, or None."""
        return await self._run(self._core.get_last_message)

    async def get_window(self, max_tokens: int) -> list[Message]:
        """Return the system message and the newest turns that fit. A tool call is never separated from its results."""
        return await in_thread(self._core.get_window, max_tokens)

    async def delete(self, index: int | Iterable[int]) -> None:
        """Delete messages by index, from 0 on. On an `IndexError`, none is deleted."""
        await self._run(self._core.delete, index)

    async def retrieve(self, *_: object, **__: object) -> NoReturn:
        """Raise `NotImplementedError`: a conversation is read in its order, and `PersistentMemory` is searched."""
        self._core.retrieve()

    async def pop(self) -> Message | None:
        """Remove the newest message and return it; None when there is none."""
        return await self._run(self._core.pop)

    async def truncate_to_size(self, max_size: int) -> None:
        """Keep only the newest `max_size` messages."""
        await self._run(self._core.truncate_to_size, max_size)

    async def clear(self) -> None:
        """Remove all messages."""
        await self._run(self._core.clear)

    async def move_to(self, log: MessageLog, retention_policy: str) -> None:
        """Move the messages to the end of another log and continue there. On an error, nothing changes."""
        await in_thread(self._core.move_to, log, retention_policy)

    async def to_dict(self) -> list[dict[str, JSON]]:
        """Return all messages as plain JSON data."""
        return await in_thread(self._core.to_dict)

    def state_dict(self) -> dict[str, JSON]:
        """Return the state for `load_state_dict` as plain JSON data. Not awaited."""
        return self._core.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, object], strict: bool = True) -> None:
        """Replace the messages with a saved state. On an error, nothing changes. Not awaited."""
        self._core.load_state_dict(state_dict, strict)

    async def save_to_file(self, filepath: str | PathLike[str]) -> None:
        """Write the conversation to a JSON file, atomically."""
        await in_thread(self._core.save_to_file, filepath)

    async def load_from_file(self, filepath: str | PathLike[str]) -> None:
        """Replace the messages with a saved file. If the file is damaged, nothing changes."""
        await in_thread(self._core.load_from_file, filepath)


class ConversationMemory(_Conversation[memory.ConversationMemory]):
    """The messages of one conversation, awaited. Takes the arguments of `memoranda.ConversationMemory`."""

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
        """Return the async version of an existing conversation. Both show the same messages."""
        conversation = cls.__new__(cls)
        _Conversation.__init__(conversation, core)
        return conversation


class SummarizingMemory(_Conversation[summarizing.SummarizingMemory]):
    """A conversation that summarizes itself when full. Takes the arguments of `memoranda.SummarizingMemory`."""

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
        """Add one message, several, or none. If the conversation is then full, summarize it."""
        await in_thread(self._core.add, messages, allow_duplicates)

    @property
    def summaries(self) -> list[str]:
        """The summaries so far, oldest first."""
        return self._core.summaries

    @property
    def degraded(self) -> str | None:
        """Why the last summary was made without the model; None if it was made with it."""
        return self._core.degraded

    @property
    def usage(self) -> Usage:
        """The model calls and tokens of all summaries so far."""
        return self._core.usage

    async def summary_message(self) -> Message | None:
        """Return the summaries as a message to put before the others; None if there are none."""
        return await in_thread(self._core.summary_message)

    async def originals(self, summary: int | None = None) -> list[Message]:
        """Return the summarized messages: all of them, or those of one summary."""
        return await in_thread(self._core.originals, summary)

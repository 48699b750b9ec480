"""The async versions of the conversation memories: same names, same results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Concatenate, Generic, NoReturn, ParamSpec, Self, TypeVar

from memoranda.aio.threads import in_thread, takes_arguments_of
from memoranda.conversation import memory, summarizing
from memoranda.conversation.base import AnyMessage, MessageView
from memoranda.messages.message import Message
from memoranda.types import JSON, Usage

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Core = TypeVar("_Core", bound=memory.ConversationMemory)
_Sync = memory.ConversationMemory

_INLINE_LIMIT = 1_000
"""Reading this many messages takes well under a millisecond."""


def _awaited(
    method: Callable[Concatenate[Any, _P], _R], *, in_place: bool = True
) -> Callable[Concatenate[_Conversation[Any], _P], Coroutine[Any, Any, _R]]:
    """Return the async version of a method: in a thread, or in place if the messages are few and in this process."""

    @functools.wraps(method)
    async def call(self: _Conversation[Any], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        work: Callable[[], _R] = functools.partial(getattr(self._core, method.__name__), *args, **kwargs)
        return work() if in_place and self._is_short() else await in_thread(work)

    return call


class _Conversation(Generic[_Core]):
    """The methods that both classes share: one line per method over the synchronous memory.

    Calls that wait for a disk or a model, and long ones (files, token counts, long conversations), run off the event
    loop. All other calls cost less than a switch to a thread and run inline. `len`, `messages` and the state are not
    awaited: if the messages are in a store, they block until it answers.
    """

    def __init__(self, core: _Core) -> None:
        self._core = core

    def _is_short(self) -> bool:
        return self._core.in_memory and len(self._core) <= _INLINE_LIMIT

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

    async def add(self, messages: AnyMessage | Iterable[AnyMessage] | None, allow_duplicates: bool = False) -> None:
        """Add one message, several, or none. On an error, none is added."""
        if (messages is None or isinstance(messages, Message | Mapping)) and self._is_short():
            self._core.add(messages, allow_duplicates)
        else:
            await in_thread(self._core.add, messages, allow_duplicates)

    async def add_message(self, message: AnyMessage) -> None:
        """Add one message; it is skipped if its id is known."""
        await self.add(message)

    async def retrieve(self, *_: object, **__: object) -> NoReturn:
        """Raise `NotImplementedError`: a conversation is read in its order, and `PersistentMemory` is searched."""
        self._core.retrieve()

    size = _awaited(_Sync.size)
    get_messages = _awaited(_Sync.get_messages)
    get_recent = _awaited(_Sync.get_recent)
    get_messages_by_role = _awaited(_Sync.get_messages_by_role)
    get_last_message = _awaited(_Sync.get_last_message)
    get_window = _awaited(_Sync.get_window, in_place=False)
    delete = _awaited(_Sync.delete)
    pop = _awaited(_Sync.pop)
    truncate_to_size = _awaited(_Sync.truncate_to_size)
    clear = _awaited(_Sync.clear)
    move_to = _awaited(_Sync.move_to, in_place=False)
    to_dict = _awaited(_Sync.to_dict, in_place=False)
    save_to_file = _awaited(_Sync.save_to_file, in_place=False)
    load_from_file = _awaited(_Sync.load_from_file, in_place=False)

    def state_dict(self) -> dict[str, JSON]:
        """Return the state for `load_state_dict` as plain JSON data. Not awaited."""
        return self._core.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, object], strict: bool = True) -> None:
        """Replace the messages with a saved state. On an error, nothing changes. Not awaited."""
        self._core.load_state_dict(state_dict, strict)


class ConversationMemory(_Conversation[memory.ConversationMemory]):
    """The messages of one conversation, awaited. Takes the arguments of `memoranda.ConversationMemory`."""

    @takes_arguments_of(_Sync.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(_Sync(*args, **kwargs))

    @classmethod
    def over(cls, core: memory.ConversationMemory) -> Self:
        """Return the async version of an existing conversation. Both show the same messages."""
        conversation = cls.__new__(cls)
        _Conversation.__init__(conversation, core)
        return conversation


class SummarizingMemory(_Conversation[summarizing.SummarizingMemory]):
    """A conversation that summarizes itself when full. Takes the arguments of `memoranda.SummarizingMemory`."""

    @takes_arguments_of(summarizing.SummarizingMemory.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(summarizing.SummarizingMemory(*args, **kwargs))

    add = _awaited(summarizing.SummarizingMemory.add, in_place=False)
    summary_message = _awaited(summarizing.SummarizingMemory.summary_message, in_place=False)
    originals = _awaited(summarizing.SummarizingMemory.originals, in_place=False)

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

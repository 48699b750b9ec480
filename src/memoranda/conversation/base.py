"""The `MessageLog` protocol, its in-memory implementation, and the list view of a log.

Also the newest part of a log that fits a prompt, and how its tokens are counted.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from functools import cache
from importlib import import_module
from itertools import takewhile
from typing import Protocol, TypeAlias, overload

from memoranda.display import shown
from memoranda.errors import InvalidInput, MissingExtra
from memoranda.messages.message import Message, VendorMessage, parts_of
from memoranda.messages.parsing import as_message
from memoranda.text.checks import replace_unstorable
from memoranda.text.tokens import estimate_tokens

AnyMessage: TypeAlias = Message | Mapping[str, object] | VendorMessage


class MessageLog(Protocol):
    """Messages in the order they were added. Positions count from 0, the oldest message that is still kept.

    The conversation checks every argument and holds its own lock around each call, so an implementation gets valid
    positions and one call at a time. Where several conversations or processes share the stored messages, each call
    must be atomic.
    """

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> list[Message]:
        """Return the messages from `start` up to `stop`, at a cost that depends only on their number."""
        ...

    def append(self, messages: Sequence[Message], *, keep: int | None, skip_duplicates: bool = False) -> None:
        """Add all messages or none, then keep only the newest `keep`; None keeps all.

        With `skip_duplicates`, skip a message whose id the log has already, or that is repeated in the call.
        """
        ...

    def find_ids(self, message_ids: Iterable[str]) -> set[str]:
        """Return those of the ids that the log holds."""
        ...

    def delete(self, positions: Sequence[int]) -> None:
        """Delete these positions, given in ascending order, each once."""
        ...

    def pop(self) -> Message | None:
        """Remove and return the newest message in one step, so that no other writer's is removed; None if empty."""
        ...

    def replace(self, messages: Sequence[Message]) -> None:
        """Replace the whole content of the log."""
        ...


class ListLog:
    """A `MessageLog` in a list. Appending, dropping the oldest and reading the newest do not depend on the length."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._items: list[Message | None] = []
        self._start = 0
        self._ids: Counter[str] = Counter()
        self.append(messages, keep=None)

    def __len__(self) -> int:
        return len(self._items) - self._start

    def read(self, start: int, stop: int) -> list[Message]:
        return self._items[self._start + start : self._start + stop]  # type: ignore[return-value]

    def append(self, messages: Sequence[Message], *, keep: int | None, skip_duplicates: bool = False) -> None:
        if skip_duplicates:
            unique: dict[str, Message] = {}
            for message in messages:
                unique.setdefault(message.message_id, message)
            messages = [message for message_id, message in unique.items() if message_id not in self._ids]
        self._items.extend(messages)
        self._ids.update(message.message_id for message in messages)
        if keep is not None and len(self) > keep:
            self._drop_oldest(len(self) - keep)

    def find_ids(self, message_ids: Iterable[str]) -> set[str]:
        return {message_id for message_id in message_ids if message_id in self._ids}

    def delete(self, positions: Sequence[int]) -> None:
        deleted = set(positions)
        self.replace([message for i, message in enumerate(self.read(0, len(self))) if i not in deleted])

    def pop(self) -> Message | None:
        if not len(self):
            return None
        (message,) = self.read(len(self) - 1, len(self))
        self._items.pop()
        self._forget_ids([message])
        return message

    def replace(self, messages: Sequence[Message]) -> None:
        self._items, self._start = list(messages), 0
        self._ids = Counter(message.message_id for message in messages)

    def _drop_oldest(self, count: int) -> None:
        self._forget_ids(self.read(0, count))
        # Deleting from the front of a list moves all other items: clear the slots, and move only now and then.
        self._items[self._start : self._start + count] = [None] * count
        self._start += count
        if self._start > len(self._items) // 2:
            del self._items[: self._start]
            self._start = 0

    def _forget_ids(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self._ids[message.message_id] -= 1
            if not self._ids[message.message_id]:
                del self._ids[message.message_id]


class MessageView(MutableSequence[Message]):
    """The messages of a conversation as a list. `len`, an index, a slice and `append` cost what they return."""

    def __init__(self, get_log: Callable[[], MessageLog], lock: threading.RLock) -> None:
        self._get_log = get_log
        self._lock = lock

    @property
    def _log(self) -> MessageLog:
        # Asked each time: a conversation may move to another log.
        return self._get_log()

    def __len__(self) -> int:
        return len(self._log)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        with self._lock:
            positions = range(len(self._log))[index]
            if isinstance(positions, int):
                return self._log.read(positions, positions + 1)[0]
            if positions.step == 1:
                return self._log.read(positions.start, max(positions.start, positions.stop))
            return self._read_all()[index]

    def __iter__(self) -> Iterator[Message]:
        return iter(self[:])

    def __setitem__(self, index: int | slice, value: object) -> None:
        with self._lock:
            messages = self._read_all()
            if isinstance(index, slice):
                messages[index] = [as_message(item) for item in value]  # type: ignore[attr-defined]
            else:
                messages[index] = as_message(value)
            self._log.replace(messages)

    def __delitem__(self, index: int | slice) -> None:
        with self._lock:
            positions = range(len(self._log))[index]
            self._log.delete([positions] if isinstance(positions, int) else sorted(positions))

    def insert(self, index: int, value: AnyMessage) -> None:
        with self._lock:
            messages = self._read_all()
            messages.insert(index, as_message(value))
            self._log.replace(messages)

    def append(self, value: AnyMessage) -> None:
        self.extend([value])

    def extend(self, values: Iterable[AnyMessage]) -> None:
        with self._lock:
            self._log.append([as_message(value) for value in values], keep=None)

    def __add__(self, other: Iterable[AnyMessage]) -> list[AnyMessage]:
        return [*self, *other]

    def __radd__(self, other: Iterable[AnyMessage]) -> list[AnyMessage]:
        return [*other, *self]

    def __eq__(self, other: object) -> bool:
        return self[:] == (other[:] if isinstance(other, MessageView) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self[:])

    def _read_all(self) -> list[Message]:
        return self._log.read(0, len(self._log))


TokenCounter: TypeAlias = Callable[[str], int]

MESSAGE_TOKENS = 4
"""What a vendor adds around each message."""
IMAGE_TOKENS = 1_000
"""A middle value: vendors count from 85 for a small image to about 1,600 for a large one."""

_PAGE = 32
_NO_LIMIT = 1_000_000_000


def fit_window(
    messages: Sequence[Message], max_tokens: int, count: TokenCounter, *, after_system: Sequence[Message] = ()
) -> list[Message]:
    """Return the leading system messages, `after_system`, and the newest turns that fit, in order.

    A tool call and its results are kept together or left out together. The cost depends on the size of the window,
    not of the conversation.
    """
    system = list(takewhile(lambda message: message.role == "system", (messages[i] for i in range(len(messages)))))
    required = [*system, *after_system]
    available = max_tokens - sum(count_message_tokens(message, count) for message in required)
    if available < 0:
        raise InvalidInput(f"max_tokens={max_tokens} is too small: what is always kept takes {max_tokens - available}")
    window: list[list[Message]] = []
    for turn in _turns_newest_first(messages, len(system)):
        needed = sum(count_message_tokens(message, count) for message in turn)
        if needed > available:
            if not window:
                raise InvalidInput(
                    f"max_tokens={max_tokens} is too small: the newest turn needs {needed}, {available} left"
                )
            break
        available -= needed
        window.append(turn)
    return required + [message for turn in reversed(window) for message in turn]


def find_cut(messages: Sequence[Message], position: int, start: int) -> int:
    """Return the position near `position` and after `start` where no tool call is separated from its results.

    Return `start` when there is none.
    """
    cut = position
    while cut > start and messages[cut].role == "tool":
        cut -= 1
    if cut > start:
        return cut
    while position < len(messages) and messages[position].role == "tool":
        position += 1
    return position if position < len(messages) else start


def _turns_newest_first(messages: Sequence[Message], start: int) -> Iterator[list[Message]]:
    results: list[Message] = []
    for message in _read_backwards(messages, start):
        if message.role == "tool":
            results.insert(0, message)
            continue
        # Results without their call mean nothing to a model, and vendors refuse them.
        call_ids = {key for call in message.tool_calls or () for key in (call.id, call.call_id)}
        yield [message, *(result for result in results if result.tool_call_id in call_ids)]
        results = []


def _read_backwards(messages: Sequence[Message], start: int) -> Iterator[Message]:
    # In pages: where the messages are in a store, each read is a query.
    stop = len(messages)
    while page := messages[max(start, stop - _PAGE) : stop]:
        yield from reversed(page)
        stop -= len(page)


def count_message_tokens(message: Message, count: TokenCounter) -> int:
    """Return what a message takes in a prompt: its text, tool calls and images, and what a vendor adds."""
    parts = parts_of(message)
    texts = [str(part["text"]) for part in parts if part["type"] == "text"]
    texts += [text for call in message.tool_calls or () for text in (call.id, call.name, call.arguments)]
    texts += [text for text in (message.name, message.tool_call_id) if text]
    images = sum(part["type"] == "image_url" for part in parts)
    return MESSAGE_TOKENS + images * IMAGE_TOKENS + sum(count(text) for text in texts)


def default_counter() -> TokenCounter:
    """Return the exact counter where the extra `tokens` is installed, else the estimate."""
    try:
        return exact_counter()
    except MissingExtra:
        return estimate_tokens


@cache
def exact_counter(encoding: str = "o200k_base") -> TokenCounter:
    """Return a counter with OpenAI's own vocabulary, which is part of the package of the extra `tokens`."""
    try:
        toktok = import_module("toktok")
    except ImportError as error:
        raise MissingExtra("counting tokens exactly", "tokens") from error

    def count(text: str) -> int:
        # `truncate` counts while it looks for the cut, and starts no threads, which cost far more for short texts.
        return int(toktok.truncate(replace_unstorable(text), _NO_LIMIT, encoding)[1])

    try:
        count("")
    except KeyError as error:
        raise InvalidInput(f"unknown encoding {shown(encoding)}: use o200k_base or cl100k_base") from error
    return count

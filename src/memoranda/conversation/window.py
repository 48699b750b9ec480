"""The newest part of a conversation that fits a prompt."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from functools import cache
from importlib import import_module
from itertools import takewhile
from typing import TypeAlias, overload

from memoranda.conversation.base import MessageLog
from memoranda.errors import InvalidInput, MissingExtra
from memoranda.messages.message import Message, as_message
from memoranda.messages.parts import parts_of

_PAGE = 32


def newest_that_fit(
    messages: Sequence[Message], max_tokens: int, count: TokenCounter, *, after_system: Sequence[Message] = ()
) -> list[Message]:
    """The leading system messages, `after_system`, then the newest turns that fit beside them, in order.

    A tool call and its results stay together, or are left out together. The cost depends on the window, not on
    the conversation.
    """
    system = list(takewhile(lambda message: message.role == "system", (messages[i] for i in range(len(messages)))))
    kept = [*system, *after_system]
    room = max_tokens - sum(message_tokens(message, count) for message in kept)
    if room < 0:
        raise InvalidInput(f"max_tokens={max_tokens} is too small: what is always kept takes {max_tokens - room}")
    window: list[list[Message]] = []
    for group in _newest_first(messages, len(system)):
        needed = sum(message_tokens(message, count) for message in group)
        if needed > room:
            if not window:
                raise InvalidInput(f"max_tokens={max_tokens} is too small: the newest turn needs {needed}, {room} left")
            break
        room -= needed
        window.append(group)
    return kept + [message for group in reversed(window) for message in group]


def whole_turns(messages: Sequence[Message], position: int, start: int) -> int:
    """A place near `position` to cut at, after `start`, that parts no tool call from its results."""
    cut = position
    while cut > start and messages[cut].role == "tool":
        cut -= 1
    if cut > start:
        return cut
    while position < len(messages) and messages[position].role == "tool":
        position += 1
    return position if position < len(messages) else start


def _newest_first(messages: Sequence[Message], start: int) -> Iterator[list[Message]]:
    results: list[Message] = []
    for message in _backwards(messages, start):
        if message.role == "tool":
            results.insert(0, message)
            continue
        # Results whose call is gone say nothing to a model, and vendors refuse them.
        yield [message, *(result for result in results if _answers(result, message))]
        results = []


def _backwards(messages: Sequence[Message], start: int) -> Iterator[Message]:
    # A few at a time: where they are kept in a store, one by one would be a question each.
    stop = len(messages)
    while page := messages[max(start, stop - _PAGE) : stop]:
        yield from reversed(page)
        stop -= len(page)


def _answers(result: Message, message: Message) -> bool:
    return any(result.tool_call_id in (call.id, call.call_id) for call in message.tool_calls or ())


class MessageView(MutableSequence[Message]):
    """Reads and changes the conversation it belongs to. `len`, an index, a slice and `append` cost what they return."""

    def __init__(self, log: Callable[[], MessageLog], lock: threading.RLock) -> None:
        self._current = log
        self._lock = lock

    @property
    def _log(self) -> MessageLog:
        # Asked each time: a conversation may move to another log.
        return self._current()

    def __len__(self) -> int:
        return len(self._log)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        with self._lock:
            at = range(len(self._log))[index]
            if isinstance(at, int):
                return self._log.read(at, at + 1)[0]
            if at.step == 1:
                return self._log.read(at.start, max(at.start, at.stop))
            return self._all()[index]

    def __iter__(self) -> Iterator[Message]:
        return iter(self[:])

    def __setitem__(self, index: int | slice, value: object) -> None:
        with self._lock:
            messages = self._all()
            if isinstance(index, slice):
                messages[index] = [as_message(item) for item in value]  # type: ignore[attr-defined]
            else:
                messages[index] = as_message(value)
            self._log.replace(messages)

    def __delitem__(self, index: int | slice) -> None:
        with self._lock:
            at = range(len(self._log))[index]
            self._log.delete([at] if isinstance(at, int) else sorted(at))

    def insert(self, index: int, value: Message | Mapping[str, object]) -> None:
        with self._lock:
            messages = self._all()
            messages.insert(index, as_message(value))
            self._log.replace(messages)

    def append(self, value: Message | Mapping[str, object]) -> None:
        self.extend([value])

    def extend(self, values: Iterable[Message | Mapping[str, object]]) -> None:
        with self._lock:
            self._log.append([as_message(value) for value in values], keep=None)

    def __eq__(self, other: object) -> bool:
        return self[:] == (other[:] if isinstance(other, MessageView) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self[:])

    def _all(self) -> list[Message]:
        return self._log.read(0, len(self._log))


TokenCounter: TypeAlias = Callable[[str], int]

MESSAGE_TOKENS = 4
"""What a vendor adds around each message."""
IMAGE_TOKENS = 1_000
"""A middle value: vendors take from 85 for a small picture to about 1,600 for a large one."""

_NO_LIMIT = 1_000_000_000
_PIECE = re.compile(r"[A-Za-z\u00c0-\u024f]+|\d+|[^\W\d_]+|\n\s*|[^\w\s]+|_+| {2,}")


def estimate_tokens(text: str) -> int:
    """About as many tokens as GPT-4o's vocabulary needs, by rule and without a dependency.

    Against the real count: 0 to 8 % more over English talk, code and JSON, single texts 5 % less to 20 % more;
    other scripts are counted high.
    """
    return sum(_piece_tokens(match.group()) for match in _PIECE.finditer(text))


def default_counter() -> TokenCounter:
    """The exact counter where the extra `tokens` is installed, the estimate otherwise."""
    try:
        return exact_counter()
    except MissingExtra:
        return estimate_tokens


def message_tokens(message: Message, count: TokenCounter) -> int:
    """What a message takes in a prompt: its words, its calls, its pictures and the frame around it."""
    parts = parts_of(message)
    words = [str(part["text"]) for part in parts if part["type"] == "text"]
    words += [text for call in message.tool_calls or () for text in (call.id, call.name, call.arguments)]
    words += [text for text in (message.name, message.tool_call_id) if text]
    pictures = sum(part["type"] == "image_url" for part in parts)
    return MESSAGE_TOKENS + pictures * IMAGE_TOKENS + sum(count(text) for text in words)


def _piece_tokens(piece: str) -> int:
    size, first = len(piece), piece[0]
    if first.isdigit():
        return -(-size // 3)
    if piece.isascii():
        return _ascii_tokens(size, first)
    if first < "\u0250":  # a Latin word with accents
        return 1 + (size - 1) // 4
    if first < "\u0530":  # Greek and Cyrillic
        return (size + 3) // 4
    return -(-3 * size // 4) if first.isalpha() else 2 * size


def _ascii_tokens(size: int, first: str) -> int:
    if first.isalpha():
        return 1 if size <= 10 else 1 + (size - 5) // 6
    return 1 if first in "\n " else max(1, (size + 2) // 3)


@cache
def exact_counter(encoding: str = "o200k_base") -> TokenCounter:
    """Counts with OpenAI's own vocabulary, which comes inside the package of the extra `tokens`."""
    try:
        toktok = import_module("toktok")
    except ImportError as error:
        raise MissingExtra("counting tokens exactly", "tokens") from error

    def count(text: str) -> int:
        # Counts while it looks for a place to cut, and starts no threads, which for short texts cost far more.
        return int(toktok.truncate(text, _NO_LIMIT, encoding)[1])

    try:
        count("")
    except KeyError as error:
        raise InvalidInput(f"unknown encoding {encoding!r}: use o200k_base or cl100k_base") from error
    return count

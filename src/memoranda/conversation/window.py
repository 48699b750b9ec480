"""The newest part of a conversation that fits a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from memoranda.conversation.tokens import TokenCounter, message_tokens
from memoranda.errors import InvalidInput
from memoranda.messages.message import Message

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

"""Tool results and the calls they answer: no vendor takes one without the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from memoranda.errors import InvalidInput
from memoranda.messages.message import Message, as_message


def paired(messages: Iterable[Message | Mapping[str, object]]) -> list[Message]:
    """The messages, each result naming the `id` of its call; an error when the two do not meet.

    Calls at the very end may be open: they are what the program is about to run.
    """
    waiting: dict[str, str] = {}
    turns = []
    for position, given in enumerate(messages):
        message = as_message(given)
        if message.role == "tool":
            message = _answer(message, waiting, position)
        elif waiting:
            raise InvalidInput(_unanswered(waiting, position))
        turns.append(message)
        for call in message.tool_calls or ():
            waiting[call.id] = call.id
            waiting[call.call_id] = call.id
    return turns


def _answer(message: Message, waiting: dict[str, str], position: int) -> Message:
    named = message.tool_call_id
    if named is None:
        raise InvalidInput(f"message {position} is a tool result without a tool_call_id: say which call it answers")
    if named not in waiting:
        raise InvalidInput(
            f"message {position} answers the tool call {named!r}, which is not open before it: "
            "keep a call and its results together (get_window does)"
        )
    call = waiting[named]
    for name in [name for name, target in waiting.items() if target == call]:
        del waiting[name]
    return message if named == call else replace(message, tool_call_id=call)


def _unanswered(waiting: dict[str, str], position: int) -> str:
    call = next(iter(waiting.values()))
    return f"the tool call {call!r} has no result before message {position}: add a tool message that answers it"

"""A conversation whose messages are stored on the server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memoranda.client.requests import HttpCall, encode_body, encode_query, parse_as, parse_field
from memoranda.client.transport import HttpTransport
from memoranda.conversation.memory import ConversationMemory
from memoranda.messages.message import Message

_PAGE = 10_000
_MESSAGES = "/v1/conversation/messages"


class RemoteLog:
    """The message log of the server's conversation with the same scope."""

    def __init__(self, transport: HttpTransport, scope: dict[str, object]) -> None:
        self._transport = transport
        self._scope = scope

    def __len__(self) -> int:
        call: HttpCall[int] = HttpCall("GET", "/v1/conversation", parse_field("size"), params=encode_query(self._scope))
        return self._transport.send(call)

    def read(self, start: int, stop: int) -> list[Message]:
        messages: list[Message] = []
        while start < stop:
            params = encode_query(self._scope | {"start": start, "stop": min(stop, start + _PAGE)})
            page = self._transport.send(HttpCall("GET", _MESSAGES, _parse_messages, params=params))
            messages += page
            if not page:
                break
            start += len(page)
        return messages

    def append(self, messages: Sequence[Message], *, keep: int | None, skip_duplicates: bool = False) -> None:
        self._write("POST", messages=_to_dicts(messages), allow_duplicates=not skip_duplicates, keep=keep)

    def find_ids(self, message_ids: Iterable[str]) -> set[str]:
        return {message.message_id for message in self.read(0, len(self))} & set(message_ids)

    def delete(self, positions: Sequence[int]) -> None:
        if positions:
            self._write("POST", "/delete", positions=list(positions))

    def replace(self, messages: Sequence[Message]) -> None:
        self._write("PUT", messages=_to_dicts(messages))

    def _write(self, verb: str, suffix: str = "", **values: object) -> None:
        body = encode_body(self._scope | values)
        self._transport.send(HttpCall(verb, _MESSAGES + suffix, parse_field("size"), body))


def open_conversation(
    transport: HttpTransport, agent: str | None, user: str | None, session: str | None
) -> ConversationMemory:
    """Return the conversation of this scope, with the size and retention that the server sets.

    Args:
        transport: The connection to the server.
        agent: The agent whose conversation it is.
        user: The user it is with.
        session: The session it belongs to.
    """
    scope: dict[str, object] = {"agent": agent, "user": user, "session": session}
    call = HttpCall("GET", "/v1/conversation", parse_as(dict[str, Any]), params=encode_query(scope))
    info = transport.send(call)
    return ConversationMemory(info["max_messages"], info["retention_policy"], log=RemoteLog(transport, scope))


def _to_dicts(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [message.to_dict() for message in messages]


def _parse_messages(response: dict[str, list[dict[str, object]]]) -> list[Message]:
    return [Message.from_dict(item) for item in response["messages"]]

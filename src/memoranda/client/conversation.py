"""A conversation kept by the server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memoranda.client.requests import Call, answer_of, encode, field_of, query
from memoranda.client.transport import Transport
from memoranda.conversation.memory import ConversationMemory
from memoranda.messages.message import Message
from memoranda.types import JSON

_PAGE = 10_000


_MESSAGES = "/v1/conversation/messages"


class RemoteLog:
    """The port of a conversation's messages, over the server's own conversation of the same scope."""

    def __init__(self, transport: Transport, whose: dict[str, object]) -> None:
        self._transport = transport
        self._whose = whose

    def __len__(self) -> int:
        call: Call[int] = Call("GET", "/v1/conversation", field_of("size"), params=query(self._whose))
        return self._transport.send(call)

    def read(self, start: int, stop: int) -> list[Message]:
        found: list[Message] = []
        while start < stop:
            page = query(self._whose | {"start": start, "stop": min(stop, start + _PAGE)})
            messages = self._transport.send(Call("GET", _MESSAGES, _messages, params=page))
            found += messages
            if not messages:
                break
            start += len(messages)
        return found

    def append(self, messages: Sequence[Message], *, keep: int | None, once: bool = False) -> None:
        given = {"messages": _plain(messages), "allow_duplicates": not once, "keep": keep}
        self._transport.send(Call("POST", _MESSAGES, field_of("size"), encode(self._whose | given)))

    def known(self, message_ids: Iterable[str]) -> set[str]:
        return {message.message_id for message in self.read(0, len(self))} & set(message_ids)

    def delete(self, positions: Sequence[int]) -> None:
        if positions:
            body = encode(self._whose | {"positions": list(positions)})
            self._transport.send(Call("POST", f"{_MESSAGES}/delete", field_of("size"), body))

    def replace(self, messages: Sequence[Message]) -> None:
        body = encode(self._whose | {"messages": _plain(messages)})
        self._transport.send(Call("PUT", _MESSAGES, field_of("size"), body))


def open_conversation(
    transport: Transport, agent: str | None, user: str | None, session: str | None
) -> ConversationMemory:
    """The conversation of this scope, as long and kept as long as the server says."""
    whose: dict[str, object] = {"agent": agent, "user": user, "session": session}
    about = transport.send(Call("GET", "/v1/conversation", answer_of(dict[str, Any]), params=query(whose)))
    log = RemoteLog(transport, whose)
    return ConversationMemory(about["max_messages"], about["retention_policy"], log=log)


def _plain(messages: Sequence[Message]) -> list[dict[str, JSON]]:
    return [message.to_dict() for message in messages]


def _messages(answer: dict[str, list[dict[str, object]]]) -> list[Message]:
    return [Message.from_dict(each) for each in answer["messages"]]

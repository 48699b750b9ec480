"""A conversation kept in the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from memoranda.errors import Incompatible, MemorandaError
from memoranda.messages.message import Message
from memoranda.storage import conversations
from memoranda.storage.base import StoredMessage
from memoranda.types import Scope

if TYPE_CHECKING:
    from memoranda.storage.sqlite import SQLiteStore


class StoredLog:
    """A `MessageLog` in the store: on disk when a call returns, and shared with every process that opens the file.

    `open_store` is called at each use, so that a conversation may exist before its database does.
    """

    def __init__(self, open_store: Callable[[], SQLiteStore], scope: Scope) -> None:
        self._store = open_store
        self._scope = scope

    def __len__(self) -> int:
        return self._store().read(partial(conversations.length, scope=self._scope))

    def read(self, start: int, stop: int) -> list[Message]:
        rows = self._store().read(partial(conversations.read, scope=self._scope, start=start, stop=stop))
        return [_message(row) for row in rows]

    def append(self, messages: Sequence[Message], *, keep: int | None, once: bool = False) -> None:
        turns = [_turn(message) for message in messages]
        self._store().write(
            lambda connection, at: conversations.append(connection, self._scope, turns, at, keep=keep, once=once)
        )

    def known(self, message_ids: Iterable[str]) -> set[str]:
        return self._store().read(partial(conversations.known, scope=self._scope, message_ids=list(message_ids)))

    def delete(self, positions: Sequence[int]) -> None:
        self._store().write(lambda connection, _: conversations.take_out(connection, self._scope, positions))

    def replace(self, messages: Sequence[Message]) -> None:
        turns = [_turn(message) for message in messages]
        self._store().write(lambda connection, at: conversations.replace(connection, self._scope, turns, at))


def _turn(message: Message) -> StoredMessage:
    text = message.content if isinstance(message.content, str) else None
    return StoredMessage(message.message_id, message.role, text, message.timestamp, message.name, message.to_dict())


def _message(row: conversations.Row) -> Message:
    """The message of a row; what stands in it twice must agree, so that a damaged file gives no wrong answer."""
    message_id, role, content, payload = row
    try:
        message = Message.from_dict(json.loads(payload))
    except (TypeError, ValueError, MemorandaError) as error:
        raise _damaged(message_id) from error
    text = message.content if isinstance(message.content, str) else None
    if (message.message_id, message.role, text) != (message_id, role, content):
        raise _damaged(message_id)
    return message


def _damaged(message_id: object) -> Incompatible:
    return Incompatible(f"message {message_id} is damaged (it is not what was written): restore a backup")

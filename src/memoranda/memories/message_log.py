"""The ledger of what was said: one row a message, its words never changed, whether or not memories come of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.sqlite import insert as upsert

from memoranda.memories.changes import Say, StoredMessage
from memoranda.memories.rows import from_micros, names_of, scope_of, to_json, to_micros, within
from memoranda.storage.schema import messages, unread
from memoranda.storage.sqlite.connections import chunked, free_id, insert_rows
from memoranda.types import Outcome, Scope

Turn: TypeAlias = tuple[Scope, StoredMessage]
Place: TypeAlias = tuple[str, str, str, str, str]
"""Tenant, agent, user, session and message id."""

_M = messages.c
_TURNS = select(_M.seq, _M.content, _M.tenant, _M.agent, _M.user, _M.session, _M.message_id).where(_M.place.is_(None))


class Ledger:
    """The part of the ledger that one commit touches."""

    def __init__(self, connection: Connection, turns: Iterable[Turn]) -> None:
        self._connection = connection
        self._numbers: dict[Place, int] = {}
        self._words: dict[Place, str | None] = {}
        self._fresh: list[tuple[Any, ...]] = []
        self._next = 0
        self._read({_place(*turn) for turn in turns})

    def said_otherwise(self, turn: Turn) -> bool:
        """Whether other words are known under this message's id."""
        place = _place(*turn)
        return place in self._words and self._words[place] != turn[1].content

    def number(self, turn: Turn, recorded_at: datetime) -> int:
        """The number of a turn, which is written by `write` when it is new."""
        place = _place(*turn)
        if place not in self._numbers:
            self._next = self._next or free_id(self._connection, messages.name)
            self._numbers[place], self._words[place] = self._next + len(self._fresh), turn[1].content
            self._fresh.append(_values(self._numbers[place], *turn, recorded_at))
        return self._numbers[place]

    def numbers_of(self, turns: Sequence[Turn]) -> list[int]:
        """The numbers of those turns that are there, each once."""
        places = dict.fromkeys(_place(*turn) for turn in turns)
        return [self._numbers[place] for place in places if place in self._numbers]

    def write(self) -> None:
        """Call it once, before the memories that name the turns."""
        if self._fresh:
            insert_rows(self._connection, messages.name, _COLUMNS, self._fresh)

    def _read(self, places: set[Place]) -> None:
        for part in chunked(list({place[4] for place in places})):
            for row in self._connection.execute(_TURNS.where(_M.message_id.in_(part))):
                self._numbers[tuple(row[2:])], self._words[tuple(row[2:])] = row[0], row[1]


def say_all(connection: Connection, changes: Sequence[Say]) -> list[Outcome]:
    """Turns without memories; those that are there stay as they are."""
    ledger = Ledger(connection, [(change.scope, change.message) for change in changes])
    for change in changes:
        ledger.number((change.scope, change.message), change.recorded_at)
    ledger.write()
    return [Outcome("stored", None, "said, and not remembered", change.message.message_id) for change in changes]


def set_unread(connection: Connection, turns: Sequence[Turn], reason: str, at: int) -> None:
    """A model has still to read these turns, which the ledger has."""
    ledger = Ledger(connection, turns)
    rows = [{"message_seq": seq, "reason": reason, "failed_at": at} for seq in ledger.numbers_of(turns)]
    if rows:
        statement = upsert(unread)
        connection.execute(statement.on_conflict_do_update(set_={"reason": reason, "failed_at": at}), rows)


def set_read(connection: Connection, turns: Sequence[Turn]) -> None:
    numbers = Ledger(connection, turns).numbers_of(turns)
    connection.execute(delete(unread).where(unread.c.message_seq.in_(numbers)))


def unread_turns(connection: Connection, scope: Scope, limit: int) -> list[Turn]:
    """The oldest turns of a scope that a model has still to read."""
    columns = (_M.tenant, _M.agent, _M.user, _M.session, _M.payload)
    wanted = select(*columns, _M.message_id, _M.role, _M.content, _M.said_at, _M.speaker).join(unread)
    mine = wanted.where(*within(messages, scope)).order_by(_M.seq).limit(limit)
    return [_turn(row) for row in connection.execute(mine)]


def _turn(row: Sequence[Any]) -> Turn:
    tenant, agent, user, session, payload, message_id, role, content, said_at, speaker = row
    message = StoredMessage(message_id, role, content, from_micros(said_at), speaker, json.loads(payload))
    return scope_of(tenant, agent, user, session), message


def _place(scope: Scope, message: StoredMessage) -> Place:
    return (*names_of(scope), message.message_id)


_COLUMNS = (
    "seq", "message_id", "tenant", "agent", "user", "session", "role", "speaker", "content", "payload", "said_at",
    "recorded_at",
)  # fmt: skip


def _values(seq: int, scope: Scope, message: StoredMessage, recorded_at: datetime) -> tuple[Any, ...]:
    """The values of `_COLUMNS`."""
    return (
        seq, message.message_id, *names_of(scope), message.role, message.speaker, message.content,
        to_json(message.payload), to_micros(message.said_at), to_micros(recorded_at),
    )  # fmt: skip

"""The message log: one row for each message, never changed, whether or not the message becomes a memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from sqlalchemy import delete, func, select

from memoranda.storage.base import Owner, ReadTransaction, Row, Transaction, chunked
from memoranda.storage.changes import AppendMessage, MarkExtracted, StoredMessage, StoredTurn
from memoranda.storage.row_hash import MESSAGE_HASH, not_as_written, row_hash
from memoranda.storage.rows import (
    from_micros,
    in_owners,
    owner_conditions,
    scope_conditions,
    scope_names,
    scope_of,
    stored_json,
    to_json,
    to_micros,
)
from memoranda.storage.schema import messages, unread
from memoranda.types import Outcome, Scope

_Key: TypeAlias = tuple[str, str, str, str, str]
"""Tenant, agent, user, session and message id."""
_M = messages.c
_U = unread.c
_WAITS: Final = (0, 60, 600, 3_600, 21_600, 86_400)
"""Seconds until a model is asked again about a message that it was asked about once, twice, …"""
_KNOWN = select(_M.seq, _M.content, _M.tenant, _M.agent, _M.user, _M.session, _M.message_id).where(
    _M.position.is_(None)
)
_COLUMNS = (
    "seq", "message_id", "tenant", "agent", "user", "session", "role", "speaker", "content", "payload", "said_at",
    "recorded_at", "row_hash",
)  # fmt: skip


MESSAGE_COLUMNS: Final = [
    _M.tenant, _M.agent, _M.user, _M.session, _M.message_id, _M.content, _M.payload, MESSAGE_HASH,
]  # fmt: skip
"""What `check_message` takes."""
_STORED = select(*MESSAGE_COLUMNS, _M.role, _M.said_at, _M.speaker)


class MessageLogWriter:
    """The messages that one transaction adds to the log, and the stored ones with the same ids."""

    def __init__(self, tx: Transaction, turns: Iterable[StoredTurn]) -> None:
        self._tx = tx
        self._numbers: dict[_Key, int] = {}
        self._contents: dict[_Key, str | None] = {}
        self._new_rows: list[tuple[Any, ...]] = []
        self._ids: Sequence[int] = ()
        turns = list(turns)
        self._most = len(turns)
        for part in chunked(sorted({(*_owner(scope), message.message_id) for scope, message in turns})):
            owned = in_owners(messages, {(tenant, user) for tenant, user, _ in part})
            for seq, content, *key in tx.execute(_KNOWN.where(_M.message_id.in_({each[2] for each in part}), owned)):
                self._numbers[tuple(key)], self._contents[tuple(key)] = seq, content

    def has_other_words(self, turn: StoredTurn) -> bool:
        """Return whether the log has other words under this message's id."""
        key = _key(turn)
        return key in self._contents and self._contents[key] != turn[1].content

    def add(self, turn: StoredTurn, recorded_at: datetime) -> int:
        """Return the number of a message; `write` writes it when it is new."""
        key = _key(turn)
        if key not in self._numbers:
            self._ids = self._ids or self._tx.new_ids(messages, self._most)
            self._numbers[key], self._contents[key] = self._ids[len(self._new_rows)], turn[1].content
            self._new_rows.append(_row(self._numbers[key], turn, recorded_at))
        return self._numbers[key]

    def known_numbers(self, turns: Sequence[StoredTurn]) -> list[int]:
        """Return the numbers of those messages that the log has, each once."""
        keys = dict.fromkeys(map(_key, turns))
        return [self._numbers[key] for key in keys if key in self._numbers]

    def write(self) -> None:
        """Write the new messages. Call it once, before the memories that refer to them."""
        if self._new_rows:
            self._tx.insert_rows(messages, _COLUMNS, self._new_rows)


def _owner(scope: Scope) -> Owner:
    tenant, _, user, _ = scope_names(scope)
    return tenant, user


def append_messages(tx: Transaction, changes: Sequence[AppendMessage]) -> list[Outcome]:
    """Write messages without memories; messages that are stored already stay as they are."""
    turns = [(turn, each.recorded_at) for each in changes for turn in (*each.before, (each.scope, each.message))]
    log = MessageLogWriter(tx, [turn for turn, _ in turns])
    for turn, recorded_at in turns:
        log.add(turn, recorded_at)
    log.write()
    return [Outcome("stored", None, "logged, not remembered", change.message.message_id) for change in changes]


def mark_extracted(tx: Transaction, change: MarkExtracted) -> Outcome:
    """Record that a model has read these messages, or why it could not."""
    numbers = MessageLogWriter(tx, change.turns).known_numbers(change.turns)
    for part in chunked(numbers):
        if change.failure is None:
            tx.execute(delete(unread).where(_U.message_seq.in_(part)))
        else:
            _queue(tx, part, change.failure, asked=change.asked)
    return Outcome("stored", None, f"{len(numbers)} messages marked")


def _queue(tx: Transaction, numbers: Sequence[int], failure: str, *, asked: bool) -> None:
    found = tx.execute(select(_U.message_seq, _U.attempts, _U.retry_at).where(_U.message_seq.in_(numbers)))
    known = {seq: (attempts, retry_at) for seq, attempts, retry_at in found}
    rows = []
    for seq in numbers:
        attempts, retry_at = known.get(seq, (0, tx.at))
        if asked:
            attempts += 1
            retry_at = tx.at + _WAITS[min(attempts, len(_WAITS)) - 1] * 1_000_000
        rows.append(
            {"message_seq": seq, "reason": failure, "failed_at": tx.at, "attempts": attempts, "retry_at": retry_at}
        )
    tx.upsert(unread, rows, key=("message_seq",), update=("reason", "failed_at", "attempts", "retry_at"))


def read_unextracted(tx: ReadTransaction, scope: Scope, limit: int, due: datetime | None = None) -> list[StoredTurn]:
    """Return the oldest messages of a scope that a model has yet to read; with `due`, those to read by then."""
    query = _STORED.join(unread)
    if due is not None:
        query = query.where(_U.retry_at <= to_micros(due))
    rows = tx.execute(query.where(*scope_conditions(messages, scope)).order_by(_M.seq).limit(limit))
    return [_stored_turn(row) for row in rows]


def read_last_messages(tx: ReadTransaction, scope: Scope, limit: int, before: str | None = None) -> list[StoredMessage]:
    """Return the messages of exactly a scope that were logged last, the newest first.

    Args:
        tx: Where to read.
        scope: Whose messages; without a session, those of no session.
        limit: How many.
        before: The id of a message; only those that were logged before it.
    """
    logged = [_M.position.is_(None), *owner_conditions(scope, messages)]
    query = _STORED.where(*logged)
    if before is not None:
        query = query.where(_M.seq < select(_M.seq).where(_M.message_id == before, *logged).scalar_subquery())
    return [_stored_turn(row)[1] for row in tx.execute(query.order_by(_M.seq.desc()).limit(limit))]


@dataclass(frozen=True, slots=True)
class ModelQueue:
    """The messages that a model has yet to read."""

    length: int
    last_failure: str | None
    failed_at: datetime | None


def read_queue(tx: ReadTransaction) -> ModelQueue:
    """Return how many messages of the whole store wait for a model, and why the last one does."""
    length = tx.execute(select(func.count()).select_from(unread)).scalar_one()
    last = tx.execute(select(_U.reason, _U.failed_at).order_by(_U.failed_at.desc()).limit(1)).first()
    return (
        ModelQueue(int(length), None, None) if last is None else ModelQueue(int(length), last[0], from_micros(last[1]))
    )


def _stored_turn(row: Row) -> StoredTurn:
    tenant, agent, user, session, message_id, content, payload, _, role, said_at, speaker = row
    check_message(row[:8])
    message = StoredMessage(message_id, role, content, from_micros(said_at), speaker, stored_json(payload, dict))
    return scope_of(tenant, agent, user, session), message


def check_message(row: Sequence[Any]) -> None:
    """Raise `Incompatible` unless a message is of the owner that the database found it for, and as it was written."""
    tenant, agent, user, session, message_id, content, payload, stored = row
    try:
        is_intact = message_hash((tenant, agent, user, session), message_id, content, payload) == stored
    except (TypeError, ValueError):  # a damaged row may hold anything
        is_intact = False
    if not is_intact:
        raise not_as_written(f"message {message_id}")


def message_hash(owner: tuple[str, str, str, str], message_id: str, content: str | None, payload: str) -> bytes:
    """Return the hash of a message: without its number and position, which others move."""
    return row_hash(0, owner, message_id, content, payload)


def _key(turn: StoredTurn) -> _Key:
    return (*scope_names(turn[0]), turn[1].message_id)


def _row(seq: int, turn: StoredTurn, recorded_at: datetime) -> tuple[Any, ...]:
    """Return the values of `_COLUMNS`."""
    scope, message = turn
    owner, payload = scope_names(scope), to_json(message.payload)
    return (
        seq, message.message_id, *owner, message.role, message.speaker, message.content,
        payload, to_micros(message.said_at), to_micros(recorded_at),
        bytearray(message_hash(owner, message.message_id, message.content, payload)),
    )  # fmt: skip

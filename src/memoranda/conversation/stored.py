"""Conversations in the store: one row per message, with positions without gaps, so that an index is one look-up.

A conversation belongs to exactly one scope; a name that is not set matches only rows without it. Adding at the end and
dropping the oldest change no other row; deleting from the middle renumbers the shorter side. In this module an index
counts from the oldest message that is kept, and a position is the number in the row.
"""

from __future__ import annotations

import atexit
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import BindParameter, bindparam, delete, exists, insert, select, update

from memoranda.errors import Incompatible, MemorandaError
from memoranda.messages.message import Message
from memoranda.settings import MemoryConfig, database_url, encryption_key, get_settings
from memoranda.storage import open_store
from memoranda.storage.base import OwnedWork, ReadTransaction, Row, Transaction
from memoranda.storage.changes import StoredMessage
from memoranda.storage.message_log import MESSAGE_COLUMNS, check_message, message_hash
from memoranda.storage.rows import json_items, scope_names, to_json, to_micros
from memoranda.storage.schema import messages
from memoranda.text.checks import replace_unstorable
from memoranda.types import JSON, Scope

if TYPE_CHECKING:
    from memoranda.storage.base import Store

R = TypeVar("R")
_M = messages.c
_IN_SCOPE = [
    *(column == bindparam(f"in_{column.name}") for column in (_M.tenant, _M.agent, _M.user, _M.session)),
    _M.position.is_not(None),
]
_START: BindParameter[int] = bindparam("start")
_STOP: BindParameter[int] = bindparam("stop")
_OLDEST = select(_M.position).where(*_IN_SCOPE).order_by(_M.position).limit(1).scalar_subquery()
_NEWEST = select(_M.position).where(*_IN_SCOPE).order_by(_M.position.desc()).limit(1).scalar_subquery()
_IN_RANGE = [*_IN_SCOPE, _M.position >= _START, _M.position < _STOP]

# Built once: building a statement costs as much as running it.
_BOUNDS = select(_OLDEST, _NEWEST)
_READ = (
    select(*MESSAGE_COLUMNS, _M.role)
    .where(*_IN_SCOPE, _M.position >= _OLDEST + _START, _M.position < _OLDEST + _STOP)
    .order_by(_M.position)
)
_PAYLOADS = select(_M.payload).where(*_IN_SCOPE).order_by(_M.position)
# Each id is looked up by itself: with a list of ids, SQLite would scan the whole conversation.
_IDS = json_items(bindparam("ids")).table_valued("value")
_FIND_IDS = select(_IDS.c.value).where(exists().where(*_IN_SCOPE, _M.message_id == _IDS.c.value))
_INSERT = insert(messages)
_DELETE = delete(messages).where(*_IN_RANGE)
_DELETE_ALL = delete(messages).where(*_IN_SCOPE)
_SHIFT = update(messages).where(*_IN_RANGE).values(position=_M.position + bindparam("by"))


@dataclass(frozen=True, slots=True)
class _Bounds:
    first: int
    stop: int
    """The position that the next message gets."""


class StoredLog:
    """A `MessageLog` in the store: on disk when a call returns, and shared by every process that opens the database.

    `open_store` is called at each use, so that a conversation may exist before its database does.
    """

    def __init__(self, open_store: Callable[[], Store], scope: Scope) -> None:
        self._store = open_store
        self._scope = scope

    def __len__(self) -> int:
        return self._store().read(partial(length, scope=self._scope), tenant=self._scope.tenant)

    def read(self, start: int, stop: int) -> list[Message]:
        work = partial(read, scope=self._scope, start=start, stop=stop)
        rows = self._store().read(work, tenant=self._scope.tenant)
        return [_to_message(row) for row in rows]

    def append(self, messages: Sequence[Message], *, keep: int | None, skip_duplicates: bool = False) -> None:
        new = [_to_stored(message) for message in messages]
        self._write(lambda tx: append(tx, self._scope, new, keep=keep, skip_duplicates=skip_duplicates))

    def find_ids(self, message_ids: Iterable[str]) -> set[str]:
        return self._store().read(
            partial(find_ids, scope=self._scope, message_ids=list(message_ids)), tenant=self._scope.tenant
        )

    def delete(self, positions: Sequence[int]) -> None:
        self._write(lambda tx: delete_indices(tx, self._scope, positions))

    def pop(self) -> Message | None:
        # Made inside the transaction: a damaged message must stay, not be deleted unread.
        return self._write(lambda tx: pop(tx, self._scope))

    def replace(self, messages: Sequence[Message]) -> None:
        new = [_to_stored(message) for message in messages]
        self._write(lambda tx: replace(tx, self._scope, new))

    def _write(self, work: Callable[[Transaction], R]) -> R:
        tenant, _, user, _ = scope_names(self._scope)
        return self._store().write(OwnedWork(work, (tenant, user)), tenant=tenant)


_open_stores: dict[str, Store] = {}
_opening = threading.Lock()


def unnamed_log() -> StoredLog:
    """Return the conversation without a name in the database of the settings, opened at its first use."""
    settings = get_settings().memory
    return StoredLog(lambda: _open_once(settings), Scope())


def _open_once(settings: MemoryConfig) -> Store:
    """Return the store of the settings: one for this process and URL, closed when the process ends."""
    url = database_url(settings)
    with _opening:
        store = _open_stores.get(url)
        if store is None:
            store = _open_stores[url] = open_store(url, durability=settings.durability, key=encryption_key(settings))
            atexit.register(store.close)
        return store


def length(tx: ReadTransaction, scope: Scope) -> int:
    bounds = _read_bounds(tx, _parameters(scope))
    return bounds.stop - bounds.first


def read(tx: ReadTransaction, scope: Scope, start: int, stop: int) -> list[Row]:
    """Return the rows from index `start` up to `stop`, in one statement, so that they are consistent."""
    return list(tx.execute(_READ, {**_parameters(scope), "start": start, "stop": stop}))


def find_ids(tx: ReadTransaction, scope: Scope, message_ids: Iterable[str]) -> set[str]:
    """Return those of the ids that the conversation has."""
    ids: list[JSON] = [*message_ids]
    return set(tx.scalars(_FIND_IDS, {**_parameters(scope), "ids": to_json(ids)}))


def append(
    tx: Transaction, scope: Scope, new: Sequence[StoredMessage], *, keep: int | None, skip_duplicates: bool
) -> None:
    """Add messages at the end, then delete all but the newest `keep`."""
    parameters = _parameters(scope)
    bounds = _read_bounds(tx, parameters)
    if skip_duplicates:
        unique: dict[str, StoredMessage] = {}
        for message in new:
            unique.setdefault(message.message_id, message)
        known = find_ids(tx, scope, unique)
        new = [message for message_id, message in unique.items() if message_id not in known]
    _insert(tx, scope, new, bounds.stop)
    oldest = bounds.first if keep is None else bounds.stop + len(new) - keep
    if oldest > bounds.first:
        tx.execute(_DELETE, {**parameters, "start": bounds.first, "stop": oldest})


def delete_indices(tx: Transaction, scope: Scope, indices: Sequence[int]) -> None:
    """Delete the messages at these indices, given in ascending order, and close the gaps."""
    bounds = _read_bounds(tx, _parameters(scope))
    positions = [bounds.first + index for index in indices]
    delete_positions(tx, scope, [position for position in positions if position < bounds.stop])


def delete_positions(tx: Transaction, scope: Scope, positions: Sequence[int]) -> None:
    """Delete the messages at these positions, which exist and are in ascending order, and close the gaps."""
    parameters = _parameters(scope)
    bounds = _read_bounds(tx, parameters)
    for run in _runs(positions):
        tx.execute(_DELETE, {**parameters, "start": run.start, "stop": run.stop})
    shifts = _closing_shifts(positions, bounds)
    if shifts:
        tx.execute(_SHIFT, [{**parameters, **shift} for shift in shifts])


def pop(tx: Transaction, scope: Scope) -> Message | None:
    """Delete and return the newest message; None when there is none."""
    size = length(tx, scope)
    newest = [_to_message(row) for row in read(tx, scope, size - 1, size)] if size else []
    if newest:
        delete_indices(tx, scope, [size - 1])
    return newest[0] if newest else None


def replace(tx: Transaction, scope: Scope, new: Sequence[StoredMessage]) -> None:
    """Replace the whole conversation. What is equal at the start and at the end is not written again."""
    parameters = _parameters(scope)
    if not new:
        tx.execute(_DELETE_ALL, parameters)
        return
    bounds = _read_bounds(tx, parameters)
    old_payloads = list(tx.scalars(_PAYLOADS, parameters))
    new_payloads = [to_json(message.payload) for message in new]
    head = _equal_items(old_payloads, new_payloads)
    tail = _equal_items(old_payloads[head:][::-1], new_payloads[head:][::-1])
    start, stop = bounds.first + head, bounds.stop - tail
    tx.execute(_DELETE, {**parameters, "start": start, "stop": stop})
    growth = len(new_payloads) - len(old_payloads)
    if growth and head < tail:
        tx.execute(_SHIFT, {**parameters, "start": bounds.first, "stop": start, "by": -growth})
        start -= growth
    elif growth:
        tx.execute(_SHIFT, {**parameters, "start": stop, "stop": bounds.stop, "by": growth})
    _insert(tx, scope, new[head : len(new) - tail], start)


def clear(tx: Transaction, tenant: str, agent: str | None) -> None:
    """Delete the conversations of a tenant, or those of one agent."""
    statement = delete(messages).where(_M.tenant == tenant, _M.position.is_not(None))
    tx.execute(statement if agent is None else statement.where(_M.agent == agent))


def _parameters(scope: Scope) -> dict[str, Any]:
    return dict(zip(("in_tenant", "in_agent", "in_user", "in_session"), scope_names(scope), strict=True))


def _read_bounds(tx: ReadTransaction, parameters: Mapping[str, Any]) -> _Bounds:
    first, last = tx.execute(_BOUNDS, parameters).one()
    return _Bounds(1, 1) if first is None else _Bounds(first, last + 1)


def _insert(tx: Transaction, scope: Scope, new: Sequence[StoredMessage], position: int) -> None:
    if not new:
        return
    owner = scope_names(scope)
    tx.execute(_INSERT, [_to_row(tx, owner, message, position + i) for i, message in enumerate(new)])


def _to_row(tx: Transaction, owner: tuple[str, str, str, str], message: StoredMessage, position: int) -> dict[str, Any]:
    tenant, agent, user, session = owner
    payload = to_json(message.payload)
    return {
        "message_id": message.message_id,
        "tenant": tenant,
        "agent": agent,
        "user": user,
        "session": session,
        "role": message.role,
        "speaker": message.speaker,
        "content": message.content,
        "payload": payload,
        "said_at": to_micros(message.said_at),
        "recorded_at": tx.at,
        "position": position,
        "row_hash": message_hash(owner, message.message_id, message.content, payload),
    }


def _runs(positions: Sequence[int]) -> Iterator[range]:
    """Yield ascending numbers as ranges: each is one statement to delete."""
    start = 0
    for end in range(1, len(positions) + 1):
        if end == len(positions) or positions[end] != positions[end - 1] + 1:
            yield range(positions[start], positions[end - 1] + 1)
            start = end


def _closing_shifts(deleted: Sequence[int], bounds: _Bounds) -> list[dict[str, int]]:
    """Return the shifts that close the gaps: of the older rows up or the newer ones down, whichever are fewer.

    They are in an order in which no row moves onto one that has yet to move.
    """
    if not deleted:
        return []
    older, newer = deleted[-1] + 1 - bounds.first - len(deleted), bounds.stop - deleted[0] - len(deleted)
    if older < newer:
        edges, by = [bounds.first - 1, *deleted], [len(deleted) - n for n in range(len(deleted))]
    else:
        edges, by = [*deleted, bounds.stop], [-n for n in range(1, len(deleted) + 1)]
    gaps = zip(edges, edges[1:], by, strict=False)
    shifts = [{"start": low + 1, "stop": high, "by": step} for low, high, step in gaps if low + 1 < high]
    return shifts[::-1] if older < newer else shifts


def _equal_items(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many items are equal from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _to_stored(message: Message) -> StoredMessage:
    text, payload = _text_column(message), message.to_dict()
    return StoredMessage(message.message_id, message.role, text, message.timestamp, message.name, payload)


def _text_column(message: Message) -> str | None:
    return replace_unstorable(message.content) if isinstance(message.content, str) else None


def _to_message(row: Row) -> Message:
    """Return the message of a row. Values that are stored twice must agree, so that damage gives no wrong answer."""
    check_message(row[:8])
    *_, message_id, content, payload, _, role = row
    try:
        message = Message.from_dict(json.loads(payload))
        if (message.message_id, message.role, _text_column(message)) != (message_id, role, content):
            raise ValueError("the payload differs from the other columns")
    except (TypeError, ValueError, MemorandaError) as error:
        raise Incompatible(f"message {message_id} is damaged (it is not what was written): restore a backup") from error
    return message

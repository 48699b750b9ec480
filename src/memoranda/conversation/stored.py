"""The rows of a conversation: one a message, numbered by `place` without gaps, so that any position is one look-up.

A conversation belongs to exactly one scope; a name that is not set means the one without it. Adding at the end and
dropping the oldest touch no other row; taking out of the middle renumbers the shorter side.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import BindParameter, bindparam, delete, exists, func, insert, select, update

from memoranda.errors import Incompatible, MemorandaError
from memoranda.messages.message import Message
from memoranda.storage.base import Transaction
from memoranda.storage.changes import StoredMessage
from memoranda.storage.rows import scope_names, to_json, to_micros
from memoranda.storage.schema import messages
from memoranda.types import JSON, Scope

if TYPE_CHECKING:
    from memoranda.storage.base import Store


Row: TypeAlias = Sequence[Any]
"""message_id, role, content, payload."""

_M = messages.c
_MINE = [
    *(column == bindparam(f"in_{column.name}") for column in (_M.tenant, _M.agent, _M.user, _M.session)),
    _M.position.is_not(None),
]
_FROM: BindParameter[int] = bindparam("start")
_TO: BindParameter[int] = bindparam("stop")
_OLDEST = select(_M.position).where(*_MINE).order_by(_M.position).limit(1).scalar_subquery()
_NEWEST = select(_M.position).where(*_MINE).order_by(_M.position.desc()).limit(1).scalar_subquery()
_RANGE = [*_MINE, _M.position >= _FROM, _M.position < _TO]

# Built once: making a statement costs as much as running it.
_BOUNDS = select(_OLDEST, _NEWEST)
_READ = (
    select(_M.message_id, _M.role, _M.content, _M.payload)
    .where(*_MINE, _M.position >= _OLDEST + _FROM, _M.position < _OLDEST + _TO)
    .order_by(_M.position)
)
_PAYLOADS = select(_M.payload).where(*_MINE).order_by(_M.position)
# Each id is looked up by itself: given as a list, SQLite would rather walk through the whole conversation.
_IDS = func.json_each(bindparam("ids")).table_valued("value")
_KNOWN = select(_IDS.c.value).where(exists().where(*_MINE, _M.message_id == _IDS.c.value))
_INSERT = insert(messages)
_DELETE = delete(messages).where(*_RANGE)
_DELETE_ALL = delete(messages).where(*_MINE)
_SHIFT = update(messages).where(*_RANGE).values(position=_M.position + bindparam("by"))


@dataclass(frozen=True, slots=True)
class _Bounds:
    first: int
    after: int
    """The place that the next message takes."""


def length(tx: Transaction, scope: Scope) -> int:
    bounds = _bounds(tx, _mine(scope))
    return bounds.after - bounds.first


def read(tx: Transaction, scope: Scope, start: int, stop: int) -> list[Row]:
    """The rows of these positions, in order; in one statement, so that they belong together."""
    return list(tx.execute(_READ, {**_mine(scope), "start": start, "stop": stop}))


def known(tx: Transaction, scope: Scope, message_ids: Iterable[str]) -> set[str]:
    ids: list[JSON] = [*message_ids]
    return set(tx.scalars(_KNOWN, {**_mine(scope), "ids": to_json(ids)}))


def append(tx: Transaction, scope: Scope, turns: Sequence[StoredMessage], *, keep: int | None, once: bool) -> None:
    mine = _mine(scope)
    bounds = _bounds(tx, mine)
    fresh = _unseen(tx, scope, turns) if once else turns
    _insert(tx, scope, fresh, bounds.after)
    oldest = bounds.first if keep is None else bounds.after + len(fresh) - keep
    if oldest > bounds.first:
        tx.execute(_DELETE, {**mine, "start": bounds.first, "stop": oldest})


def take_out(tx: Transaction, scope: Scope, positions: Sequence[int]) -> None:
    """Deletes these positions, given in ascending order, and closes the gaps."""
    bounds = _bounds(tx, _mine(scope))
    places = [bounds.first + position for position in positions]
    take_out_places(tx, scope, [place for place in places if place < bounds.after])


def take_out_places(tx: Transaction, scope: Scope, gone: Sequence[int]) -> None:
    """Deletes these places, given in ascending order and all of them taken, and closes the gaps."""
    mine = _mine(scope)
    bounds = _bounds(tx, mine)
    for run in _runs(gone):
        tx.execute(_DELETE, {**mine, "start": run.start, "stop": run.stop})
    shifts = _closing(gone, bounds)
    if shifts:
        tx.execute(_SHIFT, [{**mine, **shift} for shift in shifts])


def replace(tx: Transaction, scope: Scope, turns: Sequence[StoredMessage]) -> None:
    """Exactly these from now on; what stays the same at either end is not written again."""
    mine = _mine(scope)
    if not turns:
        tx.execute(_DELETE_ALL, mine)
        return
    bounds = _bounds(tx, mine)
    old, new = list(tx.scalars(_PAYLOADS, mine)), [to_json(turn.payload) for turn in turns]
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    start, stop = bounds.first + head, bounds.after - tail
    tx.execute(_DELETE, {**mine, "start": start, "stop": stop})
    more = len(new) - len(old)
    if more and head < tail:
        tx.execute(_SHIFT, {**mine, "start": bounds.first, "stop": start, "by": -more})
        start -= more
    elif more:
        tx.execute(_SHIFT, {**mine, "start": stop, "stop": bounds.after, "by": more})
    _insert(tx, scope, turns[head : len(new) - tail], start)


def clear(tx: Transaction, tenant: str, agent: str | None) -> None:
    """Deletes the conversations of a tenant, or those of one agent."""
    doomed = delete(messages).where(_M.tenant == tenant, _M.position.is_not(None))
    tx.execute(doomed if agent is None else doomed.where(_M.agent == agent))


def _mine(scope: Scope) -> dict[str, Any]:
    return dict(zip(("in_tenant", "in_agent", "in_user", "in_session"), scope_names(scope), strict=True))


def _bounds(tx: Transaction, mine: Mapping[str, Any]) -> _Bounds:
    first, last = tx.execute(_BOUNDS, mine).one()
    return _Bounds(1, 1) if first is None else _Bounds(first, last + 1)


def _unseen(tx: Transaction, scope: Scope, turns: Sequence[StoredMessage]) -> list[StoredMessage]:
    firsts: dict[str, StoredMessage] = {}
    for turn in turns:
        firsts.setdefault(turn.message_id, turn)
    seen = known(tx, scope, firsts)
    return [turn for message_id, turn in firsts.items() if message_id not in seen]


def _insert(tx: Transaction, scope: Scope, turns: Sequence[StoredMessage], place: int) -> None:
    if turns:
        tx.execute(_INSERT, [_row(scope, turn, place + n, tx.at) for n, turn in enumerate(turns)])


def _row(scope: Scope, turn: StoredMessage, place: int, at: int) -> dict[str, Any]:
    tenant, agent, user, session = scope_names(scope)
    return {
        "message_id": turn.message_id,
        "tenant": tenant,
        "agent": agent,
        "user": user,
        "session": session,
        "role": turn.role,
        "speaker": turn.speaker,
        "content": turn.content,
        "payload": to_json(turn.payload),
        "said_at": to_micros(turn.said_at),
        "recorded_at": at,
        "position": place,
    }


def _runs(places: Sequence[int]) -> Iterator[range]:
    """Ascending numbers as ranges: each deletes in one statement."""
    start = 0
    for end in range(1, len(places) + 1):
        if end == len(places) or places[end] != places[end - 1] + 1:
            yield range(places[start], places[end - 1] + 1)
            start = end


def _closing(gone: Sequence[int], bounds: _Bounds) -> list[dict[str, int]]:
    """What moves where after a deletion: the older rows up or the newer ones down, whichever are fewer.

    In an order in which no rows move onto others that have yet to move.
    """
    if not gone:
        return []
    older, newer = gone[-1] + 1 - bounds.first - len(gone), bounds.after - gone[0] - len(gone)
    if older < newer:
        edges, by = [bounds.first - 1, *gone], [len(gone) - n for n in range(len(gone))]
    else:
        edges, by = [*gone, bounds.after], [-n for n in range(1, len(gone) + 1)]
    gaps = zip(edges, edges[1:], by, strict=False)
    moves = [{"start": low + 1, "stop": high, "by": step} for low, high, step in gaps if low + 1 < high]
    return moves[::-1] if older < newer else moves


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items are the same from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


class StoredLog:
    """A `MessageLog` in the store: on disk when a call returns, and shared with every process that opens the file.

    `open_store` is called at each use, so that a conversation may exist before its database does.
    """

    def __init__(self, open_store: Callable[[], Store], scope: Scope) -> None:
        self._store = open_store
        self._scope = scope

    def __len__(self) -> int:
        return self._store().read(partial(length, scope=self._scope))

    def read(self, start: int, stop: int) -> list[Message]:
        rows = self._store().read(partial(read, scope=self._scope, start=start, stop=stop))
        return [_message(row) for row in rows]

    def append(self, messages: Sequence[Message], *, keep: int | None, once: bool = False) -> None:
        turns = [_turn(message) for message in messages]
        self._store().write(lambda tx: append(tx, self._scope, turns, keep=keep, once=once))

    def known(self, message_ids: Iterable[str]) -> set[str]:
        return self._store().read(partial(known, scope=self._scope, message_ids=list(message_ids)))

    def delete(self, positions: Sequence[int]) -> None:
        self._store().write(lambda tx: take_out(tx, self._scope, positions))

    def replace(self, messages: Sequence[Message]) -> None:
        turns = [_turn(message) for message in messages]
        self._store().write(lambda tx: replace(tx, self._scope, turns))


def _turn(message: Message) -> StoredMessage:
    text = message.content if isinstance(message.content, str) else None
    return StoredMessage(message.message_id, message.role, text, message.timestamp, message.name, message.to_dict())


def _message(row: Row) -> Message:
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

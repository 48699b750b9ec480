"""The ledger of recalls: write what was asked and answered, read it again, find the recalls of a memory, delete.

The memories of an answer are kept as they were then, in rows of their own that are deleted with the memory. So no
deletion, of whatever kind, leaves a text in the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from sqlalchemy import BigInteger, ColumnElement, bindparam, cast, delete, func, select, true, update

from memoranda.results.recall import AffectedRecall
from memoranda.storage.base import ReadTransaction, Transaction, chunked
from memoranda.storage.meta import decode, get_meta, set_meta
from memoranda.storage.rows import from_micros, json_items, stored_json
from memoranda.storage.schema import memories, recalled_memories, recalls
from memoranda.types import ANY, AnyUser, Scope

_CLEARED: Final = "recalls:cleared"
"""The key in `meta` for the microsecond of the latest erasure."""
_R = recalls.c
_S = recalled_memories.c
# The ids are one parameter, so that the statements are compiled once, however many there are.
_IDS = json_items(bindparam("ids")).table_valued("value")
_LISTED = select(cast(_IDS.c.value, BigInteger))
# Locked, where rows can be: none of them is deleted before this is committed.
_PRESENT = (
    select(memories.c.id)
    .where(memories.c.id.in_(_LISTED))
    .order_by(memories.c.id)
    .with_for_update(read=True, key_share=True)
)
_KNOWN = select(_S.memory_id, _S.digest, _S.used_at).where(_S.memory_id.in_(_LISTED))
_USE_MICROS: Final = 3_600_000_000
"""How long after a state was noted as used it is noted again: not at each recall."""
_OLDER = select(_R.number).where(_R.asked_at < bindparam("since"))
_COUNT = select(func.count()).select_from(recalls)
_USE = (
    update(recalled_memories)
    .where(_S.memory_id == bindparam("memory"), _S.digest == bindparam("state_digest"))
    .values(used_at=bindparam("now"))
)


StateKey: TypeAlias = tuple[int, str]
"""The id of a memory, and the digest of a state that it was in."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One recall as the table holds it, with its memories in order."""

    id: str
    scope: Scope
    asked_at: int
    query: str
    parameters: str
    head: int
    answer: bytes
    states: tuple[StateKey, ...]


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """One recall as it is read again: a memory that was deleted since has no state."""

    row: LedgerRow
    memories: tuple[tuple[int, str | None], ...]
    """The id of each memory, and its state at the time as JSON."""


def insert_recalls(tx: Transaction, rows: Sequence[LedgerRow], to_json: Callable[[StateKey], str]) -> None:
    """Write recalls and the states of their memories.

    A recall from before an erasure is left out, since the erasure could not reach it: it was not yet written.

    Args:
        tx: The transaction.
        rows: The recalls.
        to_json: Returns a state as JSON; called for those that are not stored yet.
    """
    cleared = decode(get_meta(tx, _CLEARED) or "0", int)
    rows = [row for row in rows if row.asked_at >= cleared]
    _insert_states(tx, {key for row in rows for key in row.states}, to_json)
    entries = [
        (row.id, *_owner(row.scope), row.asked_at, row.query, row.parameters, row.head, bytearray(row.answer),
         json.dumps(row.states))
        for row in rows
    ]  # fmt: skip
    columns = ("id", "tenant", "agent", "user", "session", "all_users", "asked_at", "query", "parameters", "head",
               "answer", "states")  # fmt: skip
    tx.insert_rows(recalls, columns, entries)


def _insert_states(tx: Transaction, states: set[StateKey], to_json: Callable[[StateKey], str]) -> None:
    """Insert the states that are new, of memories that still exist, and note that the others were used again."""
    ids = {"ids": json.dumps(sorted({memory_id for memory_id, _ in states}))}
    present = set(tx.scalars(_PRESENT, ids).all())
    known = {(memory_id, digest): used_at for memory_id, digest, used_at in tx.execute(_KNOWN, ids).all()}
    unused = [key for key, used_at in known.items() if key in states and used_at < tx.at - _USE_MICROS]
    states = states - known.keys()
    if unused:
        tx.execute(_USE, [{"memory": key[0], "state_digest": key[1], "now": tx.at} for key in unused])
    new = [key for key in sorted(states) if key[0] in present]
    rows = [{"memory_id": key[0], "digest": key[1], "state": to_json(key), "used_at": tx.at} for key in new]
    tx.upsert(recalled_memories, rows, key=("memory_id", "digest"))  # another process may have written some meanwhile


def read_recall(tx: ReadTransaction, scope: Scope, recall_id: str) -> PastAnswer | None:
    """Return a recall that was asked in this scope; None when there is none."""
    row = tx.execute(select(recalls).where(_R.id == recall_id, *_visible(scope))).first()
    if row is None:
        return None
    _, found_id, tenant, agent, user, session, all_users, asked_at, query, parameters, head, answer, states = row
    asked_in = Scope(tenant, agent or None, ANY if all_users else user or None, session or None)
    keys = tuple((memory_id, digest) for memory_id, digest in stored_json(states, list))
    stored = tx.execute(select(_S.memory_id, _S.digest, _S.state).where(_S.memory_id.in_([key[0] for key in keys])))
    by_key = {(each[0], each[1]): each[2] for each in stored}
    found = tuple((key[0], by_key.get(key)) for key in keys)
    return PastAnswer(LedgerRow(found_id, asked_in, asked_at, query, parameters, head, answer, keys), found)


def recalls_with(tx: ReadTransaction, tenant: str, ids: Iterable[int]) -> list[AffectedRecall]:
    """Return the past recalls that returned one of these memories, newest first, with how many of them."""
    wanted, found = set(ids), list[AffectedRecall]()
    query = select(_R.id, _R.asked_at, _R.states).where(_R.tenant == tenant)
    for recall_id, asked_at, states in tx.execute(query.order_by(_R.asked_at.desc(), _R.number.desc())):
        count = len(wanted.intersection(memory_id for memory_id, _ in stored_json(states, list)))
        if count:
            found.append(AffectedRecall(recall_id, from_micros(asked_at), count))
    return found


def clear_recalls(tx: Transaction, scope: Scope, matches: Callable[[str], bool] | None = None) -> int:
    """Erase the recalls that were asked in a scope, or of these those whose words match; return how many.

    It also keeps out the recalls that another process asked before this and has yet to write.
    """
    set_meta(tx, _CLEARED, str(tx.at))
    return _delete(tx, find_recalls(tx, scope, matches))


def find_recalls(tx: ReadTransaction, scope: Scope, matches: Callable[[str], bool] | None = None) -> list[int]:
    """Return the numbers of the recalls that were asked in a scope, or of these those whose words match."""
    rows = tx.execute(select(_R.number, _R.query, _R.parameters).where(*_visible(scope)))
    return [row[0] for row in rows if matches is None or matches(f"{row[1]}\n{row[2]}")]


def prune_recalls(tx: Transaction, keep: int, since: int) -> int:
    """Delete the recalls from before `since`, and the oldest until at most `keep` are left; return how many."""
    numbers = list(tx.scalars(_OLDER, {"since": since}))
    surplus = int(tx.execute(_COUNT).scalar_one()) - len(numbers) - keep
    if surplus > 0:
        left = select(_R.number).where(_R.asked_at >= since).order_by(_R.asked_at, _R.number).limit(surplus)
        numbers += tx.scalars(left)
    return _delete(tx, numbers)


def _delete(tx: Transaction, numbers: Collection[int]) -> int:
    """Delete recalls, and the states that were last used before the oldest one that is left."""
    if numbers:
        for part in chunked(sorted(numbers)):
            tx.execute(delete(recalls).where(_R.number.in_(part)))
        oldest = tx.execute(select(func.min(_R.asked_at))).scalar()
        outdated = _S.used_at < oldest - _USE_MICROS if oldest is not None else true()
        tx.execute(delete(recalled_memories).where(outdated))
    return len(numbers)


def _owner(scope: Scope) -> Iterator[str | int]:
    yield scope.tenant
    yield scope.agent or ""
    yield "" if isinstance(scope.user, AnyUser) else scope.user or ""
    yield scope.session or ""
    yield int(scope.user is ANY)


def _visible(scope: Scope) -> list[ColumnElement[bool]]:
    """Return the conditions for recalls of a scope. A recall across users is visible only to who reads across users."""
    conditions = [_R.tenant == scope.tenant]
    if scope.agent is not None:
        conditions.append(_R.agent == scope.agent)
    if scope.session is not None:
        conditions.append(_R.session == scope.session)
    if not isinstance(scope.user, AnyUser):
        conditions += [_R.user == (scope.user or ""), _R.all_users == 0]
    return conditions

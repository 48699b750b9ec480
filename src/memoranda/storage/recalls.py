"""The ledger of recalls: write what was asked and answered, read it again, find the recalls of a memory, delete.

The memories of an answer are kept as they were then, in rows of their own that are deleted with the memory. So no
deletion, of whatever kind, leaves a text in the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from sqlalchemy import ColumnElement, and_, delete, exists, func, select

from memoranda.results import AffectedRecall
from memoranda.storage.base import ReadTransaction, Transaction, chunked
from memoranda.storage.meta import get_meta, set_meta
from memoranda.storage.rows import from_micros
from memoranda.storage.schema import memories, recall_hits, recalled_memories, recalls
from memoranda.types import ANY, AnyUser, Scope

_CLEARED: Final = "recalls:cleared"
"""The key in `meta` for the microsecond of the latest erasure."""
_R = recalls.c
_H = recall_hits.c
_S = recalled_memories.c


StateKey: TypeAlias = tuple[int, bytes]
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
    cleared = int(get_meta(tx, _CLEARED) or 0)
    rows = [row for row in rows if row.asked_at >= cleared]
    _insert_states(tx, {key for row in rows for key in row.states}, to_json)
    number = tx.next_id(recalls)
    hits: list[tuple[int, int, int, bytearray]] = []
    entries = []
    for row in rows:
        entries.append((number, row.id, *_owner(row.scope), row.asked_at, row.query, row.parameters, row.head,
                        bytearray(row.answer)))  # fmt: skip
        hits += [
            (number, position, memory_id, bytearray(digest))
            for position, (memory_id, digest) in enumerate(row.states, 1)
        ]
        number += 1
    columns = ("number", "id", "tenant", "agent", "user", "session", "all_users", "asked_at", "query", "parameters",
               "head", "answer")  # fmt: skip
    tx.insert_rows(recalls, columns, entries)
    tx.insert_rows(recall_hits, ("recall", "position", "memory_id", "digest"), hits)


def _insert_states(tx: Transaction, states: set[StateKey], to_json: Callable[[StateKey], str]) -> None:
    """Insert the states that are new, of memories that still exist."""
    present: set[int] = set()
    for part in chunked(sorted({memory_id for memory_id, _ in states})):
        present.update(tx.scalars(select(memories.c.id).where(memories.c.id.in_(part))))
        found = tx.execute(select(_S.memory_id, _S.digest).where(_S.memory_id.in_(part)))
        states = states.difference((row[0], bytes(row[1])) for row in found)
    new = [key for key in sorted(states) if key[0] in present]
    rows = [(key[0], bytearray(key[1]), to_json(key)) for key in new]
    tx.insert_rows(recalled_memories, ("memory_id", "digest", "state"), rows)


def read_recall(tx: ReadTransaction, scope: Scope, recall_id: str) -> PastAnswer | None:
    """Return a recall that was asked in this scope; None when there is none."""
    row = tx.execute(select(recalls).where(_R.id == recall_id, *_visible(scope))).first()
    if row is None:
        return None
    number, found_id, tenant, agent, user, session, all_users, asked_at, query, parameters, head, answer = row
    asked_in = Scope(tenant, agent or None, ANY if all_users else user or None, session or None)
    same_state = and_(_S.memory_id == _H.memory_id, _S.digest == _H.digest)
    states = (
        select(_H.memory_id, _S.state)
        .select_from(recall_hits.outerjoin(recalled_memories, same_state))
        .where(_H.recall == number)
        .order_by(_H.position)
    )
    found = tuple((each[0], each[1]) for each in tx.execute(states))
    return PastAnswer(LedgerRow(found_id, asked_in, asked_at, query, parameters, head, answer, ()), found)


def recalls_with(tx: ReadTransaction, tenant: str, ids: Iterable[int]) -> list[AffectedRecall]:
    """Return the past recalls that returned one of these memories, newest first, with how many of them."""
    counts: dict[str, tuple[int, int]] = {}
    for part in chunked(sorted(set(ids))):
        query = (
            select(_R.id, _R.asked_at, func.count(_H.memory_id.distinct()))
            .join(recall_hits, _H.recall == _R.number)
            .where(_R.tenant == tenant, _H.memory_id.in_(part))
            .group_by(_R.number)
        )
        for recall_id, asked_at, count in tx.execute(query):
            counts[recall_id] = asked_at, counts.get(recall_id, (0, 0))[1] + count
    newest = sorted(counts.items(), key=lambda item: (-item[1][0], item[0]))
    return [AffectedRecall(recall_id, from_micros(asked_at), count) for recall_id, (asked_at, count) in newest]


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
    numbers = list(tx.scalars(select(_R.number).where(_R.asked_at < since)))
    surplus = int(tx.execute(select(func.count()).select_from(recalls)).scalar_one()) - len(numbers) - keep
    if surplus > 0:
        left = select(_R.number).where(_R.asked_at >= since).order_by(_R.asked_at, _R.number).limit(surplus)
        numbers += tx.scalars(left)
    return _delete(tx, numbers)


def _delete(tx: Transaction, numbers: Collection[int]) -> int:
    """Delete recalls, and the states that no other recall holds."""
    for part in chunked(sorted(numbers)):
        used = tx.execute(select(_H.memory_id).where(_H.recall.in_(part)).distinct())
        ids = [row[0] for row in used]
        tx.execute(delete(recalls).where(_R.number.in_(part)))  # their hits cascade
        for some in chunked(ids):
            unused = ~exists().where(_H.memory_id == _S.memory_id, _H.digest == _S.digest)
            tx.execute(delete(recalled_memories).where(_S.memory_id.in_(some), unused))
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

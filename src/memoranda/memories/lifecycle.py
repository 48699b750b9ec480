"""What becomes of memories after they were written: derived, put away, superseded, pinned; and their past."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, exists, func, insert, literal, or_, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from memoranda.memories.add import add_all, insert_changes
from memoranda.memories.changes import KEPT_REVISIONS, Archive, Derivation, Derive, Pin, Revision, Supersede, no_memory
from memoranda.memories.rows import MEMORY_COLUMNS, from_micros, in_scope, memory_from_row, micros_or_none, to_micros
from memoranda.storage.schema import associations, claims, lineage, memories, revisions
from memoranda.storage.sqlite.connections import chunked
from memoranda.types import Memory, MemoryType, Outcome, Scope

_PAGE = 500
_M = memories.c
_L = lineage.c
_R = revisions.c
_COUNT_ACCESS = (
    update(memories)
    .where(_M.id == bindparam("memory_id"))
    .values(
        access_count=_M.access_count + bindparam("times"),
        accessed_at=func.max(func.coalesce(_M.accessed_at, 0), bindparam("last")),
    )
)
_REVISED = (_R.version, _R.content, _R.type, _R.importance, _R.source, _R.metadata, _R.changed_at)


def derive(connection: Connection, change: Derive, at: int) -> Outcome:
    """A new memory and its lineage; one that was derived before is a duplicate, its lineage as it was."""
    owner = Scope(change.draft.scope.tenant, user=change.draft.scope.user)
    require(connection, owner, change.sources)
    outcome = add_all(connection, [change.draft], at)[0]
    if outcome.status == "stored" and outcome.memory is not None and change.sources:
        _insert_lineage(connection, outcome.memory.id, change.sources, change.kind)
    return outcome


def archive(connection: Connection, change: Archive, at: int) -> Outcome:
    restores = change.at is None
    waiting = _M.archived_at.is_not(None) if restores else _M.archived_at.is_(None)
    ids = _mark(connection, change.scope, change.ids, [waiting], {"archived_at": micros_or_none(change.at)})
    log_touched(connection, "restore" if restores else "archive", [*ids, *made_from(connection, ids)], at)
    return Outcome("stored", None, f"{len(ids)} {'restored' if restores else 'archived'}")


def supersede(connection: Connection, change: Supersede, at: int) -> Outcome:
    require(connection, change.scope, [change.by])
    ended = to_micros(change.at)
    values: dict[str, Any] = {"superseded_by": change.by, "valid_to": func.coalesce(_M.valid_to, ended)}
    if change.merged:
        values["archived_at"] = func.coalesce(_M.archived_at, ended)
    wanted = [key for key in change.ids if key != change.by]
    ids = _mark(connection, change.scope, wanted, [_M.superseded_by.is_(None)], values)
    if change.merged and ids:
        _insert_lineage(connection, change.by, ids, "merged")
        leave_claims_to_others(connection, ids)
    log_touched(connection, "supersede", [*ids, *made_from(connection, ids)], at)
    return Outcome("stored", None, f"{len(ids)} superseded")


def set_end(connection: Connection, memory_id: int, end: tuple[datetime | None, int | None], at: int) -> None:
    """When a memory stopped to be true and what took its place; with twice None it holds again."""
    moment, by = end
    values = {"valid_to": micros_or_none(moment), "superseded_by": by}
    connection.execute(update(memories).where(_M.id == memory_id).values(values))
    op = "reopen" if by is None else "supersede"
    log_touched(connection, op, [memory_id, *made_from(connection, [memory_id])], at)


def unlink(connection: Connection, pairs: Collection[tuple[int, int]], kind: str) -> None:
    """Takes the associations of one kind between these memories away, each in its direction."""
    a = associations.c
    for memory_id, related_id in pairs:
        mine = (a.memory_id == memory_id, a.related_memory_id == related_id, a.relationship_type == kind)
        connection.execute(delete(associations).where(*mine))


def leave_claims_to_others(connection: Connection, ids: Sequence[int]) -> None:
    """What another memory repeats, that one claims."""
    for part in chunked(ids):
        connection.execute(delete(claims).where(claims.c.memory_id.in_(part)))


def pin(connection: Connection, change: Pin) -> Outcome:
    wanted = int(change.pinned)
    ids = _mark(connection, change.scope, change.ids, [_M.pinned != wanted], {"pinned": wanted})
    return Outcome("stored", None, f"{len(ids)} {'pinned' if wanted else 'unpinned'}")


def keep_revision(connection: Connection, memory_id: int, at: int) -> None:
    """The row as it is, before an edit; the oldest versions beyond the limit go."""
    kept = [_M.id, _M.version, _M.content, _M.type, _M.importance, _M.source, _M.metadata, literal(at)]
    row = select(*kept).where(_M.id == memory_id, _M.key.is_(None))
    names = [column.name for column in (_R.memory_id, *_REVISED)]
    connection.execute(insert(revisions).from_select(names, row))
    newest = select(func.max(_R.version)).where(_R.memory_id == memory_id).scalar_subquery()
    old = _R.version <= newest - KEPT_REVISIONS
    connection.execute(delete(revisions).where(_R.memory_id == memory_id, old))


def read_revisions(connection: Connection, scope: Scope, memory_id: int) -> list[Revision]:
    require(connection, scope, [memory_id])
    rows = connection.execute(select(*_REVISED).where(_R.memory_id == memory_id).order_by(_R.version))
    return [
        Revision(version, content, MemoryType(kind), importance, source, json.loads(metadata), from_micros(changed))
        for version, content, kind, importance, source, metadata, changed in rows
    ]


def read_lineage(connection: Connection, scope: Scope, ids: Sequence[int]) -> list[Derivation]:
    found: set[tuple[int, int, str]] = set()
    for part in chunked(ids):
        wanted = select(lineage).join(memories, _M.id == _L.derived_id).where(*in_scope(scope))
        either = or_(_L.derived_id.in_(part), _L.source_id.in_(part))
        found.update((row[0], row[1], row[2]) for row in connection.execute(wanted.where(either)))
    return [Derivation(derived, source, kind) for derived, source, kind in sorted(found)]  # type: ignore[arg-type]


def _mark(
    connection: Connection,
    scope: Scope,
    ids: Sequence[int],
    only: Sequence[ColumnElement[bool]],
    values: dict[str, Any],
) -> list[int]:
    """Sets the values where they are not set yet; the ids of those memories."""
    done: list[int] = []
    for part in chunked(list(dict.fromkeys(ids))):
        found = list(connection.scalars(select(_M.id).where(_M.id.in_(part), *in_scope(scope), *only)))
        connection.execute(update(memories).where(_M.id.in_(found)).values(values))
        done += found
    return sorted(done)


def log_touched(connection: Connection, op: str, ids: Sequence[int], at: int) -> None:
    """Enters these memories in the change log, as far as they are there."""
    for part in chunked(ids):
        rows = connection.execute(select(_M.id, _M.tenant, _M.user).where(_M.id.in_(part)).order_by(_M.id))
        insert_changes(connection, op, [(row[0], row[1], row[2]) for row in rows], at)


def _insert_lineage(connection: Connection, derived: int, sources: Sequence[int], kind: str) -> None:
    rows = [{"derived_id": derived, "source_id": source, "kind": kind} for source in dict.fromkeys(sources)]
    connection.execute(upsert(lineage).on_conflict_do_nothing(), rows)


def require(connection: Connection, scope: Scope, ids: Sequence[int]) -> None:
    """`NotFound` unless the scope has all of these memories."""
    found: set[int] = set()
    for part in chunked(ids):
        found.update(connection.scalars(select(_M.id).where(_M.id.in_(part), *in_scope(scope))))
    if missing := sorted(set(ids) - found):
        raise no_memory(scope, *missing)


def only_repeats() -> ColumnElement[bool]:
    """Whether a memory was consolidated from others that all still speak for themselves."""
    made = (_L.derived_id == _M.id, _L.kind == "consolidated")
    source = memories.alias("source")
    speaks = exists().where(
        source.c.id == _L.source_id, source.c.archived_at.is_(None), source.c.superseded_by.is_(None)
    )
    return exists().where(*made) & ~exists().where(*made, ~speaks)


def made_from(connection: Connection, ids: Sequence[int]) -> list[int]:
    """The memories consolidated from one of these: whether they take part in recall may change with them."""
    found: set[int] = set()
    for part in chunked(ids):
        found.update(connection.scalars(select(_L.derived_id).where(_L.source_id.in_(part), _L.kind == "consolidated")))
    return sorted(found)


def read_stock(connection: Connection, scope: Scope) -> Iterator[tuple[Memory, int, int | None]]:
    """Every memory of a scope, archived ones too, with how often and when it was last recalled, by id."""
    wanted = select(*MEMORY_COLUMNS, _M.access_count, _M.accessed_at).where(*in_scope(scope)).order_by(_M.id)
    for row in connection.execute(wanted.execution_options(yield_per=_PAGE)):
        yield memory_from_row(row), row[-2], row[-1]


def count_accesses(connection: Connection, times: Mapping[int, int], last: datetime) -> None:
    """So many more times these memories were recalled, at the latest just now."""
    at = to_micros(last)
    rows = [{"memory_id": key, "times": count, "last": at} for key, count in sorted(times.items())]
    connection.execute(_COUNT_ACCESS, rows)


def all_lineage(connection: Connection, scope: Scope) -> list[Derivation]:
    """Every line of descent whose derived memory is in the scope."""
    wanted = select(lineage).join(memories, _M.id == _L.derived_id).where(*in_scope(scope))
    return [Derivation(*row) for row in connection.execute(wanted)]


def users(connection: Connection, scope: Scope) -> list[str | None]:
    """Whose memories a scope holds, those of nobody as None."""
    rows = connection.scalars(select(_M.user).where(*in_scope(scope)).distinct().order_by(_M.user))
    return [user or None for user in rows]


def superseded_by(connection: Connection, scope: Scope, memory_id: int) -> list[int]:
    """The memories of a scope that this one took the place of."""
    mine = (_M.superseded_by == memory_id, *in_scope(scope))
    return list(connection.scalars(select(_M.id).where(*mine).order_by(_M.id)))

"""Changes → rows, inside the transaction that the store opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, TypeAlias, TypeVar, assert_never

from sqlalchemy import Connection, delete, exists, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from memoranda.errors import Conflict
from memoranda.memories import add, lifecycle, message_log
from memoranda.memories.changes import Add, Archive, Change, Derive, Edit, Link, Pin, Remove, Say, Supersede, no_memory
from memoranda.memories.claims import index_claims, owner_of
from memoranda.memories.rows import SELECT_MEMORY, in_scope, memory_from_row, owned_by
from memoranda.storage.schema import associations, memories, memory_text, messages, vectors
from memoranda.storage.sqlite.connections import chunked
from memoranda.types import Outcome, Scope

News: TypeAlias = tuple[Sequence[Change], dict[int, Outcome]]
"""Changes, and the outcomes of those among them, by their place, that have ended otherwise."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Changes that are looked at once more inside the transaction, when all that came before is written."""

    changes: Sequence[Change]
    owner: tuple[str, str]
    """The tenant and the user whose memories they are compared with."""
    check: Callable[[Connection, Sequence[Change]], News]


Work: TypeAlias = Sequence[Change] | Checked | Callable[[Connection, int], Any]
"""What one writer hands in: changes to memories, looked at once more or not, or a function of the connection and the
time in microseconds."""


def do_all(connection: Connection, works: Sequence[Work], at: int) -> list[Any]:
    """One result a work, in order. Changes of writers that stand together are applied together."""
    results: list[Any] = []
    for run in _runs(works):
        results += _do_run(connection, run, at)
    return results


def _runs(works: Sequence[Work]) -> Iterator[list[Work]]:
    """The works that can be done together. What is checked must see what its user's other writers have written."""
    for _, same in groupby(works, key=lambda work: (callable(work), isinstance(work, Checked))):
        run: list[Work] = []
        owners: set[tuple[str, str]] = set()
        for work in same:
            if isinstance(work, Checked):
                if work.owner in owners:
                    yield run
                    run, owners = [], set()
                owners.add(work.owner)
            run.append(work)
        yield run


def _do_run(connection: Connection, works: Sequence[Work], at: int) -> list[Any]:
    functions = [work(connection, at) for work in works if callable(work)]
    lists = [_news(connection, work) for work in works if not callable(work)]
    outcomes = iter(apply_changes(connection, [change for changes, _ in lists for change in changes], at))
    ended = [[next(outcomes) for _ in changes] for changes, _ in lists]
    otherwise = [known for _, known in lists]
    return functions or [
        [known.get(place, outcome) for place, outcome in enumerate(of)]
        for of, known in zip(ended, otherwise, strict=True)
    ]


def _news(connection: Connection, work: Sequence[Change] | Checked) -> News:
    return work.check(connection, work.changes) if isinstance(work, Checked) else (work, {})


def apply_changes(connection: Connection, wanted: Sequence[Change], at: int) -> list[Outcome]:
    """One outcome a change, in order. Additions that stand together are written together."""
    outcomes: list[Outcome] = []
    for kind, run in groupby(wanted, key=_in_bulk):
        if kind is Add:
            outcomes += add.add_all(connection, [change.draft for change in run if isinstance(change, Add)], at)
        elif kind is Say:
            outcomes += message_log.say_all(connection, [change for change in run if isinstance(change, Say)])
        else:
            outcomes += [_apply_one(connection, change, at) for change in run]
    return outcomes


def _in_bulk(change: Change) -> type[Add | Say] | None:
    """What is written together with its like; None for what is written alone."""
    if isinstance(change, Say):
        return Say
    return Add if isinstance(change, Add) and change.draft.key is None else None


def _apply_one(connection: Connection, change: Change, at: int) -> Outcome:
    match change:
        case Edit():
            return _edit(connection, change, at)
        case Remove():
            return _remove(connection, change, at)
        case Link():
            return _link(connection, change)
        case Add():
            return _save(connection, change, at)
        case Say():
            return message_log.say_all(connection, [change])[0]
        case Derive() | Archive() | Supersede() | Pin():
            return _tend(connection, change, at)
        case _:
            assert_never(change)


def _tend(connection: Connection, change: Derive | Archive | Supersede | Pin, at: int) -> Outcome:
    match change:
        case Derive():
            return lifecycle.derive(connection, change, at)
        case Archive():
            return lifecycle.archive(connection, change, at)
        case Supersede():
            return lifecycle.supersede(connection, change, at)
        case Pin():
            return lifecycle.pin(connection, change)


def _save(connection: Connection, change: Add, at: int) -> Outcome:
    """A keyed memory: a new row, or the row of that key replaced."""
    draft = change.draft
    mine = (memories.c.key == draft.key, *owned_by(draft.scope))
    known = connection.execute(select(memories.c.id, memories.c.version).where(*mine)).first()
    if known is None:
        return add.add_all(connection, [draft], at)[0]
    # Saved again is true again, whatever became of the old value.
    anew = update(memories).where(memories.c.id == known[0])
    connection.execute(anew.values(archived_at=None, valid_to=None, superseded_by=None))
    return _edit(connection, Edit(known[0], known[1], draft), at)


def _edit(connection: Connection, change: Edit, at: int) -> Outcome:
    draft = change.draft
    scope = Scope(draft.scope.tenant, user=draft.scope.user)
    row = connection.execute(SELECT_MEMORY.where(memories.c.id == change.id, *in_scope(scope))).first()
    if row is None:
        raise no_memory(scope, change.id)
    known = memory_from_row(row)
    if known.version != change.version:
        raise Conflict(f"memory {change.id} was changed meanwhile (version {known.version}): read it again")
    lifecycle.keep_revision(connection, change.id, at)
    values = add.edited_columns(draft) | {"version": known.version + 1}
    connection.execute(update(memories).where(memories.c.id == change.id).values(values))
    connection.execute(update(memory_text).where(memory_text.c.rowid == change.id).values(terms=draft.terms))
    if draft.vector is not None or draft.content != known.content:
        connection.execute(delete(vectors).where(vectors.c.memory_id == change.id))
        add.insert_vectors(connection, [(change.id, draft)])
    if known.notes or draft.notes:
        index_claims(connection, change.id, owner_of(known), draft.notes)
    add.insert_changes(connection, "edit", [(change.id, known.tenant, known.user or "")], at)
    row = connection.execute(SELECT_MEMORY.where(memories.c.id == change.id)).one()
    return Outcome("stored", memory_from_row(row))


def _remove(connection: Connection, change: Remove, at: int) -> Outcome:
    gone = [row for part in chunked(change.ids) for row in _doomed(connection, change.scope, part)]
    if change.all_or_none and (missing := set(change.ids) - {row.id for row in gone}):
        raise no_memory(change.scope, *sorted(missing))
    for part in chunked(gone):
        _delete_rows(connection, part)
    add.insert_changes(connection, "remove", [(row.id, row.tenant, row.user) for row in gone], at)
    lifecycle.log_touched(connection, "remove", lifecycle.made_from(connection, [row.id for row in gone]), at)
    return Outcome("stored", None, f"{len(gone)} removed")


@dataclass(frozen=True, slots=True)
class _Doomed:
    id: int
    tenant: str
    user: str
    message_seq: int | None


def _doomed(connection: Connection, scope: Scope, ids: Sequence[int]) -> list[_Doomed]:
    columns = (memories.c.id, memories.c.tenant, memories.c.user, memories.c.message_seq)
    rows = connection.execute(select(*columns).where(memories.c.id.in_(ids), *in_scope(scope)))
    return [_Doomed(*row) for row in rows]


def _delete_rows(connection: Connection, gone: Sequence[_Doomed]) -> None:
    ids = [row.id for row in gone]
    connection.execute(delete(memory_text).where(memory_text.c.rowid.in_(ids)))
    connection.execute(delete(memories).where(memories.c.id.in_(ids)))  # vectors and associations cascade
    spoken = [row.message_seq for row in gone if row.message_seq is not None]
    still_used = exists().where(memories.c.message_seq == messages.c.seq)
    connection.execute(delete(messages).where(messages.c.seq.in_(spoken), ~still_used))


def _link(connection: Connection, change: Link) -> Outcome:
    link = change.association
    lifecycle.require(connection, change.scope, [link.memory_id, link.related_memory_id])
    statement = upsert(associations).values(dict(link))
    connection.execute(statement.on_conflict_do_update(set_={"strength": statement.excluded.strength}))
    return Outcome("stored", None, f"{link.memory_id} {link.relationship_type} {link.related_memory_id}")


_R = TypeVar("_R")
_TRIES: Final = 100
"""Of those who try at once, one succeeds each time."""


def until_no_conflict(work: Callable[[], _R]) -> _R:
    """What the work gives; after so many tries, the `Conflict`."""
    for _ in range(_TRIES - 1):
        try:
            return work()
        except Conflict:
            continue
    return work()

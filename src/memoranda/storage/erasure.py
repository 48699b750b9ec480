"""Forgetting for real: which rows tell of something, and taking every byte of them out of the file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, delete, func, or_, select, text

from memoranda.arguments import SHARED_USER
from memoranda.storage import conversations
from memoranda.storage.adding import insert_changes
from memoranda.storage.connections import Fetch
from memoranda.storage.filters import passing
from memoranda.storage.meta import note, noted, strike
from memoranda.storage.rows import in_scope, scope_of, within
from memoranda.storage.schema import (
    associations,
    lineage,
    memories,
    memory_text,
    messages,
    revisions,
    sessions,
    vectors,
)
from memoranda.storage.tables import chunked
from memoranda.types import EVERYTHING, Filter, Scope

PENDING: Final = "erasure:pending"
LAST: Final = "erasure:last"
_M = memories.c
_S = messages.c
_IN_MEMORY: Final = 256 * 1024 * 1024
"""A larger database is compacted by way of a temporary file, which holds only what stays."""
_BUSY_MS: Final = 5_000
_USUAL_BUSY_MS: Final = 30_000


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be forgotten: all of a scope, or what these conditions leave of it."""

    scope: Scope
    ids: tuple[int, ...] = ()
    where: Filter = EVERYTHING
    containing: str | None = None

    @property
    def whole_scope(self) -> bool:
        return not self.ids and self.where == EVERYTHING and self.containing is None


def matching(connection: Connection, target: Target) -> set[int]:
    """The memories that a target names; shared knowledge is nobody's to forget by scope."""
    mine = [*in_scope(target.scope), *passing(target.where), _M.user != SHARED_USER]
    wanted = select(_M.id, _M.content).where(*mine)
    if target.ids:
        parts = [connection.execute(wanted.where(_M.id.in_(part))) for part in chunked(target.ids)]
        rows: Iterator[Sequence[Any]] = (row for part in parts for row in part)
    else:
        rows = iter(connection.execute(wanted))
    return {row[0] for row in rows if _says(target.containing, row[1])}


def message_numbers(connection: Connection, target: Target, ids: Collection[int]) -> set[int]:
    """The messages behind these memories, their copies in conversations, and those the target itself names."""
    found: set[int] = set()
    for part in chunked(sorted(ids)):
        behind = select(_M.message_seq).where(_M.id.in_(part), _M.message_seq.is_not(None))
        found.update(connection.scalars(behind))
        copies = select(_S.seq).join(memories, _same_message()).where(_M.id.in_(part))
        found.update(connection.scalars(copies))
    if target.whole_scope:
        found.update(connection.scalars(select(_S.seq).where(*within(messages, target.scope))))
    elif target.containing is not None and target.where == EVERYTHING and not target.ids:
        wanted = select(_S.seq, _S.content, _S.payload).where(*within(messages, target.scope))
        rows = connection.execute(wanted)
        found.update(row[0] for row in rows if _says(target.containing, f"{row[1]}\n{row[2]}"))
    return found


def told_by(connection: Connection, numbers: Collection[int]) -> set[int]:
    """The memories that were made from these messages."""
    found: set[int] = set()
    for part in chunked(sorted(numbers)):
        found.update(connection.scalars(select(_M.id).where(_M.message_seq.in_(part))))
    return found


def counts(connection: Connection, ids: Collection[int], numbers: Collection[int]) -> dict[str, int]:
    """How many rows of what would go."""
    a = associations.c
    found = {"memories": len(ids), "messages": len(numbers), "vectors": 0, "associations": 0, "revisions": 0}
    for part in chunked(sorted(ids)):
        found["vectors"] += _count(connection, vectors, vectors.c.memory_id.in_(part))
        found["revisions"] += _count(connection, revisions, revisions.c.memory_id.in_(part))
        either = or_(a.memory_id.in_(part), a.related_memory_id.in_(part))
        found["associations"] += _count(connection, associations, either)
    return found


def erase(connection: Connection, target: Target, ids: Collection[int], numbers: Collection[int], at: int) -> None:
    """Deletes the rows, and notes in the same commit that the file must still be cleaned of their bytes."""
    owners: list[tuple[int, str, str]] = []
    for part in chunked(sorted(ids)):
        rows = connection.execute(select(_M.id, _M.tenant, _M.user).where(_M.id.in_(part)))
        owners += [(row[0], row[1], row[2]) for row in rows]
        connection.execute(delete(memory_text).where(memory_text.c.rowid.in_(part)))
        connection.execute(delete(lineage).where(lineage.c.source_id.in_(part)))
        connection.execute(delete(memories).where(_M.id.in_(part)))  # vectors, links, lineage and revisions cascade
    _erase_messages(connection, numbers)
    if target.whole_scope and target.scope.session is not None:
        ended = (sessions.c.tenant == target.scope.tenant, sessions.c.workflow == target.scope.session)
        connection.execute(delete(sessions).where(*ended))
    connection.execute(text("DELETE FROM tallies WHERE entries <= 0"))
    insert_changes(connection, "remove", owners, at)
    head = connection.execute(text("SELECT coalesce(max(seq), 0) FROM changes")).scalar_one()
    for key in (PENDING, LAST):
        note(connection, key, str(head))


def pending(connection: Connection) -> bool:
    """Whether rows were erased whose bytes may still be in the file."""
    return noted(connection, PENDING) is not None


def last_erasure(fetch: Fetch) -> int:
    """The number of the newest change that an erasure made; 0 when there was none."""
    rows = fetch("SELECT value FROM meta WHERE key = ?", (LAST,))
    return int(rows[0][0]) if rows else 0


def compact(connection: Connection) -> bool:
    """Writes the file anew without what was deleted and empties the log of commits; False while a reader holds it."""
    connection.exec_driver_sql("INSERT INTO memory_text(memory_text) VALUES ('optimize')")
    size = _pragma(connection, "page_count") * _pragma(connection, "page_size")
    connection.exec_driver_sql(f"PRAGMA temp_store={'MEMORY' if size < _IN_MEMORY else 'FILE'}")
    connection.exec_driver_sql("VACUUM")
    connection.exec_driver_sql("PRAGMA temp_store=MEMORY")
    connection.exec_driver_sql(f"PRAGMA busy_timeout={_BUSY_MS}")
    busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]
    connection.exec_driver_sql(f"PRAGMA busy_timeout={_USUAL_BUSY_MS}")
    if not busy:
        strike(connection, PENDING)
    return not busy


def _erase_messages(connection: Connection, numbers: Collection[int]) -> None:
    for part in chunked(sorted(numbers)):
        rows = connection.execute(select(_S.seq, _S.place, _S.tenant, _S.agent, _S.user, _S.session).where(
            _S.seq.in_(part)))  # fmt: skip
        placed: dict[Scope, list[int]] = {}
        loose: list[int] = []
        for seq, place, tenant, agent, user, session in rows:
            if place is None:
                loose.append(seq)
            else:
                placed.setdefault(scope_of(tenant, agent, user, session), []).append(place)
        connection.execute(delete(messages).where(_S.seq.in_(loose)))
        for scope, places in placed.items():
            conversations.take_out_places(connection, scope, sorted(places))


def _same_message() -> ColumnElement[bool]:
    own = [_S[column] == _M[column] for column in ("message_id", "tenant", "agent", "user", "session")]
    return own[0] & own[1] & own[2] & own[3] & own[4]


def _says(phrase: str | None, content: str) -> bool:
    return phrase is None or phrase.casefold() in content.casefold()


def _count(connection: Connection, table: Table, where: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(where)).scalar_one())


def _pragma(connection: Connection, name: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())

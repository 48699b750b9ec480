"""Copies of stored data: a whole database in another store, and archives of some memories in a compressed file.

Copying a database walks both sides in the order of their keys, a page at a time, and the target gets what differs. So
a copy that was interrupted goes on where it stopped, and a copy is verified by walking once more and finding no
difference. Rows keep their ids, numbers and signatures. The target carries a mark until it is verified, so that nobody
else opens it. After that it may change on its own: it is only compared, and never written again.

An archive is an export of some memories, so that an import reads it. It also has their links to memories that are not
in it: back in the store that it came from, memories get their ids and all of their links again. What is removed from
the store is in the file exactly as it is, and nothing that stays in the store depends on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

from sqlalchemy import ColumnElement, Table, delete, func, insert, or_, select, tuple_, update

from memoranda.errors import Conflict, Incompatible, InvalidInput
from memoranda.files import COMPRESSED, atomic_replace, open_export_to_read, open_export_to_write
from memoranda.records import Record
from memoranda.results.workflows import ExportReport
from memoranda.security.encryption import EncryptionKey, is_encrypted_file
from memoranda.storage.base import CopyStore, ReadTransaction, Row, Store, Transaction, chunked
from memoranda.storage.changes import Remove
from memoranda.storage.claims import ENDED_BY, ends_in
from memoranda.storage.errors import translate_errors
from memoranda.storage.meta import COPY_SOURCE, COPY_UNFINISHED, get_meta, set_meta
from memoranda.storage.row_hash import select_whole, stream_rows
from memoranda.storage.rows import not_expired, scope_conditions, to_json, to_micros
from memoranda.storage.schema import (
    claims,
    counters,
    generations,
    jobs,
    memories,
    messages,
    meta,
    metadata,
    recalled_memories,
    recalls,
    seals,
    short_lived,
)
from memoranda.storage.write import apply_changes
from memoranda.transfer.export import FORMAT, LINKS, LOGS, TABLES, VERSION, to_record
from memoranda.types import ANY, Progress, Scope

_KINDS: Final = ("message", "memory", *LINKS)
_START: Final = b'{"kind":"header"'
_M = memories.c


@dataclass(frozen=True, slots=True)
class Choice:
    """Which memories go into an archive."""

    scope: Scope
    now: datetime
    before: datetime | None = None
    """Only what was recorded before this time."""
    archived: bool = False
    """Only what takes no part in recall any more: archived, or expired."""

    def conditions(self) -> list[ColumnElement[bool]]:
        found = scope_conditions(memories, self.scope)
        if self.before is not None:
            found.append(_M.recorded_at < to_micros(self.before))
        if self.archived:
            found.append(or_(_M.archived_at.is_not(None), ~not_expired(self.now)))
        return found


def archive_memories(
    store: Store,
    choice: Choice,
    target: str | PathLike[str],
    *,
    remove: bool = False,
    progress: Progress | None = None,
    key: EncryptionKey | None = None,
) -> ExportReport:
    """Write memories to a new file, which is complete or does not exist; then remove them from the store if wanted.

    Args:
        store: The store.
        choice: Which memories.
        target: The file; its name ends with `.zst`.
        remove: Whether to remove them. Pinned memories stay, and so does what others depend on.
        progress: Called with (memories done, total).
        key: Encrypts the file.
    """
    path = Path(target)
    if path.suffix != COMPRESSED:
        raise InvalidInput(
            f"an archive is compressed: give it a name that ends with {COMPRESSED}, such as old.jsonl{COMPRESSED}"
        )
    archive = _Archive(store, choice, progress)
    with translate_errors(str(path)):
        if path.exists():  # it may hold the only copy of what was removed before
            raise Conflict(f"{path} exists, and an archive is never replaced: choose another name")
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_replace(path) as temporary, open_export_to_write(temporary, key, path.name) as file:
            for line in store.stream(archive.lines, tenant=choice.scope.tenant):
                archive.write(file, line)
    removed = archive.remove() if remove else 0
    return ExportReport(path, len(archive.ids), archive.count, encrypted=key is not None, removed=removed)


class _Archive:
    """One archive: its memories, and a digest of each line of its file."""

    def __init__(self, store: Store, choice: Choice, progress: Progress | None) -> None:
        self._store = store
        self._choice = choice
        self._progress = progress
        self._written: set[bytes] = set()
        self.ids: list[int] = []
        self.count = 0

    def lines(self, tx: ReadTransaction) -> Iterator[str]:
        """Yield the lines of the file, without line ends. All of them are from one snapshot."""
        query = select(_M.id).where(*self._choice.conditions()).order_by(_M.id)
        self.ids = list(tx.scalars(query))
        counts = dict.fromkeys([*TABLES, *LINKS, *LOGS], 0)
        yield to_json({"kind": "header", "format": FORMAT, "version": VERSION, "store": self._store.id, "part": True})
        for kind in _KINDS:
            for part in chunked(self.ids):
                for line in (to_json(to_record(kind, row)) for row in _rows(tx, kind, part)):
                    if _digest(line) not in self._written:  # a link of two parts
                        counts[kind] += 1
                        yield line
        yield to_json({"kind": "end", **counts})

    def write(self, file: BinaryIO, line: str) -> None:
        file.write(f"{line}\n".encode())
        self._written.add(_digest(line))
        self.count += 1
        if self._progress is not None and self.count % 500 == 0:
            self._progress(min(self.count, len(self.ids)), len(self.ids))

    def remove(self) -> int:
        """Remove what nothing else depends on and what is still as it was written; return how many memories."""
        tenant = self._choice.scope.tenant
        going = self._store.read(lambda tx: _find_removable(tx, self.ids), tenant=tenant)
        removed = 0
        for part in chunked(sorted(going)):
            removed += self._store.write(partial(self._remove, part=part, going=going), tenant=tenant)
        return removed

    def _remove(self, tx: Transaction, part: Sequence[int], going: set[int]) -> int:
        """Remove some of them, unless another writer changed one, or made something depend on it, since."""
        changed = {
            memory_id
            for kind in ("memory", *LINKS)
            for row in _rows(tx, kind, part)
            if _digest(to_json(to_record(kind, row))) not in self._written
            for memory_id in _ids_of(kind, row)
        }
        ids = tuple(sorted({*part} - changed - _find_needed(tx, part, going)))
        apply_changes(tx, [Remove(self._choice.scope, ids)])
        return len(ids)


def _digest(line: str) -> bytes:
    return blake2b(line.encode(), digest_size=16).digest()


def _rows(tx: ReadTransaction, kind: str, ids: Sequence[int]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of one kind that belong to some memories, in the order of their keys."""
    table: Table
    condition: ColumnElement[bool]
    if kind == "message":
        table, condition = messages, messages.c.seq.in_(select(_M.message_seq).where(_M.id.in_(ids)))
    elif kind == "memory":
        table, condition = memories, _M.id.in_(ids)
    else:
        table, columns = LINKS[kind]
        condition = or_(*(table.c[column].in_(ids) for column in columns))
    yield from stream_rows(tx, table, [condition], list(table.primary_key.columns))


def _ids_of(kind: str, row: Mapping[str, Any]) -> list[int]:
    return [row["id"]] if kind == "memory" else [row[column] for column in LINKS[kind][1]]


def _find_removable(tx: ReadTransaction, ids: Sequence[int]) -> set[int]:
    """Return those memories that are not pinned and that nothing which stays depends on."""
    going: set[int] = set()
    for part in chunked(ids):
        going |= set(tx.scalars(select(_M.id).where(_M.id.in_(part), _M.pinned == 0)))
    while True:  # what stays may depend on others in turn
        needed = {each for part in chunked(sorted(going)) for each in _find_needed(tx, part, going)}
        if not needed:
            return going
        going -= needed


def _find_needed(tx: ReadTransaction, ids: Sequence[int], going: set[int]) -> set[int]:
    """Return those memories that ended something which stays: without them it would hold again."""
    by = select(_M.id, _M.superseded_by).where(_M.superseded_by.in_(ids))
    needed = {row[1] for row in tx.execute(by) if row[0] not in going}
    slots = list(tx.scalars(select(claims.c.slot).distinct().where(claims.c.memory_id.in_(ids))))
    for part in chunked(slots):
        ended = select(_M.id, _M.notes).join(claims, claims.c.memory_id == _M.id).where(claims.c.slot.in_(part))
        for memory_id, notes in tx.execute(ended):
            if memory_id not in going and ENDED_BY in notes:
                needed |= {by for by, _ in ends_in(json.loads(notes)).values()} & set(ids)
    return needed


def is_archive(path: Path) -> bool:
    """Return whether a file is an archive or another export; a backup is a database."""
    if is_encrypted_file(path):
        return True
    with translate_errors(str(path)), open_export_to_read(path, None) as from_start:
        return from_start().read(len(_START)) == _START


_PAGE: Final = 500
_PASSES: Final = 5
"""How often the tables are walked while others still write to the source."""
_COPIED_META: Final = ("recalls:", "erasure:")
"""Of the values that a store keeps about itself, those that say something about its rows."""
_NOT_COPIED: Final = (meta, counters, seals, short_lived, jobs)
_TABLES: Final = tuple(table for table in metadata.sorted_tables if table not in _NOT_COPIED)
_DATA: Final = tuple(table for table in _TABLES if table not in (generations, recalls, recalled_memories))
"""The tables that are empty before somebody stores something; opening a database or asking it is not that."""
_Key: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class CopyReport(Record):
    """What a copy did."""

    rows: dict[str, int] = field(default_factory=dict)
    """How many rows each table has, the same on both sides."""
    written: int = 0
    """How many rows were written to the target by this run."""


def copy_store(source: Store, target: Store, progress: Progress | None = None) -> CopyReport:
    """Make the target equal to the source, and compare every row afterwards.

    Args:
        source: The store to copy. Others may read it; while they write, the copy cannot be finished.
        target: An empty store, or one that an interrupted copy of the same source has begun to fill. One that is
            complete is only compared: `Conflict` when it or the source was written to since.
        progress: Called with the rows compared so far and their number.
    """
    if not isinstance(source, CopyStore) or not isinstance(target, CopyStore):
        raise InvalidInput("this kind of store cannot be copied: export it and import that")
    if source.id == target.id:
        raise InvalidInput("source and target are the same store: name two")
    is_complete = target.get_meta(COPY_SOURCE) == source.id and target.get_meta(COPY_UNFINISHED) is None
    if not is_complete:
        target.begin_copy(partial(_mark_target, source_id=source.id))
    total = source.read(_count_rows, tenant=ANY)
    written, misfit = 0, ""
    for _ in range(_PASSES):
        walks = [_Walk(source, target, table, may_write=not is_complete) for table in _TABLES]
        done = 0
        for compared in (compared for walk in walks for compared in walk.run()):
            done += compared
            if progress is not None:
                progress(min(done, total), total)
        changed = sum(walk.written for walk in walks)
        written += changed
        misfit = " ".join(walk.misfit for walk in walks if walk.misfit)
        if is_complete or not (misfit or changed + _copy_counts(source, target)):
            if not is_complete:
                target.finish_copy(source.next_ids())
            return CopyReport({walk.table.name: walk.rows for walk in walks}, written)
    raise Conflict(
        "others write to the source while it is copied: stop them, then run the same copy again"
        + (f" (if nobody does, a row of the source does not fit its tables: {misfit})" if misfit else "")
    )


def _mark_target(tx: Transaction, source_id: str) -> None:
    """Refuse a target that has data of its own, which must never be overwritten; mark any other as unfinished."""
    known = get_meta(tx, COPY_SOURCE)
    if known != source_id:  # else it was begun, and nobody else could write to it
        found = [table.name for table in _DATA if tx.execute(select(table).limit(1)).first()]
        if found or known is not None:
            names = ", ".join(found) or "another copy"
            raise Conflict(f"the target has data that is not a copy of this source ({names}): name an empty database")
    set_meta(tx, COPY_SOURCE, source_id)
    set_meta(tx, COPY_UNFINISHED, "")


def _count_rows(tx: ReadTransaction) -> int:
    return sum(int(tx.execute(select(func.count()).select_from(table)).scalar_one()) for table in _TABLES)


class _Walk:
    """One walk through a table of both stores."""

    def __init__(self, source: Store, target: Store, table: Table, *, may_write: bool) -> None:
        self._source = source
        self._target = target
        self._may_write = may_write
        self.table = table
        # The rows of `vectors` have no primary key: a unique index names them.
        self._key = [table.c.memory_id, table.c.generation] if table.name == "vectors" else list(table.primary_key)
        self._positions = [list(table.c).index(column) for column in self._key]
        self.rows = 0
        self.written = 0
        self.misfit = ""
        """What the target said of rows that it did not take, such as one whose memory came after the walk."""

    def run(self) -> Iterator[int]:
        """Yield how many rows were compared, after each page."""
        after: _Key | None = None
        while True:
            page = self._source.read(partial(self._read, after=after), tenant=ANY)
            last = self._key_of(page[-1]) if len(page) == _PAGE else None
            known = self._target.read(partial(self._read, after=after, upto=last, limit=None), tenant=ANY)
            self._apply({self._key_of(row): row for row in page}, {self._key_of(row): row for row in known})
            self.rows += len(page)
            yield len(page)
            if last is None:
                return
            after = last

    def _read(
        self, tx: ReadTransaction, after: _Key | None, upto: _Key | None = None, limit: int | None = _PAGE
    ) -> list[tuple[Any, ...]]:
        query = select_whole(self.table).order_by(*self._key)
        if after is not None:
            query = query.where(tuple_(*self._key) > tuple_(*after, types=[column.type for column in self._key]))
        if upto is not None:
            query = query.where(tuple_(*self._key) <= tuple_(*upto, types=[column.type for column in self._key]))
        rows = tx.execute(query if limit is None else query.limit(limit))
        return [tuple(bytes(value) if isinstance(value, memoryview) else value for value in row) for row in rows]

    def _key_of(self, row: Row) -> _Key:
        return tuple(row[position] for position in self._positions)

    def _apply(self, wanted: Mapping[_Key, Row], known: Mapping[_Key, Row]) -> None:
        new = [row for key, row in wanted.items() if key not in known]
        different = [row for key, row in wanted.items() if key in known and known[key] != row]
        surplus = [key for key in known if key not in wanted]
        if not (new or different or surplus):
            return
        if not self._may_write:
            raise Conflict(
                f"the copy was complete, and source or target were written to since (the table {self.table.name} "
                "differs): nothing was changed; to copy the source as it is now, name an empty database"
            )
        try:
            self._target.write(lambda tx: self._write(tx, new, different, surplus), tenant=ANY)
        except (Conflict, Incompatible) as error:
            self.misfit = str(error)
        else:
            self.written += len(new) + len(different) + len(surplus)

    def _write(self, tx: Transaction, new: Sequence[Row], different: Sequence[Row], surplus: Sequence[_Key]) -> None:
        names = [column.name for column in self.table.c]
        for key in surplus:
            tx.execute(delete(self.table).where(*self._is(key)))
        for row in different:
            values = dict(zip(names, row, strict=True))
            tx.execute(update(self.table).where(*self._is(self._key_of(row))).values(values))
        if new:
            tx.execute(insert(self.table), [dict(zip(names, row, strict=True)) for row in new])

    def _is(self, key: _Key) -> list[Any]:
        return [column == value for column, value in zip(self._key, key, strict=True)]


def _copy_counts(source: Store, target: Store) -> int:
    """Correct the counts of the target, and copy what `meta` says about rows; return how many values were written."""
    wanted, values = source.read(_read_counts, tenant=ANY), source.read(_read_values, tenant=ANY)

    def write(tx: Transaction) -> int:
        known = _read_counts(tx)
        keys = sorted({*wanted, *known})
        rows = [
            (*key, wanted.get(key, (0, 0))[0] - known.get(key, (0, 0))[0], wanted.get(key, (0, 0))[1])
            for key in keys
            if wanted.get(key, (0, 0))[0] != known.get(key, (0, 0))[0]
        ]
        if rows:
            tx.add_counts(rows)
        missing = [(key, value) for key, value in values if get_meta(tx, key) != value]
        for key, value in missing:
            set_meta(tx, key, value)
        return len(rows) + len(missing)

    return target.write(write, tenant=ANY)


def _read_counts(tx: ReadTransaction) -> dict[tuple[str, str, str], tuple[int, int]]:
    return {(row[0], row[1], row[2]): (int(row[3]), int(row[4])) for row in tx.execute(select(counters))}


def _read_values(tx: ReadTransaction) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in tx.execute(select(meta)) if row[0].startswith(_COPIED_META)]

"""Copy a whole database to another store, such as from a SQLite file to PostgreSQL or back.

Both sides are walked in the order of their keys, a page at a time, and the target gets what differs. So a copy that was
interrupted goes on where it stopped, and a copy is verified by walking once more and finding no difference. Rows keep
their ids, numbers and signatures.

Until then the target carries a mark, so that nobody else opens it. A target whose copy is complete has a life of its
own: it is compared, and never written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias

from sqlalchemy import Table, delete, func, insert, select, tuple_, update

from memoranda.errors import Conflict, Incompatible, InvalidInput
from memoranda.records import Record
from memoranda.storage.base import CopyStore, ReadTransaction, Row, Store, Transaction
from memoranda.storage.meta import COPY_SOURCE, COPY_UNFINISHED, get_meta, set_meta
from memoranda.storage.schema import (
    counters,
    generations,
    jobs,
    meta,
    metadata,
    recalled_memories,
    recalls,
    seals,
    short_lived,
)
from memoranda.types import ANY, Progress

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
            raise Conflict(f"the target has data that is no copy of this source ({names}): name an empty database")
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
        query = select(self.table).order_by(*self._key)
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

"""Archives: memories of a scope in one compressed file, and out of the store if the caller wants that.

An archive is an export of some memories, so that an import reads it. It also has their links to memories that are not
in it: back in the store that it came from, memories get their ids and all of their links again.

What is removed is in the file exactly as it is, and is nothing that the rest of the store depends on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Final

from sqlalchemy import ColumnElement, Table, or_, select

from memoranda.errors import Conflict, InvalidInput
from memoranda.files import COMPRESSED, atomic_replace, open_export_to_read, open_export_to_write
from memoranda.results.transfer import ExportReport
from memoranda.security.encryption import EncryptionKey, is_encrypted_file
from memoranda.storage.base import ReadTransaction, Store, Transaction, chunked
from memoranda.storage.changes import Remove
from memoranda.storage.claims import ENDED_BY, ends_in
from memoranda.storage.errors import translate_errors
from memoranda.storage.rows import not_expired, scope_conditions, to_json, to_micros
from memoranda.storage.schema import claims, memories, messages
from memoranda.storage.write import apply_changes
from memoranda.transfer.export import FORMAT, LINKS, LOGS, TABLES, VERSION, to_record
from memoranda.types import Progress, Scope

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
    query = select(table).where(condition).order_by(*table.primary_key.columns)
    yield from (dict(row) for row in tx.execute(query).mappings())


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

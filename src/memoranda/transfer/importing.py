"""An export, read back: checked to its last line first, then loaded in batches, each one commit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, islice
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from memoranda.errors import Incompatible, InvalidInput, NotFound
from memoranda.results import ExecutionRecord, ImportReport
from memoranda.storage.base import chunked
from memoranda.storage.changes import NewMemory
from memoranda.storage.claim_resolution import resolve_slots
from memoranda.storage.claims import CLAIMS, ENDED_BY, Ends, claims_in, ends_in, name_enders, slots_of
from memoranda.storage.rows import from_micros
from memoranda.storage.sqlite.errors import translate_errors
from memoranda.text import lexical_keys
from memoranda.transfer.export import FORMAT, VERSION
from memoranda.transfer.rows import (
    LINKS,
    LOGS,
    TABLES,
    load_links,
    load_memories,
    load_messages,
    load_sessions,
    supersede,
    to_entry,
    to_link,
    to_row,
)
from memoranda.types import ANY, JSON, MemoryType, Progress, Scope
from memoranda.validation import check_id

if TYPE_CHECKING:
    from memoranda.embedding.vectors import Vectors
    from memoranda.executions.executions import Executions
    from memoranda.storage.base import Store, Transaction

_BATCH = 500
_Record: TypeAlias = dict[str, JSON]


def import_file(
    store: Store,
    vectors: Vectors,
    executions: Executions,
    tenant: str,
    source: str | PathLike[str],
    progress: Progress | None = None,
) -> ImportReport:
    """Loads an export into a tenant. Run again, it goes on where it stopped and adds nothing twice."""
    path = Path(source)
    if not path.is_file():
        raise NotFound(f"no file {path}")
    with translate_errors(str(path)), path.open("rb") as file:
        checked = _check(file, path, tenant)
        file.seek(0)
        loader = _Import(store, vectors, executions, tenant, checked.store)
        return loader.run(_records(file, path), checked.counts["memory"], progress)


class _Import:
    """One import: the numbers of the export on their way to the numbers of this store."""

    def __init__(self, store: Store, vectors: Vectors, executions: Executions, tenant: str, origin: str) -> None:
        self._store = store
        self._vectors = vectors
        self._executions = executions
        self._tenant = tenant
        self._origin = origin
        self._spoken: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self._others: set[int] = set()
        self._superseded: dict[int, int] = {}
        self._ended: dict[int, Ends] = {}
        self._done = ImportReport()

    def run(self, records: Iterable[_Record], total: int, progress: Progress | None) -> ImportReport:
        steps = {
            "message": self._messages,
            "memory": self._memories,
            "session": self._sessions,
            "execution": self._execution_records,
        }
        for kind, batch in _batches(records):
            if kind in steps:
                steps[kind](batch)
            elif kind in LINKS:
                self._links(kind, batch)
            if progress is not None:
                progress(self._done.memories + self._done.known, total)
        self._join()
        return self._done

    def _join(self) -> None:
        """Who ended what, and what took the place of what, once all are here; then what holds, by all that is here."""
        numbers, store = self._numbers, self._store
        mine = {old: numbers[old] for old in {*self._ended, *self._superseded} if old not in self._others}
        named = {
            mine[old]: {place: (numbers[by], at) for place, (by, at) in ends.items() if by in numbers}
            for old, ends in self._ended.items()
            if old in mine
        }
        pairs = {mine[old]: numbers[new] for old, new in self._superseded.items() if old in mine and new in numbers}
        if named or pairs:
            store.write(lambda tx: _name(tx, named, pairs))
        everybody = Scope(self._tenant, user=ANY)
        questions = store.read(lambda tx: slots_of(tx, everybody, list(numbers.values())))
        for part in chunked(sorted(questions)):
            store.write(partial(_revise, part))

    def _messages(self, batch: list[_Record]) -> None:
        rows = [to_row("message", record, self._tenant) for record in batch]
        loaded = self._store.write(lambda tx: load_messages(tx, rows))
        self._spoken |= loaded.numbers
        self._done = replace(self._done, messages=self._done.messages + loaded.fresh)

    def _memories(self, batch: list[_Record]) -> None:
        rows = [to_row("memory", record, self._tenant) for record in batch]
        for row in rows:
            # With this key a second run of the same import recognises what the first one wrote.
            row.setdefault("idempotency_key", f"import:{self._origin}:{row['id']}")
        pairs = list(zip(rows, self._vectors.attach([_draft(row) for row in rows]), strict=True))
        loaded = self._store.write(lambda tx: load_memories(tx, pairs, self._spoken))
        self._numbers |= loaded.numbers
        self._others |= loaded.others
        self._superseded |= {row["id"]: row["superseded_by"] for row in rows if row.get("superseded_by")}
        self._ended |= {
            row["id"]: ends_in(json.loads(row["notes"])) for row in rows if ENDED_BY in row.get("notes", "")
        }
        known = self._done.known + len(rows) - loaded.fresh
        self._done = replace(self._done, memories=self._done.memories + loaded.fresh, known=known)

    def _links(self, kind: str, batch: list[_Record]) -> None:
        first = LINKS[kind][1][0]
        mine = [record for record in batch if kind == "association" or record.get(first) not in self._others]
        rows = [row for record in mine if (row := to_link(kind, record, self._numbers)) is not None]
        fresh = self._store.write(lambda tx: load_links(tx, kind, rows))
        if kind == "association":
            self._done = replace(self._done, associations=self._done.associations + fresh)

    def _sessions(self, batch: list[_Record]) -> None:
        rows = [to_entry("session", record) for record in batch]
        fresh = self._store.write(lambda tx: load_sessions(tx, self._tenant, rows))
        self._done = replace(self._done, sessions=self._done.sessions + fresh)

    def _execution_records(self, batch: list[_Record]) -> None:
        # They are appended to this store's own chain: the digests of another one mean nothing under its key.
        fresh = self._executions.append([self._execution(to_entry("execution", record)) for record in batch])
        self._done = replace(self._done, executions=self._done.executions + len(fresh))

    def _execution(self, row: Mapping[str, Any]) -> ExecutionRecord:
        return ExecutionRecord(
            id=row["id"],
            agent_id=row["agent"],
            workflow_id=row.get("workflow"),
            session_id=row.get("session"),
            status=row.get("status"),
            duration_ms=row.get("duration_ms"),
            recorded_at=from_micros(row["recorded_at"]),
            record=self._executions.redacted(json.loads(row["record"])),
        )


@dataclass(slots=True)
class _Checked:
    """What was seen of an export so far."""

    store: str = ""
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys([*TABLES, *LINKS, *LOGS], 0))
    ids: dict[int, int] = field(default_factory=dict)
    end: _Record | None = None

    @property
    def whole(self) -> bool:
        return self.end is not None and all(self.end.get(kind, 0) == count for kind, count in self.counts.items())

    def take(self, record: _Record, tenant: str) -> None:
        kind = str(record["kind"])
        if self.end is not None:
            raise InvalidInput("there is more after the last line")
        if kind in self.counts:
            self.counts[kind] += 1
        if kind in TABLES:
            row = to_row(kind, record, tenant)
            number = check_id(row["id" if kind == "memory" else "seq"])
            if kind == "memory":
                self.ids[number] = number
                _check_claims(json.loads(row.get("notes", "{}")))
        elif kind in LINKS:
            to_link(kind, record, self.ids)
        elif kind in LOGS:
            to_entry(kind, record)
        elif kind == "end":
            self.end = record


def _name(tx: Transaction, enders: Mapping[int, Ends], pairs: Mapping[int, int]) -> None:
    name_enders(tx, enders)
    supersede(tx, pairs)


def _revise(questions: Sequence[bytes], tx: Transaction) -> None:
    resolve_slots(tx, questions)


def _check_claims(notes: Mapping[str, Any]) -> None:
    """`InvalidInput` unless every claim in the notes of a memory can be compared with others."""
    try:
        moments = [moment for claim in claims_in(notes) for moment in (claim.said_at, claim.valid_from, claim.valid_to)]
        whole = len(claims_in(notes)) == len(notes.get(CLAIMS) or [])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"a claim in its notes cannot be read ({error!r})") from error
    if not whole or any(moment is not None and moment.tzinfo is None for moment in moments):
        raise InvalidInput("a claim in its notes is not whole, or its times name no time zone")


def _check(file: IO[bytes], path: Path, tenant: str) -> _Checked:
    """What the file holds; `Incompatible` unless every line of it can be loaded."""
    records = _records(file, path)
    checked = _Checked(_store_named_in(next(records, {}), path))
    for number, record in enumerate(records, start=2):
        try:
            checked.take(record, tenant)
        except InvalidInput as error:
            raise Incompatible(f"{path}, line {number}: {error}; nothing was imported") from error
    if not checked.whole:
        raise Incompatible(f"{path} is not whole (its last line is missing or counts otherwise): export again")
    return checked


def _store_named_in(header: _Record, path: Path) -> str:
    if header.get("kind") != "header" or header.get("format") != FORMAT:
        raise Incompatible(f"{path} is no export of Memoranda: its first line does not say so")
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise Incompatible(f"{path} is of version {version}, this program reads up to {VERSION}: update Memoranda")
    return str(header.get("store"))


def _records(file: IO[bytes], path: Path) -> Iterator[_Record]:
    for number, line in enumerate(file, start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Incompatible(f"{path}, line {number} is not JSON ({error}); nothing was imported") from error
        if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
            raise Incompatible(f"{path}, line {number} has no kind; nothing was imported")
        yield record


def _batches(records: Iterable[_Record]) -> Iterator[tuple[str, list[_Record]]]:
    for kind, run in groupby(records, key=lambda record: str(record["kind"])):
        while batch := list(islice(run, _BATCH)):
            yield kind, batch


def _draft(row: Mapping[str, Any]) -> NewMemory:
    """What the embedder and the full text need of a row."""
    return NewMemory(
        content=row["content"],
        type=MemoryType(row["type"]),
        scope=Scope(row["tenant"]),
        importance=row["importance"],
        recorded_at=from_micros(row["recorded_at"]),
        valid_from=from_micros(row["valid_from"]),
        content_hash=row["content_hash"],
        terms=lexical_keys(row["content"]),
    )

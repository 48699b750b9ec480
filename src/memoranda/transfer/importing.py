"""Load an export: check every line of the file first, then write it in batches, each one commit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, islice
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias

from memoranda.errors import Incompatible, InvalidInput, NotFound
from memoranda.files import is_file, open_export_to_read
from memoranda.remember.screening.screen import mask_message_fields, mask_secrets, screen
from memoranda.results.workflows import ExecutionRecord, ImportReport
from memoranda.security.encryption import EncryptionKey
from memoranda.security.redaction import redact_metadata, redact_secrets, redact_texts, redact_value
from memoranda.storage.base import chunked
from memoranda.storage.changes import RELEASED, NewMemory
from memoranda.storage.claim_resolution import resolve_slots
from memoranda.storage.claims import CLAIMS, ENDED_BY, Ends, claims_in, ends_in, name_enders, slots_of
from memoranda.storage.errors import translate_errors
from memoranda.storage.read import read_held
from memoranda.storage.rows import from_micros, to_json, to_micros
from memoranda.text.terms import content_hash, lexical_keys
from memoranda.transfer.export import (
    FORMAT,
    LINKS,
    LOGS,
    TABLES,
    VERSION,
    load_links,
    load_memories,
    load_messages,
    load_sessions,
    mark_superseded,
    to_link_row,
    to_log_row,
    to_row,
)
from memoranda.types import ANY, JSON, MemoryType, Progress, Scope
from memoranda.validation import check_id

if TYPE_CHECKING:
    from memoranda.embedding.vectors import Vectors
    from memoranda.executions.executions import Executions
    from memoranda.maintenance.receipts import Receipts
    from memoranda.storage.base import Store, Transaction

_BATCH: Final = 500
_MAX_LINE: Final = 64_000_000
"""Bytes of the longest line: a compressed file of 50 KB can hold one of a gigabyte."""
_FORGOTTEN: Final = "forgotten here since the export was made; include_forgotten loads it all the same"
_Record: TypeAlias = dict[str, JSON]


def import_file(
    store: Store,
    vectors: Vectors,
    executions: Executions,
    tenant: str,
    source: str | PathLike[str],
    receipts: Receipts | None = None,
    progress: Progress | None = None,
    key: EncryptionKey | None = None,
) -> ImportReport:
    """Load an export into a tenant. A repeated import continues where the last one stopped and adds nothing twice.

    Args:
        store: The store to write to.
        vectors: Embeds the memories.
        executions: The execution records to append to.
        tenant: The tenant that gets everything in the file.
        source: The file.
        receipts: Tells what was forgotten here and is left out; None to load everything.
        progress: Called with (memories done, total).
        key: The key of an encrypted file.
    """
    path = Path(source)
    if not is_file(path):
        raise NotFound(f"there is no file {path}")
    with translate_errors(str(path)), open_export_to_read(path, key) as from_start:
        checked = _check_file(from_start(), path, tenant)
        importer = _Importer(store, vectors, executions, tenant, checked, _Forgotten(receipts))
        return importer.run(_read_records(from_start(), path), checked.counts["memory"], progress)


class _Importer:
    """One import. It maps the ids in the export to the ids in this store."""

    def __init__(
        self,
        store: Store,
        vectors: Vectors,
        executions: Executions,
        tenant: str,
        checked: _ExportCheck,
        forgotten: _Forgotten,
    ) -> None:
        self._forgotten = forgotten
        self._store = store
        self._vectors = vectors
        self._executions = executions
        self._tenant = tenant
        self._source_id = checked.store_id
        self._part = checked.part
        self._message_ids: dict[int, int] = {}
        self._memory_ids: dict[int, int] = {}
        self._existing_values: set[int] = set()
        self._superseded: dict[int, int] = {}
        self._ends: dict[int, Ends] = {}
        self._report = ImportReport()

    def run(self, records: Iterable[_Record], total: int, progress: Progress | None) -> ImportReport:
        steps = {
            "message": self._load_messages,
            "memory": self._load_memories,
            "session": self._load_sessions,
            "execution": self._load_executions,
        }
        for kind, batch in _batches(records):
            if kind in steps:
                steps[kind](batch)
            elif kind in LINKS:
                self._load_links(kind, batch)
            if progress is not None:
                progress(self._report.memories + self._report.known, total)
        self._connect_memories()
        skipped = self._forgotten.skipped
        return replace(self._report, skipped=skipped, skipped_reason=_FORGOTTEN) if skipped else self._report

    def _connect_memories(self) -> None:
        """Once all memories are loaded, record which ended or replaced which, and resolve their claims again."""
        store = self._store
        ids = self._with_held(
            {by for ended in self._ends.values() for by, _ in ended.values()}, self._superseded.values()
        )
        loaded = {old: ids[old] for old in {*self._ends, *self._superseded} if old not in self._existing_values}
        ends = {
            loaded[old]: {position: (ids[by], at) for position, (by, at) in ended.items() if by in ids}
            for old, ended in self._ends.items()
            if old in loaded
        }
        superseded = {loaded[old]: ids[new] for old, new in self._superseded.items() if old in loaded and new in ids}

        def connect(tx: Transaction) -> None:
            name_enders(tx, ends)
            mark_superseded(tx, superseded)

        if ends or superseded:
            store.write(connect, tenant=self._tenant)
        tenant = Scope(self._tenant, user=ANY)
        slots = store.read(lambda tx: slots_of(tx, tenant, list(ids.values())), tenant=self._tenant)
        for part in chunked(sorted(slots)):
            store.write(partial(resolve_slots, slots=part), tenant=self._tenant)

    def _load_messages(self, batch: list[_Record]) -> None:
        rows = self._forgotten.leave_out_messages([to_row("message", record, self._tenant) for record in batch])
        rows = [_mask_message(row) for row in rows]
        loaded = self._store.write(lambda tx: load_messages(tx, rows), tenant=self._tenant)
        self._message_ids |= loaded.ids
        self._report = replace(self._report, messages=self._report.messages + loaded.added)

    def _load_memories(self, batch: list[_Record]) -> None:
        rows = self._forgotten.leave_out_memories([to_row("memory", record, self._tenant) for record in batch])
        rows = [_screen_row(row) for row in rows]
        for row in rows:
            # With this key a second run of the same import recognises what the first one wrote.
            row.setdefault("idempotency_key", f"import:{self._source_id}:{row['id']}")
        pairs = list(zip(rows, self._vectors.attach([_to_memory(row) for row in rows]), strict=True))
        free = self._find_free([row["id"] for row in rows])
        # A memory that was edited since an archive was made is still that memory.
        same = ("content_hash", "recorded_at") if self._part else ("content_hash",)
        work = partial(load_memories, rows=pairs, message_ids=self._message_ids, free_ids=free, same=same)
        loaded = self._store.write(work, tenant=self._tenant)
        self._memory_ids |= loaded.ids
        self._existing_values |= loaded.existing_values
        self._superseded |= {row["id"]: row["superseded_by"] for row in rows if row.get("superseded_by")}
        self._ends |= {row["id"]: ends_in(json.loads(row["notes"])) for row in rows if ENDED_BY in row.get("notes", "")}
        known = self._report.known + len(rows) - loaded.added
        self._report = replace(self._report, memories=self._report.memories + loaded.added, known=known)

    def _find_free(self, ids: Sequence[int]) -> set[int] | None:
        """Return the ids of this very store that no memory of any tenant has; None for an export of another store."""
        if self._source_id != self._store.id:
            return None
        return {*ids} - {*self._store.read(lambda tx: read_held(tx, ids), tenant=ANY)}

    def _with_held(self, *named: Iterable[JSON]) -> dict[int, int]:
        """Return the map of ids with those that the export names, does not have, and this store still holds."""
        others = {each for ids in named for each in ids if isinstance(each, int)} - self._memory_ids.keys()
        if not (self._part and others and self._source_id == self._store.id):
            return self._memory_ids
        held = self._store.read(lambda tx: read_held(tx, sorted(others), self._tenant), tenant=self._tenant)
        return self._memory_ids | {each: each for each in held}

    def _load_links(self, kind: str, batch: list[_Record]) -> None:
        # A value that exists here keeps its own history: revisions and lineage of the imported one are skipped.
        owner = LINKS[kind][1][0]
        kept = [record for record in batch if kind == "association" or record.get(owner) not in self._existing_values]
        kept = [record for record in kept if not self._forgotten.ids & {record.get(name) for name in LINKS[kind][1]}]
        ids = self._with_held(*([record[name] for record in kept] for name in LINKS[kind][1]))
        made = [to_link_row(kind, record, ids, part=self._part) for record in kept]
        rows = [row for row in made if row is not None]
        rows = [_redact_row(row) for row in rows] if kind == "revision" else rows
        added = self._store.write(lambda tx: load_links(tx, kind, rows), tenant=self._tenant)
        if kind == "association":
            self._report = replace(self._report, associations=self._report.associations + added)

    def _load_sessions(self, batch: list[_Record]) -> None:
        rows = [to_log_row("session", record) for record in batch]
        for row in rows:
            row["metadata"] = to_json(self._executions.redact(json.loads(row.get("metadata") or "{}")))
        added = self._store.write(lambda tx: load_sessions(tx, self._tenant, rows), tenant=ANY)
        self._report = replace(self._report, sessions=self._report.sessions + added)

    def _load_executions(self, batch: list[_Record]) -> None:
        # They are appended to this store's own chain: digests of another store are not valid under its key.
        added = self._executions.append([self._to_execution(to_log_row("execution", record)) for record in batch])
        self._report = replace(self._report, executions=self._report.executions + len(added))

    def _to_execution(self, row: Mapping[str, Any]) -> ExecutionRecord:
        return ExecutionRecord(
            id=row["id"],
            agent_id=row["agent"],
            workflow_id=row.get("workflow"),
            session_id=row.get("session"),
            status=row.get("status"),
            duration_ms=row.get("duration_ms"),
            recorded_at=from_micros(row["recorded_at"]),
            record=self._executions.redact(json.loads(row["record"])),
        )


class _Forgotten:
    """Leaves out what was forgotten in this store, by the tombstones."""

    def __init__(self, receipts: Receipts | None) -> None:
        self._receipts = receipts if receipts is not None and receipts.has_tombstones() else None
        self.ids: set[JSON] = set()
        """The memories that were left out, by their ids in the export."""
        self.skipped = 0

    def leave_out_messages(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if (receipts := self._receipts) is None:
            return rows
        return self._leave_out(
            receipts, rows, [receipts.message_digest(row["user"], row["message_id"]) for row in rows]
        )

    def leave_out_memories(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if (receipts := self._receipts) is None:
            return rows
        kept = self._leave_out(
            receipts, rows, [receipts.text_digest(row["user"], row["content"] or row["key"]) for row in rows]
        )
        self.ids |= {row["id"] for row in rows} - {row["id"] for row in kept}
        return kept

    def _leave_out(self, receipts: Receipts, rows: list[dict[str, Any]], digests: list[bytes]) -> list[dict[str, Any]]:
        forgotten = receipts.find_forgotten(digests)
        kept = [row for row, digest in zip(rows, digests, strict=True) if digest not in forgotten]
        self.skipped += len(rows) - len(kept)
        return kept


@dataclass(slots=True)
class _ExportCheck:
    """What was read of an export so far."""

    store_id: str
    part: bool = False
    """Whether it leaves out memories that its links name."""
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys([*TABLES, *LINKS, *LOGS], 0))
    ids: dict[int, int] = field(default_factory=dict)
    end: _Record | None = None

    @property
    def is_complete(self) -> bool:
        return self.end is not None and all(self.end.get(kind, 0) == count for kind, count in self.counts.items())

    def check(self, record: _Record, tenant: str) -> None:
        kind = str(record["kind"])
        if self.end is not None:
            raise InvalidInput("there is a line after the end of the export")
        if kind in self.counts:
            self.counts[kind] += 1
        if kind in TABLES:
            row = to_row(kind, record, tenant)
            number = check_id(row["id" if kind == "memory" else "seq"])
            if kind == "memory":
                self.ids[number] = number
                _check_claims(json.loads(row.get("notes", "{}")))
        elif kind in LINKS:
            to_link_row(kind, record, self.ids, part=self.part)
        elif kind in LOGS:
            to_log_row(kind, record)
        elif kind == "end":
            self.end = record


def _check_claims(notes: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` unless every claim in the notes of a memory can be compared with others."""
    try:
        claims = claims_in(notes)
        times = [time for claim in claims for time in (claim.said_at, claim.valid_from, claim.valid_to)]
        complete = len(claims) == len(notes.get(CLAIMS) or [])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"a claim in its notes cannot be read ({error!r})") from error
    if not complete or any(time is not None and time.tzinfo is None for time in times):
        raise InvalidInput("a claim in its notes is incomplete, or has a time without a time zone")


def _check_file(file: IO[bytes], path: Path, tenant: str) -> _ExportCheck:
    """Return what the file holds; raise `Incompatible` unless every line can be loaded."""
    records = _read_records(file, path)
    header = next(records, {})
    checked = _ExportCheck(_check_header(header, path), header.get("part") is True)
    for number, record in enumerate(records, start=2):
        try:
            checked.check(record, tenant)
        except InvalidInput as error:
            raise Incompatible(f"{path}, line {number}: {error}; nothing was imported") from error
    if not checked.is_complete:
        raise Incompatible(f"{path} is incomplete (its last line is missing or has other counts): export again")
    return checked


def _check_header(header: _Record, path: Path) -> str:
    """Check the first line of an export and return the id of the store that it came from."""
    if header.get("kind") != "header" or header.get("format") != FORMAT:
        raise Incompatible(f"{path} is not an export of Memoranda: it has no header line")
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise Incompatible(f"{path} has version {version}, this program reads up to {VERSION}: upgrade Memoranda")
    return str(header.get("store"))


def _read_records(file: IO[bytes], path: Path) -> Iterator[_Record]:
    for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE + 1), b""), start=1):
        if len(line) > _MAX_LINE:
            raise Incompatible(f"{path}, line {number} is longer than any in an export; nothing was imported")
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Incompatible(f"{path}, line {number} is not JSON ({error}); nothing was imported") from error
        if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
            raise Incompatible(f"{path}, line {number} has no kind; nothing was imported")
        yield record


def _batches(records: Iterable[_Record]) -> Iterator[tuple[str, list[_Record]]]:
    for kind, group in groupby(records, key=lambda record: str(record["kind"])):
        while batch := list(islice(group, _BATCH)):
            yield kind, batch


def _mask_message(row: dict[str, Any]) -> dict[str, Any]:
    """Return a message as `remember` stores it: with its secrets masked."""
    content = row.get("content")
    masked = mask_secrets(content) if isinstance(content, str) else content
    return row | {"content": masked, "payload": to_json(mask_message_fields(json.loads(row["payload"])))}


def _redact_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a memory, or an earlier version of one, without secrets: in its text, metadata, notes and value."""
    redacted = row | {"content": redact_secrets(row["content"])}
    if row.get("metadata"):
        redacted["metadata"] = to_json(redact_metadata(json.loads(row["metadata"])))
    if row.get("notes"):
        redacted["notes"] = to_json(redact_texts(json.loads(row["notes"])))
    if row.get("value"):
        redacted["value"] = to_json(redact_value(str(row.get("key") or ""), json.loads(row["value"])))
    return redacted


def _screen_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as if its text were new: without secrets, and in quarantine when it looks like poison.

    What a person released in the store it comes from stays released.
    """
    row = _redact_row(row)
    row["content_hash"] = content_hash(row["content"])
    notes: dict[str, JSON] = json.loads(row.get("notes") or "{}")
    if RELEASED in notes:
        return row
    new = _to_memory(row)
    new.trust, new.source, new.notes = row.get("trust") or "user", row.get("source"), notes
    new.quarantined_at = from_micros(row["quarantined_at"]) if row.get("quarantined_at") else None
    screen([new])
    if new.quarantined_at is None:
        return row
    return row | {"notes": to_json(new.notes), "quarantined_at": to_micros(new.quarantined_at)}


def _to_memory(row: Mapping[str, Any]) -> NewMemory:
    """Return what the embedder and the search terms need of a row."""
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

"""Saved values and execution records as plain files, and back: `long_term_memory.json`, `execution_records/`."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from memoranda.errors import InvalidInput, NotFound, Unavailable
from memoranda.executions.executions import duration, file_name, line, text_or_none
from memoranda.files import atomic_replace
from memoranda.remember.new_memory import check_options, from_text
from memoranda.results import ExecutionRecord, FileReport
from memoranda.sessions.values import value_to_text
from memoranda.storage.changes import NewMemory
from memoranda.storage.read import walk
from memoranda.storage.write import MemoryWrite
from memoranda.text import clean_text
from memoranda.types import ANY, JSON, Filter, Memory, MemoryType, Scope
from memoranda.validation import check_datetime, check_name, copy_json, copy_json_object, make_scope

if TYPE_CHECKING:
    from memoranda.embedding.vectors import Vectors
    from memoranda.executions.executions import Executions, Mirror
    from memoranda.storage.base import Store

VALUES_FILE = "long_term_memory.json"
RECORDS_FOLDER = "execution_records"
_VERSION = 1
_Place: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Defaults:
    """What an import fills in where a file does not say."""

    tenant: str
    now: datetime
    short_term_ttl: timedelta


def export_files(store: Store, executions: Executions, tenant: str, folder: _Place) -> FileReport:
    """Every saved long-term value and every execution record of a tenant, as files."""
    place = Path(folder)
    entries = [_entry(memory) for memory in _saved(store, tenant)]
    lines: dict[str, list[str]] = {}
    for page in executions.pages():
        for record in page:
            lines.setdefault(file_name(record.agent_id), []).append(line(record))
    try:
        (place / RECORDS_FOLDER).mkdir(parents=True, exist_ok=True)
        values = json.dumps({"version": _VERSION, "entries": entries}, ensure_ascii=False, indent=1)
        files = {place / RECORDS_FOLDER / name: "".join(texts) for name, texts in lines.items()}
        for path, text in {place / VALUES_FILE: values, **files}.items():
            with atomic_replace(path) as draft:
                draft.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"{place} cannot be written ({error}): choose another folder") from error
    return FileReport(place, len(entries), sum(map(len, lines.values())))


def import_files(
    store: Store,
    vectors: Vectors,
    executions: Executions,
    mirror: Mirror | None,
    defaults: Defaults,
    folder: _Place,
) -> FileReport:
    """Takes such a folder in. All of it is read and checked before anything is written."""
    place = Path(folder)
    if not place.is_dir():
        raise NotFound(f"there is no folder {place}")
    drafts = [_draft(defaults, entry) for entry in _entries(place / VALUES_FILE)]
    records = sorted(_records(executions, defaults.now, place / RECORDS_FOLDER), key=lambda record: record.recorded_at)
    store.write(MemoryWrite(vectors.attach(drafts)))
    own_mirror = mirror is not None and mirror.folder.resolve() == (place / RECORDS_FOLDER).resolve()
    written = executions.append(records, mirrored=not own_mirror)
    return FileReport(place, len(drafts), len(written), len(records) - len(written))


def _saved(store: Store, tenant: str) -> Iterator[Memory]:
    everything = walk(store, Scope(tenant, user=ANY), Filter(types=(MemoryType.LONG_TERM,)))
    return (memory for memory in everything if memory.key is not None)


def _entry(memory: Memory) -> dict[str, JSON]:
    return {
        "agent_id": memory.agent,
        "key": memory.key,
        "value": memory.value,
        "workflow_id": memory.session,
        "user": memory.user,
        "source": memory.source,
        "importance": memory.importance,
        "metadata": memory.metadata,
        "recorded_at": memory.recorded_at.isoformat(),
        "valid_from": memory.valid_from.isoformat(),
    }


def _entries(path: Path) -> list[Mapping[str, Any]]:
    """The values in the file: in our form, or as agents with their keys and values."""
    if not path.exists():
        return []
    content = _parsed(_read(path), str(path))
    if "entries" in content and "version" in content:
        if content["version"] != _VERSION:
            raise InvalidInput(
                f"{path} has version {content['version']!r}, this Memoranda knows {_VERSION}: upgrade it"
            )
        return [_object(entry, f"{path}: an entry") for entry in content["entries"]]
    return [
        {"agent_id": agent, "key": key, "value": value}
        for agent, values in content.items()
        for key, value in _object(values, f"{path}: the values of {agent!r}").items()
    ]


def _draft(defaults: Defaults, entry: Mapping[str, Any]) -> NewMemory:
    key, value = clean_text(entry.get("key"), "key"), copy_json(entry.get("value"))
    scope = make_scope(defaults.tenant, entry.get("agent_id"), entry.get("user"), entry.get("workflow_id"))
    options = check_options(
        scope,
        _moment(entry.get("recorded_at"), defaults.now),
        defaults.short_term_ttl,
        type=MemoryType.LONG_TERM,
        source=entry.get("source") or "save",
        importance=entry.get("importance"),
        metadata=entry.get("metadata"),
        at=entry.get("valid_from"),
    )
    return from_text(value_to_text(key, value), options, key=key, value=value)


def _records(executions: Executions, now: datetime, folder: Path) -> Iterator[ExecutionRecord]:
    if not folder.is_dir():
        return
    for path in sorted(folder.glob("*.jsonl")):
        for number, text in enumerate(_read(path).splitlines(), 1):
            if text.strip():
                yield _record(executions, now, _parsed(text, f"{path}, line {number}"), path)


def _record(executions: Executions, now: datetime, fields: dict[str, Any], path: Path) -> ExecutionRecord:
    # A line of another program has no "record" of its own: the whole line is the record.
    ours = isinstance(fields.get("record"), dict)
    record = executions.redacted(copy_json_object(fields["record"] if ours else fields, "record"))
    said = fields.get("recorded_at") or fields.get("timestamp")
    return ExecutionRecord(
        id=text_or_none(fields.get("id") or fields.get("record_id")) or uuid.uuid4().hex,
        agent_id=check_name(fields.get("agent_id"), "agent_id") or path.stem,
        workflow_id=check_name(fields.get("workflow_id"), "workflow_id"),
        session_id=check_name(fields.get("session_id"), "session_id"),
        status=text_or_none(fields.get("status")),
        duration_ms=duration(fields.get("duration_ms")),
        recorded_at=_moment(said, now),
        record=record,
    )


def _moment(value: object, otherwise: datetime) -> datetime:
    return otherwise if value is None else check_datetime(value, "recorded_at")


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read ({error}): nothing was imported") from error


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        return _object(json.loads(text), where)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{where} is no JSON ({error}): nothing was imported") from error


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{where} is no JSON object but a {type(value).__name__}: nothing was imported")
    return value

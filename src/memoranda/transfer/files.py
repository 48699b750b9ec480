"""Saved values and execution records as files: `long_term_memory.json` and `execution_records/<agent>.jsonl`."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memoranda.display import shown
from memoranda.errors import InvalidInput, MemorandaError, NotFound, Unavailable
from memoranda.executions.executions import check_duration, file_name, text_or_none, to_json_line
from memoranda.files import atomic_replace, read_text_file, translate_file_errors
from memoranda.remember.new_memory import check_options, from_text, value_to_text
from memoranda.results.workflows import ExecutionRecord, FileReport
from memoranda.storage.base import encryption_key
from memoranda.storage.changes import NewMemory
from memoranda.storage.read import walk
from memoranda.storage.write import MemoryWrite
from memoranda.text.checks import clean_text
from memoranda.types import ANY, JSON, Filter, Memory, MemoryType, Scope
from memoranda.validation import check_datetime, check_name, copy_json, copy_json_object, make_scope

if TYPE_CHECKING:
    from memoranda.embedding.vectors import Vectors
    from memoranda.executions.executions import Executions
    from memoranda.storage.base import Store


_VALUES_FILE: Final = "long_term_memory.json"
_RECORDS_FOLDER: Final = "execution_records"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class ImportDefaults:
    """What an import uses where a file does not say."""

    tenant: str
    now: datetime
    short_term_ttl: timedelta


def export_files(
    store: Store, executions: Executions, tenant: str, folder: str | PathLike[str], *, plain: bool = False
) -> FileReport:
    """Write every saved long-term value and every execution record of a tenant to a folder.

    Args:
        store: The store with the values.
        executions: The execution records.
        tenant: The tenant of both.
        folder: The folder; missing folders are created.
        plain: Whether the values of an encrypted database may be written unencrypted.
    """
    if encryption_key(store) is not None and not plain:
        raise InvalidInput(
            "these files are not encrypted, and the database is: use export_jsonl, or say plain=True (--plain)"
        )
    target = Path(folder)
    entries = [_to_entry(memory) for memory in _saved_values(store, tenant)]
    lines: dict[str, list[str]] = {}
    for page in executions.pages():
        for record in page:
            lines.setdefault(file_name(record.agent_id), []).append(to_json_line(record))
    try:
        (target / _RECORDS_FOLDER).mkdir(parents=True, exist_ok=True)
        values = json.dumps({"version": _VERSION, "entries": entries}, ensure_ascii=False, indent=1)
        files = {target / _RECORDS_FOLDER / name: "".join(texts) for name, texts in lines.items()}
        for path, text in {target / _VALUES_FILE: values, **files}.items():
            with atomic_replace(path) as temporary:
                temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"{target} cannot be written ({error}): choose another folder") from error
    return FileReport(target, len(entries), sum(map(len, lines.values())))


def import_files(
    store: Store, vectors: Vectors, executions: Executions, defaults: ImportDefaults, folder: str | PathLike[str]
) -> FileReport:
    """Load a folder that `export_files` wrote. Everything is read and checked before anything is written.

    Args:
        store: The store for the values.
        vectors: Embeds the values.
        executions: The execution records to append to.
        defaults: What to use where a file does not say.
        folder: The folder.
    """
    source = Path(folder)
    with translate_file_errors(source):
        is_folder = source.is_dir()
    if not is_folder:
        raise NotFound(f"there is no folder {source}")
    records_folder = source / _RECORDS_FOLDER
    values = [_to_memory(defaults, entry) for entry in _read_entries(source / _VALUES_FILE)]
    records = sorted(_read_records(executions, defaults.now, records_folder), key=lambda record: record.recorded_at)
    store.write(MemoryWrite(vectors.attach(values)))
    # Records that come from the mirror's own files must not be appended to them again.
    mirror = executions.mirror
    from_mirror = mirror is not None and mirror.folder.resolve() == records_folder.resolve()
    written = executions.append(records, mirror=not from_mirror)
    return FileReport(source, len(values), len(written), len(records) - len(written))


def _saved_values(store: Store, tenant: str) -> Iterator[Memory]:
    long_term = walk(store, Scope(tenant, user=ANY), Filter(types=(MemoryType.LONG_TERM,)))
    return (memory for memory in long_term if memory.key is not None)


def _to_entry(memory: Memory) -> dict[str, JSON]:
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


def _read_entries(path: Path) -> list[Mapping[str, Any]]:
    """Return the entries of a values file: in the exported form, or as `{agent: {key: value}}`."""
    if not path.exists():
        return []
    content = _parse_object(_read_text(path), str(path))
    if "entries" in content and "version" in content:
        if content["version"] != _VERSION:
            raise InvalidInput(
                f"{path} has version {shown(content['version'])}, this Memoranda reads {_VERSION}: upgrade it"
            )
        entries = content["entries"]
        if not isinstance(entries, list):
            raise InvalidInput(f"{path}: entries must be a list, not a {type(entries).__name__}: nothing was imported")
        return [_check_object(entry, f"{path}: an entry") for entry in entries]
    return [
        {"agent_id": agent, "key": key, "value": value}
        for agent, values in content.items()
        for key, value in _check_object(values, f"{path}: the values of {agent!r}").items()
    ]


def _to_memory(defaults: ImportDefaults, entry: Mapping[str, Any]) -> NewMemory:
    key, value = clean_text(entry.get("key"), "key"), copy_json(entry.get("value"))
    scope = make_scope(defaults.tenant, entry.get("agent_id"), entry.get("user"), entry.get("workflow_id"))
    options = check_options(
        scope,
        _time_or(defaults.now, entry.get("recorded_at")),
        defaults.short_term_ttl,
        type=MemoryType.LONG_TERM,
        source=entry.get("source") or "save",
        importance=entry.get("importance"),
        metadata=entry.get("metadata"),
        at=entry.get("valid_from"),
    )
    return from_text(value_to_text(key, value), options, key=key, value=value)


def _read_records(executions: Executions, now: datetime, folder: Path) -> Iterator[ExecutionRecord]:
    if not folder.is_dir():
        return
    for path in sorted(folder.glob("*.jsonl")):
        for number, text in enumerate(_read_text(path).splitlines(), 1):
            if text.strip():
                yield _to_record(executions, now, _parse_object(text, f"{path}, line {number}"), path)


def _to_record(executions: Executions, now: datetime, fields: dict[str, Any], path: Path) -> ExecutionRecord:
    # A line that another program wrote has no field "record": the whole line is the record.
    exported = isinstance(fields.get("record"), dict)
    record = executions.redact(copy_json_object(fields["record"] if exported else fields, "record"))
    return ExecutionRecord(
        id=text_or_none(fields.get("id") or fields.get("record_id")) or uuid.uuid4().hex,
        agent_id=check_name(fields.get("agent_id"), "agent_id") or path.stem,
        workflow_id=check_name(fields.get("workflow_id"), "workflow_id"),
        session_id=check_name(fields.get("session_id"), "session_id"),
        status=text_or_none(fields.get("status")),
        duration_ms=check_duration(fields.get("duration_ms")),
        recorded_at=_time_or(now, fields.get("recorded_at") or fields.get("timestamp")),
        record=record,
    )


def _time_or(default: datetime, value: object) -> datetime:
    return default if value is None else check_datetime(value, "recorded_at")


def _read_text(path: Path) -> str:
    try:
        return read_text_file(path)
    except MemorandaError as error:
        raise InvalidInput(f"{path} cannot be read ({error}): nothing was imported") from error


def _parse_object(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{where} is not JSON ({error}): nothing was imported") from error
    return _check_object(value, where)


def _check_object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{where} must be a JSON object, not a {type(value).__name__}: nothing was imported")
    return value

"""Backups, and exports as JSON Lines.

A record of an export is a JSON object with ISO 8601 times and nested JSON. It leaves out what is not set.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias

from sqlalchemy import REAL, TEXT, Column, Integer, Table, bindparam, func, insert, select, update
from sqlalchemy.schema import DefaultClause

from memoranda.display import shown
from memoranda.errors import InvalidInput, InvalidType
from memoranda.files import atomic_replace, open_export_to_write, shred
from memoranda.items.base import KEY_PREFIX
from memoranda.messages.message import Message
from memoranda.results.workflows import Backup, Conversion, ExportReport
from memoranda.security.encryption import EncryptionKey
from memoranda.security.id_cipher import show_id
from memoranda.settings import MemoryConfig, database_url, encryption_key, index_path
from memoranda.storage import add, change_encryption, restore_backup
from memoranda.storage.base import BackupStore, ReadTransaction, Store, Transaction, chunked
from memoranda.storage.changes import NewMemory
from memoranda.storage.claims import ENDED_BY, index_claims, map_enders, without_enders
from memoranda.storage.errors import translate_errors
from memoranda.storage.lifecycle import drop_claims, show_reason
from memoranda.storage.row_hash import stream_rows, with_hash, with_revision_hashes
from memoranda.storage.rows import check_row, from_micros, in_owners, scope_conditions, scope_of, to_json, to_micros
from memoranda.storage.schema import associations, executions, lineage, memories, messages, revisions, sessions
from memoranda.text.checks import check_characters, clean_text, storable_text
from memoranda.text.terms import content_hash
from memoranda.types import ANY, JSON, Progress, Scope
from memoranda.validation import check_fraction, check_id, check_integer, check_type, copy_json, copy_json_object

_TIMES: Final = frozenset(
    (
        *("recorded_at", "valid_from", "valid_to", "expires_at", "archived_at", "quarantined_at", "superseded_at"),
        *("accessed_at", "said_at", "changed_at", "opened_at", "ended_at"),
    )
)
_JSON: Final = frozenset(["metadata", "value", "payload", "notes", "record", "agents"])
_DERIVED: Final = frozenset(["tenant", "content_hash", "row_hash", "digest", "terms"])
_REQUIRED: Final = {
    "memory": ("id", "content", "type", "importance", "recorded_at", "valid_from"),
    "message": ("seq", "message_id", "role", "payload", "said_at", "recorded_at"),
    "session": ("id", "workflow", "opened_at", "ended_at"),
    "execution": ("id", "agent", "record", "recorded_at"),
}
TABLES: Final[dict[str, Table]] = {"message": messages, "memory": memories}
LINKS: Final[dict[str, tuple[Table, tuple[str, ...]]]] = {
    "association": (associations, ("memory_id", "related_memory_id")),
    "lineage": (lineage, ("derived_id", "source_id")),
    "revision": (revisions, ("memory_id",)),
}
"""Tables that refer to memories, and their columns with memory ids."""
LOGS: Final[dict[str, Table]] = {"session": sessions, "execution": executions}
"""Tables of what happened; their rows belong to no user."""
_MAY_BE_DELETED: Final = "source_id"
_IDS: Final = {
    "memory": {"id": "memory", "superseded_by": "memory", "message_seq": "message"},
    "message": {"seq": "message"},
    **{kind: dict.fromkeys(columns, "memory") for kind, (_, columns) in LINKS.items()},
}
"""Columns with the number of a row of the whole store, and what it numbers. They show as the caller sees them."""
_RENAMED: Final = {"kind": "how"}
"""Columns with another name in a record: its `kind` names the table."""


def to_record(kind: str, row: Mapping[str, Any]) -> dict[str, JSON]:
    """Return a row as a record."""
    record: dict[str, JSON] = {"kind": kind}
    for name, value in row.items():
        if value is None or (value == "" and name != "content") or name in _DERIVED:
            continue
        record[_RENAMED.get(name, name)] = _encode(name, value)
    return _show_ids(kind, record)


def _show_ids(kind: str, record: dict[str, JSON]) -> dict[str, JSON]:
    for name, numbered in _IDS.get(kind, {}).items():
        if isinstance(number := record.get(name), int):
            record[name] = show_id(number, numbered)
    if isinstance(notes := record.get("notes"), dict):
        record["notes"] = map_enders(notes, show_id)
    if isinstance(reason := record.get("archive_reason"), str):
        record["archive_reason"] = show_reason(reason)
    return record


def to_row(kind: str, record: Mapping[str, JSON], tenant: str) -> dict[str, Any]:
    """Return a message or memory as a row of this tenant; raise `InvalidInput` when the record is wrong."""
    row = dict.fromkeys(("agent", "user", "session"), "") | _decode_row(kind, TABLES[kind], record)
    if kind == "message" and not Message.is_valid_role(row["role"]):
        raise InvalidInput(f"unknown role {shown(row['role'])}")
    return row | {"tenant": tenant} | (_memory_columns(row) if kind == "memory" else {})


def to_log_row(kind: str, record: Mapping[str, JSON]) -> dict[str, Any]:
    """Return a session or execution as a row. The store gives an execution its number."""
    row = _decode_row(kind, LOGS[kind], record)
    return {
        name: clean_text(value, name) if name in ("id", "agent", "workflow") else value for name, value in row.items()
    }


def _decode_row(kind: str, table: Table, record: Mapping[str, JSON]) -> dict[str, Any]:
    missing = [name for name in _REQUIRED[kind] if name not in record]
    if missing:
        raise InvalidInput(f"the {kind} has no {', '.join(missing)}")
    known = [name for name in record if name in table.columns and name not in _DERIVED]
    return {name: _decode(table.columns[name], record[name]) for name in known}


def to_link_row(
    kind: str, record: Mapping[str, JSON], ids: Mapping[int, int], *, part: bool = False
) -> dict[str, Any] | None:
    """Return a link as a row with the ids of this store; None when it refers to a memory that is not here.

    Args:
        kind: One of `LINKS`.
        record: The link.
        ids: The ids in the export → the ids in this store.
        part: Whether the export leaves out memories that its links name.
    """
    table, id_columns = LINKS[kind]
    fields = {column: _RENAMED.get(column.name, column.name) for column in table.columns}
    missing = [column.name for column, name in fields.items() if not column.nullable and name not in record]
    if missing:
        raise InvalidInput(f"the {kind} has no {', '.join(missing)}")
    row = {column.name: _decode(column, record[name]) for column, name in fields.items() if name in record}
    for column in id_columns:
        memory_id = check_id(row[column], column)
        if memory_id not in ids:
            if part or column == _MAY_BE_DELETED:
                return None
            raise InvalidInput(f"the {kind} names memory {memory_id}, which is not in the file")
        row[column] = ids[memory_id]
    fractions = ("strength", "importance")
    return {name: check_fraction(value, name) if name in fractions else value for name, value in row.items()}


def _memory_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    unsearched = row["content"] == "" and str(row.get("key")).startswith(KEY_PREFIX)
    content = "" if unsearched else storable_text(row["content"])
    return {
        "content": content,
        "content_hash": content_hash(content),
        "type": check_type(row["type"]).value,
        "importance": check_fraction(row["importance"], "importance"),
        "metadata": row.get("metadata", "{}"),
        "value": row.get("value", "null") if row.get("key") is not None else None,
    }


def _encode(name: str, value: Any) -> JSON:
    if name in _TIMES:
        return from_micros(value).isoformat()
    if name in _JSON:
        value = json.loads(value)
    encoded: JSON = value
    return encoded


def _decode(column: Column[Any], value: JSON) -> Any:
    name = column.name
    if value is None and column.nullable:
        return None
    if name in _TIMES:
        return to_micros(_parse_time(name, value))
    if name in _JSON:
        return to_json(copy_json(value) if name == "value" else copy_json_object(value, name))
    if isinstance(column.type, Integer):
        return check_integer(value, name, minimum=0)
    if isinstance(column.type, TEXT) and isinstance(value, str):
        return check_characters(value, name)
    if isinstance(column.type, REAL) and isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise InvalidInput(f"{name} cannot be {type(value).__name__}")


def _parse_time(name: str, value: JSON) -> datetime:
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise InvalidInput(f"{name} is {shown(value)}, not a time such as 2026-05-01T12:00:00+00:00") from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


_SCOPE = tuple(column.name for column in fields(Scope))
_ImportKey: TypeAlias = tuple[str, str, str]
_M = memories.c
_T = messages.c

# Built once, and each so that SQLite finds it by one of its partial indexes.
_IMPORTED_MEMORIES = select(_M.id, _M.agent, _M.user, _M.idempotency_key, _M.tenant)
_OWN = select(_M.id, *(_M[name] for name in _SCOPE), _M.content_hash, _M.recorded_at)
_VALUE = select(_M.id).where(_M.key == bindparam("in_key"), *(_M[name] == bindparam(f"in_{name}") for name in _SCOPE))
_MESSAGES_IN_SCOPE = [_T[name] == bindparam(f"in_{name}") for name in _SCOPE]
_SAME_MESSAGE = [_T.message_id == bindparam("in_message_id"), *_MESSAGES_IN_SCOPE]
_LOGGED_MESSAGE = select(_T.seq).where(*_SAME_MESSAGE, _T.position.is_(None))
_CONVERSATION_MESSAGE = select(_T.seq).where(*_SAME_MESSAGE, _T.position.is_not(None))
_LAST_POSITION = select(func.max(_T.position)).where(*_MESSAGES_IN_SCOPE, _T.position.is_not(None))
_INSERT_MESSAGE = insert(messages)
_SESSION_TENANT = select(sessions.c.tenant).where(sessions.c.id == bindparam("in_id"))


@dataclass(slots=True)
class LoadedBatch:
    """The result of loading one batch."""

    ids: dict[int, int] = field(default_factory=dict)
    """The ids in the export → the ids in this store."""
    added: int = 0
    existing_values: set[int] = field(default_factory=set)
    """Ids in the export of values whose key exists here. The value here is another one and stays unchanged."""


def load_messages(tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> LoadedBatch:
    batch = LoadedBatch()
    for row in rows:
        same = _LOGGED_MESSAGE if row.get("position") is None else _CONVERSATION_MESSAGE
        known: int | None = tx.execute(same, _bind_scope(row, "message_id")).scalar()
        if known is None:
            known = _insert_message(tx, row)
            batch.added += 1
        batch.ids[row["seq"]] = known
    return batch


def load_memories(
    tx: Transaction,
    rows: Sequence[tuple[Mapping[str, Any], NewMemory]],
    message_ids: Mapping[int, int],
    *,
    free_ids: Collection[int] | None = None,
    same: Sequence[str] = ("content_hash",),
) -> LoadedBatch:
    """Insert memories with their search terms and vectors; those that were imported before are skipped.

    When the export is of this very store, what it still holds is skipped, and others get back their ids (`free_ids`).
    """
    batch, new = LoadedBatch(), list[tuple[int, Mapping[str, Any], NewMemory]]()
    known, ids = _find_imported(tx, [row for row, _ in rows]), tx.new_ids(memories, len(rows))
    if free_ids is not None:
        known |= _find_own(tx, [row for row, _ in rows], same)
    for row, memory in rows:
        memory_id = known.get(_import_key(row))
        if memory_id is None and (memory_id := _find_value(tx, row)) is not None:
            batch.existing_values.add(row["id"])
        if memory_id is None:
            keeps = row["id"] in (free_ids or ()) and row["id"] < ids[0]
            memory_id = known[_import_key(row)] = row["id"] if keeps else ids[len(new)]
            new.append((memory_id, row, memory))
        batch.ids[row["id"]] = memory_id
    _insert_memories(tx, new, message_ids)
    batch.added = len(new)
    return batch


def load_links(tx: Transaction, kind: str, rows: Sequence[Mapping[str, Any]]) -> int:
    """Insert links and return how many were new; known ones stay unchanged."""
    table, _ = LINKS[kind]
    if kind == "lineage":
        drop_claims(tx, [row["source_id"] for row in rows if row["kind"] == "merged"])
    key = [column.name for column in table.primary_key]
    rows = with_revision_hashes(tx, rows) if table is revisions else rows
    return sum(tx.upsert(table, [_all_columns(table, row)], key=key) for row in rows)


def load_sessions(tx: Transaction, tenant: str, rows: Sequence[Mapping[str, Any]]) -> int:
    """Insert ended sessions and return how many were new."""
    added = 0
    for row in rows:
        owner = tx.execute(_SESSION_TENANT, {"in_id": row["id"]}).scalar()
        # An id that another tenant of this store has is replaced by a hash of both, the same one each time.
        session_id = row["id"] if owner in (None, tenant) else content_hash(f"{tenant}:{row['id']}").hex()[:32]
        added += tx.upsert(sessions, [_all_columns(sessions, row) | {"id": session_id, "tenant": tenant}], key=("id",))
    return added


def mark_superseded(tx: Transaction, replacements: Mapping[int, int]) -> None:
    """Record which memory replaced which, unless the old one holds again by now."""
    for old, new in replacements.items():
        ended = (_M.id == old, _M.valid_to.is_not(None))
        tx.execute(update(memories).where(*ended).values(superseded_by=new))


def _import_key(row: Mapping[str, Any]) -> _ImportKey:
    return row["agent"], row["user"], row["idempotency_key"]


def _find_own(tx: Transaction, rows: Sequence[Mapping[str, Any]], same: Sequence[str]) -> dict[_ImportKey, int]:
    """Return the rows that this store still holds under their own ids, for the same owner and with one column equal."""
    keys = {(*(row[name] for name in ("id", *_SCOPE)), row[each]): _import_key(row) for row in rows for each in same}
    held = [row for part in chunked([row["id"] for row in rows]) for row in tx.execute(_OWN.where(_M.id.in_(part)))]
    found = [(*row[:-2], value) for row in held for value in (bytes(row[-2]), row[-1])]
    return {keys[key]: key[0] for key in found if key in keys}


def _find_imported(tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> dict[_ImportKey, int]:
    """Return the ids of those rows that an earlier import wrote, by their import key."""
    keys, owners = [row["idempotency_key"] for row in rows], {(row["tenant"], row["user"] or "") for row in rows}
    found = tx.execute(_IMPORTED_MEMORIES.where(_M.idempotency_key.in_(keys), in_owners(memories, owners)))
    return {(agent, user, key): memory_id for memory_id, agent, user, key, tenant in found if (tenant, user) in owners}


def _find_value(tx: Transaction, row: Mapping[str, Any]) -> int | None:
    """Return the id of the value that is saved here under the same key, if the row is a value."""
    if row.get("key") is None:
        return None
    known: int | None = tx.execute(_VALUE, _bind_scope(row, "key")).scalar()
    return known


def _insert_memories(
    tx: Transaction,
    new: Sequence[tuple[int, Mapping[str, Any], NewMemory]],
    message_ids: Mapping[int, int],
) -> None:
    if not new:
        return
    # Ids of memories that may not be loaded yet are left out; the importer sets them at the end.
    made = [
        _all_columns(memories, row)
        | {
            "id": memory_id,
            "terms": memory.terms,
            "superseded_by": None,
            "message_seq": message_ids.get(row.get("message_seq") or 0),
        }
        | ({"notes": to_json(without_enders(json.loads(row["notes"])))} if ENDED_BY in row.get("notes", "") else {})
        for memory_id, row, memory in new
    ]
    rows = [with_hash(memories, row) for row in made]
    add.insert_memories(tx, tuple(rows[0]), [tuple(row.values()) for row in rows])
    add.insert_vectors(tx, [(memory_id, memory) for memory_id, _, memory in new])
    add.insert_changes(tx, "add", [(memory_id, row["tenant"], row["user"]) for memory_id, row, _ in new])
    for memory_id, row, _ in new:
        if row.get("notes", "{}") != "{}":
            index_claims(tx, memory_id, scope_of(*(row[column] for column in _SCOPE)), json.loads(row["notes"]))


def _insert_message(tx: Transaction, row: Mapping[str, Any]) -> int:
    values = {name: value for name, value in _all_columns(messages, row).items() if name != "seq"}
    if row.get("position") is not None:
        values["position"] = (tx.execute(_LAST_POSITION, _bind_scope(row)).scalar() or 0) + 1
    key = tx.execute(_INSERT_MESSAGE, with_hash(messages, values)).inserted_primary_key
    assert key is not None
    return int(key[0])


def _bind_scope(row: Mapping[str, Any], *more: str) -> dict[str, Any]:
    return {f"in_{name}": row[name] for name in (*_SCOPE, *more)}


def _all_columns(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with a value for every column, so that one statement writes many rows."""
    return {column.name: row.get(column.name, _default_value(column)) for column in table.columns}


def _default_value(column: Column[Any]) -> int | str | None:
    default = column.server_default
    if not isinstance(default, DefaultClause):
        return None
    return int(str(default.arg)) if isinstance(column.type, Integer) else str(default.arg)


FORMAT: Final = "memoranda"
VERSION: Final = 1
_BATCH: Final = 500


def restore(
    source: str | PathLike[str], config: MemoryConfig, *, force: bool = False, backup_key: EncryptionKey | None = None
) -> Backup:
    """Replace the configured database, which no process may have open, by a backup.

    The database has the key of the settings afterwards, or that of the backup when the settings name none.
    """
    database, restored = restore_backup(
        database_url(config), Path(source), force=force, key=encryption_key(config), backup_key=backup_key
    )
    _drop_index(config, database)
    return restored


def change_key(
    config: MemoryConfig, current: EncryptionKey | None, new: EncryptionKey | None, progress: Progress | None = None
) -> Conversion:
    """Encrypt the configured database, decrypt it or give it another key; None stands for no encryption."""
    database, conversion = change_encryption(database_url(config), current, new, progress)
    _drop_index(config, database)
    return conversion


def _drop_index(config: MemoryConfig, database: Path) -> None:
    """Overwrite and delete the index file: it was derived from the database that was replaced."""
    index = index_path(config, database)
    assert index is not None
    if index.exists():
        with translate_errors(str(index)):
            shred(index)


def back_up(
    store: Store,
    target: str | PathLike[str],
    *,
    force: bool,
    progress: Progress | None = None,
    key: EncryptionKey | None = None,
) -> Backup:
    """Copy every write acknowledged before the call to one file. Writes may go on during it."""
    if not isinstance(target, str | PathLike):
        raise InvalidType(f"the file of a backup must be a path, not {type(target).__name__}")
    if not isinstance(store, BackupStore):
        raise InvalidInput(
            "this store is not a single file: back it up with the tools of its database, such as pg_dump"
        )
    if key is None:
        return store.backup(Path(target), force=force, progress=progress)
    return store.backup(Path(target), force=force, progress=progress, key=key)


def export_file(
    store: Store,
    scope: Scope,
    target: str | PathLike[str],
    progress: Progress | None = None,
    key: EncryptionKey | None = None,
) -> ExportReport:
    """Write the export to a file, which is complete or does not exist; encrypted unless the key is None."""
    path, lines, exported = Path(target), 0, 0
    total = store.read(lambda tx: _count_memories(tx, scope), tenant=scope.tenant)
    with translate_errors(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_replace(path) as temporary, open_export_to_write(temporary, key, path.name) as file:
            for line in store.stream(lambda tx: export_lines(tx, scope, store.id), tenant=scope.tenant):
                file.write(f"{line}\n".encode())
                lines += 1
                exported += line.startswith('{"kind":"memory"')
                if progress is not None and lines % _BATCH == 0:
                    progress(exported, total)
    return ExportReport(path, exported, lines, encrypted=key is not None)


def export_lines(tx: ReadTransaction, scope: Scope, store_id: str) -> Iterator[str]:
    """Yield the lines of an export, without line ends. All of them are from one snapshot."""
    counts = dict.fromkeys([*TABLES, *LINKS, *LOGS], 0)
    yield to_json({"kind": "header", "format": FORMAT, "version": VERSION, "store": store_id})
    for record in _records(tx, scope):
        counts[str(record["kind"])] += 1
        yield to_json(record)
    yield to_json({"kind": "end", **counts})


def _count_memories(tx: ReadTransaction, scope: Scope) -> int:
    query = select(func.count()).select_from(memories).where(*scope_conditions(memories, scope))
    return int(tx.execute(query).scalar_one())


def _records(tx: ReadTransaction, scope: Scope) -> Iterator[dict[str, JSON]]:
    for kind, table in TABLES.items():
        key = next(iter(table.primary_key.columns))
        for row in stream_rows(tx, table, scope_conditions(table, scope), [key]):
            check_row(row, scope, f"{kind} {row[key.name]}")
            yield to_record(kind, row)
    ids = select(memories.c.id).where(*scope_conditions(memories, scope))
    for kind, (table, id_columns) in LINKS.items():
        conditions = [table.c[column].in_(ids) for column in id_columns]
        for row in stream_rows(tx, table, conditions, list(table.primary_key.columns)):
            yield to_record(kind, row)
    yield from _log_records(tx, scope)


def _log_records(tx: ReadTransaction, scope: Scope) -> Iterator[dict[str, JSON]]:
    """Yield sessions and executions, but none when a user is named: they belong to no user."""
    if scope.user is not ANY:
        return
    for kind, table in LOGS.items():
        names = {"agent": scope.agent, "id" if kind == "session" else "session": scope.session}
        named = {column: value for column, value in names.items() if value is not None}
        if all(column in table.columns for column in named):
            conditions = [
                table.c.tenant == scope.tenant,
                *(table.c[column] == value for column, value in named.items()),
            ]
            order = [table.c.ended_at, table.c.id] if kind == "session" else [table.c.number]
            for row in stream_rows(tx, table, conditions, order):
                yield to_record(kind, row)

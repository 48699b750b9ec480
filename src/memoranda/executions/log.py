"""The table of execution records: append-only rows, each tied to the previous one by a keyed hash."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hmac import compare_digest
from hmac import digest as hmac_digest
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Table, func, insert, literal, select

from memoranda.errors import Incompatible, InvalidInput
from memoranda.files import fsync_folder
from memoranda.results import VerificationReport
from memoranda.storage.base import ReadTransaction, Store, Transaction, chunked, key_file
from memoranda.storage.errors import translate_errors
from memoranda.storage.meta import set_meta
from memoranda.storage.rows import to_json, to_micros
from memoranda.storage.schema import execution_heads, executions
from memoranda.types import JSON

_KEY_BYTES: Final = 32
_MIN_KEY_CHARS: Final = 16
_FINGERPRINT: Final = "key_fingerprint"
_E = executions.c
_COLUMNS: Final = (
    _E.number, _E.id, _E.agent, _E.workflow, _E.session, _E.status, _E.duration_ms, _E.record, _E.recorded_at,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """One record as the table holds it. It gets its number when it is written."""

    id: str
    agent: str
    workflow: str | None
    session: str | None
    status: str | None
    duration_ms: float | None
    record: str
    """The JSON text that was hashed."""
    recorded_at: int
    number: int = 0

    def signed_values(self) -> list[JSON]:
        """Return the values that the digest covers, in the order of the columns."""
        return [
            self.number, self.id, self.agent, self.workflow, self.session, self.status, self.duration_ms, self.record,
            self.recorded_at,
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExecutionQuery:
    """Which records to read. A field that is None matches every record."""

    agent: str | None = None
    workflow: str | None = None
    session: str | None = None
    status: str | None = None
    after: datetime | None = None
    before: datetime | None = None

    def conditions(self, tenant: str) -> list[ColumnElement[bool]]:
        exact = {_E.agent: self.agent, _E.workflow: self.workflow, _E.session: self.session, _E.status: self.status}
        conditions = [_E.tenant == tenant, *(column == value for column, value in exact.items() if value is not None)]
        if self.after is not None:
            conditions.append(_E.recorded_at >= to_micros(self.after))
        if self.before is not None:
            conditions.append(_E.recorded_at < to_micros(self.before))
        return conditions


class DurationSummary(NamedTuple):
    """The durations of executions in milliseconds; None when no record has one."""

    timed: int
    total: float
    mean: float | None
    minimum: float | None
    median: float | None
    p95: float | None
    maximum: float | None


class ExecutionLog:
    """The execution records of one database."""

    def __init__(self, store: Store, audit_key: str | None = None) -> None:
        self._store = store
        self._key = DatabaseKey(store, audit_key, executions)

    def append(self, tenant: str, rows: Sequence[ExecutionRow]) -> list[ExecutionRow]:
        """Write rows to disk and return them with their numbers. A row whose id is known is skipped."""
        if not rows:
            return []
        chain = HashChain(self._key.read_to_sign(), tenant)
        return self._store.write(lambda tx: _append(tx, chain, tenant, rows))

    def key_problem(self) -> str | None:
        """Return what is wrong with the key file of the database; None when nothing is."""
        return self._key.problem()

    def find(self, tenant: str, query: ExecutionQuery, *, limit: int, below: int | None = None) -> list[ExecutionRow]:
        """Return matching rows with a number below `below`, newest first."""
        statement = select(*_COLUMNS).where(*query.conditions(tenant))
        if below is not None:
            statement = statement.where(_E.number < below)
        statement = statement.order_by(_E.number.desc()).limit(limit)
        return self._store.read(lambda tx: [_to_row(columns) for columns in tx.execute(statement)])

    def read_after(self, tenant: str, number: int, *, limit: int) -> list[ExecutionRow]:
        """Return rows above a number, oldest first."""
        statement = select(*_COLUMNS).where(_E.tenant == tenant, _E.number > number).order_by(_E.number).limit(limit)
        return self._store.read(lambda tx: [_to_row(columns) for columns in tx.execute(statement)])

    def count_by_status(self, tenant: str, query: ExecutionQuery) -> dict[str | None, int]:
        statement = select(_E.status, func.count()).where(*query.conditions(tenant)).group_by(_E.status)
        return self._store.read(lambda tx: {row[0]: row[1] for row in tx.execute(statement)})

    def summarize_durations(self, tenant: str, query: ExecutionQuery) -> DurationSummary:
        conditions = [*query.conditions(tenant), _E.duration_ms.is_not(None)]
        return self._store.read(lambda tx: _summarize_durations(tx, conditions))

    def verify(self, tenant: str, known_head: str | None = None) -> VerificationReport:
        """Check every record against the chain, and that the chain holds a head that was returned earlier."""
        chain = HashChain(self._key.read(), tenant)
        return self._store.read(lambda tx: _verify(tx, chain, tenant, known_head))


def _append(tx: Transaction, chain: HashChain, tenant: str, rows: Sequence[ExecutionRow]) -> list[ExecutionRow]:
    count, digest = _load_head(tx, chain, tenant)
    known = _known_ids(tx, tenant, [row.id for row in rows])
    written: list[ExecutionRow] = []
    values: list[dict[str, Any]] = []
    names = [column.name for column in _COLUMNS]
    for row in rows:
        if row.id in known:
            continue
        known.add(row.id)
        count += 1
        numbered = replace(row, number=count)
        signed = numbered.signed_values()
        digest = chain.next_digest(digest, signed)
        written.append(numbered)
        values.append({**dict(zip(names, signed, strict=True)), "tenant": tenant, "digest": digest})
    if values:
        tx.execute(insert(executions), values)
        head = {"tenant": tenant, "records": count, "digest": digest, "seal": chain.sign_head(count, digest)}
        tx.upsert(execution_heads, [head], key=("tenant",), update=("records", "digest", "seal"))
    return written


def _known_ids(tx: Transaction, tenant: str, ids: Sequence[str]) -> set[str]:
    known: set[str] = set()
    for part in chunked(ids):
        known.update(tx.scalars(select(_E.id).where(_E.tenant == tenant, _E.id.in_(part))))
    return known


def _load_head(tx: Transaction, chain: HashChain, tenant: str) -> tuple[int, bytes]:
    """Return the number and digest of the last record; refuse to continue after one that this key did not sign."""
    head = tx.execute(select(execution_heads).where(execution_heads.c.tenant == tenant)).first()
    if head is None:
        if tx.execute(select(_E.number).where(_E.tenant == tenant).limit(1)).scalar() is None:
            return 0, chain.first_digest()
    elif compare_digest(head.seal, chain.sign_head(head.records, head.digest)):
        return head.records, head.digest
    raise Incompatible(
        "the last execution record was not signed with this audit key: restore the right key file "
        "next to the database, or set MEMORY_AUDIT_KEY; verify_executions() reports what is wrong"
    )


def _summarize_durations(tx: ReadTransaction, conditions: Sequence[ColumnElement[bool]]) -> DurationSummary:
    duration = _E.duration_ms
    totals = select(func.count(), func.total(duration), func.avg(duration), func.min(duration), func.max(duration))
    count, total, mean, minimum, maximum = tx.execute(totals.where(*conditions)).one()
    ordered = select(duration).where(*conditions).order_by(duration)
    ranks = [(count - 1) * percent // 100 for percent in (50, 95)] if count else []
    median, p95 = [tx.execute(ordered.offset(rank).limit(1)).scalar() for rank in ranks] or (None, None)
    return DurationSummary(count, total, mean, minimum, median, p95, maximum)


def _verify(tx: ReadTransaction, chain: HashChain, tenant: str, known_head: str | None) -> VerificationReport:
    head = tx.execute(select(execution_heads).where(execution_heads.c.tenant == tenant)).first()
    digest, checked, found_known = chain.first_digest(), 0, known_head in (None, "0:")
    for columns in tx.execute(select(*_COLUMNS, _E.digest).where(_E.tenant == tenant).order_by(_E.number)):
        row, number = _to_row(columns), checked + 1
        if row.number > number:
            return _failure(checked, number, f"record {number} was removed")
        digest = chain.next_digest(digest, row.signed_values())
        if not compare_digest(digest, columns.digest):
            problem = f"record {row.number} ({row.id}) is not the one that was written: changed, moved or inserted"
            return _failure(checked, number, problem)
        checked = number
        found_known = found_known or known_head == _format_head(checked, digest)
    if head is None and not checked and found_known:
        return VerificationReport(True, 0, None, None, "0:")
    if head is None or not compare_digest(head.seal, chain.sign_head(head.records, head.digest)):
        problem = "the signature of the last record was changed or removed, or this is another key"
        return _failure(checked, checked + 1, problem)
    if head.records != checked or not compare_digest(head.digest, digest):
        problem = f"{head.records} records were written and there are {checked}: the last ones were removed or restored"
        return _failure(checked, min(head.records, checked) + 1, problem)
    if not found_known:
        problem = f"the records do not contain the head {known_head}: the database is an older copy"
        return _failure(checked, checked + 1, problem)
    return VerificationReport(True, checked, None, None, _format_head(checked, digest))


def _failure(checked: int, number: int, problem: str) -> VerificationReport:
    return VerificationReport(False, checked, problem, number, "")


def _format_head(count: int, digest: bytes) -> str:
    return f"{count}:{digest.hex()}"


def _to_row(columns: Sequence[Any]) -> ExecutionRow:
    number, record_id, agent, workflow, session, status, duration, record, recorded_at = columns[:9]
    return ExecutionRow(record_id, agent, workflow, session, status, duration, record, recorded_at, number)


class HashChain:
    """The keyed hashes of one tenant's records. Each covers its record and all before it."""

    def __init__(self, key: bytes, tenant: str) -> None:
        self._key = key
        self._tenant = tenant

    def first_digest(self) -> bytes:
        """Return the digest that the first record follows."""
        return self._sign("start", [])

    def next_digest(self, previous: bytes, values: Sequence[JSON]) -> bytes:
        """Return the digest of a record that follows the one with the digest `previous`."""
        return self._sign("record", [previous.hex(), *values])

    def sign_head(self, count: int, digest: bytes) -> bytes:
        """Return a signature of how many records there are and which is the last."""
        return self._sign("head", [count, digest.hex()])

    def _sign(self, kind: str, values: list[JSON]) -> bytes:
        return hmac_digest(self._key, to_json([kind, self._tenant, *values]).encode("utf-8"), "sha256")


class DatabaseKey:
    """The secret key of one database: from a text, or from a file `<database>.key` created at the first use.

    The database keeps a fingerprint of the key in its file. So a file that was lost or exchanged is an error that says
    what to do: a new key in its place would make every signed record look tampered with, and every API key invalid.
    """

    def __init__(self, store: Store, text: str | None, signed: Table) -> None:
        if text is not None and len(text) < _MIN_KEY_CHARS:
            raise InvalidInput(f"the audit key has {len(text)} characters: give at least {_MIN_KEY_CHARS} random ones")
        if store.path is None and text is None:
            raise InvalidInput("this store is not a single file, so it has no key file: set MEMORY_AUDIT_KEY")
        self._store = store
        self._signed = signed
        """The table whose rows need the key: it shows that there was one where the fingerprint is missing."""
        self._path = None if store.path is None else key_file(store.path)
        self._key = None if text is None else hashlib.sha256(text.encode("utf-8")).digest()
        self._recorded = text is not None

    def read(self) -> bytes:
        """Return the key, to check what was signed with it; `Incompatible` when its file is missing."""
        if self._key is None:
            assert self._path is not None
            with translate_errors(str(self._path)):
                if not self._path.exists() and not self._is_needed():
                    _create_key(self._path)
                if problem := self.problem():
                    raise Incompatible(problem)
                self._key = _read_key(self._path)
        return self._key

    def read_to_sign(self) -> bytes:
        """Return the key, and record its fingerprint before anything is signed with it."""
        key = self.read()
        if not self._recorded:
            self._store.write(lambda tx: set_meta(tx, _FINGERPRINT, _fingerprint(key)))
            self._recorded = True
        return key

    def problem(self) -> str | None:
        """Return what is wrong with the key file and how to recover; None when nothing is."""
        if self._path is None:
            return None
        if not self._path.exists():
            return _describe_loss(self._path, "is missing") if self._is_needed() else None
        try:
            fingerprint = _fingerprint(_read_key(self._path))
        except Incompatible as error:
            return str(error)
        if self._store.get_meta(_FINGERPRINT) in (None, fingerprint):
            return None
        return _describe_loss(self._path, "holds another key")

    def _is_needed(self) -> bool:
        if self._store.get_meta(_FINGERPRINT) is not None:
            return True
        first = select(literal(1)).select_from(self._signed).limit(1)
        return self._key is None and self._store.read(lambda tx: tx.execute(first).first()) is not None


def _describe_loss(path: Path, what: str) -> str:
    return (
        f"{path} {what}, and the execution records and API keys of the database were made with it: restore that file "
        "from a backup. If it is lost for good, export the data, import it into a new database and create new API keys"
    )


def _fingerprint(key: bytes) -> str:
    return hmac_digest(key, b"memoranda key file", "sha256").hex()


def _read_key(path: Path) -> bytes:
    try:
        key = bytes.fromhex(path.read_text("ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise Incompatible(f"{path} is not an audit key: restore the key file that was created with the database")
    return key


def _create_key(path: Path) -> None:
    # Written to a temporary file and linked: another process sees the whole key or none, and the first one stays.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_hex(_KEY_BYTES).encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
    finally:
        temporary.unlink()
        # The name of the file must be on disk before anything is signed with the key.
        fsync_folder(path.parent)

"""The table of execution records: append-only rows, each tied to the previous one by a keyed hash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hmac import compare_digest
from hmac import digest as hmac_digest
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, func, insert, select

from memoranda.errors import Incompatible
from memoranda.results.workflows import VerificationReport
from memoranda.storage.base import OwnedWork, ReadTransaction, Store, Transaction, chunked
from memoranda.storage.database_key import DatabaseKey
from memoranda.storage.rows import to_json, to_micros
from memoranda.storage.schema import execution_heads, executions
from memoranda.types import ANY, JSON

_E = executions.c
_CHAIN: Final = "execution records"
"""In place of a user: the records of a tenant are one chain, so they are written one after the other."""
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
        return self._store.write(
            OwnedWork(lambda tx: _append(tx, chain, tenant, rows), (tenant, _CHAIN)), tenant=tenant
        )

    def key_problem(self) -> str | None:
        """Return what is wrong with the key file of the database; None when nothing is."""
        return self._key.problem()

    def find(self, tenant: str, query: ExecutionQuery, *, limit: int, below: int | None = None) -> list[ExecutionRow]:
        """Return matching rows with a number below `below`, newest first."""
        statement = select(*_COLUMNS).where(*query.conditions(tenant))
        if below is not None:
            statement = statement.where(_E.number < below)
        statement = statement.order_by(_E.number.desc()).limit(limit)
        return self._store.read(lambda tx: [_to_row(columns) for columns in tx.execute(statement)], tenant=tenant)

    def read_after(self, tenant: str, number: int, *, limit: int) -> list[ExecutionRow]:
        """Return rows above a number, oldest first."""
        statement = select(*_COLUMNS).where(_E.tenant == tenant, _E.number > number).order_by(_E.number).limit(limit)
        return self._store.read(lambda tx: [_to_row(columns) for columns in tx.execute(statement)], tenant=tenant)

    def count_by_status(self, tenant: str, query: ExecutionQuery) -> dict[str | None, int]:
        statement = select(_E.status, func.count()).where(*query.conditions(tenant)).group_by(_E.status)
        return self._store.read(lambda tx: {row[0]: row[1] for row in tx.execute(statement)}, tenant=tenant)

    def summarize_durations(self, tenant: str, query: ExecutionQuery) -> DurationSummary:
        conditions = [*query.conditions(tenant), _E.duration_ms.is_not(None)]
        return self._store.read(lambda tx: _summarize_durations(tx, conditions), tenant=tenant)

    def verify(self, tenant: str, known_head: str | None = None) -> VerificationReport:
        """Check every record against the chain, and that the chain holds a head that was returned earlier."""
        chain = HashChain(self._key.read(), tenant)
        return self._store.read(lambda tx: _verify(tx, chain, tenant, known_head), tenant=tenant)

    def find_problems(self) -> list[str]:
        """Return what is wrong with the records of each tenant, one sentence each."""
        named = [select(column).distinct() for column in (_E.tenant, execution_heads.c.tenant)]
        tenants = self._store.read(lambda tx: {name for query in named for name in tx.scalars(query)}, tenant=ANY)
        reports = {tenant: self.verify(tenant) for tenant in tenants if isinstance(tenant, str)}
        return [f"execution records of tenant {name}: {found.problem}" for name, found in reports.items() if not found]


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
    elif _is_signed(head, chain):
        return head.records, head.digest
    raise Incompatible(
        "the last execution record was not signed with this audit key: restore the right key file "
        "next to the database, or set MEMORY_AUDIT_KEY; verify_executions() reports what is wrong"
    )


def _summarize_durations(tx: ReadTransaction, conditions: Sequence[ColumnElement[bool]]) -> DurationSummary:
    duration = _E.duration_ms
    totals = select(
        func.count(), func.coalesce(func.sum(duration), 0.0), func.avg(duration), func.min(duration), func.max(duration)
    )
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
        if not isinstance(row.number, int) or row.number > number:
            return _failure(checked, number, f"record {number} was removed")
        try:
            digest = chain.next_digest(digest, row.signed_values())
        except TypeError:  # bytes in place of a text, which only another program writes
            digest = b""
        if not _is_same(digest, columns.digest):
            problem = f"record {row.number} ({row.id}) is not the one that was written: changed, moved or inserted"
            return _failure(checked, number, problem)
        checked = number
        found_known = found_known or known_head == _format_head(checked, digest)
    if head is None and not checked and found_known:
        return VerificationReport(True, 0, None, None, "0:")
    if head is None or not _is_signed(head, chain):
        problem = "the signature of the last record was changed or removed, or this is another key"
        return _failure(checked, checked + 1, problem)
    if head.records != checked or not _is_same(digest, head.digest):
        problem = f"{head.records} records were written and there are {checked}: the last ones were removed or restored"
        return _failure(checked, min(head.records, checked) + 1, problem)
    if not found_known:
        problem = f"the records do not contain the head {known_head}: the database is an older copy"
        return _failure(checked, checked + 1, problem)
    return VerificationReport(True, checked, None, None, _format_head(checked, digest))


def _is_signed(head: Any, chain: HashChain) -> bool:
    """Return whether the row of the last record is what was signed; another program may have put any value there."""
    is_whole = isinstance(head.records, int) and isinstance(head.digest, bytes)
    return is_whole and _is_same(chain.sign_head(head.records, head.digest), head.seal)


def _is_same(digest: bytes, stored: object) -> bool:
    return isinstance(stored, bytes) and compare_digest(digest, stored)


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

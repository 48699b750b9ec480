"""Execution records: append-only rows, each tied to the one before by a keyed hash."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, func, insert, select

from memoranda.errors import Incompatible, InvalidInput
from memoranda.results import VerificationReport
from memoranda.storage.base import ReadTransaction, Store, Transaction, chunked, key_file
from memoranda.storage.rows import to_json, to_micros
from memoranda.storage.schema import execution_heads, executions
from memoranda.storage.sqlite.errors import translate_errors
from memoranda.types import JSON

_E = executions.c
COLUMNS = (
    _E.number, _E.id, _E.agent, _E.workflow, _E.session, _E.status, _E.duration_ms, _E.record, _E.recorded_at,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """One record as the table holds it; it has its number once it is written."""

    id: str
    agent: str
    workflow: str | None
    session: str | None
    status: str | None
    duration_ms: float | None
    record: str
    """The JSON text as it was hashed."""
    recorded_at: int
    number: int = 0

    def signed(self) -> list[JSON]:
        """Everything of it that the digest covers."""
        return [
            self.number, self.id, self.agent, self.workflow, self.session, self.status, self.duration_ms, self.record,
            self.recorded_at,
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExecutionQuery:
    """Which records; what is None does not matter."""

    agent: str | None = None
    workflow: str | None = None
    session: str | None = None
    status: str | None = None
    after: datetime | None = None
    before: datetime | None = None

    def conditions(self, tenant: str) -> list[ColumnElement[bool]]:
        exact = {_E.agent: self.agent, _E.workflow: self.workflow, _E.session: self.session, _E.status: self.status}
        found = [_E.tenant == tenant, *(column == value for column, value in exact.items() if value is not None)]
        if self.after is not None:
            found.append(_E.recorded_at >= to_micros(self.after))
        if self.before is not None:
            found.append(_E.recorded_at < to_micros(self.before))
        return found


class DurationSummary(NamedTuple):
    """How long executions took, in milliseconds; None where none said so."""

    timed: int
    total: float
    mean: float | None
    least: float | None
    median: float | None
    p95: float | None
    most: float | None


class ExecutionLog:
    """The executions of one database."""

    def __init__(self, store: Store, audit_key: str | None = None) -> None:
        self._store = store
        self._keys = KeyRing(store.path, audit_key)

    def append(self, tenant: str, rows: Sequence[ExecutionRow]) -> list[ExecutionRow]:
        """The rows with their numbers, on disk when this returns; an id that is there already is left out."""
        chain = Chain(self._keys.key(), tenant)
        return self._store.write(lambda tx: _append(tx, chain, tenant, rows)) if rows else []

    def find(self, tenant: str, query: ExecutionQuery, *, limit: int, below: int | None = None) -> list[ExecutionRow]:
        """Newest first, those with a number under `below`."""
        wanted = select(*COLUMNS).where(*query.conditions(tenant))
        if below is not None:
            wanted = wanted.where(_E.number < below)
        wanted = wanted.order_by(_E.number.desc()).limit(limit)
        return self._store.read(lambda tx: [_row(found) for found in tx.execute(wanted)])

    def following(self, tenant: str, after: int, *, limit: int) -> list[ExecutionRow]:
        """Oldest first, those with a number above `after`."""
        wanted = select(*COLUMNS).where(_E.tenant == tenant, _E.number > after).order_by(_E.number).limit(limit)
        return self._store.read(lambda tx: [_row(found) for found in tx.execute(wanted)])

    def statuses(self, tenant: str, query: ExecutionQuery) -> dict[str | None, int]:
        wanted = select(_E.status, func.count()).where(*query.conditions(tenant)).group_by(_E.status)
        return self._store.read(lambda tx: {row[0]: row[1] for row in tx.execute(wanted)})

    def durations(self, tenant: str, query: ExecutionQuery) -> DurationSummary:
        having = [*query.conditions(tenant), _E.duration_ms.is_not(None)]
        return self._store.read(lambda tx: _durations(tx, having))

    def verify(self, tenant: str, known_head: str | None = None) -> VerificationReport:
        chain = Chain(self._keys.key(), tenant)
        return self._store.read(lambda tx: _verify(tx, chain, tenant, known_head))


def _append(tx: Transaction, chain: Chain, tenant: str, rows: Sequence[ExecutionRow]) -> list[ExecutionRow]:
    count, digest = _head(tx, chain, tenant)
    known = _known(tx, tenant, [row.id for row in rows])
    written: list[ExecutionRow] = []
    values: list[dict[str, Any]] = []
    for row in rows:
        if row.id in known:
            continue
        known.add(row.id)
        count += 1
        numbered = replace(row, number=count)
        digest = chain.link(digest, numbered.signed())
        written.append(numbered)
        values.append({**_values(numbered), "tenant": tenant, "digest": digest})
    if values:
        tx.execute(insert(executions), values)
        _set_head(tx, tenant, count, digest, chain.seal(count, digest))
    return written


def _values(row: ExecutionRow) -> dict[str, Any]:
    return dict(zip((column.name for column in COLUMNS), row.signed(), strict=True))


def _known(tx: Transaction, tenant: str, ids: Sequence[str]) -> set[str]:
    known: set[str] = set()
    for part in chunked(ids):
        known.update(tx.scalars(select(_E.id).where(_E.tenant == tenant, _E.id.in_(part))))
    return known


def _head(tx: Transaction, chain: Chain, tenant: str) -> tuple[int, bytes]:
    """Where the chain ends; refuses to go on from an end that this key did not seal."""
    row = tx.execute(select(execution_heads).where(execution_heads.c.tenant == tenant)).first()
    if row is None:
        if tx.execute(select(_E.number).where(_E.tenant == tenant).limit(1)).scalar() is None:
            return 0, chain.start()
    elif same(row.seal, chain.seal(row.records, row.digest)):
        return row.records, row.digest
    raise Incompatible(
        "the execution records end in a way that this audit key did not seal: put the right key file back "
        "beside the database, or set MEMORY_AUDIT_KEY; verify_executions() says what is wrong"
    )


def _set_head(tx: Transaction, tenant: str, count: int, digest: bytes, seal: bytes) -> None:
    row = {"tenant": tenant, "records": count, "digest": digest, "seal": seal}
    tx.upsert(execution_heads, [row], key=("tenant",), update=("records", "digest", "seal"))


def _durations(tx: ReadTransaction, having: Sequence[ColumnElement[bool]]) -> DurationSummary:
    taken = _E.duration_ms
    wanted = select(func.count(), func.total(taken), func.avg(taken), func.min(taken), func.max(taken))
    count, total, mean, least, most = tx.execute(wanted.where(*having)).one()
    in_order = select(taken).where(*having).order_by(taken)
    ranks = [(count - 1) * share // 100 for share in (50, 95)] if count else []
    median, p95 = [tx.execute(in_order.offset(rank).limit(1)).scalar() for rank in ranks] or (None, None)
    return DurationSummary(count, total, mean, least, median, p95, most)


def _verify(tx: ReadTransaction, chain: Chain, tenant: str, known_head: str | None) -> VerificationReport:
    head = tx.execute(select(execution_heads).where(execution_heads.c.tenant == tenant)).first()
    digest, checked, seen_known = chain.start(), 0, known_head in (None, "0:")
    rows = tx.execute(select(*COLUMNS, _E.digest).where(_E.tenant == tenant).order_by(_E.number))
    for found in rows:
        row, number = _row(found), checked + 1
        if row.number > number:
            return _bad(checked, number, f"record {number} is missing: it was removed")
        digest = chain.link(digest, row.signed())
        if not same(digest, found.digest):
            what = f"record {row.number} ({row.id}) is not what was written at its place: changed, moved or inserted"
            return _bad(checked, number, what)
        checked = number
        seen_known = seen_known or known_head == _shown(checked, digest)
    if head is None and not checked and seen_known:
        return VerificationReport(True, 0, None, None, "0:")
    if head is None or not same(head.seal, chain.seal(head.records, head.digest)):
        return _bad(checked, checked + 1, "the mark of the last record was changed or removed, or the key is another")
    if head.records != checked or not same(head.digest, digest):
        what = f"{head.records} records were written, {checked} are there: the end was cut off or put back"
        return _bad(checked, min(head.records, checked) + 1, what)
    if not seen_known:
        return _bad(checked, checked + 1, f"the records do not hold the head {known_head}: the file is an older copy")
    return VerificationReport(True, checked, None, None, _shown(checked, digest))


def _bad(checked: int, number: int, problem: str) -> VerificationReport:
    return VerificationReport(False, checked, problem, number, "")


def _shown(count: int, digest: bytes) -> str:
    return f"{count}:{digest.hex()}"


def _row(found: Sequence[Any]) -> ExecutionRow:
    number, key, agent, workflow, session, status, duration, record, at = found[:9]
    return ExecutionRow(key, agent, workflow, session, status, duration, record, at, number)


_KEY_BYTES: Final = 32
_LEAST_KEY: Final = 16


class KeyRing:
    """The key of one database: a given text, or a file `<database>.key` made at the first use."""

    def __init__(self, database: Path | None, given: str | None = None) -> None:
        if given is not None and len(given) < _LEAST_KEY:
            raise InvalidInput(f"the audit key has {len(given)} characters: give {_LEAST_KEY} or more, at random")
        if database is None and given is None:
            raise InvalidInput("this store is not one file, so it has no key file beside it: set MEMORY_AUDIT_KEY")
        self._path = None if database is None else key_file(database)
        self._key = None if given is None else hashlib.sha256(given.encode("utf-8")).digest()

    def key(self) -> bytes:
        if self._key is None:
            assert self._path is not None
            with translate_errors(str(self._path)):
                self._key = _read(self._path)
        return self._key


def _read(path: Path) -> bytes:
    if not path.exists():
        _create(path)
    try:
        key = bytes.fromhex(path.read_text("ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise Incompatible(f"{path} is no audit key: put the file back that was made with the database")
    return key


def _create(path: Path) -> None:
    # Written aside and linked into place: another process sees the whole key or none, and the first one stays.
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_hex(_KEY_BYTES).encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink()


class Chain:
    """Digests of one tenant's records: each depends on all before it, and on the key."""

    def __init__(self, key: bytes, tenant: str) -> None:
        self._key = key
        self._tenant = tenant

    def start(self) -> bytes:
        """What stands before the first record."""
        return self._sign("start", [])

    def link(self, before: bytes, row: Sequence[JSON]) -> bytes:
        """The digest of a record that follows the one with the digest `before`."""
        return self._sign("record", [before.hex(), *row])

    def seal(self, count: int, digest: bytes) -> bytes:
        """What proves how many records there are and which is the last."""
        return self._sign("head", [count, digest.hex()])

    def _sign(self, what: str, parts: list[JSON]) -> bytes:
        return hmac.digest(self._key, to_json([what, self._tenant, *parts]).encode("utf-8"), "sha256")


def same(left: bytes, right: bytes) -> bool:
    return hmac.compare_digest(left, right)

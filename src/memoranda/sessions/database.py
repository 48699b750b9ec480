"""What sessions keep in the database: short-term values, shared by all its processes, and a row per ended session."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Final, TypeVar

from sqlalchemy import select

from memoranda.errors import Closed
from memoranda.records import Closing
from memoranda.results.workflows import SessionSummary
from memoranda.sessions.base import DEFAULT_TTL, Namespace, ValueScope, parse_key, qualify_keys
from memoranda.sessions.workflow_state import SessionRecord, summarize_sessions
from memoranda.storage import meta
from memoranda.storage.base import OwnedWork, ReadTransaction, Row, Store, Transaction
from memoranda.storage.rows import from_micros, stored_json, to_json, to_micros
from memoranda.storage.schema import sessions
from memoranda.types import ANY, JSON, Clock, utc_now
from memoranda.validation import check_ttl, decode_json, encode_json

R = TypeVar("R")
_S = sessions.c
_DROP_EVERY: Final = 256
"""After so many writes a process deletes what has expired."""


class DatabaseBackend(Closing):
    """A `ValueStore` in the tables of a `Store`, for processes that share a database.

    Args:
        store: The database. Whoever opened it closes it.
        ttl: Seconds that a value is kept by default.
        prefix: What the name of every value starts with; two backends with the same prefix share their values.
        clock: A clock to use instead of the system's.
    """

    def __init__(
        self, store: Store, *, ttl: float = DEFAULT_TTL, prefix: str = "value:", clock: Clock = utc_now
    ) -> None:
        self._store = store
        self._ttl = check_ttl(ttl)
        self._prefix = prefix
        self._clock = clock
        self._writes = count(1)
        self._closed = False

    def set(self, namespace: Namespace, values: Mapping[str, JSON], *, ttl: float | None = None) -> None:
        seconds = self._ttl if ttl is None else check_ttl(ttl)
        names = qualify_keys(namespace, values)
        texts = {self._prefix + name: encode_json(values[key], key) for key, name in names.items()}
        expires_at = self._now() + round(seconds * 1_000_000)
        if not texts:
            return
        self._write(namespace, lambda tx: meta.put_values(tx, namespace.tenant, texts, expires_at))
        if next(self._writes) % _DROP_EVERY == 0:
            self._store.write(OwnedWork(meta.drop_expired), tenant=ANY)

    def get(self, namespace: Namespace, keys: Sequence[str]) -> dict[str, JSON]:
        names, now = qualify_keys(namespace, keys), self._now()
        wanted = [self._prefix + name for name in names.values()]
        found = self._read(namespace, lambda tx: meta.get_values(tx, namespace.tenant, wanted, now))
        texts = zip(names, wanted, strict=True)
        return {key: decode_json(found[name], key) for key, name in texts if name in found}

    def delete(self, namespace: Namespace, keys: Sequence[str]) -> int:
        names, now = [self._prefix + name for name in qualify_keys(namespace, keys).values()], self._now()
        if not names:
            return 0
        return self._write(namespace, lambda tx: meta.delete_values(tx, namespace.tenant, names, now))

    def keys(self, namespace: Namespace) -> list[str]:
        prefix, now = self._prefix + namespace.path, self._now()
        names = self._read(namespace, lambda tx: meta.list_names(tx, namespace.tenant, prefix, now))
        return sorted(parse_key(name) for name in names)

    def clear(self, within: ValueScope) -> int:
        prefix, now = self._prefix + within.path, self._now()
        return self._write(within, lambda tx: meta.clear_values(tx, within.tenant, prefix, now))

    def count(self, within: ValueScope) -> int:
        prefix, now = self._prefix + within.path, self._now()
        return self._read(within, lambda tx: meta.count_values(tx, within.tenant, prefix, now))

    def close(self) -> None:
        """End the use of this object; the values stay, and so does the store. May be called twice."""
        self._closed = True

    def _now(self) -> int:
        if self._closed:
            raise Closed("this DatabaseBackend is closed: make a new one")
        return to_micros(self._clock())

    def _read(self, within: ValueScope, work: Callable[[ReadTransaction], R]) -> R:
        return self._store.read(work, tenant=within.tenant)

    def _write(self, within: ValueScope, work: Callable[[Transaction], R]) -> R:
        # It checks nothing, so it may run beside the writes of any user.
        return self._store.write(OwnedWork(work), tenant=within.tenant)


class SessionLog:
    """The ended sessions of one database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, tenant: str, workflow: str, record: SessionRecord, ended_at: datetime) -> None:
        """Add a session that ended. A session that is there already stays as it is, so that a retry does not fail."""
        row = {
            "id": record.session_id,
            "tenant": tenant,
            "workflow": workflow,
            "metadata": to_json(record.metadata),
            "agents": json.dumps(record.agents, ensure_ascii=False),
            "opened_at": to_micros(record.opened_at),
            "ended_at": to_micros(ended_at),
        }
        self._store.write(OwnedWork(lambda tx: tx.upsert(sessions, [row], key=("id",))), tenant=tenant)

    def find(self, tenant: str, workflow: str | None, *, limit: int, offset: int = 0) -> list[SessionSummary]:
        """Return the sessions that ended last, newest first."""
        query = select(_S.id, _S.workflow, _S.metadata, _S.agents, _S.opened_at, _S.ended_at)
        query = query.where(_S.tenant == tenant).order_by(_S.ended_at.desc(), _S.id).limit(limit).offset(offset)
        if workflow is not None:
            query = query.where(_S.workflow == workflow)
        return self._store.read(lambda tx: [_to_summary(row) for row in tx.execute(query)], tenant=tenant)


def _to_summary(row: Row) -> SessionSummary:
    session_id, workflow, metadata, agents, opened_at, ended_at = row
    record = SessionRecord(session_id, from_micros(opened_at), stored_json(metadata, dict), stored_json(agents, dict))
    return summarize_sessions(workflow, session_id, [record], from_micros(ended_at), ended=True)

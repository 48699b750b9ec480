"""Ended sessions in the store: one row per session."""

from __future__ import annotations

import json
from datetime import datetime

from sqlalchemy import select

from memoranda.results.workflows import SessionSummary
from memoranda.sessions.workflow_state import SessionRecord, summarize_sessions
from memoranda.storage.base import OwnedWork, Row, Store
from memoranda.storage.rows import from_micros, to_json, to_micros
from memoranda.storage.schema import sessions

_S = sessions.c


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
    record = SessionRecord(session_id, from_micros(opened_at), json.loads(metadata), json.loads(agents))
    return summarize_sessions(workflow, session_id, [record], from_micros(ended_at), ended=True)

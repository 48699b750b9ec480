"""Ended sessions in the store: one row a session."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from memoranda.storage.rows import to_json
from memoranda.storage.schema import sessions
from memoranda.types import JSON

if TYPE_CHECKING:
    from memoranda.storage.base import Store

_S = sessions.c
_INSERT = insert(sessions).prefix_with("OR IGNORE")


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One ended session; times in microseconds."""

    id: str
    workflow: str
    metadata: dict[str, JSON]
    agents: dict[str, dict[str, int]]
    """For each agent, how often it did what."""
    opened_at: int
    ended_at: int


class SessionLog:
    """The ended sessions of one database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, tenant: str, row: SessionRow) -> None:
        # Ended twice is ended once: a call that was tried again must not fail on its own first try.
        self._store.write(lambda tx: tx.execute(_INSERT, _values(tenant, row)))

    def find(self, tenant: str, workflow: str | None, *, limit: int) -> list[SessionRow]:
        """Newest first."""
        wanted = select(_S.id, _S.workflow, _S.metadata, _S.agents, _S.opened_at, _S.ended_at)
        wanted = wanted.where(_S.tenant == tenant).order_by(_S.ended_at.desc(), _S.id).limit(limit)
        if workflow is not None:
            wanted = wanted.where(_S.workflow == workflow)
        return self._store.read(lambda tx: [_row(found) for found in tx.execute(wanted)])


def _row(found: Sequence[Any]) -> SessionRow:
    key, workflow, metadata, agents, opened, ended = found
    return SessionRow(key, workflow, json.loads(metadata), json.loads(agents), opened, ended)


def _values(tenant: str, row: SessionRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "tenant": tenant,
        "workflow": row.workflow,
        "metadata": to_json(row.metadata),
        "agents": json.dumps(row.agents, ensure_ascii=False),
        "opened_at": row.opened_at,
        "ended_at": row.ended_at,
    }

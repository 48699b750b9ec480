"""Sessions that have ended: who took part, how much was done, when."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sqlalchemy import insert, select

from recollect.storage.connections import Connections
from recollect.storage.rows import to_json
from recollect.storage.schema import sessions
from recollect.types import JSON

_S = sessions.c


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

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def add(self, tenant: str, row: SessionRow) -> None:
        values = {
            "id": row.id,
            "tenant": tenant,
            "workflow": row.workflow,
            "metadata": to_json(row.metadata),
            "agents": json.dumps(row.agents, ensure_ascii=False),
            "opened_at": row.opened_at,
            "ended_at": row.ended_at,
        }
        with self._connections.writing() as connection:
            # Ended twice is ended once: a call that was tried again must not fail on its own first try.
            connection.execute(insert(sessions).prefix_with("OR IGNORE").values(values))

    def find(self, tenant: str, workflow: str | None, *, limit: int) -> list[SessionRow]:
        """Newest first."""
        wanted = select(_S.id, _S.workflow, _S.metadata, _S.agents, _S.opened_at, _S.ended_at)
        wanted = wanted.where(_S.tenant == tenant).order_by(_S.ended_at.desc(), _S.id).limit(limit)
        if workflow is not None:
            wanted = wanted.where(_S.workflow == workflow)
        with self._connections.reading() as connection:
            return [
                SessionRow(row[0], row[1], json.loads(row[2]), json.loads(row[3]), row[4], row[5])
                for row in connection.execute(wanted)
            ]

"""Counts that cost the same however much is stored: rows of a small table that triggers keep."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from recollect.storage.schema import tallies

_T = tallies.c
_BY_TYPE = select(_T.name, _T.entries).where(_T.kind == "type", _T.entries > 0)


@dataclass(frozen=True, slots=True)
class AgentTally:
    """What one agent has done; the time in microseconds."""

    memories: int
    executions: int
    last_at: int


@dataclass(frozen=True, slots=True)
class Activity:
    """What a tenant's agents have done."""

    executions: int
    agents: dict[str, AgentTally]
    """Those active last, newest first."""


def by_type(connection: Connection, tenant: str) -> dict[str, int]:
    """How many memories of each type a tenant has."""
    return {row[0]: row[1] for row in connection.execute(_BY_TYPE.where(_T.tenant == tenant))}


def activity(connection: Connection, tenant: str, limit: int) -> Activity:
    return Activity(_executions(connection, tenant), _agents(connection, tenant, limit))


def _executions(connection: Connection, tenant: str) -> int:
    wanted = select(func.total(_T.entries)).where(_T.tenant == tenant, _T.kind == "execution")
    return int(connection.execute(wanted).scalar_one())


def _agents(connection: Connection, tenant: str, limit: int) -> dict[str, AgentTally]:
    mine = (_T.tenant == tenant, _T.kind.in_(("agent", "execution")), _T.name != "")
    last = func.max(_T.last_at)
    counts = [func.total(_T.entries).filter(_T.kind == kind) for kind in ("agent", "execution")]
    wanted = select(_T.name, *counts, last).where(*mine).group_by(_T.name).order_by(last.desc(), _T.name).limit(limit)
    return {row[0]: AgentTally(int(row[1]), int(row[2]), row[3]) for row in connection.execute(wanted)}

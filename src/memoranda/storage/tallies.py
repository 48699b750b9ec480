"""Counts that cost the same however much is stored: rows of a small table, kept beside every write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from memoranda.storage.connections import driver_connection
from memoranda.storage.schema import tallies

_T = tallies.c
_BY_TYPE = select(_T.name, _T.entries).where(_T.kind == "type", _T.entries > 0)

_ADD = """
INSERT INTO tallies VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET entries = entries + excluded.entries, last_at = max(last_at, excluded.last_at)
"""


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


def count_added(connection: Connection, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
    """Counts new rows of `memories`: once a type and an agent, where a trigger would count each row twice over."""
    tenant, agent, kind, at = (columns.index(name) for name in ("tenant", "agent", "type", "recorded_at"))
    found: dict[tuple[str, str, str], tuple[int, int]] = {}
    for row in rows:
        for key in ((row[tenant], "type", row[kind]), (row[tenant], "agent", row[agent])):
            entries, last = found.get(key, (0, row[at]))
            found[key] = entries + 1, max(last, row[at])
    driver_connection(connection).executemany(_ADD, [(*key, *counted) for key, counted in found.items()])


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

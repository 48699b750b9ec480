"""The numbers of the first page. They are read from counters, the change log and the ledger, not from the memories."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from math import ceil
from statistics import median
from typing import Final

from sqlalchemy import Integer, cast, func, select

from memoranda.dashboard.results import GrowthDay, MemoryStates, NamedCount, Overview, RecallDay
from memoranda.storage.base import ReadTransaction
from memoranda.storage.rows import from_micros, in_scope
from memoranda.storage.schema import changes, counters, memories, recalls
from memoranda.types import Scope

_C, _H, _M, _R = counters.c, changes.c, memories.c, recalls.c
_DAY_MICROS: Final = 86_400_000_000
_NEWEST_RECALLS: Final = 1000
"""Recalls whose answers are read: they are compressed, so all of the ledger would take too long."""
_LISTED: Final = 8
_MAX_DAYS: Final = 400
_LOW_TRUST: Final = ("tool", "document", "model")


def read_overview(tx: ReadTransaction, tenant: str, *, with_users: bool) -> Overview:
    """Return the numbers of a tenant; users are named only when that is allowed."""
    types, agents = _counted(tx, tenant, "type"), _counted(tx, tenant, "agent")
    users = _count_users(tx, tenant)
    named = [agent for agent in agents if agent.name]
    return Overview(
        memories=sum(kind.memories for kind in types),
        users=len(users),
        agents=len(named),
        executions=sum(each.memories for each in _counted(tx, tenant, "execution")),
        by_type=tuple(types),
        by_agent=tuple(named[:_LISTED]),
        by_user=tuple(users[:_LISTED]) if with_users else (),
        growth=_growth(tx, tenant),
        recalls=_recall_days(tx, tenant),
        head=tx.execute(select(func.coalesce(func.max(_H.seq), 0))).scalar_one(),
    )


def count_states(tx: ReadTransaction, scope: Scope) -> MemoryStates:
    """Return how many memories are quarantined, archived and so on. It reads every memory of the scope."""
    counted = [
        func.count(_M.quarantined_at),
        func.count(_M.archived_at),
        func.count(_M.superseded_by),
        func.coalesce(func.sum(_M.pinned), 0),
        func.count().filter(_M.trust.in_(_LOW_TRUST)),
    ]
    return MemoryStates(*map(int, tx.execute(select(*counted).where(*in_scope(scope))).one()))


def _counted(tx: ReadTransaction, tenant: str, kind: str) -> list[NamedCount]:
    conditions = (_C.tenant == tenant, _C.kind == kind, _C.entries > 0)
    query = select(_C.name, _C.entries, _C.last_at).where(*conditions).order_by(_C.entries.desc(), _C.name)
    return [NamedCount(row[0], row[1], from_micros(row[2])) for row in tx.execute(query)]


def _count_users(tx: ReadTransaction, tenant: str) -> list[NamedCount]:
    count = func.count()
    query = select(_M.user, count).where(_M.tenant == tenant, _M.user != "").group_by(_M.user)
    return [NamedCount(row[0], row[1]) for row in tx.execute(query.order_by(count.desc(), _M.user))]


def _growth(tx: ReadTransaction, tenant: str) -> tuple[GrowthDay, ...]:
    """Return one row for each day since the first change, the days without one included."""
    day = cast(_H.at / _DAY_MICROS, Integer)
    query = select(day, _H.op, func.count()).where(_H.tenant == tenant, _H.op.in_(("add", "remove")))
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    for number, op, count in tx.execute(query.group_by(day, _H.op)):
        counts[int(number)][op] = count
    found: list[GrowthDay] = []
    total = 0
    for number in range(min(counts, default=0), max(counts, default=-1) + 1):
        added, removed = counts[number].get("add", 0), counts[number].get("remove", 0)
        total += added - removed
        found.append(GrowthDay(_day_name(number), added, removed, total))
    return tuple(found[-_MAX_DAYS:])


def _recall_days(tx: ReadTransaction, tenant: str) -> tuple[RecallDay, ...]:
    query = select(_R.asked_at, _R.answer).where(_R.tenant == tenant).order_by(_R.number.desc()).limit(_NEWEST_RECALLS)
    by_day: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for asked_at, packed in tx.execute(query):
        answer = json.loads(zlib.decompress(packed))
        by_day[asked_at // _DAY_MICROS].append((answer["elapsed_ms"], answer["answerable"]))
    return tuple(_recall_day(number, values) for number, values in sorted(by_day.items()))


def _recall_day(number: int, values: Sequence[tuple[float, float]]) -> RecallDay:
    times = sorted(elapsed for elapsed, _ in values)
    share = sum(answerable for _, answerable in values) / len(values)
    return RecallDay(_day_name(number), len(values), median(times), times[ceil(0.95 * len(times)) - 1], share)


def _day_name(number: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=number)).isoformat()

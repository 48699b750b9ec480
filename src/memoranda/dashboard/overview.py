"""The numbers of the first page. They are read from counters, the change log and the ledger, not from the memories."""

from __future__ import annotations

import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import accumulate
from math import ceil
from statistics import median
from typing import Final
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, func, select

from memoranda.messages.message import ROLES
from memoranda.recall.facts import Facts
from memoranda.results.recall import Fact, FactConflict
from memoranda.storage.base import ReadTransaction, Store, chunked
from memoranda.storage.claims import mentions_subject
from memoranda.storage.read import scan_conditions
from memoranda.storage.rows import from_micros, in_scope, scope_columns
from memoranda.storage.schema import changes, claims, counters, memories, recalls
from memoranda.types import ANY, Scope
from memoranda.validation import SHARED_USER

_C, _H, _M, _R = counters.c, changes.c, memories.c, recalls.c
_SLICE_SECONDS: Final = 900
"""Changes are counted by the quarter of an hour: a day begins at a full one in every time zone."""
_NEWEST_RECALLS: Final = 1000
"""Recalls whose answers are read: they are compressed, so all of the ledger would take too long."""
_LISTED: Final = 8
_MAX_DAYS: Final = 400
_SHOWN_MICROS: Final = (86_400_000_000, 4_102_444_800_000_000)
"""What was said from 1970 to 2100 is drawn: a date far away would leave no room for the others."""
_LOW_TRUST: Final = ("tool", "document", "model")


@dataclass(frozen=True, slots=True)
class NamedCount:
    """How many memories an agent, a user or a type has."""

    name: str
    memories: int
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class GrowthDay:
    """What was stored and removed on one day."""

    day: str
    added: int
    removed: int
    total: int
    """How many memories there were at its end."""


@dataclass(frozen=True, slots=True)
class RecallDay:
    """The recalls of one day."""

    day: str
    recalls: int
    median_ms: float
    p95_ms: float
    answerable: float
    """The mean of `answerable`."""


@dataclass(frozen=True, slots=True)
class LastUpkeep:
    """The latest run of upkeep that changed memories or could have, in numbers."""

    at: datetime
    examined: int | None
    """None, like the others, where only a part of the tenant is looked at."""
    changes: int | None
    problems: int | None


@dataclass(frozen=True, slots=True)
class Overview:
    """The first page: how much is stored, by whom, and how recall does."""

    memories: int
    users: int
    agents: int
    executions: int
    by_type: tuple[NamedCount, ...]
    by_agent: tuple[NamedCount, ...]
    by_user: tuple[NamedCount, ...]
    """The users with the most memories; empty where only a part of the tenant is looked at."""
    growth: tuple[GrowthDay, ...]
    recalls: tuple[RecallDay, ...]
    zone: str
    """The time zone whose days are counted."""
    head: int
    """The number of the latest change in the store."""
    last_upkeep: LastUpkeep | None = None
    """None when upkeep never ran."""
    said: tuple[GrowthDay, ...] = ()
    """The same as `growth` by when it was said, without empty days, where everything was stored on one day."""


@dataclass(frozen=True, slots=True)
class MemoryStates:
    """How many memories are in a state that somebody may want to look at."""

    quarantined: int
    archived: int
    superseded: int
    pinned: int
    low_trust: int
    """From tools, documents and models."""
    first_at: datetime | None
    """When the oldest memory was said or became true; None without any."""


@dataclass(frozen=True, slots=True)
class PersonFact:
    """A fact, and whose memories it is read from; None for those of no user."""

    user: str | None
    fact: Fact


@dataclass(frozen=True, slots=True)
class PersonConflict:
    """A dispute, and whose memories it is in; None for those of no user."""

    user: str | None
    conflict: FactConflict


@dataclass(frozen=True, slots=True)
class Person:
    """A person who has memories, or whom memories are about."""

    name: str
    memories: int
    """How many memories are this user's; 0 for a person who is no user."""
    spoken: int
    """In how many memories of the scope somebody with this name speaks."""
    facts: tuple[PersonFact, ...]
    """What a user said, and what the memories of others say about somebody with this name."""
    conflicts: tuple[PersonConflict, ...]


class OverviewReader:
    """Reads the numbers of one tenant. It keeps what it read of the change log and the ledger, and reads what is new.

    Not safe for several threads at once.
    """

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant
        self._head = 0
        self._changes: dict[int, Counter[str]] = defaultdict(Counter)
        self._recalls: dict[int, _RecallTime] = {}

    def read(self, tx: ReadTransaction, *, zone: tzinfo = UTC, today: date | None = None) -> Overview:
        """Return the numbers of the whole tenant, by days of a time zone up to today."""
        types, agents = _counted(tx, self._tenant, "type"), _counted(tx, self._tenant, "agent")
        users = _count_users(tx, self._tenant)
        named = [agent for agent in agents if agent.name]
        self._read_changes(tx)
        self._read_recalls(tx)
        growth = _growth(self._changes, zone, today)
        return Overview(
            memories=sum(kind.memories for kind in types),
            users=len(users),
            agents=len(named),
            executions=sum(each.memories for each in _counted(tx, self._tenant, "execution")),
            by_type=tuple(types),
            by_agent=tuple(named[:_LISTED]),
            by_user=tuple(users[:_LISTED]),
            growth=growth,
            recalls=_recall_days(self._recalls.values(), zone),
            zone=str(zone),
            head=self._head,
            said=() if len(growth) > 1 else _said(tx, self._tenant, zone),
        )

    def _read_changes(self, tx: ReadTransaction) -> None:
        """Add the changes since the last reading: rows of the log are never changed or removed."""
        head: int = tx.execute(select(func.coalesce(func.max(_H.seq), 0))).scalar_one()
        new = (_H.seq > self._head, _H.seq <= head, _H.tenant == self._tenant)
        for number, counts in _count_changes(tx, *new).items():
            self._changes[number].update(counts)
        self._head = head

    def _read_recalls(self, tx: ReadTransaction) -> None:
        numbers = _newest_recalls(tx, _R.tenant == self._tenant)
        kept = {number: self._recalls[number] for number in numbers if number in self._recalls}
        self._recalls = kept | _read_answers(tx, [number for number in numbers if number not in kept])


def read_scope(tx: ReadTransaction, scope: Scope, zone: tzinfo = UTC, today: date | None = None) -> Overview:
    """Return the numbers of one scope: what it holds, and nothing about the memories of others."""
    user = scope_columns(scope)["user"]
    changed = _count_changes(tx, _H.tenant == scope.tenant, _H.user == user)
    asked = _newest_recalls(tx, _R.tenant == scope.tenant, _R.user == user, _R.all_users == 0)
    types, agents = _count_memories(tx, scope, _M.type), _count_memories(tx, scope, _M.agent)
    named = [agent for agent in agents if agent.name]
    return Overview(
        memories=sum(kind.memories for kind in types),
        users=int(bool(types) and user != ""),
        agents=len(named),
        executions=0,
        by_type=tuple(types),
        by_agent=tuple(named[:_LISTED]),
        by_user=(),
        growth=_growth(changed, zone, today),
        recalls=_recall_days(_read_answers(tx, asked).values(), zone),
        zone=str(zone),
        head=tx.execute(select(func.coalesce(func.max(_H.seq), 0))).scalar_one(),
    )


def _count_changes(tx: ReadTransaction, *conditions: ColumnElement[bool]) -> dict[int, Counter[str]]:
    """Return how many memories were added and removed, by the quarter of an hour."""
    part = _H.at // (_SLICE_SECONDS * 1_000_000)
    query = select(part, _H.op, func.count()).where(*conditions, _H.op.in_(("add", "remove")))
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for number, op, count in tx.execute(query.group_by(part, _H.op)):
        found[int(number)][op] += count
    return found


def _newest_recalls(tx: ReadTransaction, *conditions: ColumnElement[bool]) -> list[int]:
    return list(tx.scalars(select(_R.number).where(*conditions).order_by(_R.number.desc()).limit(_NEWEST_RECALLS)))


def _read_answers(tx: ReadTransaction, numbers: Sequence[int]) -> dict[int, _RecallTime]:
    found: dict[int, _RecallTime] = {}
    for part in chunked(numbers):
        query = select(_R.number, _R.asked_at, _R.answer).where(_R.number.in_(part))
        for number, asked_at, packed in tx.execute(query):
            answer = json.loads(zlib.decompress(packed))
            found[number] = _RecallTime(from_micros(asked_at), answer["elapsed_ms"], answer["answerable"])
    return found


def _count_memories(tx: ReadTransaction, scope: Scope, column: ColumnElement[str]) -> list[NamedCount]:
    count = func.count()
    query = select(column, count).where(*in_scope(scope)).group_by(column).order_by(count.desc(), column)
    return [NamedCount(row[0], row[1]) for row in tx.execute(query)]


@dataclass(frozen=True, slots=True)
class _RecallTime:
    asked_at: datetime
    elapsed_ms: float
    answerable: float


def count_states(tx: ReadTransaction, scope: Scope) -> MemoryStates:
    """Return how many memories are quarantined, archived and so on. It reads every memory of the scope."""
    counted = [
        func.count(_M.quarantined_at),
        func.count(_M.archived_at),
        func.count(_M.superseded_by),
        func.coalesce(func.sum(_M.pinned), 0),
        func.count().filter(_M.trust.in_(_LOW_TRUST)),
    ]
    *counts, first = tx.execute(select(*counted, func.min(_M.valid_from)).where(*scan_conditions(tx, scope))).one()
    quarantined, archived, superseded, pinned, low_trust = map(int, counts)
    first_at = None if first is None else from_micros(first)
    return MemoryStates(quarantined, archived, superseded, pinned, low_trust, first_at)


def _counted(tx: ReadTransaction, tenant: str, kind: str) -> list[NamedCount]:
    conditions = (_C.tenant == tenant, _C.kind == kind, _C.entries > 0)
    query = select(_C.name, _C.entries, _C.last_at).where(*conditions).order_by(_C.entries.desc(), _C.name)
    return [NamedCount(row[0], row[1], from_micros(row[2])) for row in tx.execute(query)]


def _count_users(tx: ReadTransaction, tenant: str) -> list[NamedCount]:
    count = func.count()
    query = select(_M.user, count).where(_M.tenant == tenant, _M.user.notin_(("", SHARED_USER))).group_by(_M.user)
    return [NamedCount(row[0], row[1]) for row in tx.execute(query.order_by(count.desc(), _M.user))]


def find_zone(name: str) -> tzinfo:
    """Return the time zone of this name; UTC where there is no such zone or no database of zones."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; not a name; a folder of the database, such as "Europe"
        return UTC


def _growth(counts: Mapping[int, Mapping[str, int]], zone: tzinfo, today: date | None) -> tuple[GrowthDay, ...]:
    """Return one row for each day from the first change to today, the days without one included."""
    by_day = _count_by_day(counts, zone)
    if not by_day:
        return ()
    found: list[GrowthDay] = []
    day, last, total = min(by_day), max(*by_day, today or date.min), 0
    while day <= last:
        count: Mapping[str, int] = by_day.get(day, {})
        added, removed = count.get("add", 0), count.get("remove", 0)
        total += added - removed
        found.append(GrowthDay(day.isoformat(), added, removed, total))
        day += timedelta(days=1)
    return tuple(found[-_MAX_DAYS:])


def _said(tx: ReadTransaction, tenant: str, zone: tzinfo) -> tuple[GrowthDay, ...]:
    """Return one row for each day on which something was said that is stored."""
    part = _M.valid_from // (_SLICE_SECONDS * 1_000_000)
    conditions = scan_conditions(tx, Scope(tenant, user=ANY))
    query = select(part, func.count()).where(*conditions, _M.valid_from.between(*_SHOWN_MICROS)).group_by(part)
    by_day = _count_by_day({int(number): {"add": count} for number, count in tx.execute(query)}, zone)
    days = sorted(by_day)
    totals = accumulate(by_day[day]["add"] for day in days)
    rows = (GrowthDay(day.isoformat(), by_day[day]["add"], 0, total) for day, total in zip(days, totals, strict=True))
    return tuple(rows)[-_MAX_DAYS:]


def _count_by_day(counts: Mapping[int, Mapping[str, int]], zone: tzinfo) -> dict[date, Counter[str]]:
    by_day: dict[date, Counter[str]] = defaultdict(Counter)
    day, end = date.min, float("-inf")
    for part in sorted(counts):
        moment = part * _SLICE_SECONDS
        if moment >= end:  # looked up once a day, not once a part
            day = datetime.fromtimestamp(moment, zone).date()
            end = datetime.combine(day + timedelta(days=1), time(), zone).timestamp()
        by_day[day].update(counts[part])
    return by_day


def _recall_days(times: Iterable[_RecallTime], zone: tzinfo) -> tuple[RecallDay, ...]:
    by_day: dict[date, list[_RecallTime]] = defaultdict(list)
    for each in times:
        by_day[each.asked_at.astimezone(zone).date()].append(each)
    return tuple(_recall_day(day, values) for day, values in sorted(by_day.items()))


def _recall_day(day: date, values: Sequence[_RecallTime]) -> RecallDay:
    times = sorted(each.elapsed_ms for each in values)
    share = sum(each.answerable for each in values) / len(values)
    return RecallDay(day.isoformat(), len(values), median(times), times[ceil(0.95 * len(times)) - 1], share)


_M = memories.c
_MAX_MENTIONING = 50
"""Users whose memories are read about somebody else."""


def list_speakers(tx: ReadTransaction, scope: Scope, limit: int, after: int) -> list[NamedCount]:
    """Return who speaks in the memories of a scope and is no user, those with the most memories first."""
    # "Ana" is the user "ana".
    count, users = func.count(), select(func.lower(_M.user)).where(_M.tenant == scope.tenant).distinct()
    spoken = (_M.speaker.is_not(None), _M.speaker.notin_(("", *ROLES)), func.lower(_M.speaker).notin_(users))
    query = select(_M.speaker, count, func.max(_M.valid_from)).where(*in_scope(scope), *spoken).group_by(_M.speaker)
    rows = tx.execute(query.order_by(count.desc(), _M.speaker).limit(limit).offset(after))
    return [NamedCount(row[0], row[1], from_micros(row[2])) for row in rows]


def read_person(store: Store, facts: Facts, scope: Scope, name: str, as_of: datetime | None) -> Person:
    """Return what is known about a person in the scope that a caller may read, and everything that a user has said."""
    own, known, disputed = Scope(scope.tenant, user=name), list[PersonFact](), list[PersonConflict]()
    stored = store.read(lambda tx: _count(tx, own), tenant=scope.tenant)
    spoken = store.read(lambda tx: _count(tx, scope, _M.speaker == name), tenant=scope.tenant)
    if stored:
        known += [PersonFact(name, fact) for fact in facts.facts(own, as_of, None)]
        disputed += [PersonConflict(name, conflict) for conflict in facts.conflicts(own)]
    for user in store.read(lambda tx: list(_users_mentioning(tx, scope, name)), tenant=scope.tenant):
        theirs = Scope(scope.tenant, user=user)
        known += [PersonFact(user, fact) for fact in facts.facts(theirs, as_of, None, subject=name)]
        disputed += [PersonConflict(user, conflict) for conflict in facts.conflicts(theirs, subject=name)]
    return Person(name, stored, spoken, tuple(known), tuple(disputed))


def _count(tx: ReadTransaction, scope: Scope, *conditions: ColumnElement[bool]) -> int:
    query = select(func.count()).select_from(memories).where(*in_scope(scope), *conditions)
    return int(tx.execute(query).scalar_one())


def _users_mentioning(tx: ReadTransaction, scope: Scope, name: str) -> Iterator[str | None]:
    """Yield the users whose memories may say something about somebody else with this name."""
    if scope.user is not ANY:
        if scope.user != name:
            yield scope.user if isinstance(scope.user, str) else None
        return
    mentioning = (*in_scope(scope), _M.user.notin_((name, SHARED_USER)), mentions_subject(name))
    query = select(_M.user).join(claims, claims.c.memory_id == _M.id).where(*mentioning).distinct().order_by(_M.user)
    yield from (user or None for user in tx.scalars(query.limit(_MAX_MENTIONING)))

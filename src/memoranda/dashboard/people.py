"""People: the users, those who speak in their memories, and what is known about each, whoever told it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import ColumnElement, func, select

from memoranda.dashboard.results import NamedCount, Person, ToldConflict, ToldFact
from memoranda.recall.facts import Facts
from memoranda.recall.query import ROLES
from memoranda.storage.base import ReadTransaction, Store
from memoranda.storage.claims import mentions_subject
from memoranda.storage.rows import from_micros, in_scope
from memoranda.storage.schema import claims, memories
from memoranda.types import ANY, Scope
from memoranda.validation import SHARED_USER

_M = memories.c
_MAX_TELLERS = 50
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
    """Return what is known about a person in the scope that a caller may read, and everything a user has told."""
    own, told, disputed = Scope(scope.tenant, user=name), list[ToldFact](), list[ToldConflict]()
    stored = store.read(lambda tx: _count(tx, own), tenant=scope.tenant)
    spoken = store.read(lambda tx: _count(tx, scope, _M.speaker == name), tenant=scope.tenant)
    if stored:
        told += [ToldFact(name, fact) for fact in facts.facts(own, as_of, None)]
        disputed += [ToldConflict(name, conflict) for conflict in facts.conflicts(own)]
    for teller in store.read(lambda tx: list(_tellers(tx, scope, name)), tenant=scope.tenant):
        theirs = Scope(scope.tenant, user=teller)
        told += [ToldFact(teller, fact) for fact in facts.facts(theirs, as_of, None, subject=name)]
        disputed += [ToldConflict(teller, conflict) for conflict in facts.conflicts(theirs, subject=name)]
    return Person(name, stored, spoken, tuple(told), tuple(disputed))


def _count(tx: ReadTransaction, scope: Scope, *conditions: ColumnElement[bool]) -> int:
    query = select(func.count()).select_from(memories).where(*in_scope(scope), *conditions)
    return int(tx.execute(query).scalar_one())


def _tellers(tx: ReadTransaction, scope: Scope, name: str) -> Iterator[str | None]:
    """Yield the users whose memories may say something about somebody else with this name."""
    if scope.user is not ANY:
        if scope.user != name:
            yield scope.user if isinstance(scope.user, str) else None
        return
    told = (*in_scope(scope), _M.user.notin_((name, SHARED_USER)), mentions_subject(name))
    query = select(_M.user).join(claims, claims.c.memory_id == _M.id).where(*told).distinct().order_by(_M.user)
    yield from (user or None for user in tx.scalars(query.limit(_MAX_TELLERS)))

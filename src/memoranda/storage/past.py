"""Memories on two axes of time: what was true at a time, and what was known at a time.

The conditions are those of `Partition.eligible`, for queries that do not use the index.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, func, or_, select

from memoranda.storage.base import ReadTransaction, Row, chunked
from memoranda.storage.claims import CLAIMS, ENDED_BY, claims_of, enders_of, without_end
from memoranda.storage.row_hash import REVISION_HASH
from memoranda.storage.rows import (
    SELECT_MEMORY,
    check_revision,
    from_micros,
    in_scope,
    memory_from_row,
    stored_json,
    to_micros,
)
from memoranda.storage.schema import memories, revisions
from memoranda.types import Memory, MemoryType, Scope

_M = memories.c
_R = revisions.c
_earlier = revisions.alias("earlier")
_EDITED_AT = (
    select(func.max(_earlier.c.changed_at))
    .where(_earlier.c.memory_id == _R.memory_id, _earlier.c.version < _R.version)
    .correlate(revisions)
    .scalar_subquery()
)
_FORMER = (
    _R.memory_id,
    _R.version,
    _R.content,
    _R.type,
    _R.importance,
    _R.source,
    _R.metadata,
    _EDITED_AT,
    REVISION_HASH,
)


@dataclass(frozen=True, slots=True)
class TimeView:
    """The times that a question is about: what was true at `as_of`, by what was known at `known_at`."""

    now: datetime
    as_of: datetime | None = None
    known_at: datetime | None = None

    @property
    def latest(self) -> datetime:
        """The time up to which anything counts."""
        return self.now if self.known_at is None else min(self.now, self.known_at)

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the times as conditions on `memories`; none when no time is named."""
        if self.as_of is None and self.known_at is None:
            return []
        moment = to_micros(self.as_of or self.latest)
        ended: ColumnElement[bool] = and_(_M.valid_to.is_not(None), _M.valid_to <= moment)
        found: list[ColumnElement[bool]] = []
        if self.known_at is not None:
            known = to_micros(self.known_at)
            found.append(_M.recorded_at <= known)
            ended = and_(ended, or_(_M.superseded_at.is_(None), _M.superseded_at <= known))
        if self.as_of is not None:
            found.append(func.coalesce(_M.true_from, _M.valid_from) <= to_micros(self.as_of))
        return [*found, ~ended]


def as_known_at(tx: ReadTransaction, found: Sequence[Memory], known_at: datetime) -> list[Memory]:
    """Return the memories as they were known at a time: with the words they had, and without ends learnt later."""
    former = _former_versions(tx, [memory.id for memory in found if memory.version > 1], known_at)
    learnt = _recorded_later(tx, {ender for memory in found for ender in enders_of(memory)}, known_at)
    return [_restore(memory, former.get(memory.id), learnt, known_at) for memory in found]


def reworded_since(tx: ReadTransaction, scope: Scope, known_at: datetime) -> list[Memory]:
    """Return the memories known at a time whose words were changed after it, in the words they had then."""
    changed = exists().where(_R.memory_id == _M.id, _R.changed_at > to_micros(known_at), _R.content != _M.content)
    visible = (_M.archived_at.is_(None), _M.quarantined_at.is_(None), _M.recorded_at <= to_micros(known_at))
    rows = tx.execute(SELECT_MEMORY.where(*in_scope(scope), *visible, changed).order_by(_M.id))
    found = [memory_from_row(row, scope) for row in rows]
    then = as_known_at(tx, found, known_at)
    return [past for past, memory in zip(then, found, strict=True) if past.content != memory.content]


def _former_versions(tx: ReadTransaction, ids: Sequence[int], known_at: datetime) -> dict[int, Row]:
    """Return the version that each memory had at a time, for those that were edited after it."""
    former: dict[int, Row] = {}
    for part in chunked(ids):
        query = (
            select(*_FORMER)
            .join(memories, _M.id == _R.memory_id)
            .where(_R.memory_id.in_(part), _R.changed_at > to_micros(known_at))
        )
        for row in tx.execute(query.order_by(_R.memory_id, _R.version)):
            former.setdefault(row[0], row)
    return former


def _recorded_later(tx: ReadTransaction, ids: Collection[int], known_at: datetime) -> set[int]:
    found: set[int] = set()
    for part in chunked(sorted(ids)):
        found.update(tx.scalars(select(_M.id).where(_M.id.in_(part), _M.recorded_at > to_micros(known_at))))
    return found


def _restore(memory: Memory, former: Row | None, learnt: Collection[int], known_at: datetime) -> Memory:
    if former is not None:
        memory = _with_former_words(memory, former)
    if memory.superseded_at is not None and memory.superseded_at > known_at:
        memory = replace(memory, valid_to=None, superseded_by=None, superseded_at=None)
    if memory.archived_at is not None and memory.archived_at > known_at:
        memory = replace(memory, archived_at=None)
    if enders_of(memory) & set(learnt):
        kept = [_reopen(claim, learnt) for claim in claims_of(memory)]
        memory = replace(memory, notes={**memory.notes, CLAIMS: kept})
    return memory


def _with_former_words(memory: Memory, former: Row) -> Memory:
    _, version, content, kind, importance, source, metadata, edited_at, stored = former
    check_revision(memory, content, metadata, stored)
    return replace(
        memory,
        content=content,
        type=MemoryType(kind),
        importance=importance,
        source=source,
        metadata=stored_json(metadata, dict),
        version=version,
        edited_at=None if edited_at is None else from_micros(edited_at),
        # What was extracted is of the words that replaced these.
        notes=memory.notes if content == memory.content else {},
    )


def _reopen(claim: Mapping[str, Any], learnt: Collection[int]) -> dict[str, Any]:
    return without_end(claim) if claim.get(ENDED_BY) in learnt else dict(claim)

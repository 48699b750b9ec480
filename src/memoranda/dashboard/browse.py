"""Lists that the pages show: memories by state and trust, conversations with their memories, where a memory is from."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import ColumnElement, and_, case, func, literal, or_, select

from memoranda.storage.base import ReadTransaction, chunked
from memoranda.storage.changes import no_memory
from memoranda.storage.message_log import MESSAGE_COLUMNS, check_message
from memoranda.storage.read import filter_conditions, find_memories, get_memories, related_memories, require_memories
from memoranda.storage.rows import SELECT_MEMORY, from_micros, in_scope, memory_from_row, not_expired, scope_conditions
from memoranda.storage.schema import associations, changes, lineage, memories, messages, recalls
from memoranda.types import EVERYTHING, AnyUser, ArmScore, Filter, Hit, Memory, Scope, utc_now

MemoryState: TypeAlias = Literal["any", "current", "archived", "superseded", "quarantined", "pinned", "expired"]
MemoryOrder: TypeAlias = Literal["newest", "oldest"]
SearchOrder: TypeAlias = Literal["best", "newest", "oldest"]
OUTSIDE_RECALL: Final = frozenset({"archived", "superseded", "quarantined", "expired"})
_M, _L, _R, _H = memories.c, messages.c, recalls.c, changes.c
_NEIGHBOURS: Final = 4
"""Messages shown before and after the one that a memory came from."""
_LISTED_USES: Final = 10


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """A message of the log, and the memories that came from it."""

    message_id: str
    role: str
    speaker: str | None
    content: str | None
    said_at: datetime
    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """Messages of one conversation, oldest first."""

    messages: tuple[LoggedMessage, ...]
    next_cursor: int | None
    """The position of the next page; None on the last page."""


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A conversation: whose it is, how many messages it has, and from when to when."""

    agent: str | None
    user: str | None
    session: str | None
    messages: int
    started_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class PastUse:
    """A recall that returned a memory."""

    recall_id: str
    asked_at: datetime
    query: str
    position: int
    """1 was the best hit."""
    why: tuple[ArmScore, ...]
    """What counted for it then."""


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """Something that was done to a memory, from the change log."""

    op: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a memory comes from, what was done to it, and who used it."""

    source: tuple[LoggedMessage, ...]
    """The message it came from, with its neighbours in the conversation; empty when it came from none."""
    message_id: str | None
    uses: tuple[PastUse, ...]
    events: tuple[MemoryEvent, ...] = ()
    """When it was archived, restored and released, oldest first."""


@dataclass(frozen=True, slots=True)
class MemoryNode:
    """A memory in the graph."""

    id: int
    text: str
    type: str
    user: str | None
    importance: float
    state: str


@dataclass(frozen=True, slots=True)
class MemoryEdge:
    """A link of the graph between two memories."""

    source: int
    target: int
    kind: str
    strength: float


@dataclass(frozen=True, slots=True)
class EntityNode:
    """A name that memories of the graph mention."""

    name: str
    memories: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MemoryGraph:
    """Memories and how they are linked: by association, by lineage, by replacement, by the names they mention."""

    nodes: tuple[MemoryNode, ...]
    edges: tuple[MemoryEdge, ...]
    entities: tuple[EntityNode, ...]
    truncated: bool
    """Whether there are more memories than were asked for."""


def list_by_state(
    tx: ReadTransaction,
    scope: Scope,
    where: Filter,
    *,
    state: MemoryState,
    order: MemoryOrder,
    limit: int,
    after: int,
) -> list[Memory]:
    """Return a page of memories in one state."""
    newest_first = order == "newest"
    return find_memories(tx, scope, where, limit, after, _state_conditions(state), newest_first=newest_first)


def find_by_words(
    tx: ReadTransaction, scope: Scope, where: Filter, state: MemoryState, terms: Sequence[str], limit: int
) -> list[Hit]:
    """Return memories in one state with a term of a question, those with the most terms first, then the newest.

    The index of recall has no memories in the states that it leaves out, so these are found by their terms alone.
    """
    has_term = [_M.terms.contains(term, autoescape=True) for term in terms]
    if not has_term:
        return []
    matched = sum((case((each, 1), else_=0) for each in has_term), literal(0))
    conditions = (*in_scope(scope), *filter_conditions(where), *_state_conditions(state), or_(*has_term))
    query = SELECT_MEMORY.add_columns(matched).where(*conditions).order_by(matched.desc(), _M.id.desc())
    found: list[Hit] = []
    for rank, row in enumerate(tx.execute(query.limit(limit)), start=1):
        share = row[-1] / len(has_term)
        found.append(Hit(memory_from_row(row[:-1], scope), share, (ArmScore("lexical", rank, share, share),)))
    return found


def _state_conditions(state: MemoryState) -> list[ColumnElement[bool]]:
    holding: dict[MemoryState, list[ColumnElement[bool]]] = {
        "any": [],
        "current": [
            _M.archived_at.is_(None),
            _M.superseded_by.is_(None),
            _M.quarantined_at.is_(None),
            not_expired(utc_now()),
        ],
        "archived": [_M.archived_at.is_not(None)],
        "superseded": [_M.superseded_by.is_not(None)],
        "quarantined": [_M.quarantined_at.is_not(None)],
        "pinned": [_M.pinned == 1],
        "expired": [~not_expired(utc_now())],
    }
    return holding[state]


def list_conversations(tx: ReadTransaction, scope: Scope, limit: int, after: int) -> list[ConversationSummary]:
    """Return a page of the conversations of a scope, the latest first; `after` is how many to skip."""
    owner, last = (_L.agent, _L.user, _L.session), func.max(_L.said_at)
    query = (
        select(*owner, func.count(_L.message_id.distinct()), func.min(_L.said_at), last)
        .where(*scope_conditions(messages, scope))
        .group_by(*owner)
        .order_by(last.desc(), *owner)
        .limit(limit)
        .offset(after)
    )
    return [
        ConversationSummary(row[0] or None, row[1] or None, row[2] or None, row[3], *map(from_micros, row[4:6]))
        for row in tx.execute(query)
    ]


def read_conversation(
    tx: ReadTransaction, scope: Scope, *, exact_agent: bool, limit: int, after: int
) -> ConversationPage:
    """Return a page of one conversation after so many messages, with the memories that came from each.

    Messages are in the order in which they were said, which is not that of their numbers: those that became no memory
    were stored after their neighbours.
    """
    conditions = scope_conditions(messages, scope)
    if exact_agent:
        conditions.append(_L.agent == (scope.agent or ""))
    if scope.session is None:
        conditions.append(_L.session == "")
    query = select(_L.seq).where(*conditions).order_by(_L.said_at, _L.seq).offset(after).limit(limit + 1)
    numbers = list(tx.scalars(query))
    found = _load_messages(tx, scope, numbers[:limit])
    return ConversationPage(tuple(found), after + limit if len(numbers) > limit else None)


def read_provenance(tx: ReadTransaction, scope: Scope, memory_id: int) -> Provenance:
    """Return the message that a memory came from, its neighbours, and the recalls that returned the memory."""
    memory = get_memories(tx, scope, [memory_id])[0]
    if memory is None:
        raise no_memory(scope, memory_id)
    number = tx.execute(select(_M.message_seq).where(_M.id == memory_id)).scalar_one()
    source = () if number is None else tuple(_load_messages(tx, scope, _neighbours(tx, scope, number)))
    return Provenance(source, memory.message_id, tuple(_uses(tx, scope, memory_id)), _events(tx, memory))


def _events(tx: ReadTransaction, memory: Memory) -> tuple[MemoryEvent, ...]:
    """Return what the change log says about a memory that its own row and its versions do not."""
    own = (_H.tenant == memory.tenant, _H.user == (memory.user or ""), _H.memory_id == memory.id)
    query = select(_H.op, _H.at).where(*own, _H.op.in_(("archive", "restore", "release"))).order_by(_H.seq)
    return tuple(MemoryEvent(op, from_micros(at)) for op, at in tx.execute(query))


def _neighbours(tx: ReadTransaction, scope: Scope, number: int) -> list[int]:
    row = tx.execute(select(_L.user, _L.session, _L.agent, _L.said_at).where(_L.seq == number)).first()
    if row is None:
        return []
    user, session, agent, said_at = row
    same = (_L.tenant == scope.tenant, _L.user == user, _L.session == session, _L.agent == agent)
    later = or_(_L.said_at > said_at, and_(_L.said_at == said_at, _L.seq > number))
    before = select(_L.seq).where(*same, ~later).order_by(_L.said_at.desc(), _L.seq.desc()).limit(_NEIGHBOURS + 1)
    after = select(_L.seq).where(*same, later).order_by(_L.said_at, _L.seq).limit(_NEIGHBOURS)
    return [*reversed(list(tx.scalars(before))), *tx.scalars(after)]


def _load_messages(tx: ReadTransaction, scope: Scope, numbers: Sequence[int]) -> list[LoggedMessage]:
    """Return messages in this order, each once: a message that is also in a conversation has two rows."""
    found: dict[str, LoggedMessage] = {}
    margin = _memories_of(tx, scope, numbers)
    columns = (*MESSAGE_COLUMNS, _L.seq, _L.role, _L.speaker, _L.said_at)
    rows = {
        row.seq: row for part in chunked(list(numbers)) for row in tx.execute(select(*columns).where(_L.seq.in_(part)))
    }
    for seq in numbers:
        check_message(rows[seq][:8])
        *_, message_id, content, _, _, _, role, speaker, said_at = rows[seq]
        kept = found.get(message_id)
        more = tuple(margin[seq]) if kept is None else (*kept.memories, *margin[seq])
        found[message_id] = LoggedMessage(message_id, role, speaker, content, from_micros(said_at), more)
    return list(found.values())


def _memories_of(tx: ReadTransaction, scope: Scope, numbers: Sequence[int]) -> dict[int, list[Memory]]:
    found: dict[int, list[Memory]] = defaultdict(list)
    for part in chunked(list(numbers)):
        query = SELECT_MEMORY.add_columns(_M.message_seq).where(_M.message_seq.in_(part), *in_scope(scope))
        for row in tx.execute(query.order_by(_M.id)):
            found[row[-1]].append(memory_from_row(row[:-1], scope))
    return found


def _uses(tx: ReadTransaction, scope: Scope, memory_id: int) -> list[PastUse]:
    """Return the newest recalls that returned a memory. Without reading across users, only those of the same user."""
    conditions = [_R.tenant == scope.tenant]
    if not isinstance(scope.user, AnyUser):
        conditions += [_R.user == (scope.user or ""), _R.all_users == 0]
    columns = (_R.id, _R.asked_at, _R.query, _R.states, _R.answer)
    query = select(*columns).where(*conditions, _R.states.contains(f"[{memory_id},"))
    found: list[PastUse] = []
    for recall_id, asked_at, text, states, packed in tx.execute(query.order_by(_R.number.desc()).limit(_LISTED_USES)):
        position = [each for each, _ in json.loads(states)].index(memory_id)
        why = _reasons(packed, position)
        found.append(PastUse(recall_id, from_micros(asked_at), text, position + 1, why))
    return found


def _reasons(packed: bytes, position: int) -> tuple[ArmScore, ...]:
    """Return what counted for a hit of a past answer; nothing for a memory that was only beside a hit."""
    hits = json.loads(zlib.decompress(packed))["hits"]
    return tuple(ArmScore(*arm) for arm in hits[position][1]) if position < len(hits) else ()


_M = memories.c
_TEXT: Final = 160
_DEPTH: Final = 2
_MAX_ENTITIES: Final = 500


def read_graph(tx: ReadTransaction, scope: Scope, *, around: int | None, limit: int) -> MemoryGraph:
    """Return the newest memories of a scope, linked ones first, or the neighbourhood of one memory."""
    found = _linked(tx, scope, limit) if around is None else _neighbourhood(tx, scope, around)
    chosen = found[:limit]
    ids = {memory.id for memory in chosen}
    nodes = tuple(
        MemoryNode(each.id, each.content[:_TEXT], each.type, each.user, each.importance, state_of(each))
        for each in chosen
    )
    return MemoryGraph(nodes, tuple(_edges(tx, chosen, ids)), tuple(_entities(chosen)), len(found) > limit)


def state_of(memory: Memory) -> str:
    """Return the state of a memory in one word."""
    if memory.quarantined_at is not None:
        return "quarantined"
    if memory.archived_at is not None:
        return "archived"
    if memory.superseded_by is not None:
        return "superseded"
    return "expired" if memory.has_expired(utc_now()) else "current"


def _linked(tx: ReadTransaction, scope: Scope, limit: int) -> list[Memory]:
    """Return memories that have a link, then the newest others."""
    ends: set[int] = set()
    for table, columns in ((associations, ("memory_id", "related_memory_id")), (lineage, ("derived_id", "source_id"))):
        for column in columns:
            query = select(table.c[column]).join(memories, memories.c.id == table.c[column]).where(*in_scope(scope))
            ends.update(tx.scalars(query.order_by(table.c[column].desc()).limit(limit)))
    replaced = select(_M.id, _M.superseded_by).where(_M.superseded_by.is_not(None), *in_scope(scope))
    for row in tx.execute(replaced.order_by(_M.id.desc()).limit(limit)):
        ends.update(row)
    linked = [each for each in get_memories(tx, scope, sorted(ends, reverse=True)) if each is not None]
    known = {each.id for each in linked}
    newest = find_memories(tx, scope, EVERYTHING, limit + 1, newest_first=True)
    return linked + [each for each in newest if each.id not in known]


def _neighbourhood(tx: ReadTransaction, scope: Scope, around: int) -> list[Memory]:
    require_memories(tx, scope, [around])
    ids = {around, *(each.memory.id for each in related_memories(tx, scope, around, None, _DEPTH))}
    for _ in range(_DEPTH):
        for derived, source in _lineage(tx, sorted(ids)):
            ids |= {derived, source}
        replaced = or_(_M.superseded_by.in_(ids), _M.id.in_(ids))
        for row in tx.execute(select(_M.id, _M.superseded_by).where(replaced, *in_scope(scope)).limit(_MAX_ENTITIES)):
            ids |= {each for each in row if each is not None}
    return [each for each in get_memories(tx, scope, sorted(ids)) if each is not None]


def _lineage(tx: ReadTransaction, ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    line = lineage.c
    for part in chunked(ids):
        query = select(line.derived_id, line.source_id).where(or_(line.derived_id.in_(part), line.source_id.in_(part)))
        yield from ((row[0], row[1]) for row in tx.execute(query))


def _edges(tx: ReadTransaction, chosen: Sequence[Memory], ids: set[int]) -> Iterator[MemoryEdge]:
    for part in chunked(sorted(ids)):
        links: list[Any] = list(tx.execute(select(associations).where(associations.c.memory_id.in_(part))))
        yield from (MemoryEdge(row[0], row[1], row[2], row[3]) for row in links if row[1] in ids)
        lines: list[Any] = list(tx.execute(select(lineage).where(lineage.c.derived_id.in_(part))))
        yield from (MemoryEdge(row[0], row[1], row[2], 1.0) for row in lines if row[1] in ids)
    for memory in chosen:
        if memory.superseded_by in ids:
            yield MemoryEdge(memory.superseded_by or 0, memory.id, "replaced", 1.0)


def _entities(chosen: Sequence[Memory]) -> list[EntityNode]:
    """Return the names that at least two memories mention, the most frequent first."""
    mentions: dict[str, dict[int, None]] = defaultdict(dict)
    for memory in chosen:
        for entity in memory.notes.get("entities", ()):
            if entity.get("kind") in ("name", "place", "organisation", "person"):
                mentions[str(entity["text"])][memory.id] = None
    shared = [EntityNode(name, tuple(ids)) for name, ids in mentions.items() if len(ids) > 1]
    return sorted(shared, key=lambda entity: (-len(entity.memories), entity.name))[:_MAX_ENTITIES]

"""Lists that the pages show: memories by state and trust, conversations with their memories, where a memory is from."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from sqlalchemy import ColumnElement, and_, case, func, literal, or_, select

from memoranda.dashboard.results import (
    ConversationPage,
    ConversationSummary,
    LoggedMessage,
    MemoryEvent,
    PastUse,
    Provenance,
)
from memoranda.storage.base import ReadTransaction, chunked
from memoranda.storage.changes import no_memory
from memoranda.storage.read import filter_conditions, find_memories, get_memories
from memoranda.storage.rows import SELECT_MEMORY, from_micros, in_scope, memory_from_row, not_expired, scope_conditions
from memoranda.storage.schema import changes, memories, messages, recalls
from memoranda.types import AnyUser, ArmScore, Filter, Hit, Memory, Scope, utc_now

MemoryState: TypeAlias = Literal["any", "current", "archived", "superseded", "quarantined", "pinned", "expired"]
MemoryOrder: TypeAlias = Literal["newest", "oldest"]
SearchOrder: TypeAlias = Literal["best", "newest", "oldest"]
OUTSIDE_RECALL: Final = frozenset({"archived", "superseded", "quarantined", "expired"})
_M, _L, _R, _H = memories.c, messages.c, recalls.c, changes.c
_NEIGHBOURS: Final = 4
"""Messages shown before and after the one that a memory came from."""
_LISTED_USES: Final = 10


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
    """Return a page of the conversations of a scope, the one with the newest message first; `after` so many."""
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

    The order is that of saying: messages that became no memory have later numbers than those beside them.
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
    columns = (_L.seq, _L.message_id, _L.role, _L.speaker, _L.content, _L.said_at)
    rows = {
        row[0]: row[1:]
        for part in chunked(list(numbers))
        for row in tx.execute(select(*columns).where(_L.seq.in_(part)))
    }
    for seq in numbers:
        message_id, role, speaker, content, said_at = rows[seq]
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

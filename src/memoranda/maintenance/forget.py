"""Forgetting for real, and what is known of a memory's past."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from sqlalchemy import ColumnElement, Table, delete, func, or_, select, text

from memoranda.conversation import stored
from memoranda.errors import InvalidInput, Unavailable
from memoranda.results import Derivation, ErasureStatus, ForgetReceipt, StoreReceipt
from memoranda.sessions.base import Namespace
from memoranda.storage.add import insert_changes
from memoranda.storage.base import ReadTransaction, Store, Transaction, chunked
from memoranda.storage.changes import no_memory
from memoranda.storage.claim_resolution import resolve_slots
from memoranda.storage.claims import slots_of
from memoranda.storage.lifecycle import read_lineage
from memoranda.storage.meta import set_meta
from memoranda.storage.read import filter_conditions
from memoranda.storage.rows import in_scope, scope_conditions, scope_of
from memoranda.storage.schema import (
    ERASURE_PENDING,
    associations,
    lineage,
    memories,
    messages,
    revisions,
    sessions,
    vectors,
)
from memoranda.types import ANY, EVERYTHING, Clock, Filter, Scope
from memoranda.validation import SHARED_USER

if TYPE_CHECKING:
    from memoranda.conversation.conversations import Conversations
    from memoranda.embedding.vectors import Vectors
    from memoranda.sessions.base import ValueStore
    from memoranda.sessions.sessions import Sessions


@runtime_checkable
class Forgetful(Protocol):
    """An embedder that keeps vectors at hand and can drop them."""

    def clear_cache(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Doomed:
    ids: frozenset[int]
    messages: frozenset[int]
    counts: dict[str, int]


class Forgetting:
    """Erases memories and all that tells of them."""

    def __init__(
        self,
        tenant: str,
        store: Store,
        vectors: Vectors,
        compact: Callable[[], bool],
        *,
        conversations: Conversations,
        sessions: Sessions,
        short_term: Callable[[], ValueStore],
        clock: Clock,
    ) -> None:
        self._tenant = tenant
        self._store = store
        self._vectors = vectors
        self._compact = compact
        self._conversations = conversations
        self._sessions = sessions
        self._short_term = short_term
        self._clock = clock

    def forget(
        self, scope: Scope, ids: tuple[int, ...], where: Filter, containing: str | None, dry_run: bool
    ) -> ForgetReceipt:
        """In one commit the rows; then caches, index and file. Cut short, the next start finishes it."""
        if scope == Scope(self._tenant) and not ids and where == EVERYTHING and containing is None:
            raise InvalidInput("forget what? Name ids, a filter, a text, an agent, a user or a session")
        target = Target(scope, ids, where, containing)
        store = self._store
        if dry_run:
            doomed = store.read(lambda tx: _doomed(tx, target))
            return self._receipt(doomed, [], dry_run=True)

        def work(tx: Transaction) -> _Doomed:
            found = _doomed(tx, target)
            if found.ids or found.messages:
                _erase(tx, target, found)
            return found

        doomed = store.write(work)
        return self._receipt(doomed, self._clean(target, doomed), dry_run=False)

    def _clean(self, target: Target, doomed: _Doomed) -> list[StoreReceipt]:
        """What lies outside of the rows."""
        embedder = self._vectors.embedder
        stores = [self._forget_values(target)]
        if target.whole_scope:
            self._conversations.clear_scope(target.scope)
        if embedder is None or isinstance(embedder, Forgetful):
            if isinstance(embedder, Forgetful):
                embedder.clear_cache()
            stores.append(StoreReceipt("embedding cache", "erased"))
        else:
            stores.append(StoreReceipt("embedding cache", "not supported", detail="the embedder has no clear_cache()"))
        if not doomed.ids and not doomed.messages and not is_erasure_pending(self._store):
            return [*stores, StoreReceipt("search index", "erased"), StoreReceipt("database file", "erased")]
        compacted = self._compact()
        held = "a reader of another process holds the old pages: the next start or upkeep finishes it"
        file = StoreReceipt("database file", "erased" if compacted else "pending", detail="" if compacted else held)
        return [*stores, StoreReceipt("search index", "erased"), file]

    def _forget_values(self, target: Target) -> StoreReceipt:
        """Short-term values belong to an agent or a workflow, never to a user."""
        name, scope = "short-term values", target.scope
        if not target.whole_scope or scope.user is not None:
            return StoreReceipt(
                name, "not supported", detail="they belong to agents: forget(agent=…) or clear_session()"
            )
        try:
            count = 0 if scope.agent is None else self._short_term().clear(
                Namespace(self._tenant, scope.session, scope.agent))  # fmt: skip
            if scope.session is not None:
                self._sessions.clear(scope.session)
        except Unavailable as error:
            return StoreReceipt(name, "pending", detail=str(error))
        return StoreReceipt(name, "erased", count)

    def _receipt(self, doomed: _Doomed, others: list[StoreReceipt], *, dry_run: bool) -> ForgetReceipt:
        status: ErasureStatus = "pending" if dry_run else "erased"
        rows = [StoreReceipt(name, status, count) for name, count in doomed.counts.items()]
        rows.append(StoreReceipt("search terms", status, len(doomed.ids)))
        kept = [
            StoreReceipt("change log", "erased", detail="it never held texts: numbers, times and names of scopes stay"),
            StoreReceipt("execution records", "not supported", detail="the audit trail is append-only"),
            StoreReceipt("backups and exports", "not supported", detail="files you made are yours to delete"),
        ]
        return ForgetReceipt(tuple(sorted(doomed.ids)), (*rows, *others, *kept), self._clock(), dry_run)


def _erase(tx: Transaction, target: Target, doomed: _Doomed) -> None:
    """Deletes the rows; what only they had ended holds again."""
    slots = slots_of(tx, Scope(target.scope.tenant, user=ANY), sorted(doomed.ids))
    erase(tx, target, doomed.ids, doomed.messages)
    resolve_slots(tx, slots)


def _doomed(tx: ReadTransaction, target: Target) -> _Doomed:
    """All that tells of the target: its memories, what was made from them, and what was said."""
    ids = matching(tx, target)
    if missing := sorted(set(target.ids) - ids):
        raise no_memory(target.scope, *missing)
    lines = read_lineage(tx, replace(Scope(target.scope.tenant), user=ANY))
    numbers: set[int] = set()
    while True:
        ids = with_descendants(ids, lines)
        numbers |= message_numbers(tx, target, ids)
        more = told_by(tx, numbers) - ids
        if not more:
            return _Doomed(frozenset(ids), frozenset(numbers), counts(tx, ids, numbers))
        ids |= more


def with_descendants(ids: Iterable[int], lineage: Iterable[Derivation]) -> set[int]:
    """The ids, everything made from them, and what they were merged with: all that still tells of them."""
    reach: dict[int, set[int]] = defaultdict(set)
    for line in lineage:
        reach[line.source_id].add(line.derived_id)
        if line.kind == "merged":
            reach[line.derived_id].add(line.source_id)
    found, waiting = set(ids), list(ids)
    while waiting:
        fresh = reach[waiting.pop()] - found
        found |= fresh
        waiting += fresh
    return found


LAST: Final = "erasure:last"
_M = memories.c
_S = messages.c


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be forgotten: all of a scope, or what these conditions leave of it."""

    scope: Scope
    ids: tuple[int, ...] = ()
    where: Filter = EVERYTHING
    containing: str | None = None

    @property
    def whole_scope(self) -> bool:
        return not self.ids and self.where == EVERYTHING and self.containing is None


def matching(tx: ReadTransaction, target: Target) -> set[int]:
    """The memories that a target names; shared knowledge is nobody's to forget by scope."""
    mine = [*in_scope(target.scope), *filter_conditions(target.where), _M.user != SHARED_USER]
    wanted = select(_M.id, _M.content).where(*mine)
    if target.ids:
        parts = [tx.execute(wanted.where(_M.id.in_(part))) for part in chunked(target.ids)]
        rows: Iterator[Sequence[Any]] = (row for part in parts for row in part)
    else:
        rows = iter(tx.execute(wanted))
    return {row[0] for row in rows if _says(target.containing, row[1])}


def message_numbers(tx: ReadTransaction, target: Target, ids: Collection[int]) -> set[int]:
    """The messages behind these memories, their copies in conversations, and those the target itself names."""
    found: set[int] = set()
    for part in chunked(sorted(ids)):
        behind = select(_M.message_seq).where(_M.id.in_(part), _M.message_seq.is_not(None))
        found.update(tx.scalars(behind))
        copies = select(_S.seq).join(memories, _same_message()).where(_M.id.in_(part))
        found.update(tx.scalars(copies))
    if target.whole_scope:
        found.update(tx.scalars(select(_S.seq).where(*scope_conditions(messages, target.scope))))
    elif target.containing is not None and target.where == EVERYTHING and not target.ids:
        wanted = select(_S.seq, _S.content, _S.payload).where(*scope_conditions(messages, target.scope))
        rows = tx.execute(wanted)
        found.update(row[0] for row in rows if _says(target.containing, f"{row[1]}\n{row[2]}"))
    return found


def told_by(tx: ReadTransaction, numbers: Collection[int]) -> set[int]:
    """The memories that were made from these messages."""
    found: set[int] = set()
    for part in chunked(sorted(numbers)):
        found.update(tx.scalars(select(_M.id).where(_M.message_seq.in_(part))))
    return found


def counts(tx: ReadTransaction, ids: Collection[int], numbers: Collection[int]) -> dict[str, int]:
    """How many rows of what would go."""
    a = associations.c
    found = {"memories": len(ids), "messages": len(numbers), "vectors": 0, "associations": 0, "revisions": 0}
    for part in chunked(sorted(ids)):
        found["vectors"] += _count(tx, vectors, vectors.c.memory_id.in_(part))
        found["revisions"] += _count(tx, revisions, revisions.c.memory_id.in_(part))
        either = or_(a.memory_id.in_(part), a.related_memory_id.in_(part))
        found["associations"] += _count(tx, associations, either)
    return found


def erase(tx: Transaction, target: Target, ids: Collection[int], numbers: Collection[int]) -> None:
    """Deletes the rows, and notes in the same commit that the file must still be cleaned of their bytes."""
    owners: list[tuple[int, str, str]] = []
    for part in chunked(sorted(ids)):
        rows = tx.execute(select(_M.id, _M.tenant, _M.user).where(_M.id.in_(part)))
        owners += [(row[0], row[1], row[2]) for row in rows]
        tx.execute(delete(lineage).where(lineage.c.source_id.in_(part)))
        tx.execute(delete(memories).where(_M.id.in_(part)))  # vectors, links, lineage and revisions cascade
    _erase_messages(tx, numbers)
    if target.whole_scope and target.scope.session is not None:
        ended = (sessions.c.tenant == target.scope.tenant, sessions.c.workflow == target.scope.session)
        tx.execute(delete(sessions).where(*ended))
    tx.execute(text("DELETE FROM counters WHERE entries <= 0"))
    insert_changes(tx, "remove", owners)
    head = tx.execute(text("SELECT coalesce(max(seq), 0) FROM changes")).scalar_one()
    for key in (ERASURE_PENDING, LAST):
        set_meta(tx, key, str(head))


def is_erasure_pending(store: Store) -> bool:
    """Return whether rows were erased whose bytes may still be in the file."""
    return store.get_meta(ERASURE_PENDING) is not None


def last_erasure(store: Store) -> int:
    """Return the number of the newest change that an erasure made; 0 when there was none."""
    return int(store.get_meta(LAST) or 0)


def _erase_messages(tx: Transaction, numbers: Collection[int]) -> None:
    for part in chunked(sorted(numbers)):
        rows = tx.execute(select(_S.seq, _S.position, _S.tenant, _S.agent, _S.user, _S.session).where(
            _S.seq.in_(part)))  # fmt: skip
        placed: dict[Scope, list[int]] = {}
        loose: list[int] = []
        for seq, place, tenant, agent, user, session in rows:
            if place is None:
                loose.append(seq)
            else:
                placed.setdefault(scope_of(tenant, agent, user, session), []).append(place)
        tx.execute(delete(messages).where(_S.seq.in_(loose)))
        for scope, places in placed.items():
            stored.take_out_places(tx, scope, sorted(places))


def _same_message() -> ColumnElement[bool]:
    own = [_S[column] == _M[column] for column in ("message_id", "tenant", "agent", "user", "session")]
    return own[0] & own[1] & own[2] & own[3] & own[4]


def _says(phrase: str | None, content: str) -> bool:
    return phrase is None or phrase.casefold() in content.casefold()


def _count(tx: ReadTransaction, table: Table, where: ColumnElement[bool]) -> int:
    return int(tx.execute(select(func.count()).select_from(table).where(where)).scalar_one())

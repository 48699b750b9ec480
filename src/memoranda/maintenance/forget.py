"""Erasing memories from every store, with a receipt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from sqlalchemy import ColumnElement, Table, and_, delete, func, or_, select, text

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
from memoranda.storage.recalls import clear_recalls, find_recalls, recalls_with
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
    from memoranda.recall.ledger import RecallLedger
    from memoranda.sessions.base import ValueStore
    from memoranda.sessions.context import Sessions

_LAST_ERASURE: Final = "erasure:last"
_MEMORY = memories.c
_MESSAGE = messages.c


@runtime_checkable
class CachingEmbedder(Protocol):
    """An embedder that caches vectors and can drop them."""

    def clear_cache(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ErasureTarget:
    """What to forget: a whole scope, or the memories in it that match these conditions."""

    scope: Scope
    ids: tuple[int, ...] = ()
    where: Filter = EVERYTHING
    containing: str | None = None

    @property
    def whole_scope(self) -> bool:
        return not self.ids and self.where == EVERYTHING and self.containing is None


@dataclass(frozen=True, slots=True)
class _ErasureRows:
    """The rows that an erasure deletes."""

    ids: frozenset[int]
    message_seqs: frozenset[int]
    counts: dict[str, int]
    """Row counts by store, for the receipt."""


class MemoryEraser:
    """Erases memories and everything derived from them."""

    def __init__(
        self,
        tenant: str,
        store: Store,
        vectors: Vectors,
        compact: Callable[[], bool],
        *,
        ledger: RecallLedger,
        conversations: Conversations,
        sessions: Sessions,
        short_term: Callable[[], ValueStore],
        clock: Clock,
    ) -> None:
        self._tenant = tenant
        self._store = store
        self._vectors = vectors
        self._compact = compact
        self._ledger = ledger
        self._conversations = conversations
        self._sessions = sessions
        self._short_term = short_term
        self._clock = clock

    def forget(
        self, scope: Scope, ids: tuple[int, ...], where: Filter, containing: str | None, dry_run: bool
    ) -> ForgetReceipt:
        """Erase the rows in one transaction, then caches, index and file.

        If the process ends in between, the next start finishes the work.
        """
        target = ErasureTarget(scope, ids, where, containing)
        if target.whole_scope and scope == Scope(self._tenant):
            raise InvalidInput("forget what? Name ids, a filter, a text, an agent, a user or a session")
        self._ledger.write()
        if dry_run:
            return self._store.read(lambda tx: self._preview(tx, target))

        def find_and_delete(tx: Transaction) -> _ErasureRows:
            rows = _find_rows(tx, target)
            if _erases_recalls(target):
                clear_recalls(tx, target.scope, _recall_matches(target))
            if rows.ids or rows.message_seqs or rows.counts["recalls"]:
                _delete_rows(tx, target, rows)
            return rows

        rows = self._store.write(find_and_delete)
        return self._receipt(rows, self._clean_up(target, rows), dry_run=False)

    def _preview(self, tx: ReadTransaction, target: ErasureTarget) -> ForgetReceipt:
        """Return what would be erased, and which past recalls returned some of it."""
        rows = _find_rows(tx, target)
        affected = recalls_with(tx, self._tenant, rows.ids)
        return replace(self._receipt(rows, [], dry_run=True), recalls=tuple(affected))

    def _clean_up(self, target: ErasureTarget, rows: _ErasureRows) -> list[StoreReceipt]:
        """Erase what is outside of the rows."""
        receipts = [self._erase_values(target)]
        if target.whole_scope:
            self._conversations.clear_scope(target.scope)
        embedder = self._vectors.embedder
        if embedder is None or isinstance(embedder, CachingEmbedder):
            if embedder is not None:
                embedder.clear_cache()
            receipts.append(StoreReceipt("embedding cache", "erased"))
        else:
            detail = "the embedder has no clear_cache()"
            receipts.append(StoreReceipt("embedding cache", "not supported", detail=detail))
        receipts.append(StoreReceipt("search index", "erased"))
        must_compact = rows.ids or rows.message_seqs or rows.counts["recalls"] or is_erasure_pending(self._store)
        if must_compact and not self._compact():
            detail = "a reader in another process holds the old pages: the next start or upkeep finishes the work"
            return [*receipts, StoreReceipt("database file", "pending", detail=detail)]
        return [*receipts, StoreReceipt("database file", "erased")]

    def _erase_values(self, target: ErasureTarget) -> StoreReceipt:
        """Erase short-term values. They belong to an agent or a session, never to a user."""
        name, scope = "short-term values", target.scope
        if not target.whole_scope or scope.user is not None:
            detail = "they belong to agents: use forget(agent=…) or clear_session()"
            return StoreReceipt(name, "not supported", detail=detail)
        count = 0
        try:
            if scope.agent is not None:
                count = self._short_term().clear(Namespace(self._tenant, scope.session, scope.agent))
            if scope.session is not None:
                self._sessions.clear(scope.session)
        except Unavailable as error:
            return StoreReceipt(name, "pending", detail=str(error))
        return StoreReceipt(name, "erased", count)

    def _receipt(self, rows: _ErasureRows, others: list[StoreReceipt], *, dry_run: bool) -> ForgetReceipt:
        status: ErasureStatus = "pending" if dry_run else "erased"
        tables = [StoreReceipt(name, status, count) for name, count in rows.counts.items()]
        tables.append(StoreReceipt("search terms", status, len(rows.ids)))
        kept = [
            StoreReceipt("change log", "erased", detail="it never held texts: numbers, times and scope names stay"),
            StoreReceipt("execution records", "not supported", detail="the audit trail is append-only"),
            StoreReceipt("backups and exports", "not supported", detail="delete the files that you made yourself"),
        ]
        return ForgetReceipt(tuple(sorted(rows.ids)), (*tables, *others, *kept), self._clock(), dry_run)


def is_erasure_pending(store: Store) -> bool:
    """Return whether rows were erased whose bytes may still be in the file."""
    return store.get_meta(ERASURE_PENDING) is not None


def last_erasure(store: Store) -> int:
    """Return the number of the newest change that an erasure made; 0 when there was none."""
    return int(store.get_meta(_LAST_ERASURE) or 0)


def _find_rows(tx: ReadTransaction, target: ErasureTarget) -> _ErasureRows:
    """Find the target's memories, the messages behind them, and all memories derived from either."""
    ids = _find_memories(tx, target)
    if missing := sorted(set(target.ids) - ids):
        raise no_memory(target.scope, *missing)
    derivations = read_lineage(tx, Scope(target.scope.tenant, user=ANY))
    seqs: set[int] = set()
    while True:
        ids = with_derived(ids, derivations)
        seqs |= _find_messages(tx, target, ids)
        others = _find_memories_of(tx, seqs) - ids
        if not others:
            counts = _count_rows(tx, ids, seqs) | {"recalls": _count_recalls(tx, target)}
            return _ErasureRows(frozenset(ids), frozenset(seqs), counts)
        ids |= others


def _recall_matches(target: ErasureTarget) -> Callable[[str], bool] | None:
    """Return which recalls of the scope are erased, by their words; None for all of them."""
    return None if target.whole_scope else lambda words: _contains(words, target.containing)


def _erases_recalls(target: ErasureTarget) -> bool:
    """Return whether the questions asked in the scope are erased: with all of it, or those that contain the text."""
    return target.whole_scope or (target.containing is not None and target.where == EVERYTHING and not target.ids)


def _count_recalls(tx: ReadTransaction, target: ErasureTarget) -> int:
    return len(find_recalls(tx, target.scope, _recall_matches(target))) if _erases_recalls(target) else 0


def with_derived(ids: Iterable[int], derivations: Iterable[Derivation]) -> set[int]:
    """Return the ids, those of everything derived from them, and those they were merged with."""
    reachable: dict[int, set[int]] = defaultdict(set)
    for line in derivations:
        reachable[line.source_id].add(line.derived_id)
        if line.kind == "merged":
            reachable[line.derived_id].add(line.source_id)
    found, queue = set(ids), list(ids)
    while queue:
        new = reachable[queue.pop()] - found
        found |= new
        queue += new
    return found


def _find_memories(tx: ReadTransaction, target: ErasureTarget) -> set[int]:
    # Shared knowledge belongs to nobody, so forgetting a scope never reaches it.
    conditions = [*in_scope(target.scope), *filter_conditions(target.where), _MEMORY.user != SHARED_USER]
    query = select(_MEMORY.id, _MEMORY.content).where(*conditions)
    queries = [query.where(_MEMORY.id.in_(part)) for part in chunked(target.ids)] if target.ids else [query]
    return {row[0] for query in queries for row in tx.execute(query) if _contains(row[1], target.containing)}


def _find_messages(tx: ReadTransaction, target: ErasureTarget, ids: Collection[int]) -> set[int]:
    """Find the messages behind these memories, their copies in conversations, and messages that match the target."""
    columns = ("message_id", "tenant", "agent", "user", "session")
    is_copy = and_(*(_MESSAGE[column] == _MEMORY[column] for column in columns))
    found: set[int] = set()
    for part in chunked(sorted(ids)):
        found.update(
            tx.scalars(select(_MEMORY.message_seq).where(_MEMORY.id.in_(part), _MEMORY.message_seq.is_not(None)))
        )
        found.update(tx.scalars(select(_MESSAGE.seq).join(memories, is_copy).where(_MEMORY.id.in_(part))))
    in_target = scope_conditions(messages, target.scope)
    if target.whole_scope:
        found.update(tx.scalars(select(_MESSAGE.seq).where(*in_target)))
    elif target.containing is not None and target.where == EVERYTHING and not target.ids:
        rows = tx.execute(select(_MESSAGE.seq, _MESSAGE.content, _MESSAGE.payload).where(*in_target))
        found.update(row[0] for row in rows if _contains(f"{row[1]}\n{row[2]}", target.containing))
    return found


def _find_memories_of(tx: ReadTransaction, seqs: Collection[int]) -> set[int]:
    """Find the memories made from these messages."""
    found: set[int] = set()
    for part in chunked(sorted(seqs)):
        found.update(tx.scalars(select(_MEMORY.id).where(_MEMORY.message_seq.in_(part))))
    return found


def _contains(content: str, phrase: str | None) -> bool:
    return phrase is None or phrase.casefold() in content.casefold()


def _count_rows(tx: ReadTransaction, ids: Collection[int], seqs: Collection[int]) -> dict[str, int]:
    def count(table: Table, condition: ColumnElement[bool]) -> int:
        return int(tx.execute(select(func.count()).select_from(table).where(condition)).scalar_one())

    counts = {"memories": len(ids), "messages": len(seqs), "vectors": 0, "associations": 0, "revisions": 0}
    link = associations.c
    for part in chunked(sorted(ids)):
        counts["vectors"] += count(vectors, vectors.c.memory_id.in_(part))
        counts["revisions"] += count(revisions, revisions.c.memory_id.in_(part))
        counts["associations"] += count(associations, or_(link.memory_id.in_(part), link.related_memory_id.in_(part)))
    return counts


def _delete_rows(tx: Transaction, target: ErasureTarget, rows: _ErasureRows) -> None:
    """Delete the rows, and record in the same commit that the file must still be cleaned of their bytes.

    Claims that only the deleted memories had ended become current again.
    """
    slots = slots_of(tx, Scope(target.scope.tenant, user=ANY), sorted(rows.ids))
    owners: list[tuple[int, str, str]] = []
    for part in chunked(sorted(rows.ids)):
        found = tx.execute(select(_MEMORY.id, _MEMORY.tenant, _MEMORY.user).where(_MEMORY.id.in_(part)))
        owners += [(row[0], row[1], row[2]) for row in found]
        tx.execute(delete(lineage).where(lineage.c.source_id.in_(part)))
        tx.execute(delete(memories).where(_MEMORY.id.in_(part)))  # vectors, links, lineage and revisions cascade
    _delete_messages(tx, rows.message_seqs)
    if target.whole_scope and target.scope.session is not None:
        in_session = (sessions.c.tenant == target.scope.tenant, sessions.c.workflow == target.scope.session)
        tx.execute(delete(sessions).where(*in_session))
    tx.execute(text("DELETE FROM counters WHERE entries <= 0"))
    insert_changes(tx, "remove", owners)
    head = tx.execute(text("SELECT coalesce(max(seq), 0) FROM changes")).scalar_one()
    for key in (ERASURE_PENDING, _LAST_ERASURE):
        set_meta(tx, key, str(head))
    resolve_slots(tx, slots)


def _delete_messages(tx: Transaction, seqs: Collection[int]) -> None:
    """Delete messages; those in a stored conversation are taken out so that its positions stay without gaps."""
    m = _MESSAGE
    for part in chunked(sorted(seqs)):
        rows = tx.execute(select(m.seq, m.position, m.tenant, m.agent, m.user, m.session).where(m.seq.in_(part)))
        positions: dict[Scope, list[int]] = {}
        unplaced: list[int] = []
        for seq, position, tenant, agent, user, session in rows:
            if position is None:
                unplaced.append(seq)
            else:
                positions.setdefault(scope_of(tenant, agent, user, session), []).append(position)
        tx.execute(delete(messages).where(m.seq.in_(unplaced)))
        for scope, gone in positions.items():
            stored.delete_positions(tx, scope, sorted(gone))

"""Erasing memories from every store, with a receipt."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from sqlalchemy import ColumnElement, Table, and_, delete, func, or_, select, text, update

from memoranda.conversation import stored
from memoranda.errors import InvalidInput, MemorandaError, Unavailable
from memoranda.maintenance.receipts import DATABASE_FILE, SEARCH_INDEX, Receipts
from memoranda.maintenance.traces import ErasedTexts, find_traces
from memoranda.receipts import ErasureStatus, ForgetReceipt, StoreReceipt
from memoranda.results import Derivation
from memoranda.sessions.base import Namespace, Tenant
from memoranda.storage.add import insert_changes
from memoranda.storage.base import ReadTransaction, Store, Transaction, chunked
from memoranda.storage.changes import no_memory
from memoranda.storage.claim_resolution import resolve_slots
from memoranda.storage.claims import slots_of
from memoranda.storage.lifecycle import read_lineage
from memoranda.storage.meta import set_meta
from memoranda.storage.read import filter_conditions
from memoranda.storage.recalls import clear_recalls, find_recalls, recalls_with
from memoranda.storage.rows import in_scope, scope_conditions, scope_of, stored_name
from memoranda.storage.schema import (
    ERASURE_PENDING,
    LAST_ERASURE,
    associations,
    changes,
    claims,
    lineage,
    memories,
    messages,
    revisions,
    sessions,
    vectors,
)
from memoranda.storage.short_lived import RESPONSE_BODY, clear_values
from memoranda.text import fold_phrase
from memoranda.types import ANY, EVERYTHING, Clock, Filter, Scope
from memoranda.validation import SHARED_USER

if TYPE_CHECKING:
    from memoranda.conversation.conversations import Conversations
    from memoranda.embedding.vectors import Vectors
    from memoranda.recall.ledger import RecallLedger
    from memoranda.sessions.base import ValueStore
    from memoranda.sessions.context import Sessions

logger = logging.getLogger("memoranda")
_PSEUDONYM: Final = re.compile(r"user-[0-9a-f]{16}")
_OUTSIDE: Final = (
    StoreReceipt("backups", "not reachable", detail="delete the files, or run forget --again after restoring one"),
    StoreReceipt("exports", "not reachable", detail="delete the files; an import leaves out what was forgotten"),
)
"""The places that this store cannot reach."""
_VALUES: Final = "short-term values"
_LEFT_UNDONE: Final = "not cleaned yet (a reader of old pages, a full disk): the next start or upkeep finishes the work"
_MEMORY = memories.c
_TEXT = func.coalesce(func.nullif(_MEMORY.content, ""), _MEMORY.key)  # an item that is not searched has no text
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
    message_seqs: tuple[int, ...] = ()
    """Messages to erase as well, with the memories made from them."""

    @property
    def whole_scope(self) -> bool:
        return not (self.ids or self.message_seqs) and self.where == EVERYTHING and self.containing is None


@dataclass(frozen=True, slots=True)
class _ErasureRows:
    """The rows that an erasure deletes."""

    ids: frozenset[int]
    message_seqs: frozenset[int]
    counts: dict[str, int]
    """Row counts by store, for the receipt."""
    texts: frozenset[tuple[str, str]]
    """The texts of memories, earlier versions and messages, each with its user."""
    messages: frozenset[tuple[str, str]]
    """The ids of messages, each with its user."""

    @property
    def is_empty(self) -> bool:
        return not (self.ids or self.message_seqs or self.counts["recalls"])


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
        receipts: Receipts,
        conversations: Conversations,
        sessions: Sessions,
        short_term: Callable[[], Sequence[ValueStore]],
        clock: Clock,
    ) -> None:
        self._tenant = tenant
        self._store = store
        self._vectors = vectors
        self._compact = compact
        self._ledger = ledger
        self._receipts = receipts
        self._conversations = conversations
        self._sessions = sessions
        self._short_term = short_term
        self._clock = clock

    def forget(
        self, scope: Scope, ids: tuple[int, ...], where: Filter, containing: str | None, dry_run: bool
    ) -> ForgetReceipt:
        """Erase the rows in one transaction, then caches, index and file.

        The receipt is stored with the erasure. If the process ends in between, the next start finishes the work.
        """
        target = ErasureTarget(scope, ids, where, containing)
        if target.whole_scope and scope == Scope(self._tenant):
            raise InvalidInput("forget what? Name ids, a filter, a text, an agent, a user or a session")
        self._ledger.write()
        if dry_run:
            return self._store.read(lambda tx: self._preview(tx, target), tenant=self._tenant)
        return self._forget(target)

    def _forget(self, target: ErasureTarget) -> ForgetReceipt:
        self._receipts.prepare()
        outside = [self._find_values(), self._clear_cache()]
        rows, traces, stored = self._store.write(lambda tx: self._erase(tx, target, outside), tenant=self._tenant)
        # The file is cleaned last, so that the receipt is what was found after it.
        outside = self._clean_up(target)
        receipt = replace(stored, stores=_all_places(rows, outside, traces, self._clean_file(rows)))
        try:
            return self._store.write(lambda tx: self._receipts.write(tx, receipt), tenant=self._tenant)
        except MemorandaError as error:  # the rows are gone: the receipt stored with that is finished later
            logger.warning("receipt %s stays pending until its end can be written: %s", stored.id, error)
            return stored

    def forget_again(self, given: Sequence[ForgetReceipt]) -> ForgetReceipt | None:
        """Erase what was forgotten before and is here again, by the tombstones; None when nothing is.

        What was said after it was forgotten is kept. The given receipts, which a restored backup may not have, are
        stored again.
        """
        if wrong := [receipt.id for receipt in given if not self._receipts.verify(receipt)]:
            raise InvalidInput(f"receipt {wrong[0]!r} was not signed by this store, or was changed: nothing was erased")
        for receipt in given:
            self._store.write(partial(self._receipts.write, receipt=receipt), tenant=self._tenant)
        memory_ids, seqs = self._store.read(self._find_again, tenant=self._tenant)
        if not memory_ids and not seqs:
            return None
        target = ErasureTarget(Scope(self._tenant, user=ANY), tuple(memory_ids), message_seqs=tuple(seqs))
        return self._forget(target)

    def _find_again(self, tx: ReadTransaction) -> tuple[list[int], list[int]]:
        """Return the memories and messages with a tombstone that were recorded before it."""
        m, signer = _MESSAGE, self._receipts
        stored = select(_MEMORY.id, _MEMORY.user, _TEXT, _MEMORY.recorded_at)
        own = (_MEMORY.tenant == self._tenant, _MEMORY.user != SHARED_USER)
        said = select(m.seq, m.user, m.message_id, m.recorded_at).where(m.tenant == self._tenant)
        memory_digests = [
            (signer.text_digest(row[1], row[2]), row[0], row[3]) for row in tx.execute(stored.where(*own))
        ]
        message_digests = [(signer.message_digest(row[1], row[2]), row[0], row[3]) for row in tx.execute(said)]
        return signer.only_forgotten(tx, memory_digests), signer.only_forgotten(tx, message_digests)

    def _erase(
        self, tx: Transaction, target: ErasureTarget, outside: list[StoreReceipt]
    ) -> tuple[_ErasureRows, list[StoreReceipt], ForgetReceipt]:
        """Delete the rows, and store a receipt that is true if nothing can be done after it."""
        rows = _find_rows(tx, target)
        if _erases_recalls(target):
            clear_recalls(tx, target.scope, _recall_matches(target))
        if not rows.is_empty:
            _delete_rows(tx, target, rows)
        # Responses that a server keeps for their idempotency keys can hold the texts: all of them go.
        if clear_values(tx, self._tenant, RESPONSE_BODY, 0):
            _mark_erasure(tx)
        self._rename_in_change_log(tx, target)
        digests = [
            *(self._receipts.text_digest(user, content) for user, content in rows.texts),
            *(self._receipts.message_digest(user, message_id) for user, message_id in rows.messages),
        ]
        traces = self._find_traces(tx, target, rows)
        places = _all_places(rows, outside, traces, _file_places("pending", _LEFT_UNDONE))
        receipt = self._receipts.new(target.scope, rows.ids, self._clock(), places, digests)
        return rows, traces, self._receipts.write(tx, receipt)

    def _find_traces(self, tx: ReadTransaction, target: ErasureTarget, rows: _ErasureRows) -> list[StoreReceipt]:
        erased = ErasedTexts({content for _, content in rows.texts}, target.containing)
        return find_traces(tx, self._tenant, erased)

    def _rename_in_change_log(self, tx: Transaction, target: ErasureTarget) -> None:
        """Put a pseudonym in place of the names of users of whom nothing is left."""
        c = changes.c
        named = [c.user == stored_name(target.scope.user)] if isinstance(target.scope.user, str) else []
        left = [
            ~select(table.c.user).where(table.c.tenant == c.tenant, table.c.user == c.user).exists()
            for table in (memories, messages)
        ]
        gone = select(c.user).where(c.tenant == self._tenant, c.user != "", *named, *left).distinct()
        users = [user for user in tx.scalars(gone) if not _PSEUDONYM.fullmatch(user)]
        for user in users:
            name = self._receipts.pseudonym("user", user)
            tx.execute(update(changes).where(c.tenant == self._tenant, c.user == user).values(user=name))
        if users:  # the names are in the file until it is compacted, and in the changes that others have yet to read
            _mark_erasure(tx)

    def _preview(self, tx: ReadTransaction, target: ErasureTarget) -> ForgetReceipt:
        """Return what would be erased, and which past recalls returned some of it."""
        rows = _find_rows(tx, target)
        places = (*_row_places(rows, "pending"), *self._find_traces(tx, target, rows), *_OUTSIDE)
        affected = recalls_with(tx, self._tenant, rows.ids)
        return ForgetReceipt(tuple(sorted(rows.ids)), places, self._clock(), dry_run=True, recalls=tuple(affected))

    def _clean_up(self, target: ErasureTarget) -> list[StoreReceipt]:
        """Erase what is outside of the rows, in this process and in the stores of values."""
        if target.whole_scope:
            self._conversations.clear_scope(target.scope)
        return [self._clear_values(target), self._clear_cache()]

    def _clear_cache(self) -> StoreReceipt:
        embedder = self._vectors.embedder
        if embedder is not None and not isinstance(embedder, CachingEmbedder):
            detail = "the embedder has no clear_cache()"
            return StoreReceipt("embedding cache", "not reachable", detail=detail)
        if embedder is not None:
            embedder.clear_cache()
        return StoreReceipt("embedding cache", "erased")

    def _clean_file(self, rows: _ErasureRows) -> list[StoreReceipt]:
        try:
            done = (rows.is_empty and not is_erasure_pending(self._store)) or self._compact()
        except (MemorandaError, OSError) as error:  # the receipt says that it is not done
            logger.warning("erased bytes are still in the files: %s", error)
            return _file_places("pending", _LEFT_UNDONE)
        if done:
            return _file_places("erased", "rewritten without them, and its log emptied")
        return _file_places("pending", _LEFT_UNDONE, index="erased")

    def _clear_values(self, target: ErasureTarget) -> StoreReceipt:
        """Erase short-term values. They belong to an agent or a session, never to a user."""
        scope, count = target.scope, 0
        if not (target.whole_scope and scope.user is None):
            return self._find_values()
        try:
            for store in self._short_term() if scope.agent is not None else ():
                count += store.clear(Namespace(self._tenant, scope.session, scope.agent))
            if scope.session is not None:
                self._sessions.clear(scope.session)
        except Unavailable as error:
            return StoreReceipt(_VALUES, "pending", detail=str(error))
        return StoreReceipt(_VALUES, "erased", count)

    def _find_values(self) -> StoreReceipt:
        """Return whether there are short-term values, and that none was cleared."""
        try:
            count = sum(store.count(Tenant(self._tenant)) for store in self._short_term())
        except Unavailable as error:
            return StoreReceipt(_VALUES, "pending", detail=str(error))
        if not count:
            return StoreReceipt(_VALUES, "erased")
        detail = "they belong to agents and sessions, and expire: use forget(agent=…) or clear_session()"
        return StoreReceipt(_VALUES, "not searched", count, detail)


def _all_places(
    rows: _ErasureRows, outside: list[StoreReceipt], traces: list[StoreReceipt], files: list[StoreReceipt]
) -> tuple[StoreReceipt, ...]:
    return (*_row_places(rows, "erased"), *outside, *traces, *files, *_OUTSIDE)


def _file_places(status: ErasureStatus, detail: str, *, index: ErasureStatus | None = None) -> list[StoreReceipt]:
    """Return the places that are cleaned last; the index, which is deleted first, can be done when the file is not."""
    return [StoreReceipt(SEARCH_INDEX, index or status), StoreReceipt(DATABASE_FILE, status, detail=detail)]


def _row_places(rows: _ErasureRows, status: ErasureStatus) -> list[StoreReceipt]:
    places = [StoreReceipt(name, status, count) for name, count in rows.counts.items()]
    log = StoreReceipt(
        "change log", status, detail="it never held texts; the names of users who are gone are pseudonyms"
    )
    return [*places, StoreReceipt("search terms", status, len(rows.ids)), log]


def is_erasure_pending(store: Store) -> bool:
    """Return whether rows were erased whose bytes may still be in the file."""
    return store.get_meta(ERASURE_PENDING) is not None


def last_erasure(store: Store) -> int:
    """Return the number of the newest change that an erasure made; 0 when there was none."""
    return int(store.get_meta(LAST_ERASURE) or 0)


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
            texts, message_ids = _read_texts(tx, ids, seqs)
            return _ErasureRows(frozenset(ids), frozenset(seqs), counts, texts, message_ids)
        ids |= others


def _read_texts(
    tx: ReadTransaction, ids: Collection[int], seqs: Collection[int]
) -> tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]:
    """Return the texts of these memories and messages, and the ids of the messages, each with its user."""
    texts: set[tuple[str, str]] = set()
    message_ids: set[tuple[str, str]] = set()
    m, r = _MESSAGE, revisions.c
    for part in chunked(sorted(ids)):
        for user, content, message_id in tx.execute(
            select(_MEMORY.user, _TEXT, _MEMORY.message_id).where(_MEMORY.id.in_(part))
        ):
            texts.add((user, content))
            message_ids |= {(user, message_id)} if message_id else set()
        earlier = select(_MEMORY.user, r.content).join(memories, _MEMORY.id == r.memory_id)
        texts.update((row[0], row[1]) for row in tx.execute(earlier.where(r.memory_id.in_(part))))
    for part in chunked(sorted(seqs)):
        for user, content, message_id in tx.execute(select(m.user, m.content, m.message_id).where(m.seq.in_(part))):
            texts |= {(user, content)} if content else set()
            message_ids.add((user, message_id))
    return frozenset(texts), frozenset(message_ids)


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
    if target.message_seqs and not target.ids:
        return set()
    query = select(_MEMORY.id, _MEMORY.content, _MEMORY.value).where(*conditions)
    queries = [query.where(_MEMORY.id.in_(part)) for part in chunked(target.ids)] if target.ids else [query]
    rows = (row for query in queries for row in tx.execute(query))
    return {row[0] for row in rows if _contains(f"{row[1]}\n{row[2] or ''}", target.containing)}


def _find_messages(tx: ReadTransaction, target: ErasureTarget, ids: Collection[int]) -> set[int]:
    """Find the messages behind these memories, their copies in conversations, and messages that match the target."""
    columns = ("message_id", "tenant", "agent", "user", "session")
    is_copy = and_(*(_MESSAGE[column] == _MEMORY[column] for column in columns))
    found: set[int] = set(target.message_seqs)
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
    return phrase is None or fold_phrase(phrase) in fold_phrase(content)


def _count_rows(tx: ReadTransaction, ids: Collection[int], seqs: Collection[int]) -> dict[str, int]:
    def count(table: Table, condition: ColumnElement[bool]) -> int:
        return int(tx.execute(select(func.count()).select_from(table).where(condition)).scalar_one())

    link, line = associations.c, lineage.c
    counts = dict.fromkeys(("vectors", "revisions", "claims", "associations", "lineage", "conversation log"), 0)
    for part in chunked(sorted(ids)):
        counts["vectors"] += count(vectors, vectors.c.memory_id.in_(part))
        counts["revisions"] += count(revisions, revisions.c.memory_id.in_(part))
        counts["claims"] += count(claims, claims.c.memory_id.in_(part))
        counts["associations"] += count(associations, or_(link.memory_id.in_(part), link.related_memory_id.in_(part)))
        counts["lineage"] += count(lineage, or_(line.derived_id.in_(part), line.source_id.in_(part)))
    for part in chunked(sorted(seqs)):
        counts["conversation log"] += count(messages, and_(_MESSAGE.seq.in_(part), _MESSAGE.position.is_not(None)))
    return {"memories": len(ids), "messages": len(seqs) - counts["conversation log"], **counts}


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
    _mark_erasure(tx)
    resolve_slots(tx, slots)


def _mark_erasure(tx: Transaction) -> None:
    """Record that the file must be cleaned of erased bytes, and that indexes loaded before must be loaded again."""
    head = tx.execute(text("SELECT coalesce(max(seq), 0) FROM changes")).scalar_one()
    for key in (ERASURE_PENDING, LAST_ERASURE):
        set_meta(tx, key, str(head))


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

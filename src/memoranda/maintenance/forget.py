"""Erasing memories from every store, with a receipt."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from sqlalchemy import func, select, update

from memoranda.errors import InvalidInput, MemorandaError, Unavailable
from memoranda.maintenance.erasure import (
    TEXT_OF_MEMORY,
    ErasedTexts,
    ErasureRows,
    ErasureTarget,
    count_recalls,
    delete_rows,
    erases_recalls,
    find_rows,
    find_traces,
    mark_erasure,
    recall_matches,
)
from memoranda.maintenance.receipts import DATABASE_FILE, SEARCH_INDEX, Receipts
from memoranda.results.maintenance import ErasureStatus, ForgetReceipt, StoreReceipt
from memoranda.sessions.base import Namespace, Tenant
from memoranda.storage.base import ReadTransaction, Store, Transaction, TurnStore
from memoranda.storage.meta import RESPONSE_BODY, clear_values, decode
from memoranda.storage.recalls import clear_recalls, recalls_with
from memoranda.storage.rows import scope_conditions, stored_name
from memoranda.storage.schema import ERASURE_PENDING, LAST_ERASURE, changes, memories, messages
from memoranda.types import ANY, Clock, Filter, Scope
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
_REWRITTEN: Final = "rewritten without them, and its log emptied"
_VACUUMED: Final = "the rows are deleted and vacuumed"
_ON_SERVER: Final = StoreReceipt(
    "server's log, replicas and free space",
    "not reachable",
    detail="the log, replicas and their backups keep the bytes until they age out; free space in pages keeps them "
    "until it is written over, or the job `rewrite` has run",
)
"""What a server keeps of rows that it has removed."""
_LEFT_ON_SERVER: Final = (
    "not vacuumed yet (a long transaction, a standby that holds rows, a role that may not): the next start or upkeep "
    "finishes the work"
)
_LEFT_UNDONE: Final = "not cleaned yet (a reader of old pages, a full disk): the next start or upkeep finishes the work"
_MEMORY = memories.c
_MESSAGE = messages.c


@runtime_checkable
class CachingEmbedder(Protocol):
    """An embedder that caches vectors and can drop them."""

    def clear_cache(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Plan:
    """What an erasure deletes and leaves behind, as of a moment."""

    rows: ErasureRows
    erased: ErasedTexts
    digests: list[bytes]
    change: int
    """The newest change of that moment."""
    message: int
    """The newest message of that moment."""
    earlier: tuple[Any, ...] | None = None
    """How many of the owner there were up to these, and the sum of their numbers; None where none is committed late.

    Where writers run side by side, one may commit a smaller number later.
    """

    def is_current(self, tx: ReadTransaction, owner: Scope) -> bool:
        """Return whether no memory and no message of the owner was written since."""
        if self.earlier is not None and self.earlier != _count_earlier(tx, owner, self.change, self.message):
            return False
        newer = (
            select(table.c.seq).where(table.c.seq > seq, *scope_conditions(table, owner)).limit(1)
            for table, seq in ((changes, self.change), (messages, self.message))
        )
        return all(tx.execute(query).first() is None for query in newer)


def _count_earlier(tx: ReadTransaction, owner: Scope, change: int, message: int) -> tuple[Any, ...]:
    found: list[Any] = []
    for table, seq in ((changes, change), (messages, message)):
        counted = select(func.count(), func.sum(table.c.seq)).where(table.c.seq <= seq, *scope_conditions(table, owner))
        found += tx.execute(counted).one()
    return tuple(found)


def _owner_of(target: ErasureTarget) -> Scope:
    """Return whose rows an erasure is about: a memory derived from others belongs to the same user."""
    return Scope(target.scope.tenant, user=target.scope.user)


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

        Args:
            scope: Only memories in this scope.
            ids: Only these memories; any when empty.
            where: Only memories that match.
            containing: Only memories with this text.
            dry_run: Return what would be erased, and erase nothing.
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
        # Most of the work is to find the rows, while others write.
        plan = self._store.read(lambda tx: self._plan(tx, target), tenant=self._tenant)
        rows, traces, stored = self._store.write(lambda tx: self._erase(tx, target, outside, plan), tenant=self._tenant)
        # The file is cleaned last, so that the receipt is what was found after it.
        outside = self._clean_up(target)
        receipt = replace(stored, stores=_all_places(rows, outside, traces, self._clean_file(rows)))
        try:
            return self._store.write(lambda tx: self._receipts.write(tx, receipt), tenant=self._tenant)
        except MemorandaError as error:  # the rows are gone: the receipt stored with that is finished later
            logger.warning("receipt %s stays pending until its end can be written: %s", stored.id, error)
            return stored

    def forget_again(self, receipts: Sequence[ForgetReceipt]) -> ForgetReceipt | None:
        """Erase what was forgotten before and is here again, by the tombstones; None when nothing is.

        What was said after it was forgotten is kept. The given receipts, which a restored backup may not have, are
        stored again.
        """
        if wrong := [receipt.id for receipt in receipts if not self._receipts.verify(receipt)]:
            raise InvalidInput(f"receipt {wrong[0]!r} was not signed by this store, or was changed: nothing was erased")
        for receipt in receipts:
            self._store.write(partial(self._receipts.write, receipt=receipt), tenant=self._tenant)
        memory_ids, seqs = self._store.read(self._find_again, tenant=self._tenant)
        if not memory_ids and not seqs:
            return None
        target = ErasureTarget(Scope(self._tenant, user=ANY), tuple(memory_ids), message_seqs=tuple(seqs))
        return self._forget(target)

    def _find_again(self, tx: ReadTransaction) -> tuple[list[int], list[int]]:
        """Return the memories and messages with a tombstone that were recorded before it."""
        m, signer = _MESSAGE, self._receipts
        stored = select(_MEMORY.id, _MEMORY.user, TEXT_OF_MEMORY, _MEMORY.recorded_at)
        own = (_MEMORY.tenant == self._tenant, _MEMORY.user != SHARED_USER)
        said = select(m.seq, m.user, m.message_id, m.recorded_at).where(m.tenant == self._tenant)
        memory_digests = [
            (signer.text_digest(row[1], row[2]), row[0], row[3]) for row in tx.execute(stored.where(*own))
        ]
        message_digests = [(signer.message_digest(row[1], row[2]), row[0], row[3]) for row in tx.execute(said)]
        return signer.only_forgotten(tx, memory_digests), signer.only_forgotten(tx, message_digests)

    def _plan(self, tx: ReadTransaction, target: ErasureTarget) -> _Plan:
        change, message = (tx.execute(select(func.max(table.c.seq))).scalar_one() or 0 for table in (changes, messages))
        rows = find_rows(tx, target)
        digests = [
            *(self._receipts.text_digest(user, content) for user, content in rows.texts),
            *(self._receipts.message_digest(user, message_id) for user, message_id in rows.messages),
            *(self._receipts.key_digest(*each) for each in rows.keys),
        ]
        one_by_one = isinstance(self._store, TurnStore)
        earlier = None if one_by_one else _count_earlier(tx, _owner_of(target), change, message)
        return _Plan(rows, _erased_texts(target, rows), digests, change, message, earlier)

    def _erase(
        self, tx: Transaction, target: ErasureTarget, outside: list[StoreReceipt], plan: _Plan
    ) -> tuple[ErasureRows, list[StoreReceipt], ForgetReceipt]:
        """Delete the rows, and store a receipt that is true if nothing can be done after it."""
        if not plan.is_current(tx, _owner_of(target)):
            plan = self._plan(tx, target)
        rows = replace(plan.rows, counts=plan.rows.counts | {"recalls": count_recalls(tx, target)})
        if erases_recalls(target):
            clear_recalls(tx, target.scope, recall_matches(target))
        if not rows.is_empty:
            delete_rows(tx, target, rows)
        # Responses that a server keeps for their idempotency keys can hold the texts: all of them go.
        if clear_values(tx, self._tenant, RESPONSE_BODY, 0):
            mark_erasure(tx)
        self._rename_in_change_log(tx, target)
        traces = find_traces(tx, self._tenant, plan.erased)
        places = _all_places(rows, outside, traces, self._file_places("pending"))
        receipt = self._receipts.new(target.scope, rows.ids, self._clock(), places, plan.digests)
        return rows, traces, self._receipts.write(tx, receipt)

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
            mark_erasure(tx)

    def _preview(self, tx: ReadTransaction, target: ErasureTarget) -> ForgetReceipt:
        """Return what would be erased, and which past recalls returned some of it."""
        rows = find_rows(tx, target)
        traces = find_traces(tx, self._tenant, _erased_texts(target, rows))
        places = (*_row_places(rows, "pending"), *traces, *_OUTSIDE)
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

    def _clean_file(self, rows: ErasureRows) -> list[StoreReceipt]:
        try:
            done = (rows.is_empty and not is_erasure_pending(self._store)) or self._compact()
        except (MemorandaError, OSError) as error:  # the receipt says that it is not done
            logger.warning("erased bytes are still in the files: %s", error)
            return self._file_places("pending")
        return self._file_places("erased" if done else "pending", index="erased")

    def _file_places(self, status: ErasureStatus, *, index: ErasureStatus | None = None) -> list[StoreReceipt]:
        """Return the places that are cleaned last; the index, deleted first, may be done when the file is not."""
        on_server = self._store.path is None
        done, undone = (_VACUUMED, _LEFT_ON_SERVER) if on_server else (_REWRITTEN, _LEFT_UNDONE)
        database = StoreReceipt(DATABASE_FILE, status, detail=done if status == "erased" else undone)
        return [StoreReceipt(SEARCH_INDEX, index or status), database, *([_ON_SERVER] if on_server else [])]

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


def _erased_texts(target: ErasureTarget, rows: ErasureRows) -> ErasedTexts:
    return ErasedTexts({content for _, content in rows.texts}, target.containing)


def _all_places(
    rows: ErasureRows, outside: list[StoreReceipt], traces: list[StoreReceipt], files: list[StoreReceipt]
) -> tuple[StoreReceipt, ...]:
    return (*_row_places(rows, "erased"), *outside, *traces, *files, *_OUTSIDE)


def _row_places(rows: ErasureRows, status: ErasureStatus) -> list[StoreReceipt]:
    places = [StoreReceipt(name, status, count) for name, count in rows.counts.items()]
    detail = "it never held texts; the names of users who are gone are pseudonyms"
    log = StoreReceipt("change log", "erased", detail=detail)
    return [*places, StoreReceipt("search terms", status, len(rows.ids)), log]


def is_erasure_pending(store: Store) -> bool:
    """Return whether rows were erased whose bytes may still be in the file."""
    return store.get_meta(ERASURE_PENDING) is not None


def last_erasure(store: Store) -> int:
    """Return the number of the newest change that an erasure made; 0 when there was none."""
    return decode(store.get_meta(LAST_ERASURE) or "0", int)

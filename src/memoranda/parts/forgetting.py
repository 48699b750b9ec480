"""Forgetting for real, and what is known of a memory's past."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from memoranda.errors import InvalidInput, Unavailable
from memoranda.lifecycle.erase import with_descendants
from memoranda.session.base import Namespace
from memoranda.storage.base import no_memory
from memoranda.types import ANY, EVERYTHING, Filter, Record, Scope

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from memoranda.parts.foundation import Foundation
    from memoranda.storage.erasure import Target

ErasureStatus: TypeAlias = Literal["erased", "pending", "not supported"]


@runtime_checkable
class Forgetful(Protocol):
    """An embedder that keeps vectors at hand and can drop them."""

    def clear_cache(self) -> None: ...


@dataclass(frozen=True, slots=True)
class StoreReceipt(Record):
    """What one store held of it, and what became of that."""

    store: str
    status: ErasureStatus
    count: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ForgetReceipt(Record):
    """What was forgotten, store by store; with `dry_run`, what would be."""

    ids: tuple[int, ...]
    """Every memory that went, those derived from others too."""
    stores: tuple[StoreReceipt, ...]
    at: datetime
    dry_run: bool

    @property
    def complete(self) -> bool:
        """Whether nothing is pending: a byte scan of the files finds nothing."""
        return all(store.status != "pending" for store in self.stores)


@dataclass(frozen=True, slots=True)
class _Doomed:
    ids: frozenset[int]
    messages: frozenset[int]
    counts: dict[str, int]


class Forgetting:
    """Erases memories and all that tells of them."""

    def __init__(self, tenant: str, parts: Foundation) -> None:
        self._tenant = tenant
        self._parts = parts

    def forget(
        self, scope: Scope, ids: tuple[int, ...], where: Filter, containing: str | None, dry_run: bool
    ) -> ForgetReceipt:
        """In one commit the rows; then caches, index and file. Cut short, the next start finishes it."""
        from memoranda.storage.erasure import Target

        if scope == Scope(self._tenant) and not ids and where == EVERYTHING and containing is None:
            raise InvalidInput("forget what? Name ids, a filter, a text, an agent, a user or a session")
        target = Target(scope, ids, where, containing)
        store = self._parts.open().store
        if dry_run:
            doomed = store.read(lambda connection: _doomed(connection, target))
            return self._receipt(doomed, [], dry_run=True)

        def work(connection: Connection, at: int) -> _Doomed:
            found = _doomed(connection, target)
            if found.ids or found.messages:
                _erase(connection, target, found, at)
            return found

        doomed = store.write(work)
        return self._receipt(doomed, self._clean(target, doomed), dry_run=False)

    def _clean(self, target: Target, doomed: _Doomed) -> list[StoreReceipt]:
        """What lies outside of the rows."""
        engine, embedder = self._parts.open(), self._parts.open().vectors.embedder
        stores = [self._forget_values(target)]
        if target.whole_scope:
            self._parts.conversations.clear_scope(target.scope)
        if embedder is None or isinstance(embedder, Forgetful):
            if isinstance(embedder, Forgetful):
                embedder.clear_cache()
            stores.append(StoreReceipt("embedding cache", "erased"))
        else:
            stores.append(StoreReceipt("embedding cache", "not supported", detail="the embedder has no clear_cache()"))
        if not doomed.ids and not doomed.messages and not engine.store.erasure_pending():
            return [*stores, StoreReceipt("search index", "erased"), StoreReceipt("database file", "erased")]
        compacted = engine.clean()
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
            count = 0 if scope.agent is None else self._parts.short_term.clear(
                Namespace(self._tenant, scope.session, scope.agent))  # fmt: skip
            if scope.session is not None:
                self._parts.sessions.clear(scope.session)
        except Unavailable as error:
            return StoreReceipt(name, "pending", detail=str(error))
        return StoreReceipt(name, "erased", count)

    def _receipt(self, doomed: _Doomed, others: list[StoreReceipt], *, dry_run: bool) -> ForgetReceipt:
        status: ErasureStatus = "pending" if dry_run else "erased"
        rows = [StoreReceipt(name, status, count) for name, count in doomed.counts.items()]
        rows.append(StoreReceipt("full text", status, len(doomed.ids)))
        kept = [
            StoreReceipt("change log", "erased", detail="it never held texts: numbers, times and names of scopes stay"),
            StoreReceipt("execution records", "not supported", detail="the audit trail is append-only"),
            StoreReceipt("backups and exports", "not supported", detail="files you made are yours to delete"),
        ]
        return ForgetReceipt(tuple(sorted(doomed.ids)), (*rows, *others, *kept), self._parts.now(), dry_run)


def _erase(connection: Connection, target: Target, doomed: _Doomed, at: int) -> None:
    """Deletes the rows; what only they had ended holds again."""
    from memoranda.parts.believing import revise
    from memoranda.storage.claims import questions_of
    from memoranda.storage.erasure import erase

    questions = questions_of(connection, Scope(target.scope.tenant, user=ANY), sorted(doomed.ids))
    erase(connection, target, doomed.ids, doomed.messages, at)
    revise(connection, questions, at)


def _doomed(connection: Connection, target: Target) -> _Doomed:
    """All that tells of the target: its memories, what was made from them, and what was said."""
    from memoranda.storage import erasure, lifecycle

    ids = erasure.matching(connection, target)
    if missing := sorted(set(target.ids) - ids):
        raise no_memory(target.scope, *missing)
    lines = lifecycle.all_lineage(connection, replace(Scope(target.scope.tenant), user=ANY))
    numbers: set[int] = set()
    while True:
        ids = with_descendants(ids, lines)
        numbers |= erasure.message_numbers(connection, target, ids)
        more = erasure.told_by(connection, numbers) - ids
        if not more:
            return _Doomed(frozenset(ids), frozenset(numbers), erasure.counts(connection, ids, numbers))
        ids |= more

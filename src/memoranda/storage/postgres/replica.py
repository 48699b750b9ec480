"""A second server for reads: a standby that repeats what the primary has written.

A standby is behind, by milliseconds or by hours. So each read first asks the primary how far its log goes, which costs
it nothing, and waits a moment until the standby has come that far; one that has not is not asked, and the primary
answers. What any process wrote before a read is in its answer, as without a standby.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from sqlalchemy import Connection

from memoranda.errors import Incompatible, InvalidInput, MemorandaError, Unavailable
from memoranda.storage.base import (
    Durability,
    IndexRow,
    PartitionKey,
    ReadTransaction,
    StoreStatus,
    Tenant,
    TextVector,
)
from memoranda.storage.meta import get_meta
from memoranda.storage.postgres.connections import parse_url
from memoranda.storage.postgres.schema import STORE_ID, require_version
from memoranda.storage.postgres.store import PostgresStore
from memoranda.storage.postgres.transaction import PostgresTransaction
from memoranda.types import Clock, IntArray, utc_now

R = TypeVar("R")
_WAIT_SECONDS: Final = 0.1
"""How long a read waits for the standby before the primary answers."""
_POLL_SECONDS: Final = 0.005
_AWAY_SECONDS: Final = 5.0
"""How long a standby that did not answer, or was behind, is not asked again."""
_BEHIND_SECONDS: Final = 30.0
"""How long a standby may be behind before that is a problem to report: a moment is not."""
_POSITION: Final = "SELECT pg_current_wal_lsn()::text"
_HAS_REPLAYED: Final = "SELECT pg_is_in_recovery(), coalesce(pg_last_wal_replay_lsn() >= %s::pg_lsn, false)"


class StandbyStore(PostgresStore):
    """A `PostgresStore` on a standby: it reads, and every write fails."""

    @property
    def where(self) -> str:
        return self._connections.where

    def has_replayed(self, position: str) -> bool:
        """Return whether it has everything that the primary had written up to a position of its log."""
        [[(in_recovery, replayed)]] = self._ask(None, (_HAS_REPLAYED, [position]))
        # One that was promoted has a log of its own: positions no longer say anything.
        return bool(in_recovery and replayed)

    def _prepare(self) -> str:
        def read(connection: Connection) -> tuple[str | None, bool]:
            require_version(connection, self._connections.where)
            tx = PostgresTransaction(connection)
            in_recovery, _ = tx.driver.execute(_HAS_REPLAYED, ("0/0",)).fetchone()
            return get_meta(tx, STORE_ID), bool(in_recovery)

        store_id, in_recovery = self._read(None, read)
        if not in_recovery:
            raise InvalidInput(f"{self._connections.where} is not a standby: name one that replays the primary's log")
        return str(store_id)


class ReplicatedStore(PostgresStore):
    """A `PostgresStore` that lets a standby answer what takes long: lists, exports, and loading a user's memories."""

    def __init__(self, url: str, read_url: str, *, durability: Durability = "full", clock: Clock = utc_now) -> None:
        if "," in parse_url(read_url).shown:
            raise InvalidInput("the URL for reads names several servers, which are not equally far: name one")
        super().__init__(url, durability=durability, clock=clock)
        self._ask_again_at = 0.0
        self._standby: StandbyStore | None = None
        self._behind_since: float | None = None
        self._problem: str | None = None
        self._read_where = parse_url(read_url).shown
        self._open_standby = partial(StandbyStore, read_url, durability=durability, clock=clock)
        try:
            self._find_standby()
        except Unavailable as error:  # the primary answers alone until it is there
            self._leave_alone(error)
        except BaseException:
            self.close()
            raise

    def read(self, work: Callable[[ReadTransaction], R], *, tenant: Tenant = None) -> R:
        return self._answer(lambda store: PostgresStore.read(store, work, tenant=tenant))

    def changed(self, key: PartitionKey, since: int) -> IntArray:
        return self._answer(lambda store: PostgresStore.changed(store, key, since))

    def known_vectors(self, tenant: str, generation: int, hashes: Sequence[bytes]) -> dict[bytes, TextVector]:
        return self._answer(lambda store: PostgresStore.known_vectors(store, tenant, generation, hashes))

    def stream(self, work: Callable[[ReadTransaction], Iterator[R]], *, tenant: Tenant = None) -> Iterator[R]:
        # One that has begun cannot go on elsewhere: when the standby is lost meanwhile, the error is the caller's.
        return PostgresStore.stream(self._choose(), work, tenant=tenant)

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        return PostgresStore.rows(self._choose(), key, ids, generation)

    def status(self) -> StoreStatus:
        found = super().status()
        self._choose()
        return found if self._problem is None else replace(found, problems=(*found.problems, self._problem))

    def close(self) -> None:
        super().close()
        if self._standby is not None:
            self._standby.close()

    def _find_standby(self) -> StandbyStore:
        if self._standby is None:
            standby = self._open_standby()
            try:
                self._require_same(standby)
            except BaseException:
                standby.close()
                raise
            self._standby = standby
        return self._standby

    def _require_same(self, standby: StandbyStore) -> None:
        """Raise `Incompatible` for another database. A copy of this one has its id, but not its name."""
        if standby.id != self.id or standby.read_name() != self.read_name():
            raise Incompatible(f"{standby.where} is not a standby of {self._connections.where}")

    def _answer(self, ask: Callable[[PostgresStore], R]) -> R:
        store = self._choose()
        if store is not self:
            try:
                return ask(store)
            except Unavailable as error:
                self._leave_alone(error)
        return ask(self)

    def _choose(self) -> PostgresStore:
        """Return the standby if it has all that was written before this call, perhaps after a moment."""
        if time.monotonic() < self._ask_again_at:
            return self
        [[(position,)]] = self._ask(None, (_POSITION, ()))
        deadline = time.monotonic() + _WAIT_SECONDS
        try:
            standby = self._find_standby()
            while not standby.has_replayed(position):
                if time.monotonic() > deadline:
                    self._leave_alone()
                    return self
                time.sleep(_POLL_SECONDS)
        except (Unavailable, Incompatible, InvalidInput) as error:  # a wrong one is refused only at the start
            self._leave_alone(error)
            return self
        self._behind_since = self._problem = None
        return standby

    def _leave_alone(self, error: MemorandaError | None = None) -> None:
        """Let the primary answer for a while, since the standby is behind, or fails."""
        now = time.monotonic()
        self._ask_again_at = now + _AWAY_SECONDS
        self._behind_since = now if self._behind_since is None else self._behind_since
        behind = now - self._behind_since
        reason = None if behind < _BEHIND_SECONDS else f"it has been behind for {behind:.0f} seconds"
        if (reason := str(error) if error is not None else reason) is not None:
            self._problem = f"the replica {self._read_where} is not used, the primary answers every read: {reason}"

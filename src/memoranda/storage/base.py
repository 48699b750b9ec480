"""The port to a database: a `Store` runs transactions over the tables of `storage.schema`.

Everything that reads or writes rows is a function of a transaction: `store.read(work)` calls `work` with a
`ReadTransaction`, `store.write(work)` with a `Transaction`. Statements are SQLAlchemy Core, so that they run on every
store; what must be faster than SQLAlchemy is a method of the transaction or of the store, written once for each store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from memoranda.results.workflows import Backup
from memoranda.security.encryption import EncryptionKey
from memoranda.types import AnyUser, FloatArray, IntArray, Memory, Progress, Scope

if TYPE_CHECKING:
    from sqlalchemy import CursorResult, Executable, ScalarResult, Select, Table

    Rows: TypeAlias = CursorResult[*tuple[Any, ...]]

Durability: TypeAlias = Literal["full", "normal"]
Tenant: TypeAlias = str | AnyUser | None
"""Whose rows a transaction may see: those of one tenant, of all (ANY, for administration), or of none."""
Owner: TypeAlias = tuple[str, str]
"""A tenant and a user as the tables hold them."""
Row: TypeAlias = Sequence[Any]
R = TypeVar("R")
_T = TypeVar("_T")
_ROWS_PER_STATEMENT = 500


class ReadTransaction(Protocol):
    """One consistent view of the database."""

    def execute(self, statement: Executable, parameters: Any = None) -> Rows:
        """Run a SQLAlchemy statement."""
        ...

    def scalars(self, statement: Select[_T], parameters: Any = None) -> ScalarResult[_T]:
        """Return the first column of each row."""
        ...


class Transaction(ReadTransaction, Protocol):
    """One open write transaction: on disk when `Store.write` returns, undone when the work raises."""

    at: int
    """The time of the transaction in microseconds."""

    def insert_rows(self, table: Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert many rows, faster than SQLAlchemy would."""
        ...

    def upsert(
        self, table: Table, rows: Sequence[Mapping[str, Any]], *, key: Sequence[str], update: Sequence[str] = ()
    ) -> int:
        """Insert rows; where one with the same `key` columns exists, set its `update` columns, or leave it alone.

        Return how many rows were written.
        """
        ...

    def new_ids(self, table: Table, count: int) -> Sequence[int]:
        """Return ids for so many new rows, ascending. No id is ever used for two rows."""
        ...

    def add_counts(self, rows: Sequence[tuple[str, str, str, int, int]]) -> None:
        """Add (tenant, kind, name, entries, last_at) to the rows of `counters`."""
        ...


Work: TypeAlias = Callable[[Transaction], R]


class OwnedWork(Generic[R]):
    """A work that checks and writes only what belongs to these owners, or that checks nothing when there are none.

    One that is not `durable` is seen by everybody at once, and on disk with the next commit that is: what is written
    after it is never there without it.
    """

    def __init__(self, work: Work[R], *owners: Owner, durable: bool = True) -> None:
        self.work = work
        self.owners = frozenset(owners)
        self.durable = durable

    def __call__(self, tx: Transaction) -> R:
        return self.work(tx)


def run_works(tx: Transaction, works: Sequence[Work[Any]]) -> list[Any]:
    """Run the works of one commit in order and return one result each.

    Neighbours of one kind run together where their class has `run_batch(tx, works)`, as `MemoryWrite` does.
    """
    results: list[Any] = []
    for kind, run in groupby(works, key=type):
        same = list(run)
        run_batch = getattr(kind, "run_batch", None)
        results += [work(tx) for work in same] if run_batch is None else run_batch(tx, same)
    return results


def must_sync(works: Sequence[Work[Any]]) -> bool:
    """Return whether a commit of these works must be on disk when it returns."""
    return any(getattr(work, "durable", True) for work in works)


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """The part of a store that one index covers: a tenant's memories of one user, of no user, or of all users."""

    tenant: str
    user: str | AnyUser | None


@dataclass(frozen=True, slots=True)
class IndexRow:
    """What the index keeps of one memory; times are POSIX seconds, infinity for "never"."""

    id: int
    agent: str | None
    session: str | None
    speaker: str | None
    valid_from: float
    valid_to: float
    expires_at: float
    recorded_at: float
    """When it was stored."""
    true_from: float
    """When what it says became true."""
    ended_at: float
    """When the store learnt that another memory replaced it."""
    terms: str
    vector: bytes | None
    """float32, little endian, of the generation asked for."""


class IndexSource(Protocol):
    """What an index catches up from. Archived memories are absent.

    So is a consolidated memory while all its sources are present and not superseded: it would only repeat them.
    """

    def head(self, key: PartitionKey | None = None) -> int:
        """Return the number of the latest committed change of a partition, or of all, by any process.

        It may be that of a later change of another partition. While it stays the same, so do the memories of one user;
        those of all users may still change, where writers of two users commit out of order.
        """
        ...

    def changed(self, key: PartitionKey, since: int) -> IntArray:
        """Return the ids of the partition's memories touched by a change after `since`, ascending.

        `since` is a head that was read before.
        """
        ...

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        """Yield rows in the order of their ids; all rows of the partition when `ids` is None."""
        ...


TermCounts: TypeAlias = tuple[IntArray, IntArray]
"""Which memories have a word, ascending, and how often each has it."""


class OwnerSearch(Protocol):
    """The words and vectors of one owner's memories, searched inside the store.

    Memories that an index leaves out, such as archived ones, may be found: the caller knows which ones count.
    """

    dimension: int
    """The dimension of the vectors."""

    def count(self) -> int:
        """Return how many memories the owner has."""
        ...

    def is_complete(self) -> bool:
        """Return whether the search holds all memories but those that have changed lately."""
        ...

    def update(self) -> None:
        """Bring the search up to date with every commit before the call."""
        ...

    def advance(self) -> bool:
        """Bring some more memories up to date; return whether there are others."""
        ...

    def terms(self, terms: Sequence[str]) -> Mapping[str, TermCounts]:
        """Return the memories with each of these words; a word that none has is missing."""
        ...

    def nearest(self, query: FloatArray, limit: int, among: IntArray | None) -> tuple[IntArray, FloatArray]:
        """Return ids and exact cosines of the nearest memories, best first, ties by id; only ids in `among`."""
        ...

    def cosines(self, query: FloatArray, ids: IntArray | None) -> tuple[IntArray, FloatArray]:
        """Return the ids of those memories that have a vector, ascending, and their exact cosines; of all when None."""
        ...


@runtime_checkable
class SearchStore(Protocol):
    """A store that can search by itself, for owners whose index would take too much memory in this process."""

    def open_search(self, key: PartitionKey, generation: int) -> OwnerSearch | None:
        """Return the search of one owner; None where this database cannot."""
        ...

    def build_graph(self, key: PartitionKey) -> str:
        """Build a graph over the vectors of an owner whose search is complete; return how that ended."""
        ...


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """What a store reports about itself."""

    database: str
    size_bytes: int
    library: str
    """The name of the database library."""
    version: str
    problems: tuple[str, ...] = ()
    wal_reset_bug: bool = False
    encrypted: bool = False
    unbound: str | None = None
    """Why the database does not keep tenants apart below the code, where it could; this is one of the problems too."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One embedding model's vectors in a store."""

    id: int
    provider: str
    model: str
    dimension: int
    fingerprint: str
    active: bool


TextVector: TypeAlias = tuple[bytes, bytes | None]
"""The vector of a text, and the packed ones of its sentences; None where they were not made."""


@dataclass(frozen=True, slots=True)
class PartitionState:
    """What the index of a partition must agree with to be up to date."""

    generation: Generation | None
    """The vectors that answer."""
    head: int
    erased_at: int
    """The number of the newest change that erased data of any owner; 0 when none did."""


class Store(IndexSource, Protocol):
    """A database with the tables of `storage.schema`.

    A commit is on disk when `write` returns, and visible to every later read of any process.
    """

    id: str
    """Random, set when the database was created; an index file records it."""
    path: Path | None
    """The database file; None for a store that is not one file."""

    def read(self, work: Callable[[ReadTransaction], R], *, tenant: Tenant = None) -> R:
        """Return what `work` reads from the latest commit of any process.

        Args:
            work: A function of the transaction.
            tenant: Whose rows it reads. A store that isolates tenants shows it no others, and none without a tenant;
                values in `meta` and generations belong to no tenant.
        """
        ...

    def write(self, work: Work[R], *, tenant: Tenant = None) -> R:
        """Return what `work` returns, in one commit that writers of other threads may share.

        `work` may run twice: when another writer's part of a shared commit fails, each part is run again alone. A work
        with an attribute `owners` writes for these owners only, and may run beside works of others; any other work
        runs alone. A work with an attribute `tenant` needs no other.
        """
        ...

    def stream(self, work: Callable[[ReadTransaction], Iterator[R]], *, tenant: Tenant = None) -> Iterator[R]:
        """Yield what `work` yields, all from one commit."""
        ...

    def get(self, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
        """Return memories in the order asked; None where the scope has no such memory."""
        ...

    def get_meta(self, key: str) -> str | None:
        """Return a value that the store keeps about itself."""
        ...

    def state(self, key: PartitionKey) -> PartitionState:
        """Return the state of a partition."""
        ...

    def active_generation(self) -> Generation | None:
        """Return the generation of vectors that answers; None in a store without vectors."""
        ...

    def known_vectors(self, tenant: str, generation: int, hashes: Sequence[bytes]) -> dict[bytes, TextVector]:
        """Return the vectors that this generation has for a tenant's texts with these hashes."""
        ...

    def compact(self) -> bool:
        """Remove the bytes of deleted rows from disk; False while that goes on, or must be tried again."""
        ...

    def check(self) -> list[str]:
        """Return what is wrong, one sentence each; empty when all tables agree."""
        ...

    def repair(self) -> list[str]:
        """Rebuild what derives from the rows; return what was done, one sentence each."""
        ...

    def status(self) -> StoreStatus: ...

    def close(self) -> None:
        """Close the store. May be called twice."""
        ...


@runtime_checkable
class RemoteStore(Protocol):
    """A store on another machine, where each question takes a round trip."""

    def get_with_state(self, scope: Scope, ids: Sequence[int]) -> tuple[list[Memory | None], PartitionState]:
        """Return memories as `get` does, and the state that the partition of the scope had when they were read."""
        ...


@runtime_checkable
class RewriteStore(Protocol):
    """A store whose files keep bytes of deleted rows in their free space until its tables are written anew."""

    def rewrite(self) -> bool:
        """Write all tables anew, while nobody else reads or writes; False when something keeps erased rows."""
        ...


@runtime_checkable
class BackupStore(Protocol):
    """A store that can copy itself into a file while it is in use."""

    def backup(
        self, target: Path, *, force: bool, progress: Progress | None = None, key: EncryptionKey | None = None
    ) -> Backup:
        """Copy everything committed before the call into `target`, encrypted with the key, or as the store is."""
        ...


@dataclass(frozen=True, slots=True)
class ScrubState:
    """How far the check in slices has come."""

    table: str = ""
    """The table that is next; empty at the start of a round."""
    key: tuple[int | str, ...] = ()
    """The last row of it that was checked; a row without a rowid is named by its key, bytes as hexadecimal digits."""
    found: tuple[str, ...] = ()
    """What this round has found, one sentence each."""
    problems: tuple[str, ...] = ()
    """What is known to be wrong: found by this round, or by the one before it."""
    rounds: int = 0
    """How often the whole store was checked."""


@runtime_checkable
class TurnStore(Protocol):
    """A store with one writer after the other, which can keep the others waiting for a moment."""

    def write_prepared(self, prepare: Callable[[], Work[R]]) -> R:
        """Call `prepare` while nobody else writes, and commit the work that it returns.

        It has a tenth of a second; when it takes longer, others go on, and this raises `Conflict`.

        An embedding model may run in it, although others wait: the new text depends on what was read in the turn. If it
        were embedded before and the version checked in the turn, a writer with a slow model would have to begin again
        each time a faster one changes the memory, and might never come to its end.
        """
        ...


@runtime_checkable
class ScrubStore(Protocol):
    """A store that can check itself in slices, between which others work."""

    def scrub(self, rows: int) -> ScrubState:
        """Check the next rows, about so many, remember where it stopped, and return that."""
        ...


@runtime_checkable
class CopyStore(Protocol):
    """A store whose rows can be copied to another store, ids and numbers included."""

    def next_ids(self) -> dict[str, int]:
        """Return the id that the next row gets, by table: one that a deleted row had is not used again."""
        ...

    def begin_copy(self, mark: Work[None]) -> None:
        """Run a work that marks the store as unfinished; from then on take writes of this object only."""
        ...

    def finish_copy(self, next_ids: Mapping[str, int]) -> None:
        """Go on with these ids, derive what is derived, and be open to all, once all rows are there."""
        ...


@runtime_checkable
class EncryptedStore(Protocol):
    """A store that may be encrypted. Files with its data must be too."""

    key: EncryptionKey | None
    """The key of the database; None when it is not encrypted."""

    def file_keys(self) -> tuple[EncryptionKey, ...]:
        """Return the keys of the files beside the database, the present one first; none when there are none."""
        ...


def encryption_key(store: Store) -> EncryptionKey | None:
    """Return the key of a store; None when it is not encrypted."""
    return store.key if isinstance(store, EncryptedStore) else None


def file_keys(store: Store) -> tuple[EncryptionKey, ...]:
    return store.file_keys() if isinstance(store, EncryptedStore) else ()


def chunked(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """Yield the values in pieces that fit one statement."""
    return (values[start : start + _ROWS_PER_STATEMENT] for start in range(0, len(values), _ROWS_PER_STATEMENT))


def key_file(database: Path) -> Path:
    """Return the file that holds the audit key of a database or of its backup."""
    return database.with_name(f"{database.name}.key")

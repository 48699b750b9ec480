"""The ports of stage 5: changes → rows, one commit; and what the index reads back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias

from memoranda.errors import NotFound
from memoranda.types import (
    EVERYTHING,
    JSON,
    AnyUser,
    Association,
    Filter,
    FloatArray,
    IntArray,
    Memory,
    MemoryType,
    Outcome,
    Record,
    Related,
    Scope,
)


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A turn as it is kept: verbatim, append-only."""

    message_id: str
    role: str
    content: str | None
    said_at: datetime
    speaker: str | None = None
    payload: dict[str, JSON] = field(default_factory=dict)
    """The whole message as JSON, so that nothing it carried is lost."""


@dataclass(slots=True)
class Draft:
    """A memory about to be written, everything computed beforehand; its vector comes last (`parts.vectors`)."""

    content: str
    type: MemoryType
    scope: Scope
    importance: float
    recorded_at: datetime
    valid_from: datetime
    content_hash: bytes
    terms: str
    """The lexical keys, separated by spaces."""
    vector: FloatArray | None = None
    generation: int | None = None
    source: str | None = None
    trust: str = "user"
    metadata: dict[str, JSON] = field(default_factory=dict)
    key: str | None = None
    value: JSON = None
    expires_at: datetime | None = None
    message: StoredMessage | None = None
    idempotency_key: str | None = None
    deduplicate: bool = False
    """Answer `duplicate` when the scope already holds this very text."""
    notes: dict[str, JSON] = field(default_factory=dict)
    """What was read from it."""


@dataclass(frozen=True, slots=True)
class Add:
    """Write a new memory (and its message). With a `key`, the row of that key is replaced.

    Several memories may come of one message, each with words of its own; the words that a message was first said with
    stay, and a memory from other words under its id is a `duplicate`.
    """

    draft: Draft


@dataclass(frozen=True, slots=True)
class Say:
    """Write a message into the ledger that becomes no memory; one that is there stays as it is."""

    scope: Scope
    message: StoredMessage
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace a memory's row; `version` is the one that was read, else `Conflict`."""

    id: int
    version: int
    draft: Draft


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete memories of a scope: rows, text, vectors, associations. One that is not there is passed over."""

    scope: Scope
    ids: tuple[int, ...]
    all_or_none: bool = False
    """`NotFound`, and nothing deleted, when one is not there."""


@dataclass(frozen=True, slots=True)
class Link:
    """Associate two memories of one scope; a repeated link takes the new strength."""

    scope: Scope
    association: Association


DerivationKind: TypeAlias = Literal["merged", "consolidated", "summary", "reflection"]
"""How one memory came from others: it says the same, or was made from them."""


@dataclass(frozen=True, slots=True)
class Derive:
    """Write a new memory made from others of its user; `NotFound` when one of them is not there."""

    draft: Draft
    sources: tuple[int, ...]
    kind: DerivationKind


@dataclass(frozen=True, slots=True)
class Archive:
    """Put memories of a scope away: out of recall, still read by `get` and `find`. `at` None brings them back."""

    scope: Scope
    ids: tuple[int, ...]
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Supersede:
    """End memories of a scope at a moment, in favour of another one of it.

    `merged` says that they only repeat the other one: they are put away as well, the lineage tells of it, and their
    text said again is no news.
    """

    scope: Scope
    ids: tuple[int, ...]
    by: int
    at: datetime
    merged: bool = False


@dataclass(frozen=True, slots=True)
class Pin:
    """Mark memories of a scope as never to be tidied away, or take the mark off."""

    scope: Scope
    ids: tuple[int, ...]
    pinned: bool = True


Change: TypeAlias = Add | Say | Edit | Remove | Link | Derive | Archive | Supersede | Pin

_PAGE: Final = 1000
_NAMED: Final = 10
KEPT_REVISIONS: Final = 50
"""How many former versions of a memory are kept, the newest ones."""


@dataclass(frozen=True, slots=True)
class Revision(Record):
    """What a memory was before an edit."""

    version: int
    content: str
    type: MemoryType
    importance: float
    source: str | None
    metadata: dict[str, JSON]
    changed_at: datetime
    """When it stopped being so."""


@dataclass(frozen=True, slots=True)
class Derivation(Record):
    """One line of descent: a memory, and one that it was made from."""

    derived_id: int
    source_id: int
    """It may be gone by now."""
    kind: DerivationKind


def no_memory(scope: Scope, *ids: int) -> NotFound:
    """What is raised for ids that a scope does not have."""
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return NotFound(f"no memory {', '.join(map(str, ids[:_NAMED]))}{more} in {scope}")


class MemoryStore(Protocol):
    """Long-term memories. Every method has the scope inside; nothing is filtered afterwards."""

    def apply(self, changes: Sequence[Change]) -> list[Outcome]:
        """All changes in one commit, on disk when this returns; an error leaves nothing behind.

        One outcome a change, in order; a `Remove`, `Archive`, `Supersede` or `Pin` is `stored`, with the reason
        saying how many memories it touched: ids that the scope does not have are passed over.
        """
        ...

    def get(self, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
        """In the order asked; None where the scope has no such memory."""
        ...

    def find(self, scope: Scope, where: Filter = EVERYTHING, *, limit: int, after: int = 0) -> list[Memory]:
        """Memories in the order of their ids, those greater than `after`."""
        ...

    def matching(self, scope: Scope, where: Filter) -> IntArray:
        """The ids of all memories that pass, ascending."""
        ...

    def related(self, scope: Scope, memory_id: int, *, kind: str | None, depth: int) -> list[Related]:
        """Memories reached over associations in either direction, nearest and strongest first."""
        ...

    def by_key(self, scope: Scope, key: str) -> Memory | None:
        """The memory saved under a key by exactly this agent, user and session."""
        ...


def walk(store: MemoryStore, scope: Scope, where: Filter = EVERYTHING) -> Iterator[Memory]:
    """Every memory of a scope that passes, in the order of their ids, read a page at a time."""
    after = 0
    while page := store.find(scope, where, limit=_PAGE, after=after):
        after = page[-1].id
        yield from page


class HistorySource(Protocol):
    """Where memories come from and what they were before."""

    def lineage(self, scope: Scope, ids: Sequence[int]) -> list[Derivation]:
        """Every line of descent from or to one of these memories, by derived id, then source id.

        Only where the scope has the memory that was derived.
        """
        ...

    def revisions(self, scope: Scope, memory_id: int) -> list[Revision]:
        """Former versions, oldest first, at most `KEPT_REVISIONS`; `NotFound` when the scope has no such memory.

        Values under a key keep none: they are state, and may be saved a million times.
        """
        ...


@dataclass(frozen=True, slots=True)
class VerificationReport(Record):
    """Whether all records are there, as they were written and in their order."""

    ok: bool
    checked: int
    """How many records are sound, from the first on."""
    problem: str | None
    """What is wrong with the first bad one."""
    first_bad: int | None
    """Its number, counted from 1."""
    head: str
    """Note it elsewhere and hand it in later, and an older copy of the whole file is found out too."""

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """What one derived index covers: a tenant's memories of one user, of no user, or of all."""

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
    terms: str
    vector: bytes | None
    """float32, little endian, of the generation asked for."""


class IndexSource(Protocol):
    """What an index catches up from. Archived and quarantined memories are absent.

    So is a consolidated memory while all that it was made from is there and not superseded: it would only repeat them.
    """

    def head(self) -> int:
        """The number of the latest committed change, of any process."""
        ...

    def changed(self, key: PartitionKey, since: int) -> IntArray:
        """Ids of the partition's memories touched by a change after `since`, ascending."""
        ...

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        """Rows in the order of their ids; all of the partition when `ids` is None."""
        ...


@dataclass(frozen=True, slots=True)
class Generation:
    """One embedding model's vectors in this store."""

    id: int
    provider: str
    model: str
    dimension: int
    fingerprint: str
    active: bool

"""Changes to memories, as values: what `MemoryWrite` applies in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

from memoranda.errors import Conflict, NotFound
from memoranda.results.maintenance import DerivationKind
from memoranda.security.id_cipher import IdText
from memoranda.storage.claims import Claim
from memoranda.types import JSON, Association, FloatArray, Memory, MemoryType, Scope

KEPT_REVISIONS: Final = 50
"""How many former versions of a memory are kept, the newest ones."""
QUARANTINE: Final = "quarantine"
"""The note that says why a memory is quarantined, and holds its claims until it is released."""
RELEASED: Final = "released"
"""The note that a person released a memory from quarantine, so that an import does not put it back."""
_IDS_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as the log keeps it: verbatim, append-only."""

    message_id: str
    role: str
    content: str | None
    said_at: datetime
    speaker: str | None = None
    payload: dict[str, JSON] = field(default_factory=dict)
    """The whole message as JSON, so that nothing it carried is lost."""


StoredTurn: TypeAlias = tuple[Scope, StoredMessage]
"""A message of the log, and the scope it was said in."""


@dataclass(slots=True)
class NewMemory:
    """Write a new memory, and its message if there is one. With a `key`, replace the memory of that key.

    Everything is computed beforehand; the vector comes last (`vectors`). Several memories may come from one
    message. The log keeps the words a message was first said with: a memory from other words under the same
    message id is a `duplicate`.
    """

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
    sentences: bytes | None = None
    """The packed vectors of its sentences, empty for a single one; None from a model that gives none."""
    generation: int | None = None
    source: str | None = None
    trust: str = "user"
    metadata: dict[str, JSON] = field(default_factory=dict)
    key: str | None = None
    value: JSON = None
    expires_at: datetime | None = None
    message: StoredMessage | None = None
    before: tuple[StoredTurn, ...] = ()
    """Messages that become no memory and were said before this one: they are logged before it."""
    idempotency_key: str | None = None
    key_digest: bytes | None = None
    """The tombstone that the idempotency key has if what was stored under it was forgotten."""
    deduplicate: bool = False
    """Whether the same text in the same scope makes this a `duplicate`."""
    recurs: bool = False
    """Whether it tells of something that may happen again: the same text is then a `duplicate` only on the same day."""
    notes: dict[str, JSON] = field(default_factory=dict)
    """What was extracted from it."""
    related: tuple[int, ...] = ()
    """Memories that a change which names only values may be about: those that contain the value."""
    aligned: tuple[tuple[int, Claim], ...] = ()
    """Claims to add to older memories, in the slot of a claim of this one: the same sentence with another value."""
    follows: tuple[tuple[int | NewMemory, float], ...] = ()
    """Older memories of the same speaker, stored or in the same call, that this one seems to update, and how likely it
    does; all stay in recall."""
    stored_id: int | None = None
    """The id under which the write stored it."""
    quarantined_at: datetime | None = None
    """Since when it is kept out of recall as suspicious; `notes["quarantine"]` says why and holds its claims."""


@dataclass(frozen=True, slots=True)
class AppendMessage:
    """Write a message that becomes no memory into the log; a message that is stored already stays as it is."""

    scope: Scope
    message: StoredMessage
    recorded_at: datetime
    before: tuple[StoredTurn, ...] = ()
    """Other such messages, which are logged before it."""


@dataclass(frozen=True, slots=True)
class MarkExtracted:
    """Record that a model has read these messages, or with a `failure` that it has yet to."""

    turns: tuple[StoredTurn, ...]
    failure: str | None = None
    asked: bool = True
    """Whether the model was asked about them; when it was not, they do not wait longer because of it."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace a memory's row; `Conflict` unless `version` is the current one."""

    id: int
    version: int
    new: NewMemory


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete memories of a scope with their vectors and associations. Unknown ids are ignored."""

    scope: Scope
    ids: tuple[int, ...]
    all_or_none: bool = False
    """Raise `NotFound`, and delete nothing, when an id is unknown."""


@dataclass(frozen=True, slots=True)
class Link:
    """Associate two memories of one scope; a repeated link takes the new strength."""

    scope: Scope
    association: Association


@dataclass(frozen=True, slots=True)
class Derive:
    """Write a new memory made from others of the same user; `NotFound` when one of those is unknown."""

    new: NewMemory
    sources: tuple[int, ...]
    kind: DerivationKind


@dataclass(frozen=True, slots=True)
class Archive:
    """Take memories of a scope out of recall; `get` and `find` still return them. `at` None restores them."""

    scope: Scope
    ids: tuple[int, ...]
    at: datetime | None
    reasons: tuple[str, ...] = ()
    """Why, one for each id; empty when a person asked for it."""


@dataclass(frozen=True, slots=True)
class Release:
    """Take memories of a scope out of quarantine: they take part in recall, and their claims are resolved."""

    scope: Scope
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Supersede:
    """End memories of a scope at a moment, in favour of another one.

    `merged` says that they only repeat the other one: they are archived as well, the lineage records it, and their
    text said again is a duplicate.
    """

    scope: Scope
    ids: tuple[int, ...]
    by: int
    at: datetime
    merged: bool = False


@dataclass(frozen=True, slots=True)
class Pin:
    """Keep upkeep from removing or archiving memories of a scope, or allow it again."""

    scope: Scope
    ids: tuple[int, ...]
    pinned: bool = True


Change: TypeAlias = (
    NewMemory | AppendMessage | MarkExtracted | Edit | Remove | Link | Derive | Archive | Release | Supersede | Pin
)


def version_conflict(known: Memory, version: int) -> Conflict:
    """Return the error for a change to a version of a memory that is no longer the current one."""
    after = f" is at version {known.version}, not {version}: read it again, then decide"
    return Conflict(IdText("memory ", (known.id,), after), current=known)


def no_memory(scope: Scope, *ids: int) -> NotFound:
    """Return the error for ids that a scope does not have."""
    more = f" and {len(ids) - _IDS_SHOWN} more" if len(ids) > _IDS_SHOWN else ""
    return NotFound(IdText("no memory ", ids[:_IDS_SHOWN], f"{more} in {scope}"))

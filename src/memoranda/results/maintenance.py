"""What upkeep, repair, forgetting, history and the questions about a store return."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from memoranda import display
from memoranda.display import LISTED, LONG, one_line, plural
from memoranda.records import DictRecord, Record
from memoranda.results.recall import AffectedRecall, FactValue
from memoranda.types import JSON, Memory, MemoryType, Usage

DerivationKind: TypeAlias = Literal["merged", "consolidated", "summary", "reflection"]
"""How one memory came from others: `merged` says the same, the rest were made from them."""


@dataclass(frozen=True, slots=True, repr=False)
class Revision(Record):
    """An earlier version of a memory."""

    version: int
    content: str
    type: MemoryType
    importance: float
    source: str | None
    metadata: dict[str, JSON]
    changed_at: datetime
    """When it was replaced by the next version."""


@dataclass(frozen=True, slots=True, repr=False)
class Derivation(Record):
    """A memory, and one that it was made from."""

    derived_id: int
    source_id: int
    """This memory may be deleted by now."""
    kind: DerivationKind


@dataclass(frozen=True, slots=True, repr=False)
class CleanedMemory(DictRecord):
    """A memory that a cleanup removes, and why."""

    id: int
    content: str
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class CleanupReport(DictRecord):
    """The memories that a cleanup removed, or with `dry_run` would remove."""

    examined: int
    removed: int
    """How many were removed; with `dry_run`, how many would be."""
    memories: tuple[CleanedMemory, ...]
    dry_run: bool
    _aliases = ("total_found", "deleted", "skipped")
    total_found = property(lambda self: self.removed)
    deleted = property(lambda self: 0 if self.dry_run else self.removed)
    skipped = property(lambda _: 0)


PolicyName: TypeAlias = Literal[
    "extract", "expire", "merge", "summarize", "consolidate", "reflect", "window", "fade", "delete"
]


UpkeepAction: TypeAlias = Literal["removed", "archived", "merged", "derived"]


@dataclass(frozen=True, slots=True, repr=False)
class UpkeepDecision(Record):
    """What upkeep does with one memory, and why."""

    policy: PolicyName
    action: UpkeepAction
    id: int | None
    """None for a memory that a dry run would create."""
    content: str
    reason: str
    into: int | None = None
    """The memory that replaces it, if one does."""

    def __str__(self) -> str:
        which = "" if self.id is None else f" #{self.id}"
        into = "" if self.into is None else f" into #{self.into}"
        return f"{self.action}{which}{into}: {one_line(self.content)} — {one_line(self.reason, LONG)}"


@dataclass(frozen=True, slots=True, repr=False)
class UpkeepReport(Record):
    """What upkeep did, or with `dry_run` would do."""

    examined: int
    decisions: tuple[UpkeepDecision, ...]
    dry_run: bool
    problems: tuple[str, ...] = ()
    """What failed, one sentence each; the next run tries it again."""
    skipped: str | None = None
    """Why the run was skipped; None when it was not."""
    usage: Usage = field(default_factory=Usage)
    """The use of a language model."""
    checked_rows: int = 0
    """How many rows of the store, of all tenants, this run has checked for damage; the next run goes on from there."""

    _repr_html_ = display.report_html

    def __str__(self) -> str:
        count = len(self.decisions)
        what = plural(count, "change") if count else "nothing to do"
        mood = "would make " if self.dry_run and count else ""
        first = f"upkeep: {mood}{what}, {plural(self.examined, 'memory', 'memories')} examined"
        lines = [*map(str, self.decisions[:LISTED]), *[f"… and {count - LISTED:,} more"] * (count > LISTED)]
        notes = [*self.problems, *([self.skipped] if self.skipped else [])]
        return "\n".join([first, *(f"  {each}" for each in (*lines, *(one_line(note, LONG) for note in notes)))])

    def count(self, action: UpkeepAction) -> int:
        """Return how many memories were removed, archived, merged or derived."""
        return sum(decision.action == action for decision in self.decisions)


@dataclass(frozen=True, slots=True, repr=False)
class History(Record):
    """The earlier versions of a memory and its relations to others."""

    memory: Memory
    """The current version."""
    versions: tuple[Revision, ...]
    """The earlier versions, oldest first."""
    superseded_by: Memory | None
    """The memory that replaced it."""
    supersedes: tuple[int, ...]
    """The memories that it replaced."""
    sources: tuple[Derivation, ...]
    """The memories that it was made from."""
    derived: tuple[Derivation, ...]
    """The memories that were made from it."""
    later: tuple[Memory, ...] = ()
    """What was said later about the same thing, oldest first."""
    values: tuple[FactValue, ...] = ()
    """Every value that the slot ever had, oldest first; empty when the history of a memory was asked for."""


@dataclass(frozen=True, slots=True, repr=False)
class AgentActivity(DictRecord):
    """How much one agent has written."""

    memories: int
    executions: int
    last_active: datetime


@dataclass(frozen=True, slots=True, repr=False)
class UserActivity(DictRecord):
    """How much is remembered about one user; nothing about one who has only talked."""

    user: str
    memories: int
    """Memories of every type that have not expired, archived ones too."""
    last_active: datetime
    """When the latest memory or message was stored."""

    __str__ = display.activity_text


@dataclass(frozen=True, slots=True, repr=False)
class NameActivity(DictRecord):
    """How much is remembered of one agent, or in one session."""

    name: str
    memories: int
    """Memories of every type that have not expired, archived ones too."""
    last_active: datetime
    """When the latest memory or message was stored."""

    __str__ = display.activity_text


@dataclass(frozen=True, slots=True, repr=False)
class Stats(DictRecord):
    """Counts of one tenant."""

    short_term_entries: int | None
    """Values that have not expired, including those of sessions; None while Redis does not answer."""
    long_term_entries: int
    """Memories of every type."""
    by_type: dict[str, int]
    active_sessions: int | None
    """Open sessions in all processes that share the store; None while Redis does not answer."""
    executions: int
    """Records in the audit trail."""
    agents: dict[str, AgentActivity]
    """The hundred agents that were active last, newest first."""
    degraded: tuple[str, ...]
    """What cannot be reached, one sentence each."""
    conversation_history_size: int | None = 0
    """Messages in the conversations of workflows that have an open session; None while Redis does not answer."""
    storage_dir: str | None = None
    """The folder of the database; None for one without a file, and for one on a server."""
    embeddings_dir: str | None = None
    """The folder of the search index; None where `storage_dir` is."""
    vector_store_loaded: bool = False
    """Whether this process has loaded a search index."""


@dataclass(frozen=True, slots=True, repr=False)
class Health(Record):
    """Whether everything works, and the versions and settings in use."""

    status: Literal["ok", "degraded"]
    problems: tuple[str, ...]
    """What is wrong, one sentence each."""
    database: str
    size_bytes: int
    database_version: str
    """The version of SQLite or of the PostgreSQL server."""
    database_library: str
    """What reads and writes the database: a SQLite driver, or PostgreSQL."""
    wal_reset_bug: bool
    """Whether this SQLite can lose commits when checkpoints race; the lock file prevents it."""
    durability: str
    embedder: str | None
    generation: int | None
    """The set of vectors in use; None while there are none."""
    changes: int
    """The number of the latest change in the store."""
    unread_messages: int = 0
    """How many messages a language model has yet to read, because it failed."""
    last_model_failure: str | None = None
    """Why the latest of them was not read."""
    encrypted: bool = False
    """Whether the database file is encrypted."""
    index_bytes: int = 0
    """How much memory the search index takes in this process."""
    index_limit: int = 0
    """How much it may take: the setting `index_bytes`."""


@dataclass(frozen=True, slots=True, repr=False)
class CheckReport(Record):
    """The problems that a check found."""

    problems: tuple[str, ...]
    """One sentence each; empty when everything agrees."""
    memories: int
    """All of them, archived and quarantined ones included."""
    partitions: int

    _repr_html_ = display.report_html

    def __str__(self) -> str:
        checked = f"{plural(self.memories, 'memory', 'memories')} checked"
        found = plural(len(self.problems), "problem") if self.problems else "no problems"
        return "\n".join([f"{found}: {checked}", *(f"  {one_line(each, LONG)}" for each in self.problems)])

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True, repr=False)
class RepairReport(Record):
    """What a repair found, repaired, and could not repair."""

    found: tuple[str, ...]
    done: tuple[str, ...]
    remaining: tuple[str, ...]
    """What only a backup can restore; nothing of it was deleted."""

    @property
    def ok(self) -> bool:
        return not self.remaining


ErasureStatus: TypeAlias = Literal["erased", "pending", "remains", "not searched", "not reachable"]
"""`erased`: nothing of it is left in this place, or never was. `pending`: to be done, or still to be finished.
`remains`: the place still holds it. `not searched`: the place may hold it. `not reachable`: files outside of the store.
"""


@dataclass(frozen=True, slots=True, repr=False)
class StoreReceipt(Record):
    """What was erased from one place."""

    store: str
    status: ErasureStatus
    count: int = 0
    detail: str = ""

    def __str__(self) -> str:
        return self.describe(self.status)

    def describe(self, status: str) -> str:
        """Return what was erased from this place, with the status in these words."""
        count = f" ({self.count:,})" if self.count else ""
        detail = f" — {one_line(self.detail, LONG)}" if self.detail else ""
        return f"{self.store}: {status}{count}{detail}"


@dataclass(frozen=True, slots=True, repr=False)
class ForgetReceipt(Record):
    """What was erased from each place, or with `dry_run` would be. It holds no names and no texts."""

    ids: tuple[int, ...]
    """Every erased memory, including those derived from others."""
    stores: tuple[StoreReceipt, ...]
    at: datetime
    dry_run: bool
    recalls: tuple[AffectedRecall, ...] = ()
    """With `dry_run`, the past recalls that returned one of the memories, newest first."""
    id: str = ""
    """Empty with `dry_run`, which stores no receipt."""
    agent: str | None = None
    """A pseudonym of the agent that was named, made with the key of the store."""
    user: str | None = None
    session: str | None = None
    tombstones: tuple[str, ...] = ()
    """Keyed hashes of the erased texts and message ids: an import leaves them out."""
    signature: str = ""

    _repr_html_ = display.report_html

    def __str__(self) -> str:
        memories = plural(len(self.ids), "memory", "memories")
        state = "complete" if self.complete else "NOT complete"
        first = f"{memories} would be erased" if self.dry_run else f"{memories} erased, receipt {self.id}: {state}"
        return "\n".join([first, *(f"  {place.describe(status)}" for place, status in self.places())])

    def places(self) -> list[tuple[StoreReceipt, str]]:
        """Return each place that it names and its status; in a preview, only those that hold something to erase."""
        if not self.dry_run:
            return [(each, each.status) for each in self.stores]
        held = [each for each in self.stores if each.count or (each.detail and each.status != "erased")]
        return [(each, "would be erased" if each.status in ("erased", "pending") else each.status) for each in held]

    @property
    def complete(self) -> bool:
        """Whether no place of this store holds any of it; backups and exports are out of its reach."""
        return all(store.status in ("erased", "not reachable") for store in self.stores)

    @property
    def remaining(self) -> tuple[StoreReceipt, ...]:
        """The places that hold or may hold some of it."""
        return tuple(store for store in self.stores if store.status not in ("erased", "not reachable"))

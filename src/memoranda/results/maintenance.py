"""What upkeep, repair, history and the questions about a store return."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from memoranda import display
from memoranda.records import DictRecord, Record
from memoranda.results import texts
from memoranda.results.facts import FactValue
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

    __str__ = texts.decision_text


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

    __str__, _repr_html_ = texts.upkeep_text, display.report_html

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

    __str__, _repr_html_ = texts.check_text, display.report_html

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

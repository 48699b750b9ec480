"""The results of public methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from memoranda import display
from memoranda.facts import FactValue
from memoranda.records import DictRecord, Record
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
class VerificationReport(Record):
    """Whether all execution records are present, unchanged and in order."""

    ok: bool
    checked: int
    """How many records are correct, from the first on."""
    problem: str | None
    """What is wrong with the first bad record."""
    first_bad: int | None
    """The number of that record, from 1."""
    head: str
    """Keep it elsewhere and pass it to a later check, which then also finds an older copy of the whole file."""

    def __bool__(self) -> bool:
        return self.ok


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


@dataclass(frozen=True, slots=True, repr=False)
class ExecutionRecord(DictRecord):
    """A record of what an agent did. As a dict it has the fields of `record` too: `execution["output"]`."""

    id: str
    agent_id: str
    workflow_id: str | None
    session_id: str | None
    status: str | None
    duration_ms: float | None
    recorded_at: datetime
    record: dict[str, JSON]
    """The record that was saved, without its secrets."""
    number: int = 0
    """Its position in the chain, from 1."""

    _aliases = ("record_id", "timestamp")

    def __post_init__(self) -> None:
        DictRecord.__post_init__(self)
        # What the store says about a record comes first: no record says whose it is, or when it was written.
        dict.update(self, {**self["record"], **self})

    @property
    def record_id(self) -> str:
        return self.id

    @property
    def timestamp(self) -> datetime:
        return self.recorded_at


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ExecutionPage(display.Shown, list[ExecutionRecord]):
    """A page of records, newest first: a list, and where the next one begins."""

    records: tuple[ExecutionRecord, ...]
    next_cursor: str | None
    """Pass it as `cursor` to get the next page; None on the last page."""

    def __post_init__(self) -> None:
        self.extend(self.records)


@dataclass(frozen=True, slots=True, repr=False)
class ExecutionStats(DictRecord):
    """The number of executions by status, and their durations in milliseconds."""

    count: int
    by_status: dict[str, int]
    """Records without a status are counted as "unknown"."""
    timed: int
    """How many records have a duration; without any, the values below are None."""
    total_ms: float
    mean_ms: float | None
    min_ms: float | None
    median_ms: float | None
    p95_ms: float | None
    max_ms: float | None


@dataclass(frozen=True, slots=True, repr=False)
class Document(Record):
    """A text for the shared knowledge. A document replaces the one with the same source."""

    text: str
    source: str
    version: str | None = None
    metadata: dict[str, JSON] = field(default_factory=dict)
    markdown: bool = True


Knowledge: TypeAlias = "str | Path | Document | Sequence[str | Path | Document]"


@dataclass(frozen=True, slots=True, repr=False)
class KnowledgeReport(Record):
    """How one document was added."""

    source: str
    version: str | None
    chunks: int
    added: int
    kept: int
    """Chunks that were stored already, word for word."""
    removed: int


@dataclass(frozen=True, slots=True, repr=False)
class KnowledgeSource(Record):
    """A document in the shared knowledge."""

    source: str
    version: str | None
    chunks: int
    recorded_at: datetime
    """When its newest chunk was stored."""


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

    __str__ = display.decision_text


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

    __str__, _repr_html_ = display.upkeep_text, display.report_html

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

    __str__, _repr_html_ = display.check_text, display.report_html

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


@dataclass(frozen=True, slots=True, repr=False)
class Backup(Record):
    """A backup that was created, checked or restored."""

    path: Path
    size_bytes: int
    memories: int
    sha256: str
    verified: bool = True
    """Whether the checksum file next to it was present and matched."""
    problems: tuple[str, ...] = ()
    """What a new backup lacks, such as the lost key file of the database."""


@dataclass(frozen=True, slots=True, repr=False)
class Conversion(Record):
    """What `memoranda encrypt`, `decrypt` or `rekey` did."""

    path: Path
    encrypted: bool
    """Whether the database is encrypted now."""
    changed: bool
    """False when it already was so, and only what an interrupted run had left was finished."""
    memories: int
    remaining: tuple[str, ...] = ()
    """Older copies beside the database, which are as they were: delete them, or move them to a safe place."""


@dataclass(frozen=True, slots=True, repr=False)
class ExportReport(Record):
    """How much was exported."""

    path: Path
    memories: int
    lines: int
    encrypted: bool = False
    removed: int = 0
    """Of the memories, those that an archive took out of the store."""


@dataclass(frozen=True, slots=True, repr=False)
class ImportReport(Record):
    """How much was imported. What existed already is unchanged."""

    memories: int = 0
    known: int = 0
    messages: int = 0
    associations: int = 0
    sessions: int = 0
    executions: int = 0
    skipped: int = 0
    """Memories and messages that were left out."""
    skipped_reason: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class FileReport(Record):
    """How much was written to files or read from them."""

    folder: Path
    values: int
    executions: int
    known: int = 0
    """Execution records that existed already and were skipped."""


@dataclass(frozen=True, slots=True, repr=False)
class SessionMessage(DictRecord):
    """A message of a workflow's conversation."""

    agent_id: str
    role: str
    content: JSON
    """A text, unless the agent gave another JSON value."""
    timestamp: datetime
    metadata: dict[str, JSON]
    workflow_id: str = ""

    def to_json(self) -> dict[str, JSON]:
        return {
            "workflow_id": self.workflow_id,
            "agent_id": self.agent_id,
            "role": self.role,
            "content": self.content,
            "timestamp": self.timestamp.isoformat(),
            "metadata": self.metadata,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SessionMessage:
        said_at = datetime.fromisoformat(value["timestamp"])
        workflow = value.get("workflow_id", "")
        return cls(value["agent_id"], value["role"], value["content"], said_at, value["metadata"], workflow)


@dataclass(frozen=True, slots=True, repr=False)
class SessionSummary(DictRecord):
    """What happened in the sessions of a workflow."""

    workflow_id: str
    session_id: str
    """The session that was asked for the summary."""
    metadata: dict[str, JSON]
    """The metadata of all sessions; the session opened last wins."""
    active_agents: tuple[str, ...]
    activity: dict[str, dict[str, int]]
    """For each agent, how often it saved and read values, sent messages and recorded executions."""
    total_interactions: int
    """The sum of all activity."""
    conversation_messages: int
    executions: int
    sessions: int
    """How many sessions took part."""
    started_at: datetime
    ended_at: datetime | None
    duration_seconds: float

    _aliases = ("duration", "is_active")

    @property
    def is_active(self) -> bool:
        """Whether the session has not ended."""
        return self.ended_at is None

    @property
    def duration(self) -> float:
        """Seconds from the first opening to the end, or until now."""
        return self.duration_seconds

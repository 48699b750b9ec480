"""What public methods return or report. Values only: this module imports nothing but values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from memoranda.types import JSON, Memory, MemoryType, Record, Usage

if TYPE_CHECKING:
    from memoranda.types import Hit


DerivationKind: TypeAlias = Literal["merged", "consolidated", "summary", "reflection"]
"""How one memory came from others: it says the same, or was made from them."""


@dataclass(frozen=True, slots=True)
class Revision(Record):
    """A former version of a memory."""

    version: int
    content: str
    type: MemoryType
    importance: float
    source: str | None
    metadata: dict[str, JSON]
    changed_at: datetime
    """When it was replaced by the next version."""


@dataclass(frozen=True, slots=True)
class Derivation(Record):
    """One line of descent: a memory, and one that it was made from."""

    derived_id: int
    source_id: int
    """This memory may be gone by now."""
    kind: DerivationKind


@dataclass(frozen=True, slots=True)
class VerificationReport(Record):
    """Whether all execution records are there, unchanged and in their order."""

    ok: bool
    checked: int
    """How many records are sound, from the first on."""
    problem: str | None
    """What is wrong with the first bad one."""
    first_bad: int | None
    """Its number, counted from 1."""
    head: str
    """Keep it elsewhere and pass it to a later check: then an older copy of the whole file is noticed too."""

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True, slots=True)
class CleanedMemory(Record):
    """One memory that a clean-up removes, and why."""

    id: int
    content: str
    reason: str


@dataclass(frozen=True, slots=True)
class CleanupReport(Record):
    """What a clean-up removed, or with `dry_run` would remove."""

    examined: int
    removed: int
    """How many were removed; with `dry_run`, how many would be."""
    memories: tuple[CleanedMemory, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True)
class ExecutionRecord(Record):
    """One thing an agent did. What was in the record reads straight from it: `execution["output"]`."""

    id: str
    agent_id: str
    workflow_id: str | None
    session_id: str | None
    status: str | None
    duration_ms: float | None
    recorded_at: datetime
    record: dict[str, JSON]
    """The record as it was given, without its secrets."""
    number: int = 0
    """Its place in the chain, counted from 1."""

    def __getitem__(self, key: str) -> Any:
        if key not in self.keys() and key in self.record:
            return self.record[key]
        return Record.__getitem__(self, key)

    def __contains__(self, key: object) -> bool:
        return key in self.record or Record.__contains__(self, key)


@dataclass(frozen=True, slots=True)
class ExecutionPage(Sequence[ExecutionRecord]):
    """Some of the records, newest first, and where the next ones begin."""

    records: tuple[ExecutionRecord, ...]
    next_cursor: str | None
    """Hand it in as `cursor`; None when these were the last."""

    def __len__(self) -> int:
        return len(self.records)

    @overload
    def __getitem__(self, index: int) -> ExecutionRecord: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ExecutionRecord, ...]: ...
    def __getitem__(self, index: int | slice) -> ExecutionRecord | tuple[ExecutionRecord, ...]:
        return self.records[index]

    def __iter__(self) -> Iterator[ExecutionRecord]:
        return iter(self.records)


@dataclass(frozen=True, slots=True)
class ExecutionStats(Record):
    """How many executions there were, how they ended, and how long they took in milliseconds."""

    count: int
    by_status: dict[str, int]
    """Those that said no status are under "unknown"."""
    timed: int
    """Those that said how long they took; the durations below are None when none did."""
    total_ms: float
    mean_ms: float | None
    min_ms: float | None
    median_ms: float | None
    p95_ms: float | None
    max_ms: float | None


@dataclass(frozen=True, slots=True)
class Document(Record):
    """A text to be shared, and where it is from. The source names it: the same source again replaces it."""

    text: str
    source: str
    version: str | None = None
    metadata: dict[str, JSON] = field(default_factory=dict)
    markdown: bool = True


Knowledge: TypeAlias = "str | Path | Document | Sequence[str | Path | Document]"


@dataclass(frozen=True, slots=True)
class KnowledgeReport(Record):
    """What became of one document."""

    source: str
    version: str | None
    chunks: int
    added: int
    kept: int
    """Pieces that were there already, word for word."""
    removed: int


@dataclass(frozen=True, slots=True)
class KnowledgeSource(Record):
    """One document of the shared knowledge."""

    source: str
    version: str | None
    chunks: int
    recorded_at: datetime
    """When its newest piece was written."""


PolicyName: TypeAlias = Literal[
    "extract", "expire", "merge", "summarize", "consolidate", "reflect", "window", "fade", "delete"
]


UpkeepAction: TypeAlias = Literal["removed", "archived", "merged", "derived"]


@dataclass(frozen=True, slots=True)
class UpkeepDecision(Record):
    """What becomes of one memory, and why."""

    policy: PolicyName
    action: UpkeepAction
    id: int | None
    """None for a memory that a dry run only would make."""
    content: str
    reason: str
    into: int | None = None
    """The memory that takes its place, where one does."""


@dataclass(frozen=True, slots=True)
class UpkeepReport(Record):
    """What upkeep did, or with `dry_run` would do: one decision a memory, with its reason."""

    examined: int
    decisions: tuple[UpkeepDecision, ...]
    dry_run: bool
    problems: tuple[str, ...] = ()
    """What could not be done this time, one sentence each; it is tried again at the next run."""
    skipped: str | None = None
    """Why nothing was looked at; None when it was."""
    usage: Usage = field(default_factory=Usage)
    """What a model was asked for it."""

    def count(self, action: UpkeepAction) -> int:
        """How many memories were removed, archived, merged or derived."""
        return sum(decision.action == action for decision in self.decisions)


@dataclass(frozen=True, slots=True)
class History(Record):
    """A memory's past and relations."""

    memory: Memory
    """As it is now."""
    versions: tuple[Revision, ...]
    """What it was before, oldest first."""
    superseded_by: Memory | None
    """The one that took its place."""
    supersedes: tuple[int, ...]
    """Those that it took the place of."""
    sources: tuple[Derivation, ...]
    """What it was made from."""
    derived: tuple[Derivation, ...]
    """What was made from it."""


ErasureStatus: TypeAlias = Literal["erased", "pending", "not supported"]


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
class AgentActivity(Record):
    """What one agent has written."""

    memories: int
    executions: int
    last_active: datetime


@dataclass(frozen=True, slots=True)
class Stats(Record):
    """Counts of one tenant."""

    short_term_entries: int | None
    """Values that have not expired, those of sessions included; None while Redis does not answer."""
    long_term_entries: int
    """Memories of every type."""
    by_type: dict[str, int]
    active_sessions: int | None
    """Sessions open now, in all processes that share the store; None while Redis does not answer."""
    executions: int
    """Records in the audit trail."""
    agents: dict[str, AgentActivity]
    """The agents that wrote last, newest first, at most a hundred."""
    degraded: tuple[str, ...]
    """What cannot be reached, one sentence each; empty when all is well."""


@dataclass(frozen=True, slots=True)
class Health(Record):
    """Whether everything works, and on what it runs."""

    status: Literal["ok", "degraded"]
    problems: tuple[str, ...]
    """What a person should know of, one sentence each."""
    database: str
    size_bytes: int
    sqlite_version: str
    sqlite_driver: str
    wal_reset_bug: bool
    """Whether this SQLite can lose commits when checkpoints race; the lock file guards against it."""
    durability: str
    embedder: str | None
    generation: int | None
    """Which set of vectors answers; None while there are none."""
    changes: int
    """The number of the latest change in the store."""


@dataclass(frozen=True, slots=True)
class CheckReport(Record):
    """What a check found."""

    problems: tuple[str, ...]
    """One sentence each; empty when everything agrees."""
    memories: int
    partitions: int

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True)
class RepairReport(Record):
    """What a repair found, did, and could not do."""

    found: tuple[str, ...]
    done: tuple[str, ...]
    remaining: tuple[str, ...]
    """What only a backup can bring back; nothing of it was deleted."""

    @property
    def ok(self) -> bool:
        return not self.remaining


@dataclass(frozen=True, slots=True)
class Backup(Record):
    """A backup that was made, checked or restored."""

    path: Path
    size_bytes: int
    memories: int
    sha256: str
    verified: bool = True
    """Whether the checksum file beside it was present and matched."""


@dataclass(frozen=True, slots=True)
class ExportReport(Record):
    """How much went out."""

    path: Path
    memories: int
    lines: int


@dataclass(frozen=True, slots=True)
class ImportReport(Record):
    """How much came in. What was there already was left as it is."""

    memories: int = 0
    known: int = 0
    messages: int = 0
    associations: int = 0
    sessions: int = 0
    executions: int = 0


@dataclass(frozen=True, slots=True)
class FileReport(Record):
    """How much went into the files, or came out of them."""

    folder: Path
    values: int
    executions: int
    known: int = 0
    """Execution records that were there already and were left as they are."""


@dataclass(frozen=True, slots=True)
class SessionMessage(Record):
    """One message of a workflow's conversation."""

    agent_id: str
    role: str
    content: str
    timestamp: datetime
    metadata: dict[str, JSON]

    def to_json(self) -> dict[str, JSON]:
        return {
            "agent_id": self.agent_id,
            "role": self.role,
            "content": self.content,
            "timestamp": self.timestamp.isoformat(),
            "metadata": self.metadata,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SessionMessage:
        said_at = datetime.fromisoformat(value["timestamp"])
        return cls(value["agent_id"], value["role"], value["content"], said_at, value["metadata"])


@dataclass(frozen=True, slots=True)
class SessionSummary(Record):
    """What took place in a workflow's sessions."""

    workflow_id: str
    session_id: str
    """The session that was asked."""
    metadata: dict[str, JSON]
    """Of all sessions; where they differ, the one opened last counts."""
    agents: tuple[str, ...]
    activity: dict[str, dict[str, int]]
    """For each agent, how often it saved, read, spoke and recorded an execution."""
    interactions: int
    """All of that together."""
    messages: int
    executions: int
    sessions: int
    """How many sessions took part."""
    opened_at: datetime
    ended_at: datetime | None
    duration_seconds: float

    _aliases = ("duration",)

    @property
    def duration(self) -> float:
        """Seconds from the first opening to the end, or to now."""
        return self.duration_seconds


class Context(str):
    """Recalled text for a prompt, with the hits it was made from. Empty when nothing was found."""

    __slots__ = ("answerable", "degraded", "hits", "left_out", "recall_id", "tokens")

    hits: tuple[Hit, ...]
    """The hits that the text shows, in the same order."""
    left_out: int
    """The number of hits that did not fit."""
    tokens: int
    recall_id: str
    answerable: float
    degraded: tuple[str, ...]

    def __new__(
        cls,
        text: str = "",
        *,
        hits: tuple[Hit, ...] = (),
        left_out: int = 0,
        tokens: int = 0,
        recall_id: str = "",
        answerable: float = 0.0,
        degraded: tuple[str, ...] = (),
    ) -> Context:
        self = super().__new__(cls, text)
        self.hits, self.left_out, self.tokens = hits, left_out, tokens
        self.recall_id, self.answerable, self.degraded = recall_id, answerable, degraded
        return self

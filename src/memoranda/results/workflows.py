"""What workflows return (sessions, execution records, shared knowledge), and what copies data: backups, exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from memoranda import display
from memoranda.records import DictRecord, Record
from memoranda.types import JSON


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
        """Return it as plain JSON data."""
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


@dataclass(frozen=True, slots=True)
class Mem0ImportReport(Record):
    """How many memories an import read, stored, knew already and rejected."""

    read: int
    stored: int
    known: int
    rejected: int
    quarantined: int = 0
    """Those that look like orders to a model: stored, but not recalled before somebody releases them."""
    forgotten: int = 0
    """Those that were forgotten here before, and left out."""

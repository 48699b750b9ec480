"""What the pages of the dashboard show and the REST API does not return."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memoranda.results.facts import Fact, FactConflict
from memoranda.types import ArmScore, Hit, Memory, Recall


@dataclass(frozen=True, slots=True)
class NamedCount:
    """How many memories an agent, a user or a type has."""

    name: str
    memories: int
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class GrowthDay:
    """What was stored and removed on one day."""

    day: str
    added: int
    removed: int
    total: int
    """How many memories there were at its end."""


@dataclass(frozen=True, slots=True)
class RecallDay:
    """The recalls of one day."""

    day: str
    recalls: int
    median_ms: float
    p95_ms: float
    answerable: float
    """The mean of `answerable`."""


@dataclass(frozen=True, slots=True)
class LastUpkeep:
    """The latest run of upkeep that changed memories or could have, in numbers."""

    at: datetime
    examined: int | None
    """None, like the others, where only a part of the tenant is looked at."""
    changes: int | None
    problems: int | None


@dataclass(frozen=True, slots=True)
class Overview:
    """The first page: how much is stored, by whom, and how recall does."""

    memories: int
    users: int
    agents: int
    executions: int
    by_type: tuple[NamedCount, ...]
    by_agent: tuple[NamedCount, ...]
    by_user: tuple[NamedCount, ...]
    """The users with the most memories; empty where only a part of the tenant is looked at."""
    growth: tuple[GrowthDay, ...]
    recalls: tuple[RecallDay, ...]
    zone: str
    """The time zone whose days are counted."""
    head: int
    """The number of the latest change in the store."""
    last_upkeep: LastUpkeep | None = None
    """None when upkeep never ran."""
    said: tuple[GrowthDay, ...] = ()
    """The same as `growth` by when it was said, without empty days, where everything was stored on one day."""


@dataclass(frozen=True, slots=True)
class MemoryStates:
    """How many memories are in a state that somebody may want to look at."""

    quarantined: int
    archived: int
    superseded: int
    pinned: int
    low_trust: int
    """From tools, documents and models."""
    first_at: datetime | None
    """When the oldest memory was said or became true; None without any."""


@dataclass(frozen=True, slots=True)
class ToldFact:
    """A fact, and whose memories it is read from; None for those of no user."""

    user: str | None
    fact: Fact


@dataclass(frozen=True, slots=True)
class ToldConflict:
    """A dispute, and whose memories it is in; None for those of no user."""

    user: str | None
    conflict: FactConflict


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whom memories are of or about."""

    name: str
    memories: int
    """How many memories are this user's; 0 for a person who is no user."""
    spoken: int
    """In how many memories of the scope somebody with this name speaks."""
    facts: tuple[ToldFact, ...]
    """What a user told, and what the memories of others say about somebody with this name."""
    conflicts: tuple[ToldConflict, ...]


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """A message of the log, and the memories that came from it."""

    message_id: str
    role: str
    speaker: str | None
    content: str | None
    said_at: datetime
    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """Messages of one conversation, oldest first."""

    messages: tuple[LoggedMessage, ...]
    next_cursor: int | None
    """The position of the next page; None on the last page."""


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A conversation, told by who took part."""

    agent: str | None
    user: str | None
    session: str | None
    messages: int
    started_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class PastUse:
    """A recall that returned a memory."""

    recall_id: str
    asked_at: datetime
    query: str
    position: int
    """1 was the best hit."""
    why: tuple[ArmScore, ...]
    """What counted for it then."""


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """Something that was done to a memory, from the change log."""

    op: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a memory comes from, what was done to it, and who used it."""

    source: tuple[LoggedMessage, ...]
    """The message it came from, with its neighbours in the conversation; empty when it came from none."""
    message_id: str | None
    uses: tuple[PastUse, ...]
    events: tuple[MemoryEvent, ...] = ()
    """When it was archived, restored and released, oldest first."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A memory that fits the words of a question but is not in the answer."""

    memory: Memory
    step: str
    reason: str


@dataclass(frozen=True, slots=True)
class DashboardAnswer:
    """A recall as an agent gets it, the text that it would be given, and what was left out."""

    recall: Recall
    hits: tuple[Hit, ...]
    text: str
    tokens: int
    found: int
    """How many hits were ranked: the first are in `hits`, and the text takes from all of them."""
    shown: int
    """How many of them the text has."""
    budget: int
    """How many tokens the text may have."""
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, slots=True)
class MemoryNode:
    """A memory in the graph."""

    id: int
    text: str
    type: str
    user: str | None
    importance: float
    state: str


@dataclass(frozen=True, slots=True)
class MemoryEdge:
    """A link of the graph between two memories."""

    source: int
    target: int
    kind: str
    strength: float


@dataclass(frozen=True, slots=True)
class EntityNode:
    """A name that memories of the graph mention."""

    name: str
    memories: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MemoryGraph:
    """Memories and how they are linked: by association, by lineage, by replacement, by the names they mention."""

    nodes: tuple[MemoryNode, ...]
    edges: tuple[MemoryEdge, ...]
    entities: tuple[EntityNode, ...]
    truncated: bool
    """Whether there are more memories than were asked for."""

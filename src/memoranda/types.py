"""The values that users and every module handle."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, overload

from memoranda import display
from memoranda.records import AttributeRecord, DictRecord, HitRecord, Record, to_dict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FloatArray: TypeAlias = "NDArray[np.float32]"
IntArray: TypeAlias = "NDArray[np.int64]"
JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
Clock: TypeAlias = Callable[[], datetime]
Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total) during long work."""

_TRUST_RANKS: Final = {"user": 4, "system": 4, "assistant": 3, "tool": 2, "document": 2, "model": 1}
"""Whose word counts more: the user's, an agent's own note, a tool, document or web page, a model's inference."""


def trust_rank(trust: str) -> int:
    """Return how much a channel is trusted, higher is more; 0 for a channel that is not known."""
    return _TRUST_RANKS.get(trust, 0)


def utc_now() -> datetime:
    """Return the current time; the default clock."""
    return datetime.now(UTC)


class MemoryType(StrEnum):
    """The kind of a memory. A string, so plain strings work everywhere."""

    SHORT_TERM = "short_term"
    WORKING = "working"
    LONG_TERM = "long_term"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    REFLECTION = "reflection"
    SHARED = "shared"


class RetentionPolicy(StrEnum):
    """How long a conversation is kept. A string, so plain strings work everywhere."""

    SINGLE_RUN = "single_run"
    """Cleared after each run."""
    SESSION = "session"
    """Cleared with the session."""
    PERSISTENT = "persistent"
    """Kept across processes."""


class AnyUser(Enum):
    """The type of `ANY`, which must be given to read across users."""

    ANY = "ANY"


ANY: Final = AnyUser.ANY
DEFAULT_TENANT: Final = "default"


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of memories. It is part of every query, never a filter afterwards.

    The tenant always matches exactly. A named agent, user or session matches exactly; an unnamed agent or session means
    any; an unnamed user means memories of no user.
    """

    tenant: str = DEFAULT_TENANT
    agent: str | None = None
    user: str | AnyUser | None = None
    session: str | None = None

    def __str__(self) -> str:
        named = {"agent": self.agent, "user": self.user, "session": self.session}
        parts = [f"{key}={value}" for key, value in named.items() if isinstance(value, str)]
        return ", ".join(["the memories of all users"] * (self.user is ANY) + parts) or "the default scope"


class _WithEmbedding:
    """Holds a vector beside the fields of a memory: it is neither compared, printed nor sent."""

    __slots__ = ("_vector",)


@dataclass(frozen=True, slots=True, repr=False)
class Memory(_WithEmbedding, Record):
    """One remembered text, with its owner, times and origin."""

    id: int
    content: str
    type: MemoryType
    importance: float
    recorded_at: datetime
    valid_from: datetime
    """When it was said or became true; `recorded_at` is when it was stored."""
    tenant: str = DEFAULT_TENANT
    agent: str | None = None
    user: str | None = None
    session: str | None = None
    source: str | None = None
    trust: str = "user"
    metadata: dict[str, Any] = field(default_factory=dict)
    key: str | None = None
    value: Any = None
    message_id: str | None = None
    speaker: str | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    superseded_by: int | None = None
    archived_at: datetime | None = None
    version: int = 1
    pinned: bool = False
    """Whether upkeep leaves it unchanged."""
    notes: dict[str, Any] = field(default_factory=dict, repr=False)
    """What was extracted from it: dates, names, claims, and the features of its importance."""
    quarantined_at: datetime | None = None
    """Since when it is kept out of recall as suspicious; None when it is not."""
    superseded_at: datetime | None = None
    """When the store learnt that another memory replaced it; `valid_to` is when it stopped being true."""
    edited_at: datetime | None = None
    """When its text or another of its fields was last changed; None when never."""

    _aliases = ("memory_type", "timestamp", "importance_score", "created_at", "updated_at", "evidence", "embedding")
    __repr__, __str__, _row = display.memory_repr, display.memory_text, display.memory_row

    @property
    def embedding(self) -> list[float] | None:
        """The vector of the text, from `add_memory`, `get` and the searches; None where none was read or made."""
        vector = getattr(self, "_vector", None)
        return None if vector is None else [float(number) for number in vector]

    def with_embedding(self, vector: FloatArray | None) -> Memory:
        """Keep the vector of the text with this memory, and return the memory."""
        object.__setattr__(self, "_vector", vector)
        return self

    @property
    def evidence(self) -> tuple[int, int] | None:
        """The offset of its first character in the text of its message, and the offset after its last one."""
        span = self.notes.get("evidence")
        return None if span is None else (span[0], span[1])

    def has_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    @property
    def memory_type(self) -> MemoryType:
        return self.type

    @property
    def timestamp(self) -> datetime:
        return self.valid_from

    @property
    def importance_score(self) -> float:
        return self.importance

    @property
    def created_at(self) -> datetime:
        return self.recorded_at

    @property
    def updated_at(self) -> datetime:
        return self.edited_at or self.recorded_at


@dataclass(frozen=True, slots=True, repr=False)
class Association(DictRecord):
    """A directed link between two memories."""

    memory_id: int
    related_memory_id: int
    relationship_type: str
    strength: float
    metadata: dict[str, JSON] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, repr=False)
class Related(AttributeRecord):
    """A memory that was reached over associations, and how."""

    memory: Memory
    relationship_type: str
    strength: float
    """The product of the strengths on the path."""
    depth: int
    link_metadata: dict[str, JSON] = field(default_factory=dict)
    """The metadata of the last link on the path."""
    _aliases = ("id", "content", "metadata", "relationship")
    relationship = property(lambda self: {"type": self.relationship_type, "strength": self.strength})
    metadata = property(lambda self: self.memory.metadata)

    @property
    def id(self) -> int:
        return self.memory.id

    @property
    def content(self) -> str:
        return self.memory.content


@dataclass(frozen=True, slots=True, repr=False)
class ArmScore(Record):
    """The score of a memory in one retrieval arm or one boost."""

    arm: str
    rank: int
    """1 is best."""
    score: float
    """On the scale of the arm, 0…1; for a boost, its gain."""
    gain: float = 0.0
    """How far the score is above the mean, in standard deviations."""

    __str__, _row = display.arm_text, display.arm_row


@dataclass(frozen=True, slots=True, repr=False)
class Hit(HitRecord):
    """A memory that recall found, its score, and why it was found. As a dict, `{**hit}`, it is plain JSON data."""

    memory: Memory
    score: float
    """0…1, higher is better."""
    why: tuple[ArmScore, ...] = ()
    later: tuple[Memory, ...] = ()
    """What was said later about the same thing, oldest first. This memory may no longer be true."""
    disputed: tuple[Memory, ...] = ()
    """What sources of another trust say instead."""
    strengths: tuple[float, ...] = ()  # how sure it is that each of `later` is about the same thing, 0…1
    _aliases = ("id", "content", "metadata", "message_id", "session", "type", "memory_type", "source", "superseded_by",
                "timestamp", "importance_score", "similarity_score", "key", "embedding", "value",
                "agent_id")  # fmt: skip
    __repr__, __str__, _row = display.hit_repr, display.hit_text, display.hit_row
    value = property(lambda self: self.memory.value)
    agent_id = property(lambda self: self.memory.agent)

    @property
    def superseded_by(self) -> int | None:
        """The id of the memory that replaced this one; None while it holds."""
        return self.memory.superseded_by

    @property
    def id(self) -> int:
        return self.memory.id

    @property
    def content(self) -> str:
        return self.memory.content

    @property
    def metadata(self) -> dict[str, Any]:
        return self.memory.metadata

    @property
    def message_id(self) -> str | None:
        return self.memory.message_id

    @property
    def session(self) -> str | None:
        return self.memory.session

    @property
    def type(self) -> MemoryType:
        return self.memory.type

    memory_type = type

    @property
    def source(self) -> str | None:
        return self.memory.source

    @property
    def timestamp(self) -> datetime:
        return self.memory.valid_from

    @property
    def importance_score(self) -> float:
        return self.memory.importance

    @property
    def similarity_score(self) -> float:
        return self.score

    @property
    def key(self) -> str | None:
        return self.memory.key

    @property
    def embedding(self) -> list[float] | None:
        return self.memory.embedding


UNKNOWN_SOURCE: Final = "unknown"


@dataclass(slots=True, repr=False)
class MemoryEntry(Record, metaclass=ABCMeta):
    """A text with its vector, metadata, time, source and importance. A `Memory` and a `Hit` are entries too."""

    content: str
    embedding: list[float] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    timestamp: datetime = field(default_factory=utc_now)
    source: str = UNKNOWN_SOURCE
    importance_score: float = 0.5


MemoryEntry.register(Memory)
MemoryEntry.register(Hit)


def name_source(hit: Hit) -> Hit:
    """Return a hit whose source is named, `unknown` when nobody gave one."""
    if hit.source is not None:
        return hit
    vector = getattr(hit.memory, "_vector", None)
    return replace(hit, memory=replace(hit.memory, source=UNKNOWN_SOURCE).with_embedding(vector))


@dataclass(frozen=True, slots=True, repr=False)
class Window(Record):
    """A period of time that a question names."""

    start: datetime
    end: datetime
    """The first moment after the period."""
    phrase: str
    """The words that name it."""


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Record):
    """How a question was understood, and what its answer was made from."""

    speakers: tuple[str, ...]
    """The speakers that it is about."""
    windows: tuple[Window, ...]
    terms: tuple[str, ...]
    """The terms that were looked up."""
    embedded: str | None
    """The text that was embedded; None when no embedding model took part."""
    considered: int
    """How many memories were in scope."""
    dialogue: float
    """0…1: how much the texts are turns of a dialogue, where neighbouring turns count."""
    signals: dict[str, float] = field(default_factory=dict)
    """The values that `answerable` was computed from."""
    notes: tuple[str, ...] = ()
    """Adjustments to the question, such as an ignored time window."""


@dataclass(frozen=True, slots=True, repr=False)
class Recall(display.Shown, Sequence[Hit]):
    """The result of a `recall`: hits, best first, and information about the result itself."""

    hits: tuple[Hit, ...]
    id: str
    query: str
    answerable: float
    """0…1: the probability that memory holds an answer."""
    degraded: tuple[str, ...] = ()
    """The arms that could not take part; empty when all did."""
    elapsed_ms: float = 0.0
    explanation: Explanation | None = None
    """Set when the call had `explain=True`."""
    head: int = 0
    """The number of the latest change in the store that the answer saw."""
    __repr__, __str__, _repr_html_ = display.recall_repr, display.recall_text, display.recall_html
    to_dict = to_dict

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions of the hits. Several good hits of one session count more than a single better one."""
        weights: dict[str, float] = {}
        for rank, hit in enumerate(self.hits, start=1):
            if hit.session is not None:
                weights[hit.session] = weights.get(hit.session, 0.0) + 1.0 / (1 + rank)
        return tuple(sorted(weights, key=lambda session: -weights[session]))


Status: TypeAlias = Literal["stored", "duplicate", "superseded", "quarantined", "rejected"]


@dataclass(frozen=True, slots=True, repr=False)
class Outcome(Record):
    """The result of one write."""

    status: Status
    memory: Memory | None
    """The stored memory; for a duplicate, the memory that says the same already."""
    reason: str = ""
    message_id: str | None = None
    """The id of the message, if a message was written."""
    rule: str = ""
    """The rule that rejected it, if one did."""
    queued: str = ""
    """Why a language model has yet to read the message; empty when it has, or when none is used."""

    __repr__, __str__ = display.outcome_repr, display.outcome_text


@dataclass(frozen=True, slots=True, repr=False)
class Usage(Record):
    """The calls and tokens that an operation used of a language model."""

    calls: int = 0
    """The number of calls, including failed attempts."""
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
    """Whether a model did not report its tokens, so that they were estimated as a quarter of the characters."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.estimated or other.estimated,
        )


_NO_USAGE: Final = Usage()


class Outcomes(list[Outcome]):
    """The results of the writes of one call, in order, and the usage of a language model.

    `failure` says why the model could not read some messages, now or in an earlier call; None when it read all. Those
    messages are stored and queued, and the model is asked about them again later.
    """

    def __init__(
        self,
        outcomes: Iterable[Outcome] = (),
        usage: Usage = _NO_USAGE,
        failure: str | None = None,
    ) -> None:
        super().__init__(outcomes)
        self.usage = usage
        self.failure = failure

    __repr__, __str__, _repr_html_ = display.outcomes_repr, display.outcomes_text, display.outcomes_html


Operator: TypeAlias = Literal["eq", "ne", "in", "gt", "gte", "lt", "lte", "exists"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one top-level key of the metadata. A list in the metadata passes if any of its items does."""

    key: str
    op: Operator
    value: JSON


@dataclass(frozen=True, slots=True)
class Filter:
    """Selects memories of a scope: every field that is set must match."""

    types: tuple[MemoryType, ...] = ()
    sources: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    after: datetime | None = None
    before: datetime | None = None
    """`valid_from` at or after the one, and before the other."""
    min_importance: float | None = None
    max_importance: float | None = None
    metadata: tuple[Condition, ...] = ()
    quarantined: bool | None = None
    """Only memories in quarantine, or only others; None for both."""
    trusts: tuple[str, ...] = ()
    pinned: bool | None = None


EVERYTHING: Final = Filter()

"""The values of stage 2, messages → candidate memories, and the port to what is known already."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from memoranda.dates import Mention
from memoranda.sentences import Span
from memoranda.types import MemoryType, Status

EntityKind: TypeAlias = Literal[
    "person", "place", "organisation", "name", "title", "quantity", "email", "url", "handle", "phone"
]
Rule: TypeAlias = Literal[
    "empty", "system", "echo", "secret", "greeting", "fragment", "duplicate", "near_duplicate", "evidence", "importance"
]


@dataclass(frozen=True, slots=True)
class Saying:
    """One stretch of one message: who said it, when, and its words."""

    message_id: str
    role: str
    speaker: str
    """The message's name, or else its role."""
    said_at: datetime
    text: str
    span: Span

    @property
    def trust(self) -> str:
        return self.role


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that a text names."""

    kind: EntityKind
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Claim:
    """What a sentence says of somebody: subject, attribute, value, and when it holds."""

    subject: str
    """A speaker's name, or "Anna's sister"."""
    attribute: str
    value: str
    span: Span
    """The evidence: the words of the message that say it."""
    said_at: datetime
    valid_from: datetime
    valid_to: datetime | None = None
    """When it stopped being true; None while it holds."""
    holds: bool = True
    """False for a denial: "I don't eat meat", "I no longer work at Acme"."""
    single: bool = False
    """Whether a subject has one value at a time: a newer one then takes the place of an older one."""
    trust: str = "user"


@dataclass(frozen=True, slots=True)
class Feature:
    """One reason why something is worth remembering, and how much it counts."""

    name: str
    weight: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory to be: the words, where they stand, and what was read from them."""

    saying: Saying
    content: str
    """What is remembered; the evidence itself, unless a model put it in its own words."""
    type: MemoryType
    importance: float
    features: tuple[Feature, ...] = ()
    entities: tuple[Entity, ...] = ()
    events: tuple[Mention, ...] = ()
    """The times it names; spans count inside the message."""
    claims: tuple[Claim, ...] = ()

    @property
    def message_id(self) -> str:
        return self.saying.message_id

    @property
    def span(self) -> Span:
        """Where in its message the evidence stands."""
        return self.saying.span


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why something did not become a memory."""

    message_id: str
    status: Status
    rule: Rule
    reason: str
    span: Span
    twin: int | str | None = None
    """The memory, or else the message, that says the same already."""


@dataclass(frozen=True, slots=True)
class Twin:
    """Something known that says the same."""

    rule: Literal["duplicate", "near_duplicate", "echo"]
    of: int | str
    likeness: float
    """0…1; 1 is the very same text."""


class Known(Protocol):
    """What is known in the scope that is written to, and what was learned from this very call."""

    def twin(self, saying: Saying) -> Twin | None:
        """What says the same already; None for news."""
        ...

    def novelty(self, text: str) -> float:
        """The share of its telling words that nothing known holds, 0…1."""
        ...

    def learn(self, saying: Saying) -> None:
        """From now on this is known as well."""
        ...


class NothingKnown:
    """For an empty store and a single message: everything is news."""

    def twin(self, saying: Saying) -> Twin | None:  # noqa: ARG002
        return None

    def novelty(self, text: str) -> float:  # noqa: ARG002
        return 1.0

    def learn(self, saying: Saying) -> None:
        pass

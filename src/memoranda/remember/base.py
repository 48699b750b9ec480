"""The values of extraction, from utterances to candidate memories, and the port to what is known already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias

from memoranda.dates.find import Mention
from memoranda.messages.message import Message
from memoranda.storage.claims import FRAMING, Claim
from memoranda.text.sentences import Span
from memoranda.types import JSON, MemoryType, Status

EntityKind: TypeAlias = Literal[
    "person", "place", "organisation", "name", "title", "quantity", "email", "url", "handle", "phone"
]
Framing: TypeAlias = Literal["quoted", "uncertain", "unrelated_context"]
"""How earlier turns qualify a message: it is a quotation or a line of a play, it may be one, or the turns are about
something else. Then it hides nothing; only a quotation makes no claims."""
Retraction: TypeAlias = Literal["retract", "doubt", "remark"]
"""How a message affects the speaker's previous change: withdraws it ("jk"), makes it uncertain ("in French please"), or
only comments ("Too expensive.")."""
_STORED_FRAMINGS: Final[dict[Framing, str]] = {"quoted": "text", "uncertain": "doubt", "unrelated_context": "beside"}
"""The framings as the notes of memories store them."""
Rule: TypeAlias = Literal["empty", "system", "echo", "secret", "greeting", "fragment", "duplicate", "evidence"]


@dataclass(frozen=True, slots=True)
class Utterance:
    """A text that somebody said, or a part of one: the words, who said them and when."""

    message_id: str
    """Empty for a plain text."""
    role: str
    speaker: str
    """The message's name, or else its role."""
    said_at: datetime
    text: str
    """Empty for a message without words (only calls, only pictures)."""
    span: Span
    """Where in the message the text is."""
    message: Message | None = None
    """The message it came in; None for a plain text."""
    idempotency_key: str | None = None
    owner: str = "user"
    """The person that "the user" refers to: the name of the user whose memory it is."""
    framing: Framing | None = None
    """How earlier turns qualify it."""
    retraction: Retraction | None = None
    """Whether it withdraws the speaker's previous change."""
    asked_about: str = ""
    """The person that a question right before it asks about instead of its speaker: "my brother"; see `questions`."""
    question: str = ""
    """The question that it answers with a fragment."""
    stated: str = ""
    """The statement that the question and the fragment make together: "I live in Ghent now."."""
    skips: int = 0
    """The number of messages of the speaker between it and the one that it retracts or corrects: "ok", "lol"."""
    also: tuple[int, ...] = ()
    """The positions of further messages of the speaker that it may retract: "Two of these are lies."."""
    echoes: tuple[Span, ...] = ()
    """The parts that only repeat what is known: recalled text that came back without its marks."""


def framing_note(framing: Framing) -> str:
    """Return a framing as the notes of a memory store it."""
    return _STORED_FRAMINGS[framing]


def framing_in(notes: Mapping[str, JSON]) -> Framing | None:
    """Return the framing in the notes of a memory; None when it has none."""
    return next((framing for framing, stored in _STORED_FRAMINGS.items() if stored == notes.get(FRAMING)), None)


@dataclass(frozen=True, slots=True)
class Entity:
    """A name, place, quantity or address that a text mentions."""

    kind: EntityKind
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Feature:
    """One reason why something is worth remembering, and how much it counts."""

    name: str
    weight: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may become a memory: the text, where it is, and what was extracted from it."""

    utterance: Utterance
    content: str
    """The text to remember: the evidence itself, or a model's own words for it."""
    type: MemoryType
    importance: float
    features: tuple[Feature, ...] = ()
    entities: tuple[Entity, ...] = ()
    events: tuple[Mention, ...] = ()
    """The times it mentions; spans are offsets in the message."""
    claims: tuple[Claim, ...] = ()
    trust: str | None = None
    """How far it is trusted, if not as its speaker: "model" for a model's own words."""

    @property
    def message_id(self) -> str:
        return self.utterance.message_id

    @property
    def span(self) -> Span:
        """Where in its message the evidence is."""
        return self.utterance.span


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why something did not become a memory."""

    message_id: str
    status: Status
    rule: Rule
    reason: str
    span: Span
    duplicate_of: int | str | None = None
    """The memory, or else the message, that says the same already."""


@dataclass(frozen=True, slots=True)
class KnownMatch:
    """A known text that is the same statement, or that an answer only repeats."""

    rule: Literal["duplicate", "echo"]
    known_id: int | str
    """The id of the memory, or else of the message, that holds the known text."""


class KnownTexts(Protocol):
    """The texts that the scope contains already, and those of this call so far."""

    def find_match(self, utterance: Utterance) -> KnownMatch | None:
        """Return the known text that says the same; None when there is none."""
        ...

    def novelty(self, utterance: Utterance) -> float:
        """Return the share of its terms that no known text contains, 0…1."""
        ...

    def add(self, utterance: Utterance) -> None:
        """Add an utterance to the known texts, under the id of its message."""
        ...


class NoKnownTexts:
    """`KnownTexts` of an empty store and a single message."""

    def find_match(self, utterance: Utterance) -> KnownMatch | None:  # noqa: ARG002
        return None

    def novelty(self, utterance: Utterance) -> float:  # noqa: ARG002
        return 1.0

    def add(self, utterance: Utterance) -> None:
        pass

"""Facts: what is known about one attribute of a person or thing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memoranda.records import Record
from memoranda.results import texts
from memoranda.types import Memory


@dataclass(frozen=True, slots=True, repr=False)
class FactValue(Record):
    """A value that a slot has or had, and the memory that says so."""

    value: str
    holds: bool
    """False for a denial: "I don't eat meat"."""
    since: datetime
    until: datetime | None
    """When it stopped being true; None while it holds."""
    said_at: datetime
    memory_id: int
    content: str
    trust: str
    source: str | None = None
    speaker: str | None = None

    __str__ = texts.fact_value_text


@dataclass(frozen=True, slots=True, repr=False)
class Fact(Record):
    """The current value of a slot: what is known about one attribute of a person or thing."""

    subject: str
    attribute: str
    value: str
    holds: bool
    """False for a denial: "I don't eat meat"."""
    since: datetime
    said_at: datetime
    memory_id: int
    content: str
    trust: str
    source: str | None = None
    speaker: str | None = None
    replaced: tuple[FactValue, ...] = ()
    """The values before it, oldest first."""
    disputed_by: tuple[FactValue, ...] = ()
    """What less trusted sources said later."""
    later: tuple[Memory, ...] = ()
    """What was said later about the same thing in other words, oldest first: the value may no longer be true."""

    _aliases = ("slot",)
    __repr__, __str__, _row = texts.fact_repr, texts.fact_text, texts.fact_row

    @property
    def slot(self) -> str:
        """The name of the slot, which `history` takes."""
        return f"{self.subject}/{self.attribute}"


@dataclass(frozen=True, slots=True, repr=False)
class FactConflict(Record):
    """A slot in which sources disagree."""

    subject: str
    attribute: str
    values: tuple[FactValue, ...]
    """The most trusted one first."""

    _aliases = ("slot",)
    __str__, _row = texts.conflict_text, texts.conflict_row

    @property
    def slot(self) -> str:
        """The name of the slot, which `history` takes."""
        return f"{self.subject}/{self.attribute}"

"""What recall and the questions about facts return: text for a prompt, past recalls, facts and conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from memoranda import display
from memoranda.display import LONG, MANY, day_of, one_line, plural
from memoranda.records import Record, to_plain
from memoranda.types import JSON, ArmScore, Hit, Memory, Recall


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

    def __str__(self) -> str:
        held = f"{day_of(self.since)} – {day_of(self.until)}" if self.until else f"since {day_of(self.since)}"
        return f"{one_line(_value(self))} ({held}, #{self.memory_id})"


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

    def __repr__(self) -> str:
        return f"Fact({one_line(self.slot)!r}, {one_line(_value(self))!r}, since {day_of(self.since)})"

    def __str__(self) -> str:
        notes = [f"since {day_of(self.since)}"]
        if before := ", ".join(
            f"{one_line(_value(each))} until {day_of(each.until)}" for each in self.replaced[-MANY:]
        ):
            notes.append(f"before: {before}")
        notes += [f"later said: {one_line(each.content)}" for each in self.later[-1:]]
        return f"{self.slot}: {one_line(_value(self))} ({'; '.join(notes)})"

    def _row(self) -> dict[str, object]:
        row: dict[str, object] = {"slot": self.slot, "value": _value(self), "since": day_of(self.since)}
        row["from"] = self.speaker or self.source or self.trust
        more = {"before": self.replaced, "disputed by": self.disputed_by}
        row |= {name: ", ".join(map(_value, values)) for name, values in more.items() if values}
        return row | ({"later said": one_line(self.later[-1].content)} if self.later else {})

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

    def __str__(self) -> str:
        return f"{self.slot}: {self._values_text()}"

    def _row(self) -> dict[str, object]:
        return {"slot": self.slot, "values": self._values_text()}

    def _values_text(self) -> str:
        return " / ".join(f"{one_line(_value(each))} ({each.trust})" for each in self.values)

    @property
    def slot(self) -> str:
        """The name of the slot, which `history` takes."""
        return f"{self.subject}/{self.attribute}"


def _value(fact: Fact | FactValue) -> str:
    return fact.value if fact.holds else f"not {fact.value}"


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

    def __repr__(self) -> str:
        return f"Context({one_line(self)!r}, {plural(len(self.hits), 'hit')}, {plural(self.tokens, 'token')})"

    def _repr_html_(self) -> str:
        title = f"{plural(len(self.hits), 'hit')}, {plural(self.tokens, 'token')}" if self.hits else "no hits"
        return display.text_html(title, str(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the text and what is known about it as plain JSON data."""
        return {"text": str(self), **{name: to_plain(getattr(self, name)) for name in self.__slots__}}


WhyNotStep: TypeAlias = Literal[
    "scope", "quarantined", "archived", "merged", "repeats", "expired", "superseded", "ended", "not yet true",
    "not yet known", "candidates", "filter", "no match", "floor", "limit", "found",
]  # fmt: skip
"""What kept a memory out of a recall; `found` when nothing did."""


@dataclass(frozen=True, slots=True, repr=False)
class WhyNot(Record):
    """Why an expected memory was not returned, or its rank if it was."""

    id: int
    reason: str
    rank: int | None = None
    """1 is best; None when it took no part."""
    score: float | None = None
    why: tuple[ArmScore, ...] = ()
    step: WhyNotStep = "limit"
    """The step of the recall that decided."""
    superseded_by: Memory | None = None
    """The memory that replaced it or says the same, if one did."""
    since: datetime | None = None
    """Since when it is left out, where a time decided."""

    _repr_html_ = display.report_html

    def __str__(self) -> str:
        words = display.reasons(self.why)
        fits = f" (it fits by {words})" if words else ""
        return f"#{self.id}: {one_line(self.reason, LONG)}{fits}"


class Why(tuple[ArmScore, ...]):
    """What each arm and boost did for one hit, as `why` returns it: a tuple that prints in plain words."""

    __slots__ = ()

    def __repr__(self) -> str:
        return display.list_repr(self, "signal")

    def __str__(self) -> str:
        return display.list_text(self, "signal")

    def _repr_html_(self) -> str:
        return display.list_html(self, "signal")


@dataclass(frozen=True, slots=True, repr=False)
class ErasedHit(Record):
    """A memory that a past recall returned and that is gone by now."""

    position: int
    """Its position in that recall; 1 was the best."""
    id: int


@dataclass(frozen=True, slots=True, repr=False)
class Replay(Record):
    """A past recall as it was answered then, whatever became of its memories."""

    recall: Recall
    """The hits that can still be shown: same ids, order, scores, reasons and texts as then."""
    asked_at: datetime
    parameters: dict[str, JSON]
    """What the call was given besides the question."""
    erased: tuple[ErasedHit, ...]
    """The hits that were deleted or forgotten since."""
    complete: bool
    """Whether every hit is shown."""

    _repr_html_ = display.report_html

    def __str__(self) -> str:
        gone = [f"position {each.position}: #{each.id} was deleted since" for each in self.erased]
        return "\n".join([f"asked on {self.asked_at:%Y-%m-%d %H:%M}", str(self.recall), *gone])


@dataclass(frozen=True, slots=True, repr=False)
class AffectedRecall(Record):
    """A past recall that returned some of certain memories."""

    id: str
    asked_at: datetime
    memories: int
    """How many of them it returned."""

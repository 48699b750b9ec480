"""What a recall becomes: text for a prompt, and a past recall looked up again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from memoranda import display
from memoranda.records import Record, to_plain
from memoranda.results import texts
from memoranda.types import JSON, ArmScore, Hit, Memory, Recall


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

    __repr__ = texts.context_repr
    _repr_html_ = texts.context_html

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

    __str__, _repr_html_ = texts.why_not_text, display.report_html


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

    __str__, _repr_html_ = texts.replay_text, display.report_html


@dataclass(frozen=True, slots=True, repr=False)
class AffectedRecall(Record):
    """A past recall that returned some of certain memories."""

    id: str
    asked_at: datetime
    memories: int
    """How many of them it returned."""

"""A question as the arms see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from memoranda.retrieval.speaker import read_speakers
from memoranda.retrieval.wanted import wanted_kind
from memoranda.retrieval.window import read_windows
from memoranda.text import terms
from memoranda.types import Filter, Scope, Window

Mode: TypeAlias = Literal["fast", "default", "best"]
MODES: tuple[Mode, ...] = ("fast", "default", "best")
MAX_TERMS = 256
"""Different words of one question that are looked up; a question of more is a document."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked, of whose memories, when, and how much of an answer is wanted."""

    text: str
    scope: Scope
    where: Filter
    limit: int
    now: datetime
    mode: Mode = "default"
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What the rules read in a question."""

    embedded: str | None
    """What is looked for by meaning: the question without the speakers' names; None when it names a time only."""
    terms: tuple[str, ...]
    """The words to look up, in the order asked."""
    speakers: tuple[str, ...]
    windows: tuple[Window, ...]
    wanted: str | None = None
    """The lexical key of the texts that hold the kind of answer asked for."""


def read_query(text: str, now: datetime, speakers: Sequence[str]) -> Reading:
    """A question read against the asker's clock and those who spoke."""
    about, windows = read_speakers(text, speakers), read_windows(text, now)
    dated = {word for window in windows for word in terms(window.phrase)}
    if windows and dated.issuperset(about.terms):
        # "2024-01-08" means what was said then, not texts that look like a date.
        return Reading(None, (), about.named, windows)
    return Reading(about.text, about.terms[:MAX_TERMS], about.named, windows, wanted_kind(text))

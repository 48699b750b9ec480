"""A question as the arms see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recollect.text import query_terms
from recollect.types import Filter, FloatArray, Scope

MAX_TERMS = 256
"""Different words of one question that are looked up; a question of more is a document."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked, by whom, when, and how much of an answer is wanted."""

    text: str
    scope: Scope
    where: Filter
    limit: int
    now: datetime
    terms: tuple[str, ...]
    vector: FloatArray | None
    """None when there is no vector search, or the embedder cannot be reached."""
    baseline: float = 0.0
    """The cosine of texts that have nothing to do with each other, for this embedder."""
    as_of: datetime | None = None


def lexical_terms(text: str) -> tuple[str, ...]:
    """The words of a question to look up, in the order asked."""
    return tuple(query_terms(text)[:MAX_TERMS])

"""How long a short-term value lives."""

from __future__ import annotations

from typing import Final

from memoranda.arguments import check_type, shown
from memoranda.errors import InvalidInput, InvalidType
from memoranda.types import MemoryType

DEFAULT_TTL: Final = 86_400.0
"""Seconds a value lives when nobody says otherwise: a day."""
MAX_TTL: Final = 10 * 365 * 86_400.0


def is_short_term(memory_type: MemoryType | str, ttl: float | None = None) -> bool:
    """Whether a value of this type is kept for a while, or else for good; only the first can have a `ttl`."""
    kind = check_type(memory_type)
    if kind not in (MemoryType.SHORT_TERM, MemoryType.LONG_TERM):
        raise InvalidInput(f"memory_type must be 'short_term' or 'long_term', not {kind.value!r}")
    if kind is MemoryType.LONG_TERM and ttl is not None:
        raise InvalidInput("ttl is for short_term values; a long_term value stays until it is deleted")
    return kind is MemoryType.SHORT_TERM


def check_ttl(ttl: float) -> float:
    """The seconds a value may live, or `InvalidInput`."""
    if isinstance(ttl, bool) or not isinstance(ttl, int | float):
        raise InvalidType(f"ttl must be a number of seconds, not {type(ttl).__name__}")
    if not 0 < ttl <= MAX_TTL:
        raise InvalidInput(f"ttl is {shown(ttl)} seconds: give more than 0 and at most {MAX_TTL:.0f}")
    return float(ttl)

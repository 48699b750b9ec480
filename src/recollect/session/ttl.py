"""How long a short-term value lives."""

from __future__ import annotations

from typing import Final

from recollect.arguments import shown
from recollect.errors import InvalidInput, InvalidType

DEFAULT_TTL: Final = 86_400.0
"""Seconds a value lives when nobody says otherwise: a day."""
MAX_TTL: Final = 10 * 365 * 86_400.0


def check_ttl(ttl: float) -> float:
    """The seconds a value may live, or `InvalidInput`."""
    if isinstance(ttl, bool) or not isinstance(ttl, int | float):
        raise InvalidType(f"ttl must be a number of seconds, not {type(ttl).__name__}")
    if not 0 < ttl <= MAX_TTL:
        raise InvalidInput(f"ttl is {shown(ttl)} seconds: give more than 0 and at most {MAX_TTL:.0f}")
    return float(ttl)

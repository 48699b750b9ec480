"""Trying again after a wait, for a model that cannot answer now."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from memoranda.errors import InvalidInput, Unavailable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how long: a random share of a wait that doubles, or what the model itself asks for."""

    times: int = 2
    """Attempts after the first."""
    first_wait: float = 0.5
    longest_wait: float = 30.0
    rng: random.Random = field(default_factory=random.Random, compare=False)
    sleep: Callable[[float], None] = field(default=time.sleep, compare=False)

    def __post_init__(self) -> None:
        if self.times < 0 or self.first_wait < 0 or self.longest_wait < 0:
            raise InvalidInput("retries must not be negative")

    def wait(self, attempt: int, asked: float | None) -> float:
        """Seconds to wait after a failed attempt, the first being 0."""
        if asked is not None:
            return min(asked, self.longest_wait)
        # A random share of the whole, so that many callers do not come back together.
        return self.rng.uniform(0, min(self.longest_wait, self.first_wait * 2**attempt))


def with_retries(call: Callable[[], T], retries: Retries) -> tuple[T, int]:
    """What the call gives, and at which attempt; the last `Unavailable` when all of them fail."""
    for attempt in range(retries.times + 1):
        try:
            return call(), attempt + 1
        except Unavailable as error:
            if attempt == retries.times:
                raise
            retries.sleep(retries.wait(attempt, error.retry_after))
    raise AssertionError("unreachable")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, where the answer says so; None when the header is missing or is a date, and the caller chooses."""
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):
        return None

"""Retries calls to a model that is temporarily unavailable."""

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
    """How often to retry and how long to wait: exponential backoff with jitter, unless the model says how long."""

    times: int = 2
    """Attempts after the first."""
    first_wait: float = 0.5
    longest_wait: float = 30.0
    rng: random.Random = field(default_factory=random.Random, compare=False)
    sleep: Callable[[float], None] = field(default=time.sleep, compare=False)

    def __post_init__(self) -> None:
        if self.times < 0 or self.first_wait < 0 or self.longest_wait < 0:
            raise InvalidInput("retries must not be negative")

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait after a failed attempt; the first attempt is 0."""
        if retry_after is not None:
            return min(retry_after, self.longest_wait)
        # Random, so that many callers do not retry at the same time.
        return self.rng.uniform(0, min(self.longest_wait, self.first_wait * 2**attempt))


def call_with_retries(call: Callable[[], T], retries: Retries) -> tuple[T, int]:
    """Return the result of the call and the number of attempts; raise the last `Unavailable` when all fail."""
    for attempt in range(retries.times + 1):
        try:
            return call(), attempt + 1
        except Unavailable as error:
            if attempt == retries.times:
                raise
            retries.sleep(retries.wait(attempt, error.retry_after))
    raise AssertionError("unreachable")


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in the `retry-after` header, or None when it is missing or is a date."""
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):
        return None

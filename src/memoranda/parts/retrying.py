"""Work that looks at what is there, and then writes: done again where somebody else was faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from memoranda.errors import Conflict

_R = TypeVar("_R")
_TRIES: Final = 100
"""Of those who try at once, one succeeds each time."""


def until_no_conflict(work: Callable[[], _R]) -> _R:
    """What the work gives; after so many tries, the `Conflict`."""
    for _ in range(_TRIES - 1):
        try:
            return work()
        except Conflict:
            continue
    return work()

"""Limit how much one call may read on behalf of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from memoranda.errors import InvalidInput

ROWS_AT_ONCE: Final = 16
"""Memories that are read by one statement under a budget."""


class AnswerTooLarge(InvalidInput):
    """What was asked for is more than one answer holds."""

    status = 413


@dataclass(slots=True)
class ReadBudget:
    """How many characters of memories a call may still read. The first memory always fits."""

    left: int
    ends_early: bool = False
    """Whether a page may end before its limit; else too much is an error."""
    is_first: bool = True
    was_cut: bool = False

    def allows(self, row: Sequence[Any]) -> bool:
        """Count a row of `SELECT_MEMORY`; return whether it fits."""
        self.left -= len(row[1] or "") + len(row[14] or "")
        fits, self.is_first = self.left >= 0 or self.is_first, False
        return fits


_current: ContextVar[ReadBudget | None] = ContextVar("read_budget", default=None)


def current_budget() -> ReadBudget | None:
    return _current.get()


@contextmanager
def reading_at_most(budget: ReadBudget | None) -> Iterator[None]:
    """Limit what is read inside the block."""
    token = _current.set(budget)
    try:
        yield
    finally:
        _current.reset(token)


def too_large() -> AnswerTooLarge:
    return AnswerTooLarge("the answer would be too large: ask for fewer with limit, or for less")


def check_read(row: Sequence[Any]) -> None:
    """Raise `AnswerTooLarge` when a row is more than the call may read."""
    budget = _current.get()
    if budget is not None and not budget.allows(row):
        raise too_large()

from __future__ import annotations

from datetime import datetime, timedelta


class FakeClock:
    """A clock that moves only when `advance` is called."""

    def __init__(self, start: datetime) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **time: float) -> None:
        self.now += timedelta(**time)

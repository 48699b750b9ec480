"""How long a client may take to send the body of a request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from memoranda.server.responses import RequestRejected

_T = TypeVar("_T")
_SLOWEST: Final = 2_000
"""Bytes a second that a body must have on average, in addition to the time that each part of it may take."""


class BodyTimer:
    """Waits for the parts of a body: never long for one, and not for ever while they trickle in."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._started = time.monotonic()
        self._size = 0

    async def wait(self, part: Awaitable[_T], size: Callable[[_T], int]) -> _T:
        """Return the next part; reject the request when it does not come in time."""
        left = self._seconds + self._size / _SLOWEST - (time.monotonic() - self._started)
        try:
            found = await asyncio.wait_for(part, min(self._seconds, left))
        except TimeoutError:
            message = f"the body came too slowly, or nothing for {self._seconds:g} seconds: send the request again"
            raise RequestRejected(408, message) from None
        self._size += size(found)
        return found

"""What closes itself at the end of a `with` block.

Inherited, because the same lines stood in every class that can be closed.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """Calls `close` at the end of a `with` block."""

    def close(self) -> None:
        """Release what it holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClosing:
    """Awaits `close` at the end of an `async with` block."""

    async def close(self) -> None:
        """Release what it holds."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

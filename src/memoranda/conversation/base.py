"""The port of stage 1: where a conversation's messages are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from memoranda.messages.message import Message


class MessageLog(Protocol):
    """Messages in the order they were added. Positions count from 0, the oldest that is still in the window.

    The conversation checks every argument and holds its own lock around each call, so an
    implementation sees valid positions and one caller at a time. Where several conversations, perhaps of
    several processes, share what an implementation keeps, each call of its own must be atomic.
    """

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> list[Message]:
        """Messages from `start` up to `stop`, at a cost that depends on their number alone."""
        ...

    def append(self, messages: Sequence[Message], *, keep: int | None, once: bool = False) -> None:
        """Adds all or none; then at most the newest `keep` stay in the window, all of them when it is None.

        With `once`, a message whose id the window holds, or that comes twice, is left out.
        """
        ...

    def known(self, message_ids: Iterable[str]) -> set[str]:
        """Those of the ids that the window holds."""
        ...

    def delete(self, positions: Sequence[int]) -> None:
        """Takes out these positions, given in ascending order, each once."""
        ...

    def replace(self, messages: Sequence[Message]) -> None:
        """From now on, exactly these."""
        ...

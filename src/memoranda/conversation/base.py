"""The port of stage 1: where a conversation's messages are kept."""

from __future__ import annotations

from collections import Counter
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


class ListLog:
    """A `MessageLog` in a list: appending, dropping the oldest and reading the newest do not depend on the length."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._kept: list[Message | None] = []
        self._start = 0
        self._ids: Counter[str] = Counter()
        self.append(messages, keep=None)

    def __len__(self) -> int:
        return len(self._kept) - self._start

    def read(self, start: int, stop: int) -> list[Message]:
        return self._kept[self._start + start : self._start + stop]  # type: ignore[return-value]

    def append(self, messages: Sequence[Message], *, keep: int | None, once: bool = False) -> None:
        added = self._unseen(messages) if once else messages
        self._kept.extend(added)
        self._ids.update(message.message_id for message in added)
        if keep is not None and len(self) > keep:
            self._drop_oldest(len(self) - keep)

    def known(self, message_ids: Iterable[str]) -> set[str]:
        return {message_id for message_id in message_ids if message_id in self._ids}

    def delete(self, positions: Sequence[int]) -> None:
        gone = set(positions)
        self.replace([message for i, message in enumerate(self.read(0, len(self))) if i not in gone])

    def replace(self, messages: Sequence[Message]) -> None:
        self._kept, self._start = list(messages), 0
        self._ids = Counter(message.message_id for message in messages)

    def _unseen(self, messages: Sequence[Message]) -> list[Message]:
        firsts: dict[str, Message] = {}
        for message in messages:
            firsts.setdefault(message.message_id, message)
        return [message for message_id, message in firsts.items() if message_id not in self._ids]

    def _drop_oldest(self, count: int) -> None:
        for message in self.read(0, count):
            self._forget_id(message.message_id)
        # Taking items off the front of a list moves all the others: empty their places, and move once in a while.
        self._kept[self._start : self._start + count] = [None] * count
        self._start += count
        if self._start > len(self._kept) // 2:
            del self._kept[: self._start]
            self._start = 0

    def _forget_id(self, message_id: str) -> None:
        self._ids[message_id] -= 1
        if not self._ids[message_id]:
            del self._ids[message_id]

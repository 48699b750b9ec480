"""The `MessageLog` protocol, its in-memory implementation, and the list view of a log."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from typing import Protocol, TypeAlias, overload

from memoranda.messages.message import Message, as_message

AnyMessage: TypeAlias = Message | Mapping[str, object]


class MessageLog(Protocol):
    """Messages in the order they were added. Positions count from 0, the oldest message that is still kept.

    The conversation checks every argument and holds its own lock around each call, so an implementation gets valid
    positions and one call at a time. Where several conversations or processes share the stored messages, each call
    must be atomic.
    """

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> list[Message]:
        """Return the messages from `start` up to `stop`, at a cost that depends only on their number."""
        ...

    def append(self, messages: Sequence[Message], *, keep: int | None, skip_duplicates: bool = False) -> None:
        """Add all messages or none, then keep only the newest `keep`; None keeps all.

        With `skip_duplicates`, skip a message whose id the log has already, or that is repeated in the call.
        """
        ...

    def find_ids(self, message_ids: Iterable[str]) -> set[str]:
        """Return those of the ids that the log holds."""
        ...

    def delete(self, positions: Sequence[int]) -> None:
        """Delete these positions, given in ascending order, each once."""
        ...

    def replace(self, messages: Sequence[Message]) -> None:
        """Replace the whole content of the log."""
        ...


class ListLog:
    """A `MessageLog` in a list. Appending, dropping the oldest and reading the newest do not depend on the length."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._items: list[Message | None] = []
        self._start = 0
        self._ids: Counter[str] = Counter()
        self.append(messages, keep=None)

    def __len__(self) -> int:
        return len(self._items) - self._start

    def read(self, start: int, stop: int) -> list[Message]:
        return self._items[self._start + start : self._start + stop]  # type: ignore[return-value]

    def append(self, messages: Sequence[Message], *, keep: int | None, skip_duplicates: bool = False) -> None:
        if skip_duplicates:
            unique: dict[str, Message] = {}
            for message in messages:
                unique.setdefault(message.message_id, message)
            messages = [message for message_id, message in unique.items() if message_id not in self._ids]
        self._items.extend(messages)
        self._ids.update(message.message_id for message in messages)
        if keep is not None and len(self) > keep:
            self._drop_oldest(len(self) - keep)

    def find_ids(self, message_ids: Iterable[str]) -> set[str]:
        return {message_id for message_id in message_ids if message_id in self._ids}

    def delete(self, positions: Sequence[int]) -> None:
        deleted = set(positions)
        self.replace([message for i, message in enumerate(self.read(0, len(self))) if i not in deleted])

    def replace(self, messages: Sequence[Message]) -> None:
        self._items, self._start = list(messages), 0
        self._ids = Counter(message.message_id for message in messages)

    def _drop_oldest(self, count: int) -> None:
        for message in self.read(0, count):
            self._ids[message.message_id] -= 1
            if not self._ids[message.message_id]:
                del self._ids[message.message_id]
        # Deleting from the front of a list moves all other items: clear the slots, and move only now and then.
        self._items[self._start : self._start + count] = [None] * count
        self._start += count
        if self._start > len(self._items) // 2:
            del self._items[: self._start]
            self._start = 0


class MessageView(MutableSequence[Message]):
    """The messages of a conversation as a list. `len`, an index, a slice and `append` cost what they return."""

    def __init__(self, get_log: Callable[[], MessageLog], lock: threading.RLock) -> None:
        self._get_log = get_log
        self._lock = lock

    @property
    def _log(self) -> MessageLog:
        # Asked each time: a conversation may move to another log.
        return self._get_log()

    def __len__(self) -> int:
        return len(self._log)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        with self._lock:
            positions = range(len(self._log))[index]
            if isinstance(positions, int):
                return self._log.read(positions, positions + 1)[0]
            if positions.step == 1:
                return self._log.read(positions.start, max(positions.start, positions.stop))
            return self._read_all()[index]

    def __iter__(self) -> Iterator[Message]:
        return iter(self[:])

    def __setitem__(self, index: int | slice, value: object) -> None:
        with self._lock:
            messages = self._read_all()
            if isinstance(index, slice):
                messages[index] = [as_message(item) for item in value]  # type: ignore[attr-defined]
            else:
                messages[index] = as_message(value)
            self._log.replace(messages)

    def __delitem__(self, index: int | slice) -> None:
        with self._lock:
            positions = range(len(self._log))[index]
            self._log.delete([positions] if isinstance(positions, int) else sorted(positions))

    def insert(self, index: int, value: AnyMessage) -> None:
        with self._lock:
            messages = self._read_all()
            messages.insert(index, as_message(value))
            self._log.replace(messages)

    def append(self, value: AnyMessage) -> None:
        self.extend([value])

    def extend(self, values: Iterable[AnyMessage]) -> None:
        with self._lock:
            self._log.append([as_message(value) for value in values], keep=None)

    def __eq__(self, other: object) -> bool:
        return self[:] == (other[:] if isinstance(other, MessageView) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self[:])

    def _read_all(self) -> list[Message]:
        return self._log.read(0, len(self._log))

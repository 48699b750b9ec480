"""A conversation's messages as a list that is always up to date."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence
from typing import overload

from memoranda.conversation.base import MessageLog
from memoranda.messages.message import Message, as_message


class MessageView(MutableSequence[Message]):
    """Reads and changes the conversation it belongs to. `len`, an index, a slice and `append` cost what they return."""

    def __init__(self, log: Callable[[], MessageLog], lock: threading.RLock) -> None:
        self._current = log
        self._lock = lock

    @property
    def _log(self) -> MessageLog:
        # Asked each time: a conversation may move to another log.
        return self._current()

    def __len__(self) -> int:
        return len(self._log)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        with self._lock:
            at = range(len(self._log))[index]
            if isinstance(at, int):
                return self._log.read(at, at + 1)[0]
            if at.step == 1:
                return self._log.read(at.start, max(at.start, at.stop))
            return self._all()[index]

    def __iter__(self) -> Iterator[Message]:
        return iter(self[:])

    def __setitem__(self, index: int | slice, value: object) -> None:
        with self._lock:
            messages = self._all()
            if isinstance(index, slice):
                messages[index] = [as_message(item) for item in value]  # type: ignore[attr-defined]
            else:
                messages[index] = as_message(value)
            self._log.replace(messages)

    def __delitem__(self, index: int | slice) -> None:
        with self._lock:
            at = range(len(self._log))[index]
            self._log.delete([at] if isinstance(at, int) else sorted(at))

    def insert(self, index: int, value: Message | Mapping[str, object]) -> None:
        with self._lock:
            messages = self._all()
            messages.insert(index, as_message(value))
            self._log.replace(messages)

    def append(self, value: Message | Mapping[str, object]) -> None:
        self.extend([value])

    def extend(self, values: Iterable[Message | Mapping[str, object]]) -> None:
        with self._lock:
            self._log.append([as_message(value) for value in values], keep=None)

    def __eq__(self, other: object) -> bool:
        return self[:] == (other[:] if isinstance(other, MessageView) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self[:])

    def _all(self) -> list[Message]:
        return self._log.read(0, len(self._log))

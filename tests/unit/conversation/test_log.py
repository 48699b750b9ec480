from __future__ import annotations

from collections.abc import Iterable

import pytest

from memoranda.conversation.base import ListLog, MessageLog
from memoranda.messages.message import Message
from memoranda.testing.log import MessageLogContract


class TestListLog(MessageLogContract):
    @pytest.fixture
    def log(self) -> MessageLog:
        return ListLog()


class CountingList(list):  # type: ignore[type-arg]
    """Counts the items that are moved or handed out, which is what makes a list slow when it is long."""

    touched = 0

    def extend(self, items: Iterable[object]) -> None:
        added = list(items)
        self.touched += len(added)
        super().extend(added)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        found = super().__getitem__(index)
        self.touched += len(found)
        return found

    def __setitem__(self, index, items) -> None:  # type: ignore[no-untyped-def]
        self.touched += len(items)
        super().__setitem__(index, items)

    def __delitem__(self, index) -> None:  # type: ignore[no-untyped-def]
        super().__delitem__(index)
        self.touched += len(self)


@pytest.mark.parametrize("length", [1_000, 100_000])
def test_what_is_touched_does_not_grow_with_the_length(length: int) -> None:
    message = Message("user", "x", message_id="x")
    log = ListLog([message] * length)
    log._kept = kept = CountingList(log._kept)
    for _ in range(2 * length):
        log.append([message], keep=length)
    # Each step adds one and drops one; now and then all that is left moves, once for as many steps as are moved.
    assert kept.touched <= 8 * 2 * length
    kept.touched = 0
    assert len(log.read(length - 10, length)) == 10
    assert kept.touched == 10

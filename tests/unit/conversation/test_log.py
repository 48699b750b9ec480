from __future__ import annotations

import time
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from recollect.conversation.log import ListLog
from recollect.messages.message import Message

MESSAGES = [Message("user", str(i), message_id=str(i)) for i in range(40)]


@given(st.lists(st.tuples(st.lists(st.sampled_from(MESSAGES), max_size=8), st.none() | st.integers(0, 6)), max_size=30))
def test_it_keeps_what_a_plain_list_would(steps: list[tuple[list[Message], int | None]]) -> None:
    log, model = ListLog(), list[Message]()
    for added, keep in steps:
        log.append(added, keep=keep)
        model += added
        if keep is not None:
            model = model[len(model) - min(keep, len(model)) :]
        assert log.read(0, len(log)) == model
        assert log.known(str(i) for i in range(40)) == {message.message_id for message in model}
        log.delete(range(0, len(model), 3))
        del model[::3]
        assert log.read(1, 3) == model[1:3]


def best_of(work: Callable[[], object]) -> float:
    times = []
    for _ in range(7):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def test_the_cost_does_not_grow_with_the_length() -> None:
    message = MESSAGES[0]
    small, large = ListLog([message] * 1_000), ListLog([message] * 1_000_000)

    def add_and_drop(log: ListLog) -> None:
        for _ in range(200):
            log.append([message], keep=len(log))

    def read(log: ListLog) -> None:
        for _ in range(200):
            log.read(len(log) - 10, len(log))

    assert best_of(lambda: add_and_drop(large)) < 20 * best_of(lambda: add_and_drop(small))
    assert best_of(lambda: read(large)) < 20 * best_of(lambda: read(small))

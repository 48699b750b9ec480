from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from memoranda.storage.sqlite import group_commit
from memoranda.storage.sqlite.group_commit import GroupCommit
from tests.unit.storage.sqlite.interrupts import interrupt_at


def test_submit_returns_result_of_its_work() -> None:
    group = GroupCommit[int, int](lambda works: [work * 2 for work in works])
    assert group.submit(21) == 42


def test_waiting_writers_share_one_commit() -> None:
    sizes: list[int] = []

    def commit(works: Sequence[int]) -> list[int]:
        sizes.append(len(works))
        time.sleep(0.05)
        return list(works)

    group = GroupCommit[int, int](commit)
    results = _in_threads(group, range(8))
    assert sorted(results) == list(range(8))
    assert sum(sizes) == 8
    assert len(sizes) < 8


def test_group_is_never_larger_than_max_group() -> None:
    sizes: list[int] = []

    def commit(works: Sequence[int]) -> list[int]:
        sizes.append(len(works))
        time.sleep(0.02)
        return list(works)

    assert sorted(_in_threads(GroupCommit[int, int](commit, max_group=3), range(10))) == list(range(10))
    assert max(sizes) <= 3


def test_error_reaches_only_the_writer_that_caused_it() -> None:
    def commit(works: Sequence[int]) -> list[int]:
        time.sleep(0.02)
        if 3 in works:
            raise ValueError("three")
        return list(works)

    group = GroupCommit[int, int](commit)
    results = _in_threads(group, range(8))
    assert sorted(result for result in results if isinstance(result, int)) == [0, 1, 2, 4, 5, 6, 7]
    assert [str(result) for result in results if isinstance(result, ValueError)] == ["three"]


def test_interrupted_commit_leaves_no_writer_waiting() -> None:
    def commit(works: Sequence[int]) -> list[int]:
        raise KeyboardInterrupt

    group = GroupCommit[int, int](commit)
    with pytest.raises(KeyboardInterrupt):
        group.submit(1)
    with pytest.raises(KeyboardInterrupt):
        group.submit(2)


def test_wait_for_recent_writers_ends_when_none_arrive() -> None:
    sizes: list[int] = []

    def commit(works: Sequence[int]) -> list[int]:
        sizes.append(len(works))
        time.sleep(0.05 if len(sizes) == 1 else 0)
        return list(works)

    group = GroupCommit[int, int](commit)
    assert sorted(_in_threads(group, range(8))) == list(range(8))
    # The other writers have finished; the remaining one still gets its result.
    assert [group.submit(8), group.submit(9)] == [8, 9]
    assert sizes[-2:] == [1, 1]


def test_interrupt_while_waiting_for_others_does_not_block_next_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    group = GroupCommit[int, int](lambda works: list(works))
    _in_threads(group, range(8))
    group._expected = 2

    def interrupt(_: float) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(group._gathered, "wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            group.submit(1)
    assert group.submit(2) == 2


def test_interrupt_at_any_step_does_not_block_next_writer() -> None:
    step = 0
    while interrupt_at(step, (group := GroupCommit[int, int](list)).submit, 0, inside=(group_commit, threading)):
        assert _in_threads(group, [1, 2]) in ([1, 2], [2, 1]), f"after an interrupt at step {step}"
        assert group._waiting == []
        step += 1
    assert step > 20


def _in_threads(group: GroupCommit[int, int], works: Sequence[int]) -> list[int | Exception]:
    results: list[int | Exception] = []

    def run(work: int) -> None:
        try:
            results.append(group.submit(work))
        except ValueError as error:
            results.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results

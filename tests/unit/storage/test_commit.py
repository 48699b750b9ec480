from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from memoranda.storage.sqlite import group_commit
from memoranda.storage.sqlite.group_commit import GroupCommit
from tests.unit.storage.interrupts import interrupted_at


def test_a_work_gets_its_own_result() -> None:
    group = GroupCommit[int, int](lambda works: [work * 2 for work in works])
    assert group.submit(21) == 42


def test_writers_that_wait_share_one_commit() -> None:
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


def test_no_group_is_larger_than_allowed() -> None:
    sizes: list[int] = []

    def commit(works: Sequence[int]) -> list[int]:
        sizes.append(len(works))
        time.sleep(0.02)
        return list(works)

    assert sorted(_in_threads(GroupCommit[int, int](commit, max_group=3), range(10))) == list(range(10))
    assert max(sizes) <= 3


def test_an_error_reaches_only_the_writer_that_caused_it() -> None:
    def commit(works: Sequence[int]) -> list[int]:
        time.sleep(0.02)
        if 3 in works:
            raise ValueError("three")
        return list(works)

    group = GroupCommit[int, int](commit)
    results = _in_threads(group, range(8))
    assert sorted(result for result in results if isinstance(result, int)) == [0, 1, 2, 4, 5, 6, 7]
    assert [str(result) for result in results if isinstance(result, ValueError)] == ["three"]


def test_an_interrupted_commit_leaves_nobody_waiting() -> None:
    def commit(works: Sequence[int]) -> list[int]:
        raise KeyboardInterrupt

    group = GroupCommit[int, int](commit)
    with pytest.raises(KeyboardInterrupt):
        group.submit(1)
    with pytest.raises(KeyboardInterrupt):
        group.submit(2)


def test_writers_of_a_moment_ago_are_waited_for_but_not_for_ever() -> None:
    sizes: list[int] = []

    def commit(works: Sequence[int]) -> list[int]:
        sizes.append(len(works))
        time.sleep(0.05 if len(sizes) == 1 else 0)
        return list(works)

    group = GroupCommit[int, int](commit)
    assert sorted(_in_threads(group, range(8))) == list(range(8))
    # The others have gone; the one that is left gets its answer all the same.
    assert [group.submit(8), group.submit(9)] == [8, 9]
    assert sizes[-2:] == [1, 1]


def test_a_writer_interrupted_while_it_waits_for_others_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_an_interrupt_at_any_moment_leaves_the_next_writer_free() -> None:
    moment = 0
    while interrupted_at(moment, (group := GroupCommit[int, int](list)).submit, 0, inside=(group_commit, threading)):
        assert _in_threads(group, [1, 2]) in ([1, 2], [2, 1]), f"after an interrupt at moment {moment}"
        assert group._waiting == []
        moment += 1
    assert moment > 20


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

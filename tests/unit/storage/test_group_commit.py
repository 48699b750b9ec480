from __future__ import annotations

import ctypes
import gc
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import pytest

from memoranda.errors import Conflict, OutcomeUnknown, Unavailable
from memoranda.storage import group_commit
from memoranda.storage.group_commit import GroupCommit
from tests.unit.storage.sqlite.interrupts import Interrupts, interrupt_at


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


def test_interrupt_at_any_step_does_not_block_next_writer() -> None:
    step = 0
    while interrupt_at(step, (group := GroupCommit[int, int](list)).submit, 0, inside=(group_commit, threading)):
        assert _in_threads(group, [1, 2]) in ([1, 2], [2, 1]), f"after an interrupt at step {step}"
        assert not group.waiting
        step += 1
    assert step > 10


@pytest.mark.parametrize("warm", [False, True], ids=["first write", "later write"])
def test_interrupts_at_any_two_statements_do_not_block_next_writer(warm: bool) -> None:
    interrupts = Interrupts(group_commit)

    def interrupted(first: int, second: int) -> int:
        group = interrupts.module.GroupCommit(list)
        if warm:
            assert group.submit(0) == 0
        raised = interrupts.interrupt([first, second], lambda: group.submit(1))
        started = time.monotonic()
        assert _in_threads(group, [2]) == [2], f"after interrupts at {first} and {second}"
        assert time.monotonic() - started < 5
        return raised

    first, pairs = 0, 0
    while interrupted(first, first) == 1:
        second = first + 1
        while interrupted(first, second) == 2:
            second += 1
            pairs += 1
        first += 1
    assert (first, pairs) > (10, 20)


def test_interrupted_writer_does_not_disturb_the_commit_of_others() -> None:
    interrupts = Interrupts(group_commit)
    for statement in range(100):
        entered, leave = threading.Event(), threading.Event()

        def commit(works: Sequence[int], entered: threading.Event = entered, leave: threading.Event = leave) -> object:
            entered.set()
            assert leave.wait(20)
            return list(works)

        group, results = interrupts.module.GroupCommit(commit), []
        first = threading.Thread(target=lambda: results.append(group.submit(1)), daemon=True)  # noqa: B023
        first.start()
        assert entered.wait(20)
        waiting = threading.Timer(0.02, leave.set)
        waiting.start()
        raised = interrupts.interrupt([statement], lambda: group.submit(2))  # noqa: B023
        waiting.join()
        first.join(20)
        assert results == [1]
        if not raised:
            break
    assert statement > 10


def test_writer_gives_up_when_the_lock_is_never_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "_MAX_WAIT", 0.3)
    leave = threading.Event()
    committed: list[int] = []

    @contextmanager
    def turn() -> Iterator[None]:
        assert leave.wait(20)
        yield

    def commit(works: Sequence[int]) -> list[int]:
        committed.extend(works)
        return list(works)

    group = GroupCommit[int, int](commit, turn=turn)
    with pytest.raises(Unavailable, match="nothing was written"):
        group.submit(1)
    leave.set()
    monkeypatch.undo()
    assert group.submit(2) == 2
    assert committed == [2]


def test_writer_is_told_when_the_committing_thread_is_killed() -> None:
    def commit(_: Sequence[int]) -> list[int]:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), ctypes.py_object(SystemExit))
        while True:
            time.sleep(0.001)

    group = GroupCommit[int, int](commit)
    with pytest.raises(SystemExit):
        group.submit(1)
    group._commit = list
    assert group.submit(2) == 2


def test_outcome_unknown_reaches_all_and_nothing_is_committed_again() -> None:
    commits: list[int] = []

    def commit(works: Sequence[int]) -> list[int]:
        commits.append(len(works))
        time.sleep(0.05)
        if len(works) > 1:
            raise OutcomeUnknown("who knows")
        return list(works)

    results = _in_threads(GroupCommit[int, int](commit), range(8))
    unknown = [result for result in results if isinstance(result, OutcomeUnknown)]
    assert len(unknown) == sum(size for size in commits if size > 1) > 0
    assert sum(commits) == 8


def test_without_threads_the_writer_commits_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(group_commit._thread, "start_new_thread", refuse)
    group = GroupCommit[int, int](list)
    assert [group.submit(1), group.submit(2)] == [1, 2]


class TestPreparedWork:
    def test_nobody_commits_between_preparing_and_committing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(group_commit, "_PREPARE_SECONDS", 30.0)
        committed: list[int] = []

        def commit(works: Sequence[int]) -> list[int]:
            committed.extend(works)
            return list(works)

        group = GroupCommit[int, int](commit)
        other = threading.Thread(target=lambda: group.submit(1))

        def prepare() -> int:
            other.start()
            other.join(0.01)
            return 2

        assert group.submit_prepared(prepare) == 2
        other.join()
        assert committed == [2, 1]

    def test_writer_that_prepares_for_too_long_lets_the_others_go_on(self) -> None:
        group = GroupCommit[int, int](list)
        written: list[int] = []

        def prepare() -> int:
            written.append(group.submit(1))  # would wait for itself
            return 2

        with pytest.raises(Conflict, match="too long"):
            group.submit_prepared(prepare)
        assert written == [1]

    def test_error_while_preparing_reaches_the_caller_and_nothing_is_committed(self) -> None:
        committed: list[int] = []

        def commit(works: Sequence[int]) -> list[int]:
            committed.extend(works)
            return list(works)

        group = GroupCommit[int, int](commit)
        with pytest.raises(ZeroDivisionError):
            group.submit_prepared(lambda: 1 // 0)
        assert group.submit(3) == 3
        assert committed == [3]

    def test_error_of_the_lock_reaches_the_caller(self) -> None:
        def turn() -> NoReturn:
            raise Unavailable("no lock")

        group = GroupCommit[int, int](list, turn=turn)
        with pytest.raises(Unavailable, match="no lock"):
            group.submit_prepared(lambda: 1)

    def test_writer_gives_up_when_the_turn_never_comes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(group_commit, "_MAX_WAIT", 0.1)
        monkeypatch.setattr(group_commit, "_CHECK_SECONDS", 0.02)
        free = threading.Event()

        @contextmanager
        def turn() -> Iterator[None]:
            free.wait()
            yield

        group = GroupCommit[int, int](list, turn=turn)
        with pytest.raises(Unavailable, match="nothing was written"):
            group.submit_prepared(lambda: 1)
        free.set()
        assert group.submit(2) == 2


def test_thread_ends_with_its_owner() -> None:
    group = GroupCommit[int, int](list)
    before = set(threading.enumerate())
    group.submit(1)
    started = set(threading.enumerate()) - before
    assert started
    del group
    gc.collect()
    for thread in started:
        thread.join(20)
        assert not thread.is_alive()


def _in_threads(group: GroupCommit[int, int], works: Sequence[int]) -> list[int | Exception]:
    results: list[int | Exception] = []

    def run(work: int) -> None:
        try:
            results.append(group.submit(work))
        except (ValueError, OutcomeUnknown) as error:
            results.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


@pytest.mark.parametrize("end", ["stopped", "dropped"])
def test_second_thread_that_begins_late_ends_with_the_first(end: str) -> None:
    group = GroupCommit[int, int](list)
    late = (weakref.ref(group), group._stops, group._queue, group._serving)
    assert group.submit(1) == 1
    serving = group._serving
    if end == "stopped":
        group.stop(20)
    else:
        del group
        gc.collect()
    deadline = time.monotonic() + 20
    while serving.locked() and time.monotonic() < deadline:
        time.sleep(0.001)
    thread = threading.Thread(target=group_commit._serve, args=late, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()

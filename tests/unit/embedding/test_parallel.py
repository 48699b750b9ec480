from __future__ import annotations

import os
import signal
import threading

import pytest

from memoranda.embedding.parallel import FairSlots, run_each


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_every_input_is_worked_on_once(threads: int) -> None:
    found: dict[int, str] = {}
    run_each(["a", "b", "c", "d"], found.__setitem__, threads)
    assert found == dict(enumerate("abcd"))


def test_no_inputs_start_no_work() -> None:
    run_each([], lambda *_: pytest.fail("called"), 2)


@pytest.mark.parametrize("threads", [1, 3])
def test_first_error_is_raised_and_ends_the_rest(threads: int) -> None:
    done: list[int] = []

    def fail_at_once(number: int, _: str) -> None:
        done.append(number)
        raise ValueError(number)

    with pytest.raises(ValueError, match=r"\d"):
        run_each(["text"] * 1_000, fail_at_once, threads)
    assert len(done) <= threads


def test_two_threads_work_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=30)

    def meet(_: int, __: str) -> None:
        both.wait()

    run_each(["a", "b"], meet, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_slot_that_another_thread_holds_is_free_in_a_forked_child() -> None:
    slots, held, done = FairSlots(1), threading.Event(), threading.Event()

    def hold() -> None:
        with slots:
            held.set()
            done.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(30)
    child = os.fork()
    if not child:
        signal.alarm(10)  # ends a child that waits forever
        with slots:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    done.set()
    holder.join()
    assert status == 0

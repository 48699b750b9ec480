from __future__ import annotations

import os
import re
import signal
import threading
from pathlib import Path
from random import Random

import pytest

import memoranda
from memoranda.threads import FairSlots, Flag, run_each, start_thread
from tests.prove.interrupts import Moments


def test_flag_wakes_up_all_who_wait() -> None:
    flag, seen = Flag(), list[bool]()
    waiting = [threading.Thread(target=lambda: seen.append(flag.wait(20))) for _ in range(3)]
    for thread in waiting:
        thread.start()
    assert not flag.is_set()
    flag.set()
    flag.set()
    for thread in waiting:
        thread.join(20)
    assert seen == [True] * 3
    assert flag.wait(0)
    assert not Flag().wait(0.01)


@pytest.mark.parametrize("looks", range(1, 13))
def test_interrupt_in_a_call_of_a_flag_does_not_keep_it_from_being_set(looks: int) -> None:
    flag = Flag()
    for call in (flag.set, lambda: flag.wait(0.01)):
        Moments(looks, 0.0).interrupt(call)
    setting = threading.Thread(target=flag.set, daemon=True)
    setting.start()
    setting.join(20)
    assert flag.wait(0)


def test_thread_that_was_being_started_at_an_interrupt_runs_or_is_not_alive() -> None:
    rng = Random(1)
    for _ in range(30):
        ran = Flag()
        thread = threading.Thread(target=ran.set, daemon=True)
        Moments(rng.randint(1, 40), 0.0).interrupt(lambda thread=thread: start_thread(thread))  # type: ignore[misc]
        assert ran.wait(1) or not thread.is_alive() or ran.wait(20)


def test_the_library_uses_no_event_and_no_condition_of_python() -> None:
    package = Path(memoranda.__file__).parent
    named = re.compile(r"threading\.(?:Event|Condition|Semaphore|Barrier)\(")
    assert not [file for file in package.rglob("*.py") if named.search(file.read_text("utf-8"))]


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

from __future__ import annotations

import re
import threading
from pathlib import Path
from random import Random

import pytest

import memoranda
from memoranda.threads import Flag, start_thread
from tests.prove.interrupts import Moments


def test_flag_wakes_up_all_who_wait_and_can_be_cleared() -> None:
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
    flag.clear()
    assert not flag.wait(0.01)
    flag.clear()
    assert not flag.is_set()


@pytest.mark.parametrize("looks", range(1, 13))
def test_interrupt_in_a_call_of_a_flag_does_not_keep_it_from_being_set(looks: int) -> None:
    flag = Flag()
    for call in (flag.set, flag.clear, lambda: flag.wait(0.01)):
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
        assert ran.wait(20) or not thread.is_alive()


def test_the_library_uses_no_event_and_no_condition_of_python() -> None:
    package = Path(memoranda.__file__).parent
    named = re.compile(r"threading\.(?:Event|Condition|Semaphore|Barrier)\(")
    assert not [file for file in package.rglob("*.py") if named.search(file.read_text("utf-8"))]

from __future__ import annotations

import threading

import pytest

from memoranda.embedding.parallel import run_each


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

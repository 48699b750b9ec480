from __future__ import annotations

import random

import pytest

from memoranda.errors import InvalidInput, Unavailable
from memoranda.llm.base import Retries, call_with_retries


def test_waits_are_random_and_their_maximum_doubles_up_to_the_longest() -> None:
    retries = Retries(first_wait=1.0, longest_wait=5.0, rng=random.Random(2))
    for attempt, longest in enumerate((1.0, 2.0, 4.0, 5.0, 5.0)):
        waits = [retries.wait(attempt, None) for _ in range(200)]
        assert max(waits) <= longest
        assert max(waits) > 0.8 * longest
        assert min(waits) < 0.2 * longest


def test_retry_after_of_the_model_is_used_within_bounds() -> None:
    retries = Retries(longest_wait=5.0)
    assert retries.wait(0, 3.0) == 3.0
    assert retries.wait(0, 3_600.0) == 5.0


def test_only_unavailable_is_retried() -> None:
    def refuse() -> str:
        raise InvalidInput("no")

    waits: list[float] = []
    with pytest.raises(InvalidInput):
        call_with_retries(refuse, Retries(sleep=waits.append))
    assert waits == []


def test_last_failure_is_raised() -> None:
    failures = iter((Unavailable("first"), Unavailable("second"), Unavailable("third")))

    def fail() -> str:
        raise next(failures)

    with pytest.raises(Unavailable, match="third"):
        call_with_retries(fail, Retries(2, sleep=lambda _: None))


def test_negative_retries_are_refused() -> None:
    with pytest.raises(InvalidInput):
        Retries(-1)

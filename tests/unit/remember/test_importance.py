from __future__ import annotations

import pytest

from memoranda.remember.base import Candidate
from memoranda.remember.duplicates import TextIndex
from memoranda.remember.extraction import extract, only_candidates, rate_importance
from tests.unit.remember.utterances import WEDNESDAY, one, said


def importance(text: str, *, role: str = "user", name: str | None = "Ana") -> float:
    found = one(text, role=role, name=name)
    assert isinstance(found, Candidate)
    return found.importance


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("What do you think of that painting?", 0.0, 0.2),
        ("The weather was quite nice on the way.", 0.05, 0.35),
        ("We saw a play at the Globe last Friday.", 0.3, 0.6),
        ("I moved to Lisbon in May.", 0.6, 0.85),
        ("I'll send the contract by Friday.", 0.45, 0.8),
        ("I'm allergic to penicillin.", 0.85, 1.0),
        ("Please remember: the gate code changes on Monday.", 0.85, 1.0),
    ],
)
def test_the_scale_of_the_documentation(text: str, least: float, most: float) -> None:
    assert least <= importance(text) <= most


def test_more_reasons_weigh_more() -> None:
    plain = importance("I moved to a city.")
    named = importance("I moved to Lisbon.")
    dated = importance("I moved to Lisbon in May 2023.")
    assert plain < named < dated < 1.0


def test_what_an_assistant_says_weighs_less() -> None:
    text = "The museum in Porto opens at 9 am on Mondays."
    assert importance(text, role="assistant", name=None) < importance(text)


def test_what_is_known_weighs_less_and_a_request_to_remember_does_not() -> None:
    known = TextIndex()
    first = "My cousin plays chess in the old harbour cafe."
    again = "Chess in the old harbour cafe, my cousin plays there on rainy evenings."
    news, echo = (each.importance for each in only_candidates(extract([said(first), said(again)], known)))
    assert echo < importance(again)
    assert news == importance(first)
    asked = f"Please remember this: {again}"
    assert only_candidates(extract([said(asked)], known))[0].importance == importance(asked)


def test_the_callers_own_value_wins() -> None:
    (found,) = only_candidates(extract([said("I'm allergic to penicillin.")], importance=0.1))
    assert found.importance == 0.1
    assert "safety" in {feature.name for feature in found.features}


@pytest.mark.parametrize(
    "text",
    [
        "I'm allergic to penicillin.",
        "We saw a play at the Globe last Friday.",
        "Please remember: the gate code changes on Monday.",
        "The budget is $40,000, ask bob@example.org.",
        "What do you think of that painting?",
    ],
)
def test_a_text_alone_weighs_as_much_as_one_that_is_said(text: str) -> None:
    found = one(text, name=None)
    assert isinstance(found, Candidate)
    assert rate_importance(text, WEDNESDAY) == (found.importance, found.features)


def test_a_text_alone_passes_no_gate() -> None:
    assert rate_importance("ok", WEDNESDAY)[0] == 0.05

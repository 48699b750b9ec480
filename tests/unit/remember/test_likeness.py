"""Which later texts may be about the same person and thing as an older one."""

from __future__ import annotations

import pytest

from memoranda.remember.likeness import likeness, same_people

_NEAR_IN_MEANING = 0.55
_LINKED = 0.38


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My shoe size is 42.", "Olga's new shoe size is 44."),
        ("My train is on 4 May.", "Olga's train was moved to 9 May."),
        ("I live in Ghent.", "Olga moved to Kiel last month."),
        ("I use Firefox.", "My colleague ditched Firefox for Chrome."),
        ("I use Firefox.", "Everybody at work switched to Chrome."),
        ("I moved to Ghent last year.", "They moved to Kiel."),
        ("I moved to Ghent last year.", "She moved to Kiel."),
        ("I work at Lidl.", "My wife quit Lidl."),
        ("Olga works at Lidl.", "I quit Lidl."),
        ("I play the flute.", "He gave up the flute."),
        ("Olga is vegan.", "Kim is no longer vegan."),
    ],
)
def test_texts_about_different_people_are_kept_apart(older: str, newer: str) -> None:
    assert not same_people(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I have a parrot called Coco.", "Coco died on Sunday."),
        ("My boyfriend Milan lives with me.", "Milan moved out."),
        ("I work at Lidl.", "Lidl let me go."),
        ("My boss is Olga.", "Kim took over as my boss."),
        ("My class is on Monday.", "Olga moved the class to Friday."),
        ("I live in Ghent.", "We got the keys, Kiel is home now."),
        ("I live in Ghent.", "Olga and I moved to Kiel."),
        ("Olga works at Lidl.", "Olga quit."),
    ],
)
def test_texts_that_may_be_about_the_same_people_are_compared(older: str, newer: str) -> None:
    assert same_people(older, newer)


@pytest.mark.parametrize(
    ("older", "newer", "linked"),
    [
        ("My rent is 700 euros.", "The kayak costs 400 euros now.", False),
        ("My rent is 700 euros.", "My rent is down to 600 euros.", True),
        ("I live in Ghent.", "I visited Ghent last weekend.", False),
        ("I live in Ghent.", "We flew to Ghent on Friday.", False),
        ("I live in Ghent.", "I moved out of Ghent last weekend.", True),
    ],
)
def test_price_of_another_thing_and_visit_are_no_change(older: str, newer: str, linked: bool) -> None:
    assert (likeness(older, newer, _NEAR_IN_MEANING) >= _LINKED) is linked

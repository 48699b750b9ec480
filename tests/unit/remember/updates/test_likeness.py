"""Which later texts may be about the same person and thing as an older one, and whether they say anything about now."""

from __future__ import annotations

import pytest

from memoranda.remember.reading.subjects import are_different_things, same_people
from memoranda.remember.updates.likeness import is_own_past_action, is_past_only, likeness

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


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My tax number is 4411.", "Carla's new tax number is 5522."),
        ("My appointment is at 3.", "Omar's appointment was pushed to 4."),
        ("I pay 30 euros for the gym.", "Rosa's gym raised its fee to 45 euros."),
        ("I run Linux.", "Two of my colleagues switched from Linux to macOS."),
        ("I run Linux.", "Everybody in our building switched to macOS."),
        ("I smoke.", "He stopped smoking."),
        ("I left Nokia.", "Priya left Nokia too."),
        ("I'm in the choir.", "Mira joined the choir."),
        ("My code is 4411.", "The janitor's code is now 5522."),
        ("My dentist is Dr. Weber.", "The new dentist of my sister is Dr. Klee."),
        ("Omar lives in Rome.", "Carla moved to Oslo."),
        ("Omar lives in Rome.", "I moved to Oslo."),
        ("User lives in Rome.", "User's sister moved to Oslo."),
        ("I live in Rome.", "Omar, my brother, moved to Oslo."),
    ],
)
def test_somebody_elses_event_is_about_other_people(older: str, newer: str) -> None:
    assert not same_people(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Rome.", "Oslo is home now."),
        ("I live in Rome.", "My husband and I moved to Oslo."),
        ("My sister lives in Rome.", "She moved to Oslo."),
        ("My husband Omar works nights.", "Omar quit."),
        ("My fee is 30 euros.", "Studio raised the fee to 45 euros."),
        ("My flight is on 3 May.", "Lufthansa moved it to 5 May."),
        ("My manager is Olga.", "Ben is my manager now."),
        ("User lives in Rome.", "User moved to Oslo."),
        ("The meeting is on Monday.", "Carla moved the meeting to Friday."),
        ("I earn 40k.", "My boss gave me a raise."),
    ],
)
def test_own_event_is_about_the_same_people(older: str, newer: str) -> None:
    assert same_people(older, newer)


@pytest.mark.parametrize(
    "text",
    [
        "I spoke Polish as a kid.",
        "We used to rent in Rome.",
        "I worked for Nokia before that.",
        "I drove a Porsche once.",
        "I moved to Rome years ago.",
        "Paid 30 euros for a hat.",
        "We visited Rome and ate ice cream.",
    ],
)
def test_something_that_only_happened_is_past(text: str) -> None:
    assert is_past_only(text)


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Rome.",
        "Passed the exam, I'm a doctor!",
        "I ran my first marathon.",
        "We got the keys.",
        "I'm getting used to Rome.",
        "I go there once a week.",
    ],
)
def test_change_or_result_is_not_only_past(text: str) -> None:
    assert not is_past_only(text)


def test_what_somebody_got_is_an_event_without_a_change() -> None:
    assert is_own_past_action("I bought seeds for the birds.")
    assert not is_own_past_action("I sold the car.")


@pytest.mark.parametrize(
    ("one", "other", "different"),
    [
        ("My left knee hurts.", "My right knee no longer hurts.", True),
        ("Invoice 1041 is paid.", "Invoice 1014 is paid.", True),
        ("The kitchen light is on.", "The hall light is off.", True),
        ("My sister Anna lives in Rome.", "My sister Eva lives in Bonn.", True),
        ("My phone is a Pixel 6.", "My new phone is a Pixel 9.", False),
        ("My shift is in the morning.", "My shift is now in the evening.", False),
        ("My rent is 900 euros.", "My rent went up to 950 euros.", False),
        ("I live in Hamburg.", "We live in Ghent now.", False),
    ],
)
def test_things_are_distinguished_by_their_words(one: str, other: str, different: bool) -> None:
    assert are_different_things(one, other) is different

"""Which messages are plain reports of a change, so that it may hide what was said before."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from memoranda.dates.find import find_mentions
from memoranda.remember.base import Utterance
from memoranda.remember.claims.find import find_claims
from memoranda.remember.claims.reports import is_plain_report, is_point
from memoranda.remember.updates.likeness import likeness

SAID = datetime(2026, 3, 2, 12, tzinfo=UTC)
CHANGE = "I moved to Ghent"


def alone(text: str) -> bool:
    start = text.index(CHANGE)
    times = [each.span for each in find_mentions(text, SAID) if is_point(each)]
    return is_plain_report(text, (start, start + len(CHANGE)), "Ghent", (), times, moves=True)


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Ghent.",
        "I moved to Ghent last week!",
        "Update: I moved to Ghent from Hamburg with my wife.",
        "Last month I moved to Ghent for good",
        "Hi! I moved to Ghent. We love it here. Thanks for asking!",
        "I moved to Ghent. Please update my address.",
    ],
)
def test_change_with_only_its_time_reason_or_company_is_plain_report(text: str) -> None:
    assert alone(text)


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Ghent but it didn't last.",
        "I moved to Ghent, if the rumours are to be believed.",
        "I moved to Ghent with my first husband.",
        "I moved to Ghent! ...is what I'd love to write one day.",
        "On paper I moved to Ghent.",
        "I moved to Ghent because of the rent.",
        "I moved to Ghent. We love it here. Now in Spanish.",
        "It rained all day. I moved to Ghent.",
        "- I moved to Ghent",
        "1. I moved to Ghent",
        "I moved to Ghent?! No way",
        "I moved to Ghent → Dutch",
        "I moved to Ghent now and then.",
        "I moved to Ghent's old town.",
    ],
)
def test_change_with_other_words_next_to_it_does_not_stand_alone(text: str) -> None:
    assert not alone(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ben: I moved to Paris.",
        "Thought experiment: I moved to Tokyo.",
        "Into French: I became a doctor.",
        "I moved to Rome, she told me on the phone.",
        "I moved to Rome, boasts the influencer.",
        "I quit smoking, says the hero.",
        "I moved to Rome, I wish.",
        "I moved to Rome. That's how my novel begins.",
        "Let's play a game. My name is now Captain Storm.",
        "Hi Tom,\nI moved to Rome last month.\nBest,\nLea",
        "00:01:12,000 --> 00:01:14,000\nI moved to Rome.",
        "If pregnant, I no longer drink coffee.",
        "I moved to Rome for three weeks.",
        "I took a job at Lidl too.",
        "I left Shell with a full tank.",
        "That I moved to Bergen is a myth.",
        "I now work at Netflix, watching it all day haha.",
    ],
)
def test_words_that_may_not_be_meant_change_nothing(text: str) -> None:
    said = Utterance("m", "user", "Ana", SAID, text, (0, len(text)), owner="Ana")
    assert {claim.operation for claim in find_claims(said, find_mentions(text, SAID))} <= {"state"}


def test_detail_of_a_value_does_not_belong_to_it() -> None:
    text = "I switched from Vim to VS Code for one file"
    assert not is_plain_report(text, (0, len(text)), "VS Code for one file", (), ())


def test_what_is_read_by_itself_may_stand_next_to_a_change() -> None:
    text = "I left Siemens and joined Bosch."
    assert is_plain_report(text, (0, 14), "Siemens", [(19, 31)], ())
    assert not is_plain_report(text, (0, 14), "Siemens", [], ())


def test_long_text_next_to_a_change_is_read_in_a_moment() -> None:
    began = time.perf_counter()
    assert not alone("and, so, well, " * 5_000 + "in a dream " + CHANGE)
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Ben works at Acme.", "Ben's car got stolen."),
        ("User lives in Trondheim.", "User bought an electric guitar."),
        ("My sister speaks Basque.", "My sister's horse died."),
        ("My friend Ann Lee is a surgeon.", "Ann Lee lost her umbrella."),
        ("I live in Malmo.", "I just adopted a dog named Malmo."),
        ("I've got two brothers.", "I've lost my keys."),
    ],
)
def test_texts_that_share_only_a_person_or_a_name_share_nothing(older: str, newer: str) -> None:
    assert likeness(older, newer, 0.5) < 0.38


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Tom drives a Golf.", "Tom's Golf got stolen."),
        ("My boyfriend Luca is a chef.", "Luca and I split up."),
        ("Ben works at Acme.", "Ben handed in his notice."),
    ],
)
def test_texts_that_share_a_topic_or_a_thing_next_to_the_person_are_alike(older: str, newer: str) -> None:
    assert likeness(older, newer, 0.3) >= 0.38


@pytest.mark.parametrize("words", ["this is ", "I'll send ", "that's ", "((((,,,,", "here is a ", "please, "])
def test_long_sentence_next_to_a_change_is_read_in_a_moment(words: str) -> None:
    began = time.perf_counter()
    alone(words * 400 + "\n" + CHANGE)
    assert time.perf_counter() - began < 0.5

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.unit.remember.utterances import WEDNESDAY, claims


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("My name is Ana Silva.", "name", "Ana Silva"),
        ("I'm 32 years old.", "age", "32"),
        ("My birthday is March 3rd.", "birthday", "March 3rd"),
        ("I live in Berlin now.", "city", "Berlin"),
        ("We moved from Paris to Lisbon for work.", "city", "Lisbon"),
        ("I work at Acme Corp.", "employer", "Acme Corp"),
        ("I just started a new job at Spotify.", "employer", "Spotify"),
        ("I'm a software engineer.", "occupation", "software engineer"),
        ("I'm from Ireland.", "home town", "Ireland"),
        ("I got married in June 2021.", "relationship status", "married"),
        ("My favourite colour is dark green, but red is fine.", "favourite colour", "dark green"),
        ("Harry Potter is my favorite book.", "favourite book", "Harry Potter"),
        ("My phone number is +49 151 2345678.", "phone", "+49 151 2345678"),
        ("My email is ana@example.org.", "email", "ana@example.org"),
    ],
)
def test_what_one_has_one_of(text: str, attribute: str, value: str) -> None:
    (claim,) = claims(text)
    assert (claim.subject, claim.attribute, claim.value) == ("Ana", attribute, value)
    assert claim.single
    assert claim.holds


@pytest.mark.parametrize(
    ("text", "attribute", "value", "holds"),
    [
        ("I love hiking in the Alps.", "likes", "hiking in the Alps", True),
        ("I can't stand loud bars.", "likes", "loud bars", False),
        ("I don't like mushrooms.", "likes", "mushrooms", False),
        ("I have a peanut allergy.", "allergic to", "peanut", True),
        ("I'm vegetarian.", "diet", "vegetarian", True),
        ("I was diagnosed with asthma.", "condition", "asthma", True),
        ("I bought a Honda Civic.", "owns", "a Honda Civic", True),
        ("I visited Tokyo.", "visited", "Tokyo", True),
        ("We decided to go with Postgres.", "decided", "to go with Postgres", True),
        ("I'll send you the contract.", "will", "send you the contract", True),
        ("Can you remind me to renew my passport?", "will", "renew my passport", True),
    ],
)
def test_what_one_may_have_many_of(text: str, attribute: str, value: str, holds: bool) -> None:
    (claim,) = claims(text)
    assert (claim.attribute, claim.value, claim.holds, claim.single) == (attribute, value, holds, False)


def test_a_list_is_several_claims_of_one_sentence() -> None:
    found = claims("I'm allergic to peanuts, eggs and shellfish.")
    assert [claim.value for claim in found] == ["peanuts", "eggs", "shellfish"]
    assert len({claim.span for claim in found}) == 1


@pytest.mark.parametrize(
    ("text", "subject", "attribute", "value"),
    [
        ("My sister Anna lives in Madrid.", "Ana's sister", "city", "Madrid"),
        ("My wife works for Siemens.", "Ana's wife", "employer", "Siemens"),
        ("My dog's name is Rex.", "Ana's dog", "name", "Rex"),
    ],
)
def test_those_around_the_speaker(text: str, subject: str, attribute: str, value: str) -> None:
    (claim,) = claims(text)
    assert (claim.subject, claim.attribute, claim.value) == (subject, attribute, value)


@pytest.mark.parametrize(
    "text",
    [
        "Do I live in Berlin?",
        "If I lived in Rome I would be happy.",
        "I wish I lived in Rome.",
        "She said I live in Rome.",
        "I love your turtles!",
        "I like it at the beach.",
        "I'll keep working hard.",
        "Moments like these remind me to appreciate life.",
        "People who work at Acme are nice.",
    ],
)
def test_what_is_asked_imagined_or_said_of_the_moment_is_no_claim(text: str) -> None:
    assert claims(text) == ()


def test_an_assistant_claims_nothing_but_a_named_one_may() -> None:
    assert claims("I live in Berlin.", role="assistant", name=None) == ()
    assert claims("I live in Berlin.", role="assistant", name="Bo")[0].subject == "Bo"


def test_the_evidence_is_the_words_that_say_it() -> None:
    text = "Well, good news: I moved to Lisbon last month, and the sun is great."
    (claim,) = claims(text)
    assert text[slice(*claim.span)] == "I moved to Lisbon"
    (book,) = claims("Harry Potter is my favorite book.")
    assert book.span == (0, len("Harry Potter is my favorite book"))


def test_when_a_claim_holds_is_read_from_its_sentence() -> None:
    assert claims("I've worked for Google since 2019.")[0].valid_from == datetime(2019, 1, 1, tzinfo=UTC)
    assert claims("I live in Berlin.")[0].valid_from == WEDNESDAY
    assert claims("I live in Berlin.")[0].valid_to is None
    assert claims("I used to live in Rome.")[0].valid_to == WEDNESDAY
    assert claims("I'll send you the contract by Friday.")[0].valid_to == datetime(2023, 6, 17, tzinfo=UTC)


def test_a_pasted_document_is_not_the_speakers_word() -> None:
    assert claims("I live in Berlin. " * 400) == ()

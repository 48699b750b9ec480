from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.remember.claims import PATTERNS, patterns_for
from memoranda.storage.claims import Claim
from tests.unit.remember.samples import WEDNESDAY, extract_candidate

VOCABULARY = (
    "I I'm my we and but , . been born in on Lisbon Acme from live lived living to work at as a teacher nurse "
    "name is call me Max sister dog called 34 turned really have had love like playing the piano play allergic "
    "peanuts vegan not no longer lactose-intolerant diagnosed with asthma bought an old boat decided will send it "
    "remind don't forget go let's favourite colour blue hobby joined left job fan of can't stand speak French "
    "take aspirin moved studying visited got married pronouns are she/her"
)


def claims(text: str, *, role: str = "user", name: str | None = "Ana") -> tuple[Claim, ...]:
    return extract_candidate(text, role=role, name=name).claims


def words_in(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


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
def test_attribute_with_one_value_is_found(text: str, attribute: str, value: str) -> None:
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
def test_attribute_with_several_values_is_found(text: str, attribute: str, value: str, holds: bool) -> None:
    (claim,) = claims(text)
    assert (claim.attribute, claim.value, claim.holds, claim.single) == (attribute, value, holds, False)


def test_list_of_values_makes_one_claim_each() -> None:
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
def test_claim_about_a_relative_names_the_relative_as_subject(
    text: str, subject: str, attribute: str, value: str
) -> None:
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
def test_question_condition_or_passing_remark_makes_no_claim(text: str) -> None:
    assert claims(text) == ()


def test_only_a_named_assistant_makes_claims() -> None:
    assert claims("I live in Berlin.", role="assistant", name=None) == ()
    assert claims("I live in Berlin.", role="assistant", name="Bo")[0].subject == "Bo"


def test_evidence_span_covers_only_the_words_of_the_claim() -> None:
    text = "Well, good news: I moved to Lisbon last month, and the sun is great."
    (claim,) = claims(text)
    assert text[slice(*claim.span)] == "I moved to Lisbon"
    (book,) = claims("Harry Potter is my favorite book.")
    assert book.span == (0, len("Harry Potter is my favorite book"))


def test_validity_is_read_from_the_dates_in_the_sentence() -> None:
    assert claims("I've worked for Google since 2019.")[0].valid_from == datetime(2019, 1, 1, tzinfo=UTC)
    assert claims("I live in Berlin.")[0].valid_from == WEDNESDAY
    assert claims("I live in Berlin.")[0].valid_to is None
    assert claims("I used to live in Rome.")[0].valid_to == WEDNESDAY
    assert claims("I'll send you the contract by Friday.")[0].valid_to == datetime(2023, 6, 17, tzinfo=UTC)


def test_very_long_text_makes_no_claims() -> None:
    assert claims("I live in Berlin. " * 400) == ()


@given(st.lists(st.sampled_from(VOCABULARY.split()), max_size=10))
def test_patterns_for_includes_every_pattern_that_matches(words: list[str]) -> None:
    sentence = " ".join(words)
    selected = patterns_for(words_in(sentence))
    assert all(pattern in selected for pattern in PATTERNS if pattern.regex.search(sentence))


def test_every_pattern_has_a_trigger_word() -> None:
    everything = {word for pattern in PATTERNS for word in words_in(pattern.template)} | words_in(VOCABULARY)
    everything |= {"engineer", "suffer", "decided", "joined", "laid", "send"}
    assert patterns_for(everything) == list(PATTERNS)


def test_patterns_for_words_without_a_trigger_is_empty() -> None:
    assert patterns_for(words_in("I think that this was quite nice")) == []

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda.remember.model.evidence import KnownNames, QuotedWords, find_problem
from memoranda.remember.model.facts import find_quote

SAID = datetime(2026, 3, 9, 12, tzinfo=UTC)  # a Monday
NAMES = KnownNames(speaker=[("ana",), ("user",)], addressee=[("bot",)], others=[("tom",), ("maria", "silva")])


def problem(message: str, quote: str, text: str) -> str | None:
    span = find_quote(quote, message)
    assert span is not None
    return find_problem(text, QuotedWords(message, span, SAID, NAMES))


@pytest.mark.parametrize(
    ("message", "quote", "text"),
    [
        ("I moved to Lisbon last month.", "moved to Lisbon last month", "Ana moved to Lisbon in February 2026."),
        ("I moved to Lisbon last month.", "I moved to Lisbon last month", "Ana moved to Lisbon in 2026."),
        ("I moved to Lisbon last month.", "I moved to Lisbon last month", "The user moved to Lisbon last month."),
        ("I moved to Lisbon last month.", "I moved to Lisbon", "I moved to Lisbon"),
        ("I moved to Lisbon last month.", "moved to Lisbon", "moved to Lisbon"),
        ("We got Max two weeks ago, he’s a pug.", "We got Max two weeks ago", "Ana got Max around 25 February 2026."),
        ("I keep bees and love tea.", "I keep bees and love tea", "Ana keeps bees and loves tea."),
        ("I keep bees and love tea.", "love tea", "Ana loves tea."),
        ("I don’t eat meat.", "I don't eat meat", "Ana does not eat meat."),
        ("I can't stand coriander", "can't stand coriander", "Ana can't stand coriander."),
        ("I'm a nurse at the clinic in Graz.", "I'm a nurse at the clinic in Graz", "Ana is a nurse."),
        ("I've been living in Munich since January.", "I've been living in Munich", "Ana has been living in Munich."),
        ("My sister Anna is a nurse in Graz.", "My sister Anna is a nurse in Graz", "Anna is a nurse in Graz."),
        ("My sister lives in Rome.", "My sister lives in Rome", "Ana's sister lives in Rome."),
        ("I left Siemens and joined Bosch.", "I left Siemens and joined Bosch", "Ana joined Bosch."),
        ("I love my dog.", "I love my dog", "Ana loves her dog."),
        ("Bob owes me money.", "Bob owes me money", "Bob owes Ana money."),
        ("He lives in Porto.", "He lives in Porto", "Tom lives in Porto."),
        ("Her flat is in Porto.", "Her flat is in Porto", "Maria Silva's flat is in Porto."),
        ("Correction: I was born in 1985.", "I was born in 1985", "Ana was born in 1985."),
        ("The meeting is on Thursday.", "The meeting is on Thursday", "The meeting is on 12 March 2026."),
        ("I no longer eat meat.", "I no longer eat meat", "Ana no longer eats meat."),
        (
            "I quit Siemens, and I started at Bosch in January.",
            "I started at Bosch in January",
            "Ana started at Bosch.",
        ),
        ("My number is +49 170 555.", "My number is +49 170 555", "Ana's number is +49 170 555."),
        ("If it rains, I stay home.", "If it rains, I stay home", "If it rains, Ana stays home."),
        ("Ich wohne in Köln.", "Ich wohne in Köln", "Ich wohne in Köln."),
    ],
)
def test_restatement_of_the_evidence_is_accepted(message: str, quote: str, text: str) -> None:
    assert problem(message, quote, text) is None


@pytest.mark.parametrize(
    ("message", "quote", "text"),
    [
        # Another fact than the quoted one.
        ("I moved to Lisbon last month.", "I moved to Lisbon", "Ana bought a house in Lisbon."),
        ("I moved to Lisbon last month.", "I moved to Lisbon", "Ana moved to Lisbon with her husband."),
        ("I live in Rome and work at Bosch.", "I live in Rome", "Ana works at Bosch."),
        ("Bob sold his car to Anna.", "Bob sold his car", "Bob sold his car to Anna."),
        # Negation, modality, condition, question, tense, quantity.
        ("I don't live in Berlin.", "live in Berlin", "Ana lives in Berlin."),
        ("I don't live in Berlin.", "live in Berlin", "live in Berlin"),
        ("I never eat meat on Fridays.", "I never eat meat on Fridays", "Ana never eats meat."),
        ("I live in Rome.", "I live in Rome", "Ana does not live in Rome."),
        ("I might move to Rome.", "I might move to Rome", "Ana moves to Rome."),
        ("I want to move to Rome.", "move to Rome", "Ana moves to Rome."),
        ("If I win, I move to Rome.", "I move to Rome", "Ana moves to Rome."),
        ("When I retire, I live in Rome.", "I live in Rome", "Ana lives in Rome."),
        ("Do I live in Rome?", "I live in Rome", "Ana lives in Rome."),
        ("I worked at Nokia.", "I worked at Nokia", "Ana works at Nokia."),
        ("I was a teacher.", "I was a teacher", "Ana is a teacher."),
        ("I used to smoke.", "I used to smoke", "Ana smokes."),
        ("I have two cats.", "I have two cats", "Ana has three cats."),
        ("I have 2 cats.", "I have 2 cats", "Ana has 20 cats."),
        ("I like most dogs.", "I like most dogs", "Ana likes dogs."),
        ("I eat meat only on Fridays.", "I eat meat only on Fridays", "Ana eats meat."),
        ("Take the pill before meals.", "Take the pill before meals", "Take the pill after meals."),
        # Order and persons.
        ("I prefer tea over coffee.", "I prefer tea over coffee", "Ana prefers coffee over tea."),
        ("I prefer tea over coffee.", "I prefer tea over coffee", "Ana prefers coffee."),
        ("Bob owes me money.", "Bob owes me money", "Ana owes Bob money."),
        ("My sister lives in Rome.", "My sister lives in Rome", "Ana lives in Rome."),
        ("My sister lives in Rome.", "lives in Rome", "Ana lives in Rome."),
        ("Bob owes me money and lives in Rome.", "lives in Rome", "Ana lives in Rome."),
        ("I live in Paris.", "I live in Paris", "Tom lives in Paris."),
        ("I live in Paris.", "I live in Paris", "Bob lives in Paris."),
        ("He lives in Porto.", "He lives in Porto", "Ana lives in Porto."),
        ("I told Bob that Anna moved and worked there.", "worked there", "Ana worked there."),
        # Somebody else's words.
        ("Bob says I live in Paris.", "I live in Paris", "Ana lives in Paris."),
        ("Translate to German: My name is Peter.", "My name is Peter", "Ana's name is Peter."),
        ("Translate this:\nI live in Rome.", "I live in Rome", "Ana lives in Rome."),
        ('The sign said "I live in Rome".', "I live in Rome", "Ana lives in Rome."),
        ("I live in Rome, said Anna.", "I live in Rome", "Ana lives in Rome."),
        ("> I live in Rome\nIs this true?", "I live in Rome", "Ana lives in Rome."),
        ("I live in Rome, just kidding.", "I live in Rome", "Ana lives in Rome."),
        ("The doctor told me I have diabetes, but she was wrong.", "I have diabetes", "Ana has diabetes."),
        ("Write a story: I live in Rome and love cats.", "I live in Rome", "Ana lives in Rome."),
        ("Supposedly I live in Rome.", "I live in Rome", "Ana lives in Rome."),
        ("Everyone except me eats meat.", "me eats meat", "Ana eats meat."),
        ("My wife Eva is a nurse.", "My wife Eva is a nurse", "Ana is a nurse."),
        ("I failed to move to Rome.", "I failed to move to Rome", "Ana moved to Rome."),
        # Dates that the evidence does not have.
        ("I moved to Lisbon last month.", "I moved to Lisbon last month", "Ana moved to Lisbon in March 2025."),
        ("I moved to Lisbon last month.", "I moved to Lisbon last month", "Ana moved to Lisbon on 3 February 2026."),
        ("I moved to Lisbon.", "I moved to Lisbon", "Ana moved to Lisbon in 2026."),
    ],
)
def test_invented_fact_with_a_true_quote_is_refused(message: str, quote: str, text: str) -> None:
    assert problem(message, quote, text) is not None


def test_problem_names_the_words_without_evidence() -> None:
    found = problem("I moved to Lisbon.", "I moved to Lisbon", "Ana moved to Lisbon with her husband.")
    assert found == "'husband': not in the quoted words"

from __future__ import annotations

import time

import pytest

from memoranda.remember.reading.clauses import find_clauses
from memoranda.remember.reading.foreign_text import blank_foreign


def clauses(text: str) -> list[str]:
    return [clause.text.rstrip(".!") for clause in find_clauses(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Do I live in Berlin?",
        "If I lived in Rome I would be happy.",
        "I wish I lived in Rome.",
        "I might move to Rome.",
        "I want to move to Rome.",
        "I'm going to move to Rome.",
        "I almost moved to Rome.",
        "She said I live in Rome.",
        "Mark thinks I live in Rome.",
        "In my dream I lived in Rome.",
        "I never lived in Rome.",
        "Imagine I live in Rome.",
        "Once the papers are signed, I live in Rome.",
        "Should the bank agree, I live in Rome.",
        "The day she asks me, I live in Rome.",
        "I live in Rome, says the baby.",
        "She goes, I live in Rome.",
        "Yeah right, I live in Rome.",
        "Sure, and I live in Rome.",
    ],
)
def test_question_condition_plan_or_other_speaker_states_nothing(text: str) -> None:
    assert clauses(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Translate to German: My name is Peter.",
        "Fix this sentence: I live in Rome.",
        "> I live in Rome.",
        "```\nI live in Rome.\n```",
        "User: I live in Rome.\nAssistant: Noted.",
        "From: Peter\nTo: Mia\nI live in Rome.",
    ],
)
def test_pasted_text_states_nothing(text: str) -> None:
    assert clauses(text) == []


def test_blanked_text_keeps_its_length() -> None:
    text = 'I read "I live in Rome" twice.'
    assert blank_foreign(text) == f"I read {' ' * 16} twice."


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("Last week I moved to Rome.", "I moved to Rome"),
        ("Since last week I am living in Rome.", "I am living in Rome"),
        ("In 2010 I moved to Rome.", "I moved to Rome"),
        ("On Monday I work in Rome.", "On Monday I work in Rome"),
        ("Once I had the keys, I moved to Rome.", "I moved to Rome"),
    ],
)
def test_time_before_a_clause_is_no_part_of_it_where_it_only_says_when(text: str, clause: str) -> None:
    assert clause in clauses(text)


def test_sentence_is_split_into_clauses() -> None:
    assert clauses("I left Siemens, and now I work at Bosch; my boss is Eva.") == [
        "I left Siemens",
        "now I work at Bosch",
        "my boss is Eva",
    ]


def test_clause_without_a_subject_takes_the_one_before() -> None:
    text = "Mark left Siemens and joined Bosch."
    _, joined = find_clauses(text)
    assert joined.text == "Mark joined Bosch."
    assert text[slice(*joined.span(0, len("Mark joined Bosch")))] == "joined Bosch"


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        ("I live in Rome.", "present"),
        ("I lived in Rome.", "past"),
        ("I used to live in Rome.", "past"),
        ("I worked at Nokia before that.", "past"),
        ("I've lived in Rome since 2019.", "present"),
        ("I was diagnosed with asthma.", "present"),
        ("I was born in Rome.", "present"),
        ("The meeting was moved to Friday.", "present"),
    ],
)
def test_past_is_distinguished_from_what_still_holds(text: str, tense: str) -> None:
    assert [clause.tense for clause in find_clauses(text)] == [tense]


@pytest.mark.parametrize(
    "text",
    [
        "Actually, I live in Rome.",
        "Correction: I live in Rome.",
        "Sorry, I meant I live in Rome.",
        "Oops, I live in Rome.",
    ],
)
def test_correction_is_recognised(text: str) -> None:
    assert [(clause.text, clause.corrects) for clause in find_clauses(text)] == [("I live in Rome.", True)]


def test_only_the_next_clause_is_a_correction() -> None:
    assert [clause.corrects for clause in find_clauses("Actually, I live in Rome, and my boss is Eva.")] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Update: I moved to Ghent.",
        "Good news: we moved to Ghent!",
        "Hi! I moved to Ghent last week.",
        "I left Siemens and joined Bosch.",
        "My rent went up to 950 euros.",
        "We moved from Hamburg to Ghent for work.",
    ],
)
def test_change_that_is_announced_is_not_qualified(text: str) -> None:
    assert not any(clause.qualified for clause in find_clauses(text))


@pytest.mark.parametrize("unit", [" ", '"', "\t", " ; ", " - ", "( ", " and "])
def test_time_for_long_runs_of_blanks_and_marks_grows_with_their_length(unit: str) -> None:
    text = f"Nora moved{unit * (12_000 // len(unit))}and I live in Oslo."
    started = time.thread_time()
    found = clauses(text)
    assert time.thread_time() - started < 1.0
    assert found[-1].endswith("I live in Oslo")

from __future__ import annotations

import pytest

from memoranda.remember.reading.questions import read_answer


@pytest.mark.parametrize(
    ("question", "answer", "stated"),
    [
        ("Where do you live now?", "Cardiff", "I live in Cardiff now."),
        ("Where do you live?", "in Cardiff, since March", "I live in Cardiff."),
        ("Noted! Where do you work these days?", "", ""),
        ("So where do you work these days?", "Monzo.", "I work at Monzo now."),
        ("Where does your sister live now?", "Oslo", "My sister lives in Oslo now."),
        ("What's your new number?", "07700 900222", "My new number is 07700 900222."),
        ("What is your current address?", "9 Oak Lane", "My address is now 9 Oak Lane."),
        ("How old are you now?", "35", "I am 35 now."),
        ("Who's your boss now?", "it's Omar", "My boss is now Omar."),
        ("Which bank are you with now?", "Starling", "I am with Starling now."),
        ("Which city do you live in now?", "Cardiff", "I live in Cardiff now."),
        ("How many kids do you have now?", "three", "I have three kids now."),
        ("What do you do for a living now?", "nurse", "I am a nurse now."),
    ],
)
def test_answer_stands_where_the_question_word_stood(question: str, answer: str, stated: str) -> None:
    assert read_answer(question, answer) == stated


@pytest.mark.parametrize(
    ("question", "answer", "stated"),
    [
        ("Do you still work at Ocado?", "no, Monzo", "I work at Monzo now."),
        ("Do you still work at Ocado?", "no, they fired me", "I no longer work at Ocado."),
        ("Do you still have the dog?", "no, he died in spring", "I no longer have the dog."),
        ("Are you still vegetarian?", "nope, not since christmas", "I am no longer vegetarian."),
        ("You live in Leeds, right?", "I used to", "I no longer live in Leeds."),
        ("You live in Leeds, right?", "Not anymore, Cardiff now", "I live in Cardiff now."),
        ("Is your boss still Petra?", "no, Omar", "My boss is now Omar."),
        ("Does your brother still work at Shell?", "no", "My brother no longer works at Shell."),
        ("Do you smoke?", "No", "I do not smoke."),
        ("Do you still live in Leeds?", "yes", "I live in Leeds."),
    ],
)
def test_answer_affirms_or_denies_what_was_asked(question: str, answer: str, stated: str) -> None:
    assert read_answer(question, answer) == stated


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What did she say?", "Cardiff"),
        ("Where would you live?", "Cardiff"),
        ("What would you like?", "tea"),
        ("Where do you live?", "I moved to Cardiff last week."),
        ("How are you?", "fine"),
        ("Where do you live now", "Cardiff"),
        ("Where do you live now?", "why do you ask?"),
    ],
)
def test_other_questions_and_clauses_say_nothing_together(question: str, answer: str) -> None:
    assert read_answer(question, answer) == ""

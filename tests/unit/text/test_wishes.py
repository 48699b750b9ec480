from __future__ import annotations

import time

import pytest

from memoranda.text.wishes import asks_for_choice, is_about_every_answer, standing_wishes, states_preference


@pytest.mark.parametrize(
    "said",
    [
        "Always answer in French.",
        "never call me before nine",
        "Please keep your answers short.",
        "From now on, use British spelling.",
        "Don't use emojis when you reply.",
        "Please don't call me after 9pm",
        "Don't ever mention my ex.",
        "No emojis in your replies",
        "Whenever I ask for recipes, make them vegetarian.",
        "When you write code, use type hints.",
        "You should always include code examples in Python.",
        "Could you always give me temperatures in Celsius?",
        "Make sure to mention the sources in every answer.",
        "Going forward, please email me instead of calling",
        "I prefer metric units",
        "I'd rather you call me Kate.",
        "I always want prices in euros.",
        "Bitte antworte immer auf Deutsch.",
        "Réponds toujours en français",
        "Contéstame siempre en español, por favor",
        "以后请用中文回答",
    ],
)
def test_wish_that_holds_from_now_on_is_found(said: str) -> None:
    assert standing_wishes(f"I bought a bike. {said}") == [said]


@pytest.mark.parametrize(
    "said",
    [
        "Answer with bullet points, please.",
        "Please write a poem about always being late.",
        "I always walk the dog at seven.",
        "I never liked Paris.",
        "He always answers in French.",
        "Never mind.",
        "Always a pleasure!",
        "You should never give up!",
        "You can always try again.",
        "Do you think this will change in the future?",
        "Don't forget to take breaks when you need them!",
        "I'd rather not mention the name of the university.",
        "Please summarise this report. Never use the passive. " + "It is long. " * 50,
    ],
)
def test_request_for_now_and_other_sentences_are_no_wishes(said: str) -> None:
    assert standing_wishes(said) == []


@pytest.mark.parametrize(
    ("wish", "every"),
    [
        ("Always answer in French.", True),
        ("I prefer metric units", True),
        ("Stop apologising all the time.", True),
        ("never call me before nine", False),
        ("Whenever I ask for recipes, use grams.", False),
        ("Never suggest pork.", False),
    ],
)
def test_wish_about_how_to_answer_applies_to_every_question(wish: str, every: bool) -> None:
    assert is_about_every_answer(wish) is every


def test_preference_is_told_from_other_statements() -> None:
    assert states_preference("I prefer aisle seats when flying.")
    assert states_preference("I hate cilantro.")
    assert states_preference("I'm allergic to nuts.")
    assert not states_preference("My brother prefers tea.")
    assert not states_preference("I bought a bike.")


@pytest.mark.parametrize(
    ("question", "choice"),
    [
        ("What should I cook tonight?", True),
        ("Book me a flight to Rome.", True),
        ("Any ideas for a birthday present?", True),
        ("I'm trying to decide whether to buy a tent.", True),
        ("What is the boiling point of ethanol?", False),
        ("Can you fix this Python bug?", False),
        ("How do I change a tyre?", False),
        ("List the planets.", False),
    ],
)
def test_question_for_a_choice_is_told_from_others(question: str, choice: bool) -> None:
    assert asks_for_choice(question) is choice


@pytest.mark.parametrize("part", ["please ", "always ", "never do ", "when you use ", "stop it ", "I prefer "])
def test_repetitive_text_is_read_in_bounded_time(part: str) -> None:
    started = time.process_time()
    standing_wishes((part * 500)[:490])
    assert time.process_time() - started < 0.5

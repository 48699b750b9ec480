from __future__ import annotations

import random
from datetime import timedelta
from time import perf_counter

import pytest

from memoranda import MemoryManager, Message
from memoranda.remember.base import KnownTexts
from memoranda.remember.duplicates import (
    Fingerprint,
    KnownTextIndex,
    fingerprint,
    is_echo,
    says_the_same,
    statement_tokens,
)
from memoranda.testing.fakes import HashEmbedder
from tests.unit.remember.samples import WEDNESDAY, utterance


def same(known: str, new: str) -> bool:
    return says_the_same(fingerprint(known, WEDNESDAY), fingerprint(new, WEDNESDAY))


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("I moved to Lisbon in May 2023.", "i moved to Lisbon, in May 2023"),
        ("I play the violin.", "  I play\nthe VIOLIN!! "),
        ("Take out the trash.", "Please take out the trash, thanks."),
        ("I don’t eat meat.", "I don't eat meat"),
        ("Hi, I live in Porto.", "Hello there! I live in Porto."),
        ("No!", "no"),
        ("No, more sugar", "No. More sugar."),
        ("What is in the shed?", "What is in the shed, please?"),
        ("What is in the shed?", "Please, what is in the shed"),
        ("What is in the shed?", "Could you tell me what is in the shed, please?"),
        ("Where is my key?", "Can you please tell me where my key is?"),
        ("Where do I bank?", "Please tell me where I bank."),
        ("Is my tram at nine?", "Would you kindly tell me, is my tram at nine?"),
        ("Can you remind me of Ilse's birthday?", "Can you please remind me of Ilse's birthday? Thanks!"),
    ],
)
def test_case_punctuation_space_and_politeness_make_no_difference(known: str, new: str) -> None:
    assert same(known, new)
    assert statement_tokens(known) == statement_tokens(new)


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("I have 3 cats and a dog.", "I have 4 cats and a dog."),
        ("I have two cats and a dog.", "I have three cats and a dog."),
        ("We met Anna at the harbour.", "We met Maria at the harbour."),
        ("I like coffee in the morning.", "I don't like coffee in the morning."),
        ("Take the pill before meals.", "Take the pill after meals."),
        ("The light is on.", "The light is off."),
        ("I have a car.", "I had a car."),
        ("I prefer tea over coffee.", "I prefer coffee over tea."),
        ("Tom owes Anna money.", "Anna owes Tom money."),
        ("He gave it to me.", "He gave it to her."),
        ("All of them came.", "Some of them came."),
        ("I can swim.", "I can't swim."),
        ("I play the violin every evening.", "Every evening I play violin."),
        ("I really love hiking.", "I love hiking."),
        ("You like tea.", "You like tea?"),
        ("It cost $5.", "It cost €5."),
        ("It is -5 degrees.", "It is 5 degrees."),
        ("The dose is 1.5 mg.", "The dose is 15 mg."),
        ("I write C.", "I write C++."),
        ("We're late.", "Were late."),
        ("I moved to Lisbon.", "I moved to Lisbon with my sister and her kids."),
        ("x = 1 in the config", "x != 1 in the config"),
        ("Run it if done", "Run it if !done"),
        ("Hello Kitty is my favourite.", "Kitty is my favourite."),
        ("Thank you card for Ann is needed.", "Card for Ann is needed."),
        ("I aim to please.", "I aim to."),
        ("Delhi is hot.", "Delis hot."),
        ("No, more sugar.", "No more sugar."),
        ("Don't, stop.", "Don't stop."),
        ("Where is my key?", "Tell me where my key was."),
        ("What do I owe?", "Tell me what you owe."),
        ("Can you swim?", "Swim."),
        ("Can you tell me a joke?", "A joke?"),
        ("Whom do I aim to please?", "Whom do I aim to?"),
    ],
)
def test_any_other_difference_makes_two_statements(known: str, new: str) -> None:
    assert not same(known, new)
    assert not same(new, known)
    assert statement_tokens(known) != statement_tokens(new)


@pytest.mark.parametrize("text", ["I paid rent.", "Took my pill.", "We visited Mum.", "Ben called in sick."])
def test_event_said_again_on_another_day_is_another_event(text: str) -> None:
    later = fingerprint(text, WEDNESDAY + timedelta(days=30))
    assert not says_the_same(fingerprint(text, WEDNESDAY), later)
    assert same(text, text)


@pytest.mark.parametrize(
    "text", ["I live in Rome.", "I was born in Rome.", "I need two hundred euros.", "I had a car."]
)
def test_state_said_again_on_another_day_is_the_same_statement(text: str) -> None:
    assert says_the_same(fingerprint(text, WEDNESDAY), fingerprint(text, WEDNESDAY + timedelta(days=30)))


def test_relative_date_said_on_two_days_makes_texts_different() -> None:
    text = "I went to the gym yesterday."
    later = fingerprint(text, WEDNESDAY + timedelta(days=3))
    assert not says_the_same(fingerprint(text, WEDNESDAY), later)
    assert says_the_same(fingerprint(text, WEDNESDAY), fingerprint(text, WEDNESDAY + timedelta(hours=1)))


@pytest.mark.parametrize(
    "answer",
    [
        "So your dog Rex is allergic to chicken and loves the beach.",
        "Got it, your dog Rex is allergic to chicken and loves the beach!",
        "Your dog Rex is allergic to chicken.",
    ],
)
def test_answer_that_repeats_the_words_of_a_text_is_an_echo(answer: str) -> None:
    known = fingerprint("My dog Rex is allergic to chicken and loves the beach.", WEDNESDAY)
    assert is_echo(fingerprint(answer, WEDNESDAY), known)


@pytest.mark.parametrize(
    "answer",
    [
        "Your dog Rex is allergic to chicken, so give him 200 g of lamb.",
        "Your dog Rex.",
        "Your dog Rex is not allergic to chicken and loves the beach.",
        "Your dog Rex was allergic to chicken and loves the beach.",
        "Your dog Rex is allergic to chicken and loves the beach?",
    ],
)
def test_answer_with_other_words_is_no_echo(answer: str) -> None:
    known = fingerprint("My dog Rex is allergic to chicken and loves the beach.", WEDNESDAY)
    assert not is_echo(fingerprint(answer, WEDNESDAY), known)


def test_find_match_returns_the_id_of_a_stored_memory() -> None:
    known: KnownTexts = KnownTextIndex(
        [(7, utterance("I live in Berlin with Bo.")), (8, utterance("I bake bread on rainy days."))]
    )
    match = known.find_match(utterance("i live in Berlin with Bo"))
    assert match is not None
    assert (match.known_id, match.rule) == (7, "duplicate")
    assert known.find_match(utterance("I live in Porto with Bo.")) is None


def test_find_match_ignores_texts_of_other_speakers() -> None:
    known = KnownTextIndex([(7, utterance("I live in Berlin."))])
    assert known.find_match(utterance("I live in Berlin.", speaker="Bo")) is None


def test_added_utterance_is_found_by_its_message_id() -> None:
    known = KnownTextIndex()
    known.add(utterance("I live in Berlin.", key="m9"))
    match = known.find_match(utterance("I live in Berlin!"))
    assert match is not None
    assert match.known_id == "m9"


def test_novelty_is_the_share_of_new_terms() -> None:
    known = KnownTextIndex([(1, utterance("My cousin plays chess."))])
    assert known.novelty(utterance("My cousin plays chess.")) == 0.0
    assert known.novelty(utterance("Bread needs yeast.")) == 1.0
    assert 0.0 < known.novelty(utterance("My cousin bakes bread.")) < 1.0


def test_find_match_agrees_with_comparing_every_text() -> None:
    rng = random.Random(3)
    words = [f"word{chr(97 + n)}" for n in range(26)]
    texts = [" ".join(rng.choices(words, k=rng.randint(3, 9))) for _ in range(200)]
    known = KnownTextIndex()
    seen: list[Fingerprint] = []
    for text in texts:
        new, features = utterance(text), fingerprint(text, WEDNESDAY)
        expected = any(says_the_same(old, features) for old in seen)
        assert (known.find_match(new) is not None) == expected, text
        known.add(new)
        seen.append(features)


def test_polite_words_do_not_keep_a_short_text_from_being_found() -> None:
    with MemoryManager("sqlite://", embedder=HashEmbedder(64)) as manager:
        pairs = [
            ("Close the ticket.", "Hello! Please close the ticket, thank you."),
            ("Who is my vet?", "Tell me who my vet is"),
        ]
        for first, again in pairs:
            (stored,) = manager.remember(Message("user", first), user="ana")
            (repeated,) = manager.remember(Message("user", again), user="ana")
            assert (stored.status, repeated.status) == ("stored", "duplicate")


@pytest.mark.parametrize("marks", [".", "? ", ", ", " "])
def test_long_run_of_marks_is_read_at_once(marks: str) -> None:
    started = perf_counter()
    statement_tokens("x" + marks * 20_000 + "y")
    assert perf_counter() - started < 2


@pytest.mark.parametrize(
    ("known", "new"),
    [("The dose is 5 mg.", "The dose is .5 mg."), ("It fell by -.5.", "It fell by .5."), ("Read .env", "Read env")],
)
def test_point_before_a_number_or_a_word_makes_two_statements(known: str, new: str) -> None:
    assert statement_tokens(known) != statement_tokens(new)


def test_dots_between_words_make_no_difference() -> None:
    assert statement_tokens("Wake me at... 5") == statement_tokens("Wake me at 5")
    assert statement_tokens("Wait...5 eggs.") == statement_tokens("Wait, 5 eggs")


@pytest.mark.parametrize(("one", "other"), [("Run it with -v.", "Run it with -V."), ("push --force", "push -force")])
def test_capitals_and_signs_of_options_count(one: str, other: str) -> None:
    assert not same(one, other)

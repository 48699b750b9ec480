from __future__ import annotations

import random
from datetime import timedelta

import pytest

from memoranda.remember.base import KnownTexts
from memoranda.remember.duplicates import Fingerprint, KnownTextIndex, fingerprint, is_echo, says_the_same, similarity
from tests.unit.remember.samples import WEDNESDAY, utterance


def same(known: str, new: str) -> bool:
    return says_the_same(fingerprint(known, WEDNESDAY), fingerprint(new, WEDNESDAY))


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("I moved to Lisbon in May 2023.", "i moved to Lisbon, in May 2023"),
        ("I play the violin every evening.", "Every evening I play violin."),
        ("I love hiking in the old mountains with my dog.", "I really love hiking in the old mountains with my dog!"),
    ],
)
def test_text_with_other_word_order_or_fillers_says_the_same(known: str, new: str) -> None:
    assert same(known, new)


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("I have 3 cats and a dog.", "I have 4 cats and a dog."),
        ("I have two cats and a dog.", "I have three cats and a dog."),
        ("We met Anna at the harbour.", "We met Maria at the harbour."),
        ("I like coffee in the morning.", "I don't like coffee in the morning."),
        ("I love hiking in the old mountains with my dog.", "I hate hiking in the old mountains with my dog."),
        ("I moved to Lisbon.", "I moved to Lisbon with my sister and her kids."),
        ("I play the violin.", "I play the piano."),
        ("I work as a nurse at the city hospital.", "I'm a nurse working in the city hospital."),
        ("I work 30 hours at the hospital.", "I work 40 hours at the hospital."),
    ],
)
def test_other_number_name_negation_or_content_makes_texts_different(known: str, new: str) -> None:
    assert not same(known, new)


def test_relative_date_said_on_two_days_makes_texts_different() -> None:
    text = "I went to the gym yesterday."
    later = fingerprint(text, WEDNESDAY + timedelta(days=3))
    assert not says_the_same(fingerprint(text, WEDNESDAY), later)
    assert says_the_same(fingerprint(text, WEDNESDAY), fingerprint(text, WEDNESDAY + timedelta(hours=1)))


def test_similarity_is_between_zero_and_one() -> None:
    one, other = fingerprint("I moved to Lisbon.", WEDNESDAY), fingerprint("Bread needs yeast.", WEDNESDAY)
    assert similarity(one, one) == 1.0
    assert similarity(one, other) == 0.0
    assert similarity(fingerprint("", WEDNESDAY), one) == 0.0


def test_answer_with_a_new_number_or_few_terms_is_no_echo() -> None:
    known = fingerprint("My dog Rex is allergic to chicken and loves the beach.", WEDNESDAY)
    assert is_echo(fingerprint("So your dog Rex is allergic to chicken and loves the beach.", WEDNESDAY), known)
    assert not is_echo(fingerprint("Your dog Rex is allergic to chicken, so give him 200 g of lamb.", WEDNESDAY), known)
    assert not is_echo(fingerprint("Your dog Rex.", WEDNESDAY), known)


def test_find_match_returns_the_id_of_a_stored_memory() -> None:
    known: KnownTexts = KnownTextIndex(
        [(7, utterance("I live in Berlin with Bo.")), (8, utterance("I bake bread on rainy days."))]
    )
    match = known.find_match(utterance("i live in Berlin with Bo"))
    assert match is not None
    assert (match.known_id, match.rule, match.similarity) == (7, "duplicate", 1.0)
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

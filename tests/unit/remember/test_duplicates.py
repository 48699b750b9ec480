from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memoranda.remember.duplicates import echoes, fingerprint, likeness, says_the_same

NOW = datetime(2023, 6, 14, 10, 30, tzinfo=UTC)


def same(known: str, new: str, cosine: float | None = None) -> bool:
    return says_the_same(fingerprint(known, NOW), fingerprint(new, NOW), cosine)


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("I moved to Lisbon in May 2023.", "i moved to Lisbon, in May 2023"),
        ("I play the violin every evening.", "Every evening I play violin."),
        ("I love hiking in the old mountains with my dog.", "I really love hiking in the old mountains with my dog!"),
    ],
)
def test_the_same_in_other_order_or_with_fillers(known: str, new: str) -> None:
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
    ],
)
def test_a_number_a_name_a_not_or_news_makes_another_thing(known: str, new: str) -> None:
    assert not same(known, new)
    assert not same(known, new, cosine=0.94)


def test_close_vectors_forgive_other_words_but_not_other_numbers() -> None:
    assert not same("I work as a nurse at the city hospital.", "I'm a nurse working in the city hospital.")
    assert same("I work as a nurse at the city hospital.", "I'm a nurse working in the city hospital.", cosine=0.985)
    assert not same("I work 30 hours at the hospital.", "I work 40 hours at the hospital.", cosine=0.99)


def test_yesterday_said_on_two_days_is_two_things() -> None:
    text = "I went to the gym yesterday."
    later = fingerprint(text, NOW + timedelta(days=3))
    assert not says_the_same(fingerprint(text, NOW), later)
    assert says_the_same(fingerprint(text, NOW), fingerprint(text, NOW + timedelta(hours=1)))


def test_likeness_runs_from_nothing_to_the_same() -> None:
    one, other = fingerprint("I moved to Lisbon.", NOW), fingerprint("Bread needs yeast.", NOW)
    assert likeness(one, one) == 1.0
    assert likeness(one, other) == 0.0
    assert likeness(fingerprint("", NOW), one) == 0.0


def test_an_answer_with_news_is_no_echo() -> None:
    known = fingerprint("My dog Rex is allergic to chicken and loves the beach.", NOW)
    assert echoes(fingerprint("So your dog Rex is allergic to chicken and loves the beach.", NOW), known)
    assert not echoes(fingerprint("Your dog Rex is allergic to chicken, so give him 200 g of lamb.", NOW), known)
    assert not echoes(fingerprint("Your dog Rex.", NOW), known)

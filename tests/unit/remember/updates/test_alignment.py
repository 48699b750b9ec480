from __future__ import annotations

from datetime import timedelta

import pytest

from memoranda.remember.updates.alignment import Alignment, align
from memoranda.storage.supersession import relate
from tests.unit.remember.samples import WEDNESDAY

LATER = WEDNESDAY + timedelta(days=9)


def aligned(older: str, newer: str, trust: tuple[str, str] = ("user", "user")) -> list[Alignment]:
    return align(older, newer, "Ana", (WEDNESDAY, LATER), trust)


@pytest.mark.parametrize(
    ("older", "newer", "values", "operation"),
    [
        ("I have two children.", "I now have three children.", ("two", "three"), "update"),
        ("I have two children.", "I have three children.", ("two", "three"), "state"),
        ("The shop closes at 6 pm.", "The shop now closes at 8 pm.", ("6", "8"), "update"),
        ("My cat weighs 4 kg.", "Correction: my cat weighs 5 kg.", ("4", "5"), "correct"),
    ],
)
def test_same_sentence_with_another_value_is_one_slot(
    older: str, newer: str, values: tuple[str, str], operation: str
) -> None:
    (pair,) = aligned(older, newer)
    assert (pair.older.value, pair.newer.value) == values
    assert pair.older.attribute == pair.newer.attribute
    assert (pair.older.operation, pair.newer.operation) == ("state", operation)
    assert (pair.older.said_at, pair.newer.said_at) == (WEDNESDAY, LATER)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I take aspirin at night.", "I don't take aspirin at night anymore."),
        ("I volunteer on Sundays.", "I no longer volunteer on Sundays."),
    ],
)
def test_same_sentence_denied_ends_it(older: str, newer: str) -> None:
    (pair,) = aligned(older, newer)
    assert (pair.newer.holds, pair.newer.operation) == (False, "end")
    assert relate(pair.older, pair.newer) == "end"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I am tired.", "I am hungry."),
        ("I have a car.", "I have a bike."),
        ("I have 2 cats.", "I have 2 kg of flour."),
        ("I take the bus.", "I read the bus plan."),
        ("I had two children.", "I have three children."),
        ("I have two children.", "Do I have three children?"),
        ("I volunteer on Sundays.", "I no longer eat meat."),
        ("I like tea.", "I like tea."),
    ],
)
def test_other_sentences_are_not_aligned(older: str, newer: str) -> None:
    assert aligned(older, newer) == []


def test_each_claim_has_the_trust_of_its_source() -> None:
    (pair,) = aligned("I have two children.", "I now have three children.", ("user", "document"))
    assert (pair.older.trust, pair.newer.trust) == ("user", "document")
    assert relate(pair.older, pair.newer) == "contradict"


def test_span_covers_the_clause_in_its_text() -> None:
    newer = "It rains. I now have three children, which is fun."
    (pair,) = aligned("I have two children.", newer)
    assert newer[slice(*pair.newer.span)] == "I now have three children"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Emi is screaming.", "Emi is glowing."),
        ("My boss is Olga.", "My boss is on holiday now."),
        ("The meeting is on Tuesday.", "The meeting is now at 3 pm."),
        ("My weight is 80 kg.", "My weight is now 176 pounds."),
        ("My dose is 5 mg.", "My dose is now 2 tablets."),
        ("My flight to Rome is on 3 May.", "My flight to Oslo is now on 9 May."),
        ("I am vegan.", "I am not no longer vegan."),
    ],
)
def test_two_things_that_may_both_be_true_share_no_slot(older: str, newer: str) -> None:
    assert aligned(older, newer) == []


def test_how_something_is_only_follows_how_it_was() -> None:
    (pair,) = aligned("Emi is happy.", "Emi is tired now.")
    assert relate(pair.older, pair.newer) == "follow"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I drink oat milk.", "I no longer drink milk."),
        ("I like Anna's cooking.", "I no longer like cooking."),
        ("I take 5 mg of ramipril.", "I now take 10 mg of simvastatin."),
        ("I use 2 monitors.", "I now use 3 keyboards."),
        ("I drink 3 cups of coffee a day.", "I now drink 2 litres of water a day."),
    ],
)
def test_another_thing_of_the_same_kind_ends_nothing(older: str, newer: str) -> None:
    assert [pair.newer.operation for pair in aligned(older, newer)] == ["state"]


@pytest.mark.parametrize(
    ("older", "newer", "operation"),
    [
        ("I take 5 mg of ramipril.", "I now take 10 mg of ramipril.", "update"),
        ("I often drink milk.", "I no longer drink milk.", "end"),
        ("I keep three goats.", "I no longer keep goats.", "end"),
    ],
)
def test_the_same_thing_with_another_number_or_without_it_is_a_change(older: str, newer: str, operation: str) -> None:
    assert [pair.newer.operation for pair in aligned(older, newer)] == [operation]

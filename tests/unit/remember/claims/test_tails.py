"""Words after a change that limit it: it hides nothing then, and what was known before stays the fact."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda import MemoryManager, Message
from memoranda.dates.find import find_mentions
from memoranda.remember.base import Utterance
from memoranda.remember.claims.find import find_claims
from memoranda.storage.claims import Claim
from memoranda.testing.fakes import HashEmbedder

SAID = datetime(2026, 3, 21, 12, tzinfo=UTC)
_EVENTS = ("I moved to Riga", "I quit Volvo", "I switched from Eliquis to Xarelto", "I stopped being vegetarian")
_CHANGES = (*_EVENTS, "My rent is now 900", "I'm not vegetarian any more", "I joined Saab")
_LIMITS = """
    three days a week|every other weekend|2-6 March|3 to 9 March|March 3-9|from Monday to Thursday|two weeks|in summers
    |in winter|most days
    |Mondays and Tuesdays|sometimes|around my parents|in my head at least|, on paper|half of the time
    |by day|on and off|when it rains|until the summer
"""
_POINTS = "|last week|on 3 March|yesterday|two days ago|a few weeks ago|in early March|this month"


def words(listed: str) -> list[str]:
    return [each.strip() for each in listed.split("|")]


def claims(text: str) -> tuple[Claim, ...]:
    said = Utterance("m", "user", "Ana", SAID, text, (0, len(text)), owner="Ana")
    return find_claims(said, find_mentions(text, SAID))


@pytest.mark.parametrize("limit", words(_LIMITS))
@pytest.mark.parametrize("change", _CHANGES)
def test_change_with_a_limit_hides_nothing(change: str, limit: str) -> None:
    text = f"{change} {limit}.".replace(" ,", ",")
    assert {claim.operation for claim in claims(text)} <= {"state"}


@pytest.mark.parametrize("time", words(_POINTS))
@pytest.mark.parametrize("change", _EVENTS)
def test_change_with_a_point_in_time_is_one(change: str, time: str) -> None:
    (claim,) = claims(f"{change} {time}".strip() + ".")
    assert claim.operation in ("update", "end")
    assert not claim.doubted


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I switched from Vim to Emacs sometimes.", "Emacs"),
        ("I switched from Vim to VS Code around my parents.", "VS Code"),
        ("I switched from Vim to Emacs most days.", "Emacs"),
        ("I switched from Vim to Emacs Mondays.", "Emacs"),
        ("I switched from tea to filter coffee at work.", "filter coffee"),
        ("My favourite colour is now green most days.", "green"),
        ("My favourite colour is now dark green.", "dark green"),
        ("My favourite book is now The Art of War.", "Art of War"),
        ("My favourite film is now Girl with a Pearl Earring.", "Girl with a Pearl Earring"),
        ("I moved to Cedar Springs.", "Cedar Springs"),
    ],
)
def test_value_is_the_noun_phrase(text: str, value: str) -> None:
    assert [claim.value for claim in claims(text)] == [value]


def facts(*said: str) -> list[tuple[str, bool]]:
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=lambda: SAID) as manager:
        for day, text in enumerate(said, 1):
            manager.remember(Message("user", text, timestamp=SAID.replace(day=day)), user="ana", session=str(day))
        return [(fact.value, fact.holds) for fact in manager.facts(user="ana")]


@pytest.mark.parametrize("limit", ["three days a week", "in summers", ", in my head at least", "around my parents"])
def test_older_value_stays_the_fact(limit: str) -> None:
    assert facts("I live in Oslo.", f"I moved to Riga {limit}.".replace(" ,", ",")) == [("Oslo", True)]


@pytest.mark.parametrize(
    "text",
    [
        "I stopped taking warfarin in 2015, then started again.",
        "I stopped taking warfarin and started again.",
        "I no longer drink coffee after 3.",
        "I no longer drink beer before noon.",
        "I no longer eat meat, except at Christmas.",
        "I no longer use Slack after work.",
        "I no longer take warfarin, or so I told the dentist.",
        "I don't drink coffee after 8 pm.",
        "I stopped eating meat but only at home.",
    ],
)
def test_limited_denial_is_no_fact(text: str) -> None:
    assert facts(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I no longer drink coffee.", "coffee"),
        ("I stopped taking warfarin last week.", "warfarin"),
        ("I no longer eat meat because of my heart.", "meat"),
        ("I don't drink coffee, it makes me jittery.", "coffee"),
        ("I don't eat meat but I like cheese.", "meat"),
    ],
)
def test_whole_denial_is_a_fact(text: str, value: str) -> None:
    assert (value, False) in facts(text)

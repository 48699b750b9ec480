from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from memoranda.remember.extraction import rate_importance
from memoranda.remember.importance.score import is_small_talk

TRUTH = Path(__file__).parents[4] / "benchmarks" / "truth"


def labelled(part: str) -> list[tuple[str, bool]]:
    lines = (TRUTH / f"importance_{part}.jsonl").read_text(encoding="utf-8").splitlines()
    return [(row["text"], row["matters"]) for row in map(json.loads, lines)]


def area_under_curve(rows: list[tuple[str, bool]]) -> float:
    """Return how often a text that matters scores above one that does not."""
    scores = [(rate_importance(text)[0], matters) for text, matters in rows]
    above = [
        (high > low) + 0.5 * (high == low)
        for high, matters in scores
        if matters
        for low, other_matters in scores
        if not other_matters
    ]
    return sum(above) / len(above)


@pytest.mark.parametrize("part", ["tune", "report"])
def test_importance_separates_what_matters_from_chatter(part: str) -> None:
    rows = labelled(part)
    assert len(rows) > 180
    assert area_under_curve(rows) >= 0.93


@pytest.mark.parametrize("part", ["tune", "report"])
def test_nothing_that_matters_is_small_talk(part: str) -> None:
    assert [text for text, matters in labelled(part) if matters and is_small_talk(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "I can't have dairy.",
        "I use a wheelchair.",
        "I need subtitles.",
        "Thanks! My sister is allergic to nuts.",
        "Haha, I'm moving to Ghent.",
        "Okay, the blue key opens the shed.",
        "Thanks. The spare key hangs behind the boiler.",
        "Is it all right that I never eat meat?",
        "The train leaves at 7:40.",
        "We met Anna at the station.",
        "Ich kann keine Milch trinken.",
        "我对花生过敏",
        "",
    ],
)
def test_fact_or_detail_is_never_small_talk(text: str) -> None:
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "Wow, that's so cool!",
        "Haha, yeah, totally.",
        "Good morning! How is it going?",
        "Can you tell me a joke?",
        "Make it a bit shorter, please.",
        "It's pretty cloudy out there today.",
    ],
)
def test_small_talk_is_recognised(text: str) -> None:
    assert is_small_talk(text)


def test_long_text_is_scored_quickly() -> None:
    started = time.perf_counter()
    rate_importance("I like the long walk to the station, and then again. " * 20_000)
    assert time.perf_counter() - started < 0.5


@pytest.mark.parametrize("text", ["I'm afraid of dogs.", "I'm tired of winter.", "Could you always use large print?"])
def test_feeling_about_something_and_standing_wish_are_no_small_talk(text: str) -> None:
    assert not is_small_talk(text)

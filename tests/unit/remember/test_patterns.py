from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from memoranda.remember import patterns
from memoranda.remember.patterns import patterns_for

_ROW = (
    "I I'm my we and but , . been born in on Lisbon Acme from live lived living to work at as a teacher nurse "
    "name is call me Max sister dog called 34 turned really have had love like playing the piano play allergic "
    "peanuts vegan not no longer lactose-intolerant diagnosed with asthma bought an old boat decided will send it "
    "remind don't forget go let's favourite colour blue hobby joined left job fan of can't stand speak French "
    "take aspirin moved studying visited got married pronouns are she/her"
)


def words_in(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@given(st.lists(st.sampled_from(_ROW.split()), max_size=10))
def test_a_pattern_that_matches_is_tried(words: list[str]) -> None:
    sentence = " ".join(words)
    tried = patterns_for(words_in(sentence))
    assert all(pattern in tried for pattern in patterns.PATTERNS if pattern.regex.search(sentence))


def test_every_pattern_is_tried_on_some_sentence() -> None:
    everything = {word for pattern in patterns.PATTERNS for word in words_in(pattern.template)} | words_in(_ROW)
    everything |= {"engineer", "suffer", "decided", "joined", "laid", "send"}
    assert patterns_for(everything) == list(patterns.PATTERNS)


def test_words_that_tell_nothing_try_no_pattern() -> None:
    assert patterns_for(words_in("I think that this was quite nice")) == []

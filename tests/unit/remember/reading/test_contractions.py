from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.remember.base import Utterance
from memoranda.remember.claims.find import find_claims
from memoranda.remember.claims.remarks import read_retraction
from memoranda.remember.frames import find_framing
from memoranda.remember.reading.contractions import expand

_SAID = datetime(2026, 3, 2, 9, tzinfo=UTC)
_PAIRS = {
    "isn't": "is not", "aren't": "are not", "don't": "do not", "doesn't": "does not", "hasn't": "has not",
    "haven't": "have not", "can't": "cannot", "won't": "will not", "didn't": "did not", "wasn't": "was not",
    "I'm": "I am", "we're": "we are", "we've": "we have", "I've": "I have", "I'll": "I will",
}  # fmt: skip


@pytest.mark.parametrize(("short", "full"), _PAIRS.items())
def test_a_contraction_is_written_restore_apostrophes(short: str, full: str) -> None:
    assert expand(f"So {short} here").text == f"So {full} here"
    assert expand(f"So {short.replace(chr(39), '’')} here").text == f"So {full} here"


def test_what_belongs_to_somebody_stays() -> None:
    assert expand("Anna's car and it's 'the m'").text == "Anna's car and it's 'the m'"


@given(st.lists(st.sampled_from([*_PAIRS, "Rome", ",", "’", "Anna's", " "]), max_size=12).map(" ".join))
def test_positions_lead_back_to_the_written_text(text: str) -> None:
    full = expand(text)
    assert [full.to_written(full.from_written(n)) for n in range(len(text))] == list(range(len(text)))
    assert full.to_written(len(full.text)) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "My dentist isn't Dr. Hahn.",
        "I'm not vegan any more.",
        "We've moved to Ghent.",
        "I don't have a car any more.",
        "I can't stand olives.",
        "I moved to Lyon but it didn't last.",
        "I haven't moved to Rome.",
        "I won't move to Rome.",
        "Don't call me Katie.",
        "I've been living in Munich and I'm a nurse at Charité.",
    ],
)
def test_a_contraction_changes_no_verdict(text: str) -> None:
    full = expand(text).text
    assert full != text
    found, same = find_claims(_said(text), ()), find_claims(_said(full), ())
    assert [_verdict(claim) for claim in found] == [_verdict(claim) for claim in same]
    assert read_retraction(text) == read_retraction(full)
    assert find_framing([(True, text)]) == find_framing([(True, full)])


def test_a_claim_is_where_it_was_written() -> None:
    text = "I'm happy. We've moved to Ghent."
    (claim,) = find_claims(_said(text), ())
    assert text[slice(*claim.span)] == "We've moved to Ghent"


def _said(text: str) -> Utterance:
    return Utterance("m", "user", "user", _SAID, text, (0, len(text)))


def _verdict(claim: object) -> list[object]:
    names = ("subject", "attribute", "value", "holds", "operation", "valid_from", "valid_to", "replaces", "doubted")
    return [getattr(claim, name) for name in names]

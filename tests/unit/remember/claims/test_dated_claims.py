from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda.messages.message import Message
from memoranda.remember.base import Candidate
from memoranda.remember.extraction import extract
from memoranda.storage.claims import LONG_AGO, Claim

SAID = datetime(2026, 3, 12, 12, tzinfo=UTC)


def claims(text: str) -> tuple[Claim, ...]:
    (found,) = extract([Message("user", text, name="Ana", timestamp=SAID)])
    assert isinstance(found, Candidate)
    return found.claims


@pytest.mark.parametrize(
    ("text", "value", "since"),
    [
        ("Since 1 March I live in Malmö.", "Malmö", "2026-03-01"),
        ("Since Sunday I live in Malmö.", "Malmö", "2026-03-08"),
        ("On 1 March I moved to Malmö.", "Malmö", "2026-03-01"),
        ("I've been working at Volvo since the beginning of March.", "Volvo", "2026-03-01"),
        ("Effective 1 March, my landlord is Mrs. Dubois.", "Mrs. Dubois", "2026-03-01"),
        ("As of last Monday my office is in Malmö.", "Malmö", "2026-03-09"),
        ("My salary is 3300 euros as of February.", "3300 euros", "2026-02-01"),
        ("My rent went up to 760 on 1 March.", "760", "2026-03-01"),
        ("Rent has been 760 euros since 1 March.", "760 euros", "2026-03-01"),
        ("Starting in April I work at Volvo.", "Volvo", "2026-04-01"),
        ("From 1 May my boss is Karin.", "Karin", "2026-05-01"),
        ("I live in Malmö.", "Malmö", "2026-03-12"),
    ],
)
def test_claim_holds_from_the_time_that_is_named(text: str, value: str, since: str) -> None:
    (claim,) = claims(text)
    assert (claim.value, str(claim.valid_from.date()), claim.valid_to) == (value, since, None)


@pytest.mark.parametrize(
    ("text", "value", "start", "end"),
    [
        ("From 2010 to 2014 I lived in Munich.", "Munich", "2010-01-01", "2015-01-01"),
        ("In 2019 my salary was 3100 euros.", "3100 euros", "2019-01-01", "2020-01-01"),
        ("Until 3 February I lived in Turku.", "Turku", str(LONG_AGO.date()), "2026-02-04"),
        ("Until May I live in Turku.", "Turku", "2026-03-12", "2026-06-01"),
    ],
)
def test_claim_holds_up_to_the_time_that_is_named(text: str, value: str, start: str, end: str) -> None:
    (claim,) = claims(text)
    assert claim.valid_to is not None
    assert (claim.value, str(claim.valid_from.date()), str(claim.valid_to.date())) == (value, start, end)


@pytest.mark.parametrize("text", ["On Monday I work at the pool.", "From 9 to 5 I work at the pool."])
def test_time_that_is_part_of_what_is_said_is_no_start(text: str) -> None:
    assert claims(text) == ()


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("My old number was 0170 1234.", "phone", "0170 1234"),
        ("My first car was a Golf.", "car", "Golf"),
        ("My previous landlord was Mrs. Dubois.", "landlord", "Mrs. Dubois"),
        ("My favourite colour used to be blue.", "favourite colour", "blue"),
        ("Dr. Klein was my doctor until I moved.", "doctor", "Dr. Klein"),
        ("My last name was Lopez.", "last name", "Lopez"),
    ],
)
def test_what_was_is_over_and_fills_the_slot_of_what_is(text: str, attribute: str, value: str) -> None:
    (claim,) = claims(text)
    assert (claim.attribute, claim.value, claim.operation) == (attribute, value, "state")
    assert claim.valid_to == SAID


def test_change_said_in_the_passive_is_not_over() -> None:
    (claim,) = claims("The meeting was moved to Thursday.")
    assert (claim.operation, claim.valid_to) == ("update", None)


def test_house_in_a_street_is_no_number() -> None:
    assert [claim.value for claim in claims("My address is 12 Elm Street.")] == ["12 Elm Street"]


def test_statement_before_a_question_in_one_sentence_is_read() -> None:
    assert [claim.value for claim in claims("My doctor is Dr. Klein, could you write to her?")] == ["Dr. Klein"]

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.dates import absolute, relative
from memoranda.dates.find import Mention, find_mentions
from memoranda.dates.rules import Precision
from memoranda.dates.vocabulary import TIME_WORDS_BEFORE, find_word_kinds
from memoranda.text.terms import lower_case

LABELS = Path(__file__).parents[2] / "data" / "dates.tsv"
WEDNESDAY = datetime(2023, 6, 14, 10, 30, tzinfo=UTC)
_COMMON_WORDS = (
    "last next this the past week month year Friday May march in on since until for from to before after day two 3 9th "
    "2023 June ago yesterday evening at pm summer of end a couple weeks between and Christmas every 31 February , . ?"
)
WORDS = _COMMON_WORDS.split()
_RARE_WORDS = (
    "Monday weekend half few several night back time now today earlier later coming upcoming 1990s '80s 15th q1 "
    "2021 – - quarter / 12 05 2023-05-06 03/04/21 new year's mid early late mother's Thanksgiving days months "
    "years some all once each twice more than about exactly fall spring first second start beginning İ tonight "
    "Sun. Sept."
)
MORE_WORDS = [*WORDS, *_RARE_WORDS.split()]


def labelled_rows() -> list[list[str]]:
    lines = LABELS.read_text(encoding="utf-8").splitlines()
    return [[*line.split("\t"), "", "", "", ""][:6] for line in lines if line and not line.startswith("#")]


def expected_mentions(row: list[str], said_at: datetime) -> list[tuple[str, datetime, datetime, str]]:
    def moment(text: str) -> datetime:
        return said_at if text == "now" else datetime.fromisoformat(text).replace(tzinfo=UTC)

    _, _, words, start, end, precision = row
    return [(words.lower(), moment(start), moment(end), precision)] if words else []


def is_resolved_as_labelled(row: list[str]) -> bool:
    said_at = datetime.fromisoformat(row[0]).replace(tzinfo=UTC)
    found = [(m.text.lower(), m.start, m.end, str(m.precision)) for m in find_mentions(row[1], said_at)]
    return found == expected_mentions(row, said_at)


def find_one(text: str, said_at: datetime = WEDNESDAY) -> Mention:
    (mention,) = find_mentions(text, said_at)
    return mention


def test_labelled_expressions_resolve_as_labelled_rows() -> None:
    rows = labelled_rows()
    wrong = [row[1] for row in rows if not is_resolved_as_labelled(row)]
    assert len(rows) >= 200
    assert len(wrong) <= 0.01 * len(rows), wrong


def test_mention_span_is_its_position_in_the_text() -> None:
    text = "Well, last Friday we sailed, and in May 2022 as well."
    mentions = find_mentions(text, WEDNESDAY)
    assert [text[slice(*mention.span)] for mention in mentions] == ["last Friday", "May 2022"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I have lived here since 2019.", "since"),
        ("I've lived here for three years.", "since"),
        ("I'm away until Friday.", "until"),
        ("We met in 2019.", "at"),
    ],
)
def test_mention_kind_shows_an_open_side(text: str, kind: str) -> None:
    assert find_one(text).kind == kind


def test_without_a_tense_only_the_preference_decides() -> None:
    assert find_mentions("the talk in May", WEDNESDAY) == ()
    (past,) = find_mentions("the talk in May", WEDNESDAY, prefer="past")
    (future,) = find_mentions("the talk in May", WEDNESDAY, prefer="future")
    assert (past.start.year, future.start.year) == (2023, 2024)


def test_days_use_the_speakers_time_zone() -> None:
    tokyo = timezone(timedelta(hours=9))
    mention = find_one("I arrived today.", datetime(2023, 6, 15, 1, 0, tzinfo=tokyo))
    assert mention.start == datetime(2023, 6, 15, tzinfo=tokyo)
    assert mention.precision is Precision.DAY


def test_mention_with_a_year_is_absolute() -> None:
    mentions = find_mentions("The week before 9 June 2023, or was it last Friday?", WEDNESDAY)
    assert [mention.is_absolute for mention in mentions] == [True, False]


def test_long_document_has_no_mentions() -> None:
    assert find_mentions("It was on 9 June 2023. " * 1_000, WEDNESDAY) == ()


@given(st.lists(st.sampled_from(WORDS), max_size=14), st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)))
def test_any_sequence_of_date_words_never_fails(words: list[str], moment: datetime) -> None:
    text = " ".join(words)
    for mention in find_mentions(text, moment.replace(tzinfo=UTC)):
        assert mention.start <= mention.end
        assert mention.text == text[slice(*mention.span)]


def assert_matching_rules_are_selected(text: str) -> None:
    lowered = lower_case(text)
    kinds = find_word_kinds(lowered)
    for rule in (*absolute.RULES, *relative.RULES):
        if rule.regex.search(lowered):
            assert rule.needs <= kinds, (rule.pattern, rule.needs - kinds)


@pytest.mark.parametrize("row", labelled_rows(), ids=lambda row: row[1])
def test_rules_that_match_a_labelled_text_are_selected(row: list[str]) -> None:
    assert_matching_rules_are_selected(row[1])


@given(st.lists(st.sampled_from(MORE_WORDS), max_size=12))
def test_rules_that_match_any_text_are_selected(words: list[str]) -> None:
    assert_matching_rules_are_selected(" ".join(words))


@pytest.mark.parametrize("before", TIME_WORDS_BEFORE)
@pytest.mark.parametrize("time", ["May", "2019", "the year 2019"])
def test_rules_for_a_month_or_year_alone_are_selected_after_each_word_before_times(before: str, time: str) -> None:
    assert_matching_rules_are_selected(f"{before} {time}")


@pytest.mark.parametrize(
    "words", ["to Oslo on 3 March ", "my birthday is 3 March and ", "el 3 de marzo voy a ir y fui ", "上周五我去了"]
)
def test_time_for_hundreds_of_dates_in_one_sentence_grows_with_its_length(words: str) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)

    def time_of(length: int) -> float:
        started = time.thread_time()
        find_mentions((words * length)[:length], now)
        return time.thread_time() - started

    time_of(100)  # compiles the patterns
    # A word that shows the tense is looked for once, not once for each date around it: that took a second.
    assert min(time_of(length) for length in (18_990, 19_000)) < 0.4


@pytest.mark.parametrize("before", ["x" * 1_995, "a b " * 3_000, "One line.\n" * 500])
def test_date_in_a_long_text_is_found_at_its_position(before: str) -> None:
    text = f"{before} We met on 3 March 2024 in Oslo. " + "and so on " * 300
    (found,) = find_mentions(text, datetime(2025, 1, 1, tzinfo=UTC))
    assert text[slice(*found.span)] == found.text == "3 March 2024"

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda.recall.query import read_windows

NOW = datetime(2024, 1, 12, 15, 30, tzinfo=UTC)  # a Friday


def spans(text: str, now: datetime = NOW) -> list[tuple[str, str]]:
    return [(f"{window.start:%Y-%m-%d}", f"{window.end:%Y-%m-%d}") for window in read_windows(text, now)]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("What did I buy on 2023-12-24?", "2023-12-24", "2023-12-25"),
        ("on 3 June, 2023", "2023-06-03", "2023-06-04"),
        ("on June 3rd 2023", "2023-06-03", "2023-06-04"),
        ("shared on December 1,2023 in the woods", "2023-12-01", "2023-12-02"),
        ("the 3rd of May", "2023-05-03", "2023-05-04"),
        ("on Jan 5", "2024-01-05", "2024-01-06"),
        ("on Dec 24th", "2023-12-24", "2023-12-25"),
        ("in July 2023", "2023-07-01", "2023-08-01"),
        ("in July", "2023-07-01", "2023-08-01"),
        ("last March", "2023-03-01", "2023-04-01"),
        ("in December 2023", "2023-12-01", "2024-01-01"),
        ("What happened in 2022?", "2022-01-01", "2023-01-01"),
        ("yesterday", "2024-01-11", "2024-01-12"),
        ("the day before yesterday", "2024-01-10", "2024-01-11"),
        ("What did we eat last night?", "2024-01-11", "2024-01-13"),
        ("this morning", "2024-01-12", "2024-01-13"),
        ("last Friday", "2024-01-05", "2024-01-06"),
        ("last Thursday", "2024-01-11", "2024-01-12"),
        ("last weekend", "2024-01-06", "2024-01-08"),
        ("last month", "2023-12-01", "2024-01-01"),
        ("last year", "2023-01-01", "2024-01-01"),
        ("this month", "2024-01-01", "2024-02-01"),
        ("in the past 3 weeks", "2023-12-22", "2024-01-13"),
        ("in the last two months", "2023-11-12", "2024-01-13"),
        ("two days ago", "2024-01-09", "2024-01-12"),
        ("a couple of weeks ago", "2023-12-24", "2024-01-04"),
        ("last week", "2023-12-30", "2024-01-10"),
        ("last summer", "2023-06-01", "2023-09-01"),
        ("in the second week of November", "2023-11-06", "2023-11-17"),
        ("two weeks before 11 August 2023", "2023-07-28", "2023-07-29"),
        ("in the beginning of November 2022", "2022-11-01", "2022-11-11"),
        ("the week before 3 August 2023", "2023-07-27", "2023-08-03"),
        ("the day after 3 August 2023", "2023-08-04", "2023-08-05"),
        ("between August 11 and August 15 2023", "2023-08-11", "2023-08-16"),
        ("from 1 May 2023 to 3 June 2023", "2023-05-01", "2023-06-04"),
    ],
)
def test_a_time_in_the_question_becomes_a_window(text: str, start: str, end: str) -> None:
    assert spans(text) == [(start, end)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is my dog called?",
        "a few weeks ago",
        "recently",
        "03/04/2023",
        "31 June 2023",
        "before June 2023",
        "after 3 May 2023",
        "since May",
        "until 2022",
        "I may march on",
        "Where will we meet in 2030?",
        "room 2023",
        "chapter 12 of the book",
        "9999999 days ago",
        "the Sunday mass",
        "next week",
    ],
)
def test_what_is_unsure_or_still_to_come_gives_no_window(text: str) -> None:
    assert spans(text) == []


def test_a_date_counts_before_a_word_that_may_be_relative_to_it() -> None:
    assert spans("What did she finish last Friday, as told on 23 January, 2022?") == [("2022-01-23", "2022-01-24")]


def test_two_dates_give_two_windows() -> None:
    assert spans("on 3 May 2023 or on 9 May 2023?") == [("2023-05-03", "2023-05-04"), ("2023-05-09", "2023-05-10")]


def test_a_window_names_its_words() -> None:
    (window,) = read_windows("What did I do in the last two months?", NOW)
    assert window.phrase == "in the last two months"


def test_a_year_that_is_not_said_is_the_latest_that_has_begun() -> None:
    assert spans("in July", datetime(2023, 7, 1, tzinfo=UTC)) == [("2023-07-01", "2023-08-01")]
    assert spans("in July", datetime(2023, 6, 30, tzinfo=UTC)) == [("2022-07-01", "2022-08-01")]


def test_the_end_of_february_is_read_in_any_year() -> None:
    assert spans("on 29 February 2024", datetime(2024, 3, 1, tzinfo=UTC)) == [("2024-02-29", "2024-03-01")]
    assert spans("on 29 February", datetime(2023, 3, 1, tzinfo=UTC)) == []
    assert spans("last month", datetime(2024, 3, 31, tzinfo=UTC)) == [("2024-02-01", "2024-03-01")]


def test_a_very_long_question_is_read_by_its_beginning() -> None:
    assert spans("in July 2023 " + "word " * 100_000) == [("2023-07-01", "2023-08-01")]
    assert spans("word " * 100_000 + " in July 2023") == []

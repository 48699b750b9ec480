from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda.recall.query import match_speakers, parse_query, parse_windows
from memoranda.recall.questions import asks_for_several, find_answer_type
from memoranda.text.terms import HAS_NAME, HAS_NUMBER, HAS_TIME

NOW = datetime(2024, 1, 12, 15, 30, tzinfo=UTC)  # a Friday


def test_speaker_name_is_matched_and_removed_from_question() -> None:
    match = match_speakers("What is Caroline's new job?", ["Caroline", "Melanie"])
    assert match.speakers == ("Caroline",)
    assert match.text == "What is new job?"
    assert match.terms == ("new", "job")


def test_names_match_whole_words_in_any_case() -> None:
    assert match_speakers("where did CAROLINE go", ["Caroline"]).speakers == ("Caroline",)
    assert match_speakers("the timing of the trip", ["Tim"]).speakers == ()


def test_name_of_two_words_must_occur_completely() -> None:
    speakers = ["Ada Lovelace", "Ada Byron"]
    assert match_speakers("What did Ada Lovelace write?", speakers).speakers == ("Ada Lovelace",)
    assert match_speakers("What did Ada write?", speakers).speakers == ()


def test_all_matched_names_are_removed() -> None:
    match = match_speakers("What did Tim give John?", ["John", "Tim"])
    assert match.speakers == ("John", "Tim")
    assert match.text == "What did give ?"


@pytest.mark.parametrize("question", ["Caroline", "What about Caroline?"])
def test_name_is_kept_when_question_holds_nothing_else(question: str) -> None:
    match = match_speakers(question, ["Caroline"])
    assert match.speakers == ("Caroline",)
    assert match.text == question
    assert match.terms == ("carolin",)


def test_question_about_asker_alone_matches_user() -> None:
    assert match_speakers("What is my hamster called?", ["assistant", "user"]).speakers == ("user",)
    assert match_speakers("What did you tell me about omelettes?", ["assistant", "user"]).speakers == ()
    assert match_speakers("What is my hamster called?", ["Nora", "Theo"]).speakers == ()


def test_role_is_not_a_name() -> None:
    match = match_speakers("Which user interface is best?", ["assistant", "user"])
    assert match.speakers == ()
    assert match.text == "Which user interface is best?"


def test_name_may_contain_regex_characters() -> None:
    match = match_speakers("What did R2-D2 (the robot) say?", ["R2-D2", "C.3*PO"])
    assert match.speakers == ("R2-D2",)
    assert match.text == "What did (the robot) say?"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When did Ann move?", HAS_TIME),
        ("How long has she been there?", HAS_TIME),
        ("In which year was that?", HAS_TIME),
        ("How many cats does Ben have?", HAS_NUMBER),
        ("how  old is the boat", HAS_NUMBER),
        ("What number is on the door?", HAS_NUMBER),
        ("Who saw the heron?", HAS_NAME),
        ("Where did they go?", HAS_NAME),
        ("What's my hamster called?", HAS_NAME),
    ],
)
def test_question_word_gives_answer_type(question: str, expected: str) -> None:
    assert find_answer_type(question) == expected


def test_first_question_word_gives_answer_type() -> None:
    assert find_answer_type("Who helped Ann when she was ill?") == HAS_NAME


@pytest.mark.parametrize("question", ["Did it arrive?", "the boat", "Why is that?", "whenever and whatever"])
def test_other_questions_have_no_answer_type(question: str) -> None:
    assert find_answer_type(question) is None


def window_days(text: str, now: datetime = NOW) -> list[tuple[str, str]]:
    return [(f"{window.start:%Y-%m-%d}", f"{window.end:%Y-%m-%d}") for window in parse_windows(text, now)]


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
def test_time_in_question_becomes_window(text: str, start: str, end: str) -> None:
    assert window_days(text) == [(start, end)]


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
def test_ambiguous_or_future_time_gives_no_window(text: str) -> None:
    assert window_days(text) == []


def test_date_wins_over_relative_word() -> None:
    assert window_days("What did she finish last Friday, as told on 23 January, 2022?") == [
        ("2022-01-23", "2022-01-24")
    ]


def test_two_dates_give_two_windows() -> None:
    assert window_days("on 3 May 2023 or on 9 May 2023?") == [
        ("2023-05-03", "2023-05-04"),
        ("2023-05-09", "2023-05-10"),
    ]


def test_window_holds_its_phrase() -> None:
    (window,) = parse_windows("What did I do in the last two months?", NOW)
    assert window.phrase == "in the last two months"


def test_missing_year_is_latest_that_has_begun() -> None:
    assert window_days("in July", datetime(2023, 7, 1, tzinfo=UTC)) == [("2023-07-01", "2023-08-01")]
    assert window_days("in July", datetime(2023, 6, 30, tzinfo=UTC)) == [("2022-07-01", "2022-08-01")]


def test_end_of_february_is_parsed_in_any_year() -> None:
    assert window_days("on 29 February 2024", datetime(2024, 3, 1, tzinfo=UTC)) == [("2024-02-29", "2024-03-01")]
    assert window_days("on 29 February", datetime(2023, 3, 1, tzinfo=UTC)) == []
    assert window_days("last month", datetime(2024, 3, 31, tzinfo=UTC)) == [("2024-02-01", "2024-03-01")]


def test_only_beginning_of_long_question_is_parsed_for_dates() -> None:
    assert window_days("in July 2023 " + "word " * 100_000) == [("2023-07-01", "2023-08-01")]
    assert window_days("word " * 100_000 + " in July 2023") == []


@pytest.mark.parametrize(
    "question",
    [
        "Which games did he play?",
        "What instruments does Melanie play?",
        "How many screenplays has Joanna written?",
        "Where has Maria made friends?",
        "What are the names of John's children?",
        "List the books on my shelf",
        "In what order did I visit the museums?",
        "What do both of them like?",
        "Compare the two offers",
    ],
)
def test_question_for_a_list_a_count_or_an_order_asks_for_several(question: str) -> None:
    assert asks_for_several(question)


@pytest.mark.parametrize(
    "question",
    [
        "Where does Ann live?",
        "When did he move?",
        "What is this?",
        "Who is his boss?",
        "What kind of car does she drive?",
    ],
)
def test_question_for_one_thing_does_not_ask_for_several(question: str) -> None:
    assert not asks_for_several(question)


@pytest.mark.parametrize(
    ("said", "terms"),
    [
        ("ok, next step for the starter", ("next", "step", "starter")),
        ("Hi there! Ready to review that spec", ("readi", "review", "spec")),
        ("Great. Yes, the spec again", ("spec",)),
        ("ok", ("ok",)),
        ("Good news about the spec", ("good", "news", "spec")),
    ],
)
def test_greeting_at_the_start_of_an_utterance_is_not_looked_up(said: str, terms: tuple[str, ...]) -> None:
    assert parse_query(said, NOW, ()).terms == terms

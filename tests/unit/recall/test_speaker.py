from __future__ import annotations

import pytest

from memoranda.recall.query import read_speakers


def test_a_name_is_matched_against_who_spoke_and_taken_out_of_the_question() -> None:
    about = read_speakers("What is Caroline's new job?", ["Caroline", "Melanie"])
    assert about.named == ("Caroline",)
    assert about.text == "What is new job?"
    assert about.terms == ("new", "job")


def test_case_does_not_matter_and_a_part_of_a_word_is_no_name() -> None:
    assert read_speakers("where did CAROLINE go", ["Caroline"]).named == ("Caroline",)
    assert read_speakers("the timing of the trip", ["Tim"]).named == ()


def test_a_name_of_two_words_must_be_there_whole() -> None:
    speakers = ["Ada Lovelace", "Ada Byron"]
    assert read_speakers("What did Ada Lovelace write?", speakers).named == ("Ada Lovelace",)
    assert read_speakers("What did Ada write?", speakers).named == ()


def test_several_names_are_all_taken_out() -> None:
    about = read_speakers("What did Tim give John?", ["John", "Tim"])
    assert about.named == ("John", "Tim")
    assert about.text == "What did give ?"


@pytest.mark.parametrize("question", ["Caroline", "What about Caroline?"])
def test_a_name_that_is_all_there_is_stays(question: str) -> None:
    about = read_speakers(question, ["Caroline"])
    assert about.named == ("Caroline",)
    assert about.text == question
    assert about.terms == ("carolin",)


def test_the_asker_is_the_user_when_the_question_is_about_the_asker_alone() -> None:
    assert read_speakers("What is my hamster called?", ["assistant", "user"]).named == ("user",)
    assert read_speakers("What did you tell me about omelettes?", ["assistant", "user"]).named == ()
    assert read_speakers("What is my hamster called?", ["Nora", "Theo"]).named == ()


def test_a_role_is_no_name() -> None:
    about = read_speakers("Which user interface is best?", ["assistant", "user"])
    assert about.named == ()
    assert about.text == "Which user interface is best?"


def test_a_name_may_hold_signs_that_mean_something_in_a_pattern() -> None:
    about = read_speakers("What did R2-D2 (the robot) say?", ["R2-D2", "C.3*PO"])
    assert about.named == ("R2-D2",)
    assert about.text == "What did (the robot) say?"

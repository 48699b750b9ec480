from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda import MemoryManager, Message
from memoranda.remember.claims.retractions import WITHDRAWAL

START = datetime(2026, 4, 20, 9, tzinfo=UTC)


@pytest.fixture
def manager(tmp_path: Path) -> MemoryManager:
    return MemoryManager(db_url=f"sqlite:///{tmp_path}/m.db")


def say(manager: MemoryManager, *texts: str) -> None:
    for minute, text in enumerate(texts):
        role, said = ("assistant", text[3:]) if text.startswith("A: ") else ("user", text)
        manager.remember(Message(role, said, timestamp=START + timedelta(minutes=minute)), user="ana")


@pytest.mark.parametrize(
    "words",
    [
        "Scratch that, wrong window",
        "never mind, ignore my last message",
        "forget what I just said, I was thinking of my brother",
        "disregard that",
        "Oops, wrong chat!",
        "Sorry, that was meant for someone else.",
        "That message wasn't for you.",
        "That was my brother typing.",
        "None of that was true.",
        "Forget that I told you.",
        "never mind",
        "Sorry, that was a line from my novel.",
        "I was quoting my boss there.",
        "Sorry, my sister did, not me.",
    ],
)
def test_what_is_retracted_is_no_fact_and_is_marked(manager: MemoryManager, words: str) -> None:
    with manager:
        say(manager, "I live in Bonn.", "I moved to Rome.", words)
        assert [fact.value for fact in manager.facts(user="ana")] == ["Bonn"]
        later = {hit.content: [each.content for each in hit.later] for hit in manager.recall("Where?", user="ana")}
        assert later["I moved to Rome."] == [words]


@pytest.mark.parametrize(
    "words",
    [
        "I went to the wrong room today.",
        "My brother took my phone.",
        "Just kidding about the film.",
        "That's not true! The earth is round.",
    ],
)
def test_words_about_something_else_take_nothing_back(manager: MemoryManager, words: str) -> None:
    with manager:
        say(manager, "I live in Bonn.", "I moved to Rome.", words)
        assert [fact.value for fact in manager.facts(user="ana")] == ["Rome"]


@pytest.mark.parametrize("text", ["I moved to Rome. April fools!", "I moved to Rome. Kidding, still here."])
def test_joke_in_the_same_message_is_no_fact(manager: MemoryManager, text: str) -> None:
    with manager:
        say(manager, "I live in Bonn.", text)
        assert [fact.value for fact in manager.facts(user="ana")] == ["Bonn"]


def test_question_is_retracted_without_the_fact_next_to_it(manager: MemoryManager) -> None:
    with manager:
        say(manager, "I live in Bonn. Can you find me a gym?", "Never mind that, I found one.")
        assert [fact.value for fact in manager.facts(user="ana")] == ["Bonn"]


def test_words_without_a_claim_are_marked_when_retracted(manager: MemoryManager) -> None:
    with manager:
        say(manager, "My knee hurts a lot on stairs.", "Scratch that, wrong window")
        [knee] = [hit for hit in manager.recall("knee", user="ana") if "knee" in hit.content]
        assert [each.content for each in knee.later] == ["Scratch that, wrong window"]


@pytest.mark.parametrize("text", [" " * 20_000, "- " * 9_000, "\n" * 20_000, "sorry " * 4_000, "that was my " * 2_000])
def test_long_text_is_searched_in_bounded_time(text: str) -> None:
    started = time.process_time()
    WITHDRAWAL.search(text)
    assert time.process_time() - started < 2


def test_still_doing_it_takes_back_its_end(manager: MemoryManager) -> None:
    with manager:
        say(manager, "I work at Philips.", "I no longer work at Philips.", "No wait, I still do.")
        assert [fact.value for fact in manager.facts(user="ana")] == ["Philips"]
        assert "I work at Philips." in [hit.content for hit in manager.recall("Where do I work?", user="ana")]


def test_words_after_a_joke_may_retract_as_well(manager: MemoryManager) -> None:
    say(manager, "My name is Nora Smith.", "My name is now Nora Jones.", "Just kidding, scratch that.")
    assert [fact.value for fact in manager.facts(user="ana") if fact.attribute == "name"] == ["Nora Smith"]


def test_change_that_did_not_last_is_no_fact(manager: MemoryManager) -> None:
    say(manager, "I moved to Lyon but it didn't last.")
    assert [fact.value for fact in manager.facts(user="ana")] == []


@pytest.mark.parametrize(
    "between", [["ok"], ["lol", "haha"], ["A: Noted!", "Thanks!"], ["A: Great, I updated your address."], ["😂"]]
)
@pytest.mark.parametrize(
    "words",
    [
        "scratch that",
        "jk",
        "wrong chat, sorry",
        "*my brother",
        "no, undo that",
        "scrap the Rome thing",
        "in French please",
    ],
)
def test_words_reach_through_small_talk(manager: MemoryManager, between: list[str], words: str) -> None:
    with manager:
        say(manager, "I live in Bonn.", "I moved to Rome.", *between, words)
        assert [fact.value for fact in manager.facts(user="ana")] == ["Bonn"]
        assert "I live in Bonn." in [hit.content for hit in manager.recall("Where do I live?", user="ana")]


def test_words_reach_no_change_before_something_else_that_was_said(manager: MemoryManager) -> None:
    with manager:
        say(manager, "I live in Bonn.", "I moved to Rome.", "My sister is a nurse.", "scratch that")
        assert [fact.value for fact in manager.facts(user="ana")] == ["Rome"]


def test_words_that_name_what_they_retract_reach_it(manager: MemoryManager) -> None:
    with manager:
        say(manager, "I live in Bonn.", "I moved to Rome.", "My rent is 920.", "scrap the Rome thing")
        assert {fact.attribute: fact.value for fact in manager.facts(user="ana")}["city"] == "Bonn"


@pytest.mark.parametrize("words", ["wish me luck", "no regrets", "still unpacking boxes", "tell me a joke"])
def test_remark_leaves_the_newer_value_the_fact(manager: MemoryManager, words: str) -> None:
    with manager:
        say(manager, "I live in Bonn.", "I moved to Rome.", words)
        assert [fact.value for fact in manager.facts(user="ana")] == ["Rome"]
        assert manager.recall("Where do I live?", user="ana")[0].content == "I moved to Rome."

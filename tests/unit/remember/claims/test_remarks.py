"""What a message makes of the change in the one before it: it may take it back, remark on it, or say something else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from memoranda import MemoryManager, Message
from memoranda.remember.claims.remarks import read_retraction
from memoranda.remember.claims.reports import is_undone
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock
from tests.unit.remember.updates.test_find import SAID, ended_by, say


@pytest.fixture
def manager() -> Iterator[MemoryManager]:
    clock = FakeClock(SAID + timedelta(days=99))
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


CHANGE = "I moved to Cardiff last week."


@pytest.mark.parametrize(
    "text",
    [
        "jk",
        "lol jk",
        "Made that up.",
        "I lied",
        "pls ignore",
        "Disregard.",
        "no, undo that",
        "erase it",
        "Wrong chat",
        "haha no",
        "scrap the Cardiff thing",
        "Never mind the Cardiff bit",
        "just kidding about the move",
        "I was joking about Cardiff",
        "The move was a prank.",
        "About Cardiff: I was kidding.",
        "can you please delete that?",
        "dont save that",
        "/s",
        "I was only pulling your leg",
        "You believed that?",
        "Not really.",
    ],
)
def test_words_that_withdraw_take_a_change_back(text: str) -> None:
    assert read_retraction(text, CHANGE) == "retract"


@pytest.mark.parametrize(
    "text",
    [
        "it was my sister",
        "*my brother",
        "- Lena",
        "xoxo Lena",
        "not me, my brother",
        "That was my roommate.",
        "Says my niece.",
        "in French please",
        "now in the past tense",
        "Past perfect version?",
        "is that grammatical?",
        "Shorten it",
        "spell check pls",
        "did I say that right?",
        "How do you say that in Spanish?",
        "from a movie",
        "In Stardew.",
        "It's for my avatar.",
        "Is it moved or have moved?",
        "Oh no, that's from my pen pal's letter",
        "The move fell through.",
        "The move is off.",
        "lol no I didn't",
    ],
)
def test_words_that_make_something_else_of_a_change_take_it_back(text: str) -> None:
    assert read_retraction(text, CHANGE) == "doubt"


@pytest.mark.parametrize(
    "text",
    [
        "For the weekend.",
        "Prove me wrong.",
        "I hope.",
        "The neighbour wishes.",
        "Lasted a day.",
        "wish me luck",
        "still unpacking boxes",
        "Sorry for the late reply",
        "no more commuting, yay",
        "not easy with kids",
        "tell me a joke",
        "write a haiku about it",
        "no regrets",
        "not sure how I feel about it yet",
        "no idea where my keys are",
        "Just kidding about the film.",
        "never mind the mess",
        "hope it works out",
        "actually quite cheap",
        "it's my wife's dream",
    ],
)
def test_remarks_leave_a_change_the_fact(text: str) -> None:
    assert read_retraction(text, CHANGE) in (None, "remark")


@pytest.mark.parametrize(
    "text", ["No joke.", "I'm not kidding", "Don't forget it", "my English is bad", "translate 'good morning'"]
)
def test_words_next_to_those_that_retract_make_them_mean_something_else(text: str) -> None:
    assert read_retraction(text, CHANGE) in (None, "remark")


def test_signature_of_the_speaker_is_no_one_elses() -> None:
    assert read_retraction("- Lena", CHANGE, speaker="Lena Ruiz") != "doubt"


@pytest.mark.parametrize(
    "text",
    [
        "Too expensive.",
        "Same room.",
        "Fresh start.",
        "Who would have thought?",
        "It's smaller but quiet.",
        "You have no idea how nice the sea is.",
        "From this month on.",
    ],
)
def test_remarks_take_nothing_back(text: str) -> None:
    assert read_retraction(text) == "remark"


@pytest.mark.parametrize(
    "text",
    [
        "It's for the best.",
        "My doctor insisted.",
        "My team kept its name.",
        "Find me a cheap flight.",
        "Remind me to call the bank tomorrow.",
        "I ignored what he said.",
        "I work at Lidl now.",
        "Can you remind me to pay the rent?",
    ],
)
def test_words_of_their_own_say_nothing_about_a_change(text: str) -> None:
    assert read_retraction(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "The sale fell through.",
        "The move is off.",
        "The old date stands.",
        "The court annulled the increase.",
        "Then the alarm clock rang.",
        "And then I woke up.",
        "I returned to Berlin after two days.",
        "Management said no.",
    ],
)
def test_what_happens_to_anything_else_may_happen_to_the_change(text: str) -> None:
    assert read_retraction(text) is not None


def test_change_with_a_remark_is_linked_and_is_what_was_said_last(manager: MemoryManager) -> None:
    first = say(manager, "I live in Ghent.", 0)
    changed = say(manager, "I moved to Porto.", 1)
    assert ended_by(manager, first) == changed
    say(manager, "Fresh start.", 1.01)
    assert ended_by(manager, first) is None
    assert [fact.value for fact in manager.facts(user="ana")] == ["Porto"]
    assert manager.recall("Where do I live?", user="ana")[0].id == changed


def test_change_hides_again_when_the_remark_is_deleted(manager: MemoryManager) -> None:
    first = say(manager, "I live in Ghent.", 0)
    changed = say(manager, "I moved to Porto.", 1)
    remark = say(manager, "Fresh start.", 1.01)
    manager.delete(remark, user="ana")
    assert ended_by(manager, first) == changed


@pytest.mark.parametrize(
    ("after", "hidden", "fact"),
    [
        ("I still have the Giant.", True, False),
        ("The Golf is still in the garage.", False, True),
        ("The boxes are still everywhere.", False, False),
    ],
)
def test_what_is_still_so_takes_back_only_the_change_of_that_thing(
    manager: MemoryManager, after: str, hidden: bool, fact: bool
) -> None:
    first = say(manager, "My car is a Golf.", 0)
    say(manager, "My bike is a Giant.", 1)
    changed = say(manager, "I sold the Golf.", 2)
    say(manager, after, 2.01)
    assert ended_by(manager, first) == (changed if hidden else None)
    assert {each.attribute: each.holds for each in manager.facts(user="ana")} == {"bike": True, "car": fact}


@pytest.mark.parametrize(
    ("newer", "back"),
    [
        ("My name is now Ana Berg.", "No, I decided to keep my own."),
        ("My name is now Ana Berg.", "Hm, I'll stay with my old name after all."),
        ("My name is now Gerda.", "It's for my avatar."),
    ],
)
def test_new_name_can_be_retracted(manager: MemoryManager, newer: str, back: str) -> None:
    for minute, text in enumerate(("My name is Ana Lind.", newer, back)):
        message = Message("user", text, timestamp=SAID + timedelta(minutes=minute))
        manager.remember(message, user="ana", session="talk")
    assert [each.value for each in manager.facts(user="ana") if each.attribute == "name"] == ["Ana Lind"]


@pytest.mark.parametrize(
    ("newer", "city"),
    [
        ("I moved to Porto but it didn't last.", "Ghent"),
        ("I moved to Porto for two months and came back.", "Ghent"),
        ("I moved to Porto. It fell through in the end.", "Ghent"),
        ("I moved to Porto but I miss Ghent.", "Porto"),
        ("I moved to Porto. We came back from Rome yesterday.", "Porto"),
    ],
)
def test_change_that_is_over_when_it_is_said_is_no_fact(manager: MemoryManager, newer: str, city: str) -> None:
    say(manager, "I live in Ghent.", 0)
    say(manager, newer, 9)
    assert [fact.value for fact in manager.facts(user="ana") if fact.attribute == "city"] == [city]


def test_way_back_is_no_return() -> None:
    assert is_undone("but I was back at Skoda by summer")
    assert not is_undone("and got my old job back")


def test_the_thing_may_be_the_one_that_was_called_anothers(manager: MemoryManager) -> None:
    first = say(manager, "My laptop is a ThinkPad.", 0)
    say(manager, "I'm setting up grandpa's computer.", 1)
    say(manager, "The laptop is now a MacBook.", 1.01)
    assert ended_by(manager, first) is None


@pytest.mark.parametrize(
    "text",
    ["I didn't move.", "I never left Berlin.", "I have not moved anywhere.", "I stayed in Berlin.", "I was wrong."],
)
def test_denial_of_what_was_said_before_takes_it_back(text: str) -> None:
    assert read_retraction(text, "I moved to Ghent last week.") in ("retract", "doubt")


@pytest.mark.parametrize("text", ["I haven't found a dentist yet.", "I love the harbour.", "I don't like the traffic."])
def test_news_about_what_was_said_before_does_not_take_it_back(text: str) -> None:
    assert read_retraction(text, "I moved to Ghent last week.") in (None, "remark")


def test_what_is_over_says_nothing_of_which_one_it_is(manager: MemoryManager) -> None:
    first = say(manager, "My shift is nights.", 0)
    say(manager, "My shift is now over.", 1)
    assert ended_by(manager, first) is None

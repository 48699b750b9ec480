"""Lines of a role play are no words about the speaker: they change nothing that is known of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from memoranda import MemoryManager, Message
from memoranda.remember.frames import find_frame
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock
from tests.unit.remember.updates.test_find import SAID


@pytest.fixture
def manager() -> Iterator[MemoryManager]:
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=FakeClock(SAID + timedelta(days=9))) as manager:
        yield manager


def talk(manager: MemoryManager, *texts: str, session: str = "s") -> dict[str, str]:
    """Say the texts one by one, with an answer after each, and return what holds."""
    for text in texts:
        said = Message("user", text, name="Ana", timestamp=SAID)
        answer = Message("assistant", "I see, tell me more about that.", timestamp=SAID)
        manager.remember(said, user="ana", session=session)
        manager.remember(answer, user="ana", session=session)
    return {fact.attribute: fact.value for fact in manager.facts(user="ana") if fact.holds}


@pytest.mark.parametrize(
    "text",
    [
        "Let's play: you are the judge, I am Mrs. Lind.",
        "Let's role-play. You're a banker and I'm a farmer.",
        "Could we do a role play where you are my landlord?",
        "You are the conductor and I'm the passenger.",
        "I'll be the patient and you'll be the nurse.",
        "Pretend I'm a sailor.",
        "I want you to act as a recruiter. I will be the applicant.",
        "Simulate a call: I am a client named Olga.",
        "In this game I'm a witch named Olga.",
        "We're going to act out an exam, you're the examiner.",
    ],
)
def test_play_goes_on_whatever_is_said_in_it(text: str) -> None:
    assert find_frame(["Thanks!", "I like trains.", text], "Good evening.") is not None


@pytest.mark.parametrize(
    "text", ["Stop the role play.", "Game over.", "Enough pretending.", "ok the scene is over", "End of the game."]
)
def test_play_is_over_when_it_is_said_to_be(text: str) -> None:
    assert find_frame(["I like trains.", text, "Pretend I'm a sailor."], "") is None


def test_lines_of_a_play_over_several_messages_change_nothing(manager: MemoryManager) -> None:
    play = ("Let's play: you are the doctor, I am Mr. Berg.", "I moved to Leeds.", "I'm 71 now.", "I quit smoking.")
    held = talk(manager, "I'm 35.", "I live in Turin.", "I smoke.", *play)
    assert (held["age"], held["city"], "smoke" in held) == ("35", "Turin", True)
    assert all(memory.superseded_by is None for memory in manager.list_memories(user="ana"))


def test_what_is_said_after_the_end_of_a_play_counts(manager: MemoryManager) -> None:
    held = talk(manager, "I live in Turin.", "Pretend I'm a sailor.", "I moved to Bergen.", "End of the game.")
    assert held["city"] == "Turin"
    assert talk(manager, "I moved to Ghent.")["city"] == "Ghent"


def test_play_of_another_session_leaves_a_change_as_it_is(manager: MemoryManager) -> None:
    talk(manager, "I live in Turin.", "Pretend I'm a sailor.")
    assert talk(manager, "I moved to Ghent.", session="other")["city"] == "Ghent"


@pytest.mark.parametrize(
    ("said", "frame"),
    [
        ("Thanks for telling me. Anything else?", None),
        ("I have told my sister.", None),
        ("That's great news!", None),
        ("Tell me a sentence about trains.", "text"),
        ("What did you write in the letter?", "text"),
    ],
)
def test_what_others_say_frames_the_next_words_only_where_it_asks(said: str, frame: str | None) -> None:
    assert find_frame((), said) == frame


@pytest.mark.parametrize("keep_all", [False, True])
def test_play_within_one_call_changes_nothing(manager: MemoryManager, keep_all: bool) -> None:
    texts = ("I live in Turin.", "You are the host and I'm the guest.", "I moved to Bergen.")
    turns = [Message("user", text, name="Ana", timestamp=SAID) for text in texts]
    manager.remember(turns, user="ana", keep_all=keep_all)
    assert [fact.value for fact in manager.facts(user="ana")] == ["Turin"]

"""Lines of a role play are no words about the speaker: they change nothing that is known of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from memoranda import MemoryManager, Message
from memoranda.remember.frames import find_framing
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
    assert (
        find_framing([(False, "Good evening."), (True, "Thanks!"), (True, "I like trains."), (True, text)]) is not None
    )


@pytest.mark.parametrize(
    "text", ["Stop the role play.", "Game over.", "Enough pretending.", "ok the scene is over", "End of the game."]
)
def test_play_is_over_when_it_is_said_to_be(text: str) -> None:
    assert find_framing([(True, "I like trains."), (True, text), (True, "Pretend I'm a sailor.")]) is None


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
    ("said", "framing"),
    [
        ("Thanks for telling me. Anything else?", None),
        ("I have told my sister.", "unrelated_context"),
        ("That's great news!", None),
        ("Tell me a sentence about trains.", "quoted"),
        ("What did you write in the letter?", "quoted"),
    ],
)
def test_what_others_say_frames_the_next_words_only_where_it_asks(said: str, framing: str | None) -> None:
    assert find_framing([(False, said)]) == framing


@pytest.mark.parametrize("keep_all", [False, True])
def test_play_within_one_call_changes_nothing(manager: MemoryManager, keep_all: bool) -> None:
    texts = ("I live in Turin.", "You are the host and I'm the guest.", "I moved to Bergen.")
    turns = [Message("user", text, name="Ana", timestamp=SAID) for text in texts]
    manager.remember(turns, user="ana", keep_all=keep_all)
    assert [fact.value for fact in manager.facts(user="ana")] == ["Turin"]


def answer(manager: MemoryManager, asked: str, *texts: str) -> dict[str, str]:
    """Answer a question after the texts, and return what holds of whom."""
    turns = [("user", text) for text in texts[:-1]] + [("assistant", asked), ("user", texts[-1])]
    for minute, (role, text) in enumerate(turns if asked else [("user", text) for text in texts]):
        name = "Ana" if role == "user" else None
        said = Message(role, text, name=name, timestamp=SAID + timedelta(minutes=minute))
        manager.remember(said, user="ana", session="s")
    return {fact.slot: fact.value for fact in manager.facts(user="ana") if fact.holds}


@pytest.mark.parametrize(
    "asked", ["What is your brother up to?", "Does she still work there?", "How are Tom and Lena?", ""]
)
@pytest.mark.parametrize("text", ["no longer works at Fiat", "Works at Bosch now"])
def test_clause_in_the_third_person_is_never_the_speakers(manager: MemoryManager, asked: str, text: str) -> None:
    assert answer(manager, asked, "I work at Fiat.", text)["Ana/employer"] == "Fiat"
    assert all(memory.superseded_by is None for memory in manager.list_memories(user="ana"))


def test_clause_without_a_subject_is_about_the_person_asked_for(manager: MemoryManager) -> None:
    held = answer(manager, "What is your brother up to?", "I work at Fiat.", "Started at Bosch last week")
    assert (held["Ana/employer"], held["Ana's brother/employer"]) == ("Fiat", "Bosch")


@pytest.mark.parametrize(
    ("known", "asked", "text", "fact"),
    [
        ("I live in Turin.", "Where do you live now?", "Ghent", ("Ana/city", "Ghent")),
        ("I work at Fiat.", "Do you still work at Fiat?", "no, Bosch", ("Ana/employer", "Bosch")),
        ("I'm 34.", "How old are you now?", "35", ("Ana/age", "35")),
        ("My phone number is 07700 900111.", "What's your new number?", "07700 900222", ("Ana/phone", "07700 900222")),
    ],
)
def test_fragment_is_read_with_its_question(
    manager: MemoryManager, known: str, asked: str, text: str, fact: tuple[str, str]
) -> None:
    assert answer(manager, asked, known, text)[fact[0]] == fact[1]
    kept = {memory.content: memory for memory in manager.list_memories(user="ana")}
    assert kept[known].superseded_by == kept[f"{asked} {text}"].id


def test_denial_of_what_was_asked_ends_it(manager: MemoryManager) -> None:
    answer(manager, "You live in Turin, right?", "I live in Turin.", "I used to")
    [turin] = [memory for memory in manager.list_memories(user="ana") if memory.content == "I live in Turin."]
    assert turin.superseded_by is not None


def test_answer_to_a_question_about_a_story_states_nothing(manager: MemoryManager) -> None:
    assert answer(manager, "Where does she live in your novel?", "I live in Turin.", "Ghent")["Ana/city"] == "Turin"


def test_value_alone_corrects_the_message_before(manager: MemoryManager) -> None:
    assert answer(manager, "", "I was born in 1986.", "ok", "sorry, 1985")["Ana/birth year"] == "1985"

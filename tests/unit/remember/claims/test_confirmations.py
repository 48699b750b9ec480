"""What an answer makes of the change that the question before it is about."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from memoranda import MemoryManager, Message
from memoranda.remember.claims.confirmations import read_reply
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock
from tests.unit.remember.updates.test_find import SAID

CHANGE = "I moved to Riga last week."


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Really?", "Yes!"),
        ("Oh wow, really?", "yeah, really"),
        ("Are you sure?", "Yes, I am"),
        ("Is that right?", "Correct."),
        ("Are you kidding?", "No!"),
        ("Is that a joke?", "Nope, I'm not kidding"),
        ("You moved to Riga?", "Yep"),
        ("So you live in Riga now?", "yes"),
        ("When did you move?", "Last Monday"),
        ("When was that?", "two weeks ago"),
        ("Really? When did you move?", "yesterday"),
        ("Congratulations! How do you like it?", "Love it!"),
        ("Noted. Anything else?", "No, thanks"),
        ("Shall I update your address?", "Yes please"),
    ],
)
def test_answer_confirms(asked: str, answer: str) -> None:
    assert read_reply([asked], answer, CHANGE, SAID) == "confirms"


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Really?", "Nope"),
        ("Seriously?", "nah"),
        ("Is that a joke?", "Yes"),
        ("You're kidding?", "yep"),
        ("You did?", "No"),
    ],
)
def test_answer_denies(asked: str, answer: str) -> None:
    assert read_reply([asked], answer, CHANGE, SAID) == "denies"


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Is this about you?", "no"),
        ("Is that a line from the book?", "yep"),
        ("Who moved?", "Lena"),
        ("When was that?", "in 1998"),
        ("When will you be back?", "yesterday"),
        ("When did you write that?", "yesterday"),
        ("For how long?", "Until Easter."),
        ("Fact or fiction?", "fiction"),
        ("You mean your parents?", "yes"),
        ("Still in Tallinn though?", "yes"),
        ("Did it last?", "no"),
        ("Shall I forget that?", "Yes"),
        ("Is that a lie?", "haha"),
        ("Is that from a film? Really?", "yes"),
        ("You're joking.", "Yes"),
    ],
)
def test_answer_to_any_other_question_is_not_clear(asked: str, answer: str) -> None:
    assert read_reply([asked], answer, CHANGE, SAID) == "unclear"


def test_what_follows_no_question_answers_none() -> None:
    assert read_reply(["Noted!"], "Thanks!", CHANGE, SAID) is None


@pytest.fixture(scope="module")
def manager() -> Iterator[MemoryManager]:
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=FakeClock(SAID + timedelta(days=9))) as manager:
        yield manager


def hides(manager: MemoryManager, *turns: str) -> bool:
    """Tell a change among other turns, and return whether it hides what was said before."""
    for known in manager.list_memories(user="ana"):
        manager.delete(known.id, user="ana")
    (older,) = manager.remember(Message("user", "I live in Tallinn.", name="Ana", timestamp=SAID), user="ana")
    assert older.memory is not None
    for minute, turn in enumerate(turns, 1):
        speaker, _, text = turn.rpartition("| ")
        role, name = {"": ("user", "Ana"), "A": ("assistant", None), "B": ("user", "Bo")}[speaker]
        said = Message(role, text, name=name, timestamp=SAID + timedelta(days=2, minutes=minute))
        manager.remember(said, user="ana", session="s")
    return manager.get(older.memory.id, user="ana").superseded_by is not None


@pytest.mark.parametrize("asker", ["A| ", "B| "])
@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Really?", "Nope"),
        ("Is that a joke?", "Yes"),
        ("Is this about you?", "no"),
        ("Who moved?", "My sister moved to Riga."),
        ("When was that?", "It was in 1998."),
        ("Is that you?", "I'm Inta."),
        ("Why did you leave?", "I play a nurse."),
        ("In the game or for real?", "the game"),
        ("Are you rehearsing?", "Yep"),
        ("Is that a lie?", "True"),
        ("You're joking.", "Yes"),
        ("Are you back already?", "yes"),
    ],
)
def test_change_that_an_answer_does_not_confirm_is_linked(
    manager: MemoryManager, asker: str, asked: str, answer: str
) -> None:
    assert not hides(manager, CHANGE, f"{asker}{asked}", answer)
    [older] = [each for each in manager.list_memories(user="ana") if "Tallinn" in each.content]
    assert older.notes["followed"] is True


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Congratulations! How do you like it?", "Love it!"),
        ("When did you move?", "Last Monday"),
        ("Really?", "Yes!"),
        ("Noted!", "Thanks!"),
        ("Great, I updated your address.", "Thanks"),
        ("How are you?", "I work at Bosch."),
        ("Wow! Where do you work?", "I work at Bosch."),
        ("Why?", "I now work at Bosch."),
        ("Noted. How can I help?", "Can you find me a dentist?"),
        ("Where do you live now?", "Riga"),
    ],
)
def test_change_that_is_confirmed_or_left_alone_hides(manager: MemoryManager, asked: str, answer: str) -> None:
    assert hides(manager, CHANGE, f"A| {asked}", answer)


@pytest.mark.parametrize(
    "after",
    ["Got you!", "Got ya", "Made you look", "🤥", "🤡", "🙃", "You know", "Yeah right", "Tricked you", "Surprise!"],
)
def test_short_words_after_a_change_that_are_not_understood_leave_it_uncertain(
    manager: MemoryManager, after: str
) -> None:
    assert not hides(manager, CHANGE, after)
    assert not hides(manager, CHANGE, "lol", after)


@pytest.mark.parametrize(
    "after", ["Thanks!", "ok", "🎉", "Good night!", "lol", "I'm 41 now.", "We love it here.", "yeah"]
)
def test_small_talk_and_reports_after_a_change_leave_it_as_it_is(manager: MemoryManager, after: str) -> None:
    assert hides(manager, CHANGE, after)


@pytest.mark.parametrize(
    "turns",
    [
        (CHANGE, "I bred a dragon.", "Two of these are lies."),
        (CHANGE, "I won a Nobel prize.", "I met the Pope.", "One of these is a lie."),
        (CHANGE, "I bred a dragon.", "None of that is true."),
        (CHANGE, "I sing.", "Both are lies"),
    ],
)
def test_words_about_several_statements_mean_each_change(manager: MemoryManager, turns: tuple[str, ...]) -> None:
    assert not hides(manager, *turns)

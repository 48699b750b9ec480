"""Short answers, each remembered by a call of its own after the question."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memoranda import MemoryManager, Message, Outcome
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

ASKED = datetime(2026, 3, 2, 12, tzinfo=UTC)


def say(manager: MemoryManager, user: str, role: str, text: str, *, minutes: int = 0, session: str = "s") -> Outcome:
    message = Message(role, text, timestamp=ASKED + timedelta(minutes=minutes))
    (outcome,) = manager.remember(message, user=user, session=session)
    return outcome


def test_answer_in_a_call_of_its_own_is_kept_with_its_question() -> None:
    clock = FakeClock(ASKED + timedelta(days=9))
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=clock) as manager:
        cases = (
            ("Good to know. Do you eat fish?", "Actually, never.", "Do you eat fish? Actually, never."),
            ("How many bikes do you own?", "3", "How many bikes do you own? 3"),
            ("Which blood group are you?", "A+", "Which blood group are you? A+"),
            ("Do you have a garden?", "The balcony", "Do you have a garden? The balcony"),
            ("Are you well?", "Vegan.", "Vegan."),
        )
        for number, (question, answer, content) in enumerate(cases):
            say(manager, f"u{number}", "assistant", question)
            memory = say(manager, f"u{number}", "user", answer, minutes=1).memory
            assert memory is not None
            assert (memory.content, memory.trust) == (content, "user")


def test_answer_needs_a_question_of_somebody_else_right_before_it() -> None:
    clock = FakeClock(ASKED + timedelta(days=9))
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=clock) as manager:
        say(manager, "a", "user", "Do you eat fish?")
        assert say(manager, "a", "user", "Yes", minutes=1).status == "rejected"
        say(manager, "b", "assistant", "Do you eat fish?")
        assert say(manager, "b", "user", "Yes", minutes=3000).status == "rejected"
        assert say(manager, "b", "user", "Yes", minutes=1, session="other").status == "rejected"
        say(manager, "c", "assistant", "Do you eat fish?")
        assert say(manager, "d", "user", "Yes", minutes=1).status == "rejected"

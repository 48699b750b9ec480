from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from evaluation.runner import ask
from evaluation.sets import Question, QuestionSet, load
from memoranda import MemoryManager, Message
from quality import take_every


def test_every_third_question_with_evidence_is_asked() -> None:
    asked_at = datetime(2026, 1, 1, tzinfo=UTC)
    questions = [
        Question(str(n), "scope", "What?", asked_at, "", ("turn",) if n else (), (), answerable=True) for n in range(8)
    ]
    found = QuestionSet("locomo", {}, questions)
    assert [each.id for each in take_every(3, found).questions] == ["1", "4", "7"]
    assert take_every(1, found) is found


def test_variants_ask_each_question_again_so_that_nothing_answers_it() -> None:
    for variant in ("absent", "swapped", "hidden"):
        found = load(f"talks-{variant}", Path())
        asked = {question.id: question for question in found.questions if question.answerable}
        again = [question for question in found.questions if not question.answerable]
        assert again, variant
        for question in again:
            original = asked[question.id.removesuffix(f"-{variant}")]
            assert question.gold == ()
            assert question.hidden == (original.gold if variant == "hidden" else ())
            assert (question.scope == original.scope) is (variant != "absent")
            if variant == "swapped":
                assert question.text != original.text


def test_hidden_evidence_is_archived_while_its_question_is_asked(tmp_path: Path) -> None:
    with MemoryManager(db_url=f"sqlite:///{tmp_path / 'm.db'}") as manager:
        message = Message(role="user", name="Ann", content="My cat is called Tiger.", message_id="7")
        manager.remember([message], user="talk")
        asked_at = datetime.now(UTC)
        question = Question("q", "talk", "What is Ann's cat called?", asked_at, "", (), (), True, hidden=("7",))
        assert ask(manager, question, None, user_turns=False)["turns"] == []
        assert ask(manager, replace(question, hidden=()), None, user_turns=False)["turns"] == ["7"]

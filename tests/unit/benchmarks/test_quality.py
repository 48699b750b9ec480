from __future__ import annotations

from datetime import UTC, datetime

from evaluation.sets import Question, QuestionSet
from quality import take_every


def test_every_third_question_with_evidence_is_asked() -> None:
    asked_at = datetime(2026, 1, 1, tzinfo=UTC)
    questions = [
        Question(str(n), "scope", "What?", asked_at, "", ("turn",) if n else (), (), answerable=True) for n in range(8)
    ]
    found = QuestionSet("locomo", {}, questions)
    assert [each.id for each in take_every(3, found).questions] == ["1", "4", "7"]
    assert take_every(1, found) is found

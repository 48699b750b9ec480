"""Answers → figures: per view of a set (turns, user turns, sessions), overall and by category."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any, TypeAlias

from evaluation.metrics import figures, roc_curve, roc_summary, summary
from evaluation.sets import Question, QuestionSet

Answers: TypeAlias = Mapping[str, Mapping[str, Any]]
"""By question id."""


def views(questions: QuestionSet) -> dict[str, tuple[str, Callable[[Question], tuple[str, ...]]]]:
    """What is looked at: a name, which ranking of an answer, and what should be in it."""
    if questions.name == "locomo":
        return {"turns": ("turns", lambda question: question.gold)}
    return {
        "user turns": ("user_turns", questions.user_gold),
        "turns": ("turns", lambda question: question.gold),
        "sessions": ("sessions", lambda question: question.gold_sessions if question.answerable else ()),
    }


def score(questions: QuestionSet, answers: Answers) -> dict[str, Any]:
    """Every figure of one run over one set."""
    scored: dict[str, Any] = {"views": {}}
    for name, (ranking, gold_of) in views(questions).items():
        rows, categories = [], []
        for question in questions.questions:
            gold, answer = gold_of(question), answers[question.id]
            if gold and ranking in answer:
                rows.append(figures(answer[ranking], gold))
                categories.append(question.category)
        if rows:
            scored["views"][name] = {"questions": len(rows), "overall": summary(rows)} | {
                "categories": {
                    category: summary([row for row, its in zip(rows, categories, strict=True) if its == category])
                    for category in sorted(set(categories))
                }
            }
    scored["query_ms_p50"] = round(median(answer["ms"] for answer in answers.values()), 2)
    return scored | _abstention(questions, answers)


def _abstention(questions: QuestionSet, answers: Answers) -> dict[str, Any]:
    asked = [question for question in questions.questions if "answerable" in answers[question.id]]
    truth = [question.answerable for question in asked]
    if not truth or all(truth):
        return {}
    probability = [answers[question.id]["answerable"] for question in asked]
    top = [answers[question.id]["top"] for question in asked]
    return {
        "abstention": {
            "unanswerable": len(truth) - sum(truth),
            "auc_answerable": roc_summary(probability, truth),
            "auc_top_score": roc_summary(top, truth),
            "roc": roc_curve(probability, truth),
            "roc_top_score": roc_curve(top, truth),
        }
    }

"""Retrieval metrics per question, and their means over a question set with 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log2
from statistics import median
from typing import Any, TypeAlias

import numpy as np

from evaluation.sets import Question, QuestionSet

FIGURES = ("recall@5", "recall@10", "recall@20", "all@10", "ndcg@10", "mrr")
_DRAWS = 1_000
Answers: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Answers by question id."""


def figures(ranked: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
    """Return the metrics of one question; `ranked` is best first, `gold` is not empty."""
    expected = set(gold)
    hits = [id in expected for id in ranked]
    gain = sum(1 / log2(position + 2) for position, hit in enumerate(hits[:10]) if hit)
    ideal = sum(1 / log2(position + 2) for position in range(min(10, len(expected))))
    first = next((position for position, hit in enumerate(hits) if hit), None)
    return {
        **{f"recall@{depth}": sum(hits[:depth]) / len(expected) for depth in (5, 10, 20)},
        "all@10": float(sum(hits[:10]) == len(expected)),
        "ndcg@10": gain / ideal,
        "mrr": 0.0 if first is None else 1 / (first + 1),
    }


def summary(rows: Sequence[Mapping[str, float]], seed: int = 0) -> dict[str, list[float]]:
    """Return mean, lower and upper end of the 95 % interval (bootstrap over questions) by metric."""
    table = np.array([[row[name] for name in FIGURES] for row in rows])
    rng = np.random.default_rng(seed)
    draws = np.stack([table[rng.integers(0, len(table), len(table))].mean(axis=0) for _ in range(_DRAWS)])
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    means = table.mean(axis=0)
    return {name: [round(float(number[i]), 4) for number in (means, low, high)] for i, name in enumerate(FIGURES)}


def area_under_roc(scores: Sequence[float], answerable: Sequence[bool]) -> float:
    """Return the chance that an answerable question scores above an unanswerable one; ½ is chance level."""
    values, truth = np.array(scores), np.array(answerable)
    yes, no = values[truth], values[~truth]
    if not len(yes) or not len(no):
        return float("nan")
    return float(np.mean((yes[:, None] > no[None, :]) + 0.5 * (yes[:, None] == no[None, :])))


def roc_summary(scores: Sequence[float], answerable: Sequence[bool], seed: int = 0) -> list[float]:
    """Return the area under the curve, and the ends of its 95 % interval."""
    values, truth = np.array(scores), np.array(answerable)
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(_DRAWS // 4):
        sample = rng.integers(0, len(values), len(values))
        draws.append(area_under_roc(values[sample].tolist(), truth[sample].tolist()))
    low, high = np.nanpercentile(draws, [2.5, 97.5])
    return [round(value, 4) for value in (area_under_roc(scores, answerable), float(low), float(high))]


def roc_curve(scores: Sequence[float], answerable: Sequence[bool]) -> list[list[float]]:
    """Return points of [false positive rate, true positive rate], ascending."""
    order = np.argsort(-np.array(scores), kind="stable")
    truth = np.array(answerable)[order]
    yes, no = np.cumsum(truth) / max(1, truth.sum()), np.cumsum(~truth) / max(1, (~truth).sum())
    return [[0.0, 0.0], *([round(float(a), 4), round(float(b), 4)] for a, b in zip(no, yes, strict=True))]


def views(questions: QuestionSet) -> dict[str, tuple[str, Callable[[Question], tuple[str, ...]]]]:
    """Return by view its ranking in an answer, and the function that gives the expected ids of a question."""
    turns: tuple[str, Callable[[Question], tuple[str, ...]]] = ("turns", lambda question: question.gold)
    if questions.name.startswith(("locomo", "user-turns")):
        return {"turns": turns}
    return {
        "user turns": ("user_turns", questions.user_gold),
        "turns": turns,
        "sessions": ("sessions", lambda question: question.gold_sessions if question.answerable else ()),
    }


def score(questions: QuestionSet, answers: Answers) -> dict[str, Any]:
    """Return all metrics of one run over one question set: per view, overall and by category."""
    scored: dict[str, Any] = {"views": {}}
    for view, (ranking, gold_of) in views(questions).items():
        rows, categories = [], []
        for question in questions.questions:
            gold, answer = gold_of(question), answers[question.id]
            if gold and ranking in answer:
                rows.append(figures(answer[ranking], gold))
                categories.append(question.category)
        if rows:
            scored["views"][view] = {"questions": len(rows), "overall": summary(rows)} | {
                "categories": {
                    category: summary([row for row, name in zip(rows, categories, strict=True) if name == category])
                    for category in sorted(set(categories))
                }
            }
    scored["query_ms_p50"] = round(median(answer["ms"] for answer in answers.values()), 2)
    return scored | _abstention(questions, answers)


def _abstention(questions: QuestionSet, answers: Answers) -> dict[str, Any]:
    questions_scored = [question for question in questions.questions if "answerable" in answers[question.id]]
    truth = [question.answerable for question in questions_scored]
    if not truth or all(truth):
        return {}
    probability = [answers[question.id]["answerable"] for question in questions_scored]
    top = [answers[question.id]["top"] for question in questions_scored]
    return {
        "abstention": {
            "unanswerable": len(truth) - sum(truth),
            "auc_answerable": roc_summary(probability, truth),
            "auc_top_score": roc_summary(top, truth),
            "roc": roc_curve(probability, truth),
            "roc_top_score": roc_curve(top, truth),
        }
    }

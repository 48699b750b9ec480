"""What is counted: per question, and over many with an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

import numpy as np

FIGURES = ("recall@5", "recall@10", "recall@20", "all@10", "ndcg@10", "mrr")
_DRAWS = 1_000


def figures(ranked: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
    """One question's figures; `ranked` is best first, `gold` is not empty."""
    wanted = set(gold)
    hits = [id in wanted for id in ranked]
    gained = sum(1 / log2(place + 2) for place, hit in enumerate(hits[:10]) if hit)
    ideal = sum(1 / log2(place + 2) for place in range(min(10, len(wanted))))
    first = next((place for place, hit in enumerate(hits) if hit), None)
    return {
        **{f"recall@{depth}": sum(hits[:depth]) / len(wanted) for depth in (5, 10, 20)},
        "all@10": float(sum(hits[:10]) == len(wanted)),
        "ndcg@10": gained / ideal,
        "mrr": 0.0 if first is None else 1 / (first + 1),
    }


def summary(rows: Sequence[Mapping[str, float]], seed: int = 0) -> dict[str, list[float]]:
    """Mean and the ends of the 95 % interval (bootstrap over questions), by figure."""
    table = np.array([[row[name] for name in FIGURES] for row in rows])
    rng = np.random.default_rng(seed)
    draws = np.stack([table[rng.integers(0, len(table), len(table))].mean(axis=0) for _ in range(_DRAWS)])
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    means = table.mean(axis=0)
    return {name: [round(float(number[i]), 4) for number in (means, low, high)] for i, name in enumerate(FIGURES)}


def area_under_roc(scores: Sequence[float], answerable: Sequence[bool]) -> float:
    """The chance that an answerable question scores above an unanswerable one; ½ says nothing."""
    given, truth = np.array(scores), np.array(answerable)
    yes, no = given[truth], given[~truth]
    if not len(yes) or not len(no):
        return float("nan")
    return float(np.mean((yes[:, None] > no[None, :]) + 0.5 * (yes[:, None] == no[None, :])))


def roc_summary(scores: Sequence[float], answerable: Sequence[bool], seed: int = 0) -> list[float]:
    """The area, and the ends of its 95 % interval."""
    given, truth = np.array(scores), np.array(answerable)
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(_DRAWS // 4):
        drawn = rng.integers(0, len(given), len(given))
        draws.append(area_under_roc(given[drawn].tolist(), truth[drawn].tolist()))
    low, high = np.nanpercentile(draws, [2.5, 97.5])
    return [round(value, 4) for value in (area_under_roc(scores, answerable), float(low), float(high))]


def roc_curve(scores: Sequence[float], answerable: Sequence[bool]) -> list[list[float]]:
    """[share of unanswerable let through, share of answerable let through], ascending."""
    order = np.argsort(-np.array(scores), kind="stable")
    truth = np.array(answerable)[order]
    yes, no = np.cumsum(truth) / max(1, truth.sum()), np.cumsum(~truth) / max(1, (~truth).sum())
    return [[0.0, 0.0], *([round(float(a), 4), round(float(b), 4)] for a, b in zip(no, yes, strict=True))]

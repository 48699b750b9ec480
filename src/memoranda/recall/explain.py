"""Explain, as data, why a memory was found or was not, and how likely it is that memory holds an answer."""

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

from memoranda.errors import NotFound
from memoranda.recall.query import ROLES, ParsedQuery
from memoranda.recall.rank import Ranking, to_scores
from memoranda.results import Replay
from memoranda.types import ArmScore, Explanation, IntArray, Recall, WhyNot


def explain_query(parsed: ParsedQuery, ranking: Ranking, signals: dict[str, float]) -> Explanation:
    """Return how the question was parsed, and what the answer is based on."""
    return Explanation(
        speakers=parsed.speakers,
        windows=parsed.windows,
        terms=parsed.terms,
        embedded=parsed.embedded if any(arm.name == "dense" for arm in ranking.arms) else None,
        considered=ranking.candidates.total,
        dialogue=ranking.dialogue,
        signals=signals,
    )


def why(answer: Recall | Replay, memory_id: int) -> tuple[ArmScore, ...]:
    """Return the score of one hit in each arm and boost."""
    recall = answer if isinstance(answer, Recall) else answer.recall
    for hit in recall:
        if hit.id == memory_id:
            return hit.why
    if isinstance(answer, Replay) and any(hit.id == memory_id for hit in answer.erased):
        raise NotFound(f"memory {memory_id} was among the hits of this recall and has been deleted since")
    raise NotFound(f"memory {memory_id} is not among the {len(recall)} hits of this recall: use why_not")


def explain_absence(ranking: Ranking, memory_id: int, limit: int, allowed: NDArray[np.bool_] | None) -> WhyNot:
    """Return which step left out a memory of the scope, or its rank."""
    rows = ranking.candidates.rows_of(np.array([memory_id], dtype=np.int64))
    if not len(rows):
        return WhyNot(memory_id, "it is archived, has expired or ended, or no arm chose it as a candidate")
    row = int(rows[0])
    if allowed is not None and not allowed[row]:
        return WhyNot(memory_id, "the filters exclude it")
    positions = np.flatnonzero(ranking.best(len(ranking.candidates), allowed) == row)
    if not len(positions):
        return WhyNot(memory_id, "it shares no word with the question, and no model compared its meaning")
    rank, score = int(positions[0]) + 1, float(to_scores(ranking.sums[row : row + 1])[0])
    reason = "it is among the hits" if rank <= limit else f"{rank - 1} memories fit better, and the limit is {limit}"
    return WhyNot(memory_id, reason, rank, score, ranking.why(row))


_WEIGHTS = {"meaning": 2.0, "words": 2.0, "other_speaker": -1.5}
"""Fitted on LoCoMo's adversarial questions, rounded, and checked on LongMemEval's: see `benchmarks/quality.py`."""
_BIAS = -1.0


def answer_signals(
    ranking: Ranking, speakers: tuple[str, ...], allowed: NDArray[np.bool_] | None = None
) -> dict[str, float]:
    """Return the inputs of `answerable`; empty when there is no memory to answer from."""
    rows = np.arange(len(ranking.candidates)) if allowed is None else np.flatnonzero(allowed)
    if not len(rows):
        return {}
    best = rows[int(np.argmax(ranking.sums[rows]))]
    raw = {arm.name: arm.raw for arm in ranking.arms}
    names_one_person = len(speakers) == 1 and speakers[0] not in ROLES
    return {
        "top": float(ranking.sums[best]),
        "meaning": float(raw["dense"][best]) if "dense" in raw else 0.0,
        "words": float(raw["lexical"][rows].max()),
        "other_speaker": _lead_of_other_speakers(ranking, rows) if names_one_person else 0.0,
    }


def answerable(signals: dict[str, float]) -> float:
    """Return a probability; 0 when there is no memory to answer from."""
    if not signals:
        return 0.0
    return 1.0 / (1.0 + exp(-_BIAS - sum(weight * signals[name] for name, weight in _WEIGHTS.items())))


def _lead_of_other_speakers(ranking: Ranking, rows: IntArray) -> float:
    """Return how much the best memory leads the best one of the person asked about: a sign of the wrong person."""
    said = rows[ranking.gains["speaker"][rows] > 0]
    if not len(said):
        return 0.0
    return float(ranking.content[rows].max() - ranking.content[said].max())

"""Why a memory was found, or was not, as data. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memoranda.errors import NotFound
from memoranda.recall.query import Reading
from memoranda.recall.rank import Ranking, as_score
from memoranda.types import ArmScore, Explanation, Recall, WhyNot


def explanation(reading: Reading, ranking: Ranking, signals: dict[str, float]) -> Explanation:
    """How the question was read, and what the answer was made from."""
    return Explanation(
        speakers=reading.speakers,
        windows=reading.windows,
        terms=reading.terms,
        embedded=reading.embedded if any(arm.name == "dense" for arm in ranking.arms) else None,
        considered=ranking.field.total,
        dialogue=ranking.dialogue,
        signals=signals,
    )


def why(recall: Recall, memory_id: int) -> tuple[ArmScore, ...]:
    """What each arm and boost said of a hit."""
    for hit in recall:
        if hit.id == memory_id:
            return hit.why
    raise NotFound(f"memory {memory_id} is not among the {len(recall)} hits of this recall: ask why_not")


def standing(ranking: Ranking, memory_id: int, limit: int, allowed: NDArray[np.bool_] | None) -> WhyNot:
    """Which step left a memory of the scope out, or where it stands."""
    rows = ranking.field.rows_of(np.array([memory_id], dtype=np.int64))
    if not len(rows):
        return WhyNot(memory_id, "it is archived, has expired or ended, or no arm brought it as a candidate")
    row = int(rows[0])
    if allowed is not None and not allowed[row]:
        return WhyNot(memory_id, "the filters leave it out")
    places = np.flatnonzero(ranking.best(len(ranking.field), allowed) == row)
    if not len(places):
        return WhyNot(memory_id, "it shares no word with the question, and no model looked at its meaning")
    rank, score = int(places[0]) + 1, float(as_score(ranking.sums[row : row + 1])[0])
    reason = "it is among the hits" if rank <= limit else f"{rank - 1} memories fit better, and {limit} were asked for"
    return WhyNot(memory_id, reason, rank, score, ranking.why(row))

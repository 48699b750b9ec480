"""Arms and boosts → one ranking. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoranda.retrieval.arms import Arm, content_scores
from memoranda.retrieval.boost import holding_gains, speaker_gains, time_gains
from memoranda.retrieval.field import Field
from memoranda.retrieval.talk import ASKING_COST, neighbour_gains, session_gains
from memoranda.types import ArmScore, FloatArray, IntArray, Window

_EVEN = 3.0
"""The sum at which a memory is as likely to be what was asked for as not."""
_STEEP = 1.5
_FLAT = 50.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the ranking is made of, besides the arms."""

    asking: IntArray
    """The ids of texts that end with a question."""
    dialogue: float
    """0…1: how much the texts are the turns of a talk."""
    said: IntArray | None
    """The ids of what the person asked about said; None when nobody, or several, are named."""
    windows: tuple[Window, ...]
    holding: IntArray | None = None
    """The ids of texts that hold the kind of answer asked for; None when the question asks for no such kind."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Every memory of the field with its sum, and what went into it."""

    field: Field
    arms: tuple[Arm, ...]
    content: FloatArray
    """The arms and the talk around: how well it fits, whoever said it and whenever."""
    gains: Mapping[str, FloatArray]
    sums: FloatArray
    """In standard deviations."""
    dialogue: float

    def best(self, limit: int, allowed: NDArray[np.bool_] | None = None) -> IntArray:
        """The rows of the best memories, best first, ties by id."""
        rows = np.flatnonzero(self._found() if allowed is None else self._found() & allowed)
        if limit < len(rows):
            sums = self.sums[rows]
            rows = rows[sums >= np.partition(sums, len(sums) - limit)[len(sums) - limit]]
        return rows[np.lexsort((self.field.ids[rows], -self.sums[rows]))[:limit]]

    def why(self, row: int) -> tuple[ArmScore, ...]:
        """What each arm and boost said of one memory, silent ones left out."""
        arms = [_entry(arm.name, arm.raw, arm.scores, row) for arm in self.arms if arm.raw[row] > 0]
        boosts = [_entry(name, gains, gains, row) for name, gains in self.gains.items() if gains[row] != 0]
        return (*arms, *boosts)

    def _found(self) -> NDArray[np.bool_]:
        """Whether anything speaks for a memory; where there are vectors, something is close to everything."""
        if any(arm.name == "dense" for arm in self.arms):
            return np.ones(len(self.field), dtype=np.bool_)
        found = self.gains["time"] > 0
        for arm in self.arms:
            found |= arm.raw > 0
        return found


def rank(arms: Sequence[Arm], field: Field, evidence: Evidence) -> Ranking:
    """The sum of what the arms say and of what is known around each memory."""
    plain = content_scores(arms)
    asking = np.zeros(len(field), dtype=np.bool_)
    asking[field.rows_of(evidence.asking)] = True
    talk = np.float32(evidence.dialogue)
    gains = {
        "neighbours": talk * neighbour_gains(plain, asking, field) if talk else np.zeros_like(plain),
        "asking": -talk * np.float32(ASKING_COST) * asking,
    }
    content = plain + gains["neighbours"] + gains["asking"]
    gains["session"] = session_gains(content, field)
    gains["speaker"] = speaker_gains(evidence.said, field)
    gains["time"] = time_gains(evidence.windows, field)
    gains["kind"] = holding_gains(evidence.holding, field)
    sums = content + gains["session"] + gains["speaker"] + gains["time"] + gains["kind"]
    return Ranking(field, tuple(arms), content, gains, sums, evidence.dialogue)


def as_score(sums: FloatArray) -> FloatArray:
    """Sums as numbers from 0 to 1, in the same order."""
    below = np.clip((_EVEN - sums.astype(np.float64)) / _STEEP, -_FLAT, _FLAT)
    return (1.0 / (1.0 + np.exp(below))).astype(np.float32)


def _entry(name: str, values: FloatArray, gains: FloatArray, row: int) -> ArmScore:
    return ArmScore(name, 1 + int(np.count_nonzero(values > values[row])), float(values[row]), float(gains[row]))

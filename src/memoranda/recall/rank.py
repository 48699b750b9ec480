"""Arms and boosts → one ranking. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from memoranda.recall.arms import Arm, content_scores
from memoranda.recall.base import NO_SESSION, Field
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


SPEAKER_GAIN = 1.0
_INSIDE_ODDS = 4.0
_HOLDING_ODDS = 7.0 / 3.0
_HOLDING_SHARE = 0.5
"""Of those odds that count: what is close in meaning to a question often holds what it asks for, so the arms know."""
_LATER_SHARE = 0.5
"""People tell of a thing for some time after it: so much of the gain right after the window, then less."""
_LATER_SECONDS = 7 * 86_400.0


def speaker_gains(said: IntArray | None, field: Field) -> FloatArray:
    """One deviation for what the person asked about said; `said` is None when nobody, or several, are named."""
    gains = np.zeros(len(field), dtype=np.float32)
    if said is not None:
        gains[field.rows_of(said)] = SPEAKER_GAIN
    return gains


def time_gains(windows: Sequence[Window], field: Field) -> FloatArray:
    """What a window tells: the fewer memories it leaves, the more it counts for those.

    Where a share f of all memories lies inside, and four of five answers do, the odds of one inside are
    4 · (1 - f) / f times those of one outside; a window around nearly everything is worth nothing.
    """
    gains = np.zeros(len(field), dtype=np.float32)
    for window in windows:
        gains = np.maximum(gains, _inside(window, field))
    return gains * np.float32(_worth(_INSIDE_ODDS, gains))


def holding_gains(holding: IntArray | None, field: Field) -> FloatArray:
    """What it tells that a memory holds the kind of answer asked for, as seven of ten answers do: as with windows."""
    gains = np.zeros(len(field), dtype=np.float32)
    if holding is not None:
        gains[field.rows_of(holding)] = 1.0
    return gains * np.float32(_HOLDING_SHARE * _worth(_HOLDING_ODDS, gains))


def _worth(odds: float, inside: FloatArray) -> float:
    """The log-odds of one inside against one outside; never against it."""
    share = float(inside.mean()) if len(inside) else 0.0
    return max(0.0, log(odds * (1.0 - share) / share)) if 0.0 < share < 1.0 else 0.0


def _inside(window: Window, field: Field) -> FloatArray:
    start, end = window.start.timestamp(), window.end.timestamp()
    lasts = max(_LATER_SECONDS, end - start)
    later = _LATER_SHARE * np.clip(1.0 - (field.times - end) / lasts, 0.0, 1.0)
    inside = np.where(field.times < end, 1.0, later)
    return np.where(field.times >= start, inside, 0.0).astype(np.float32)


NEIGHBOUR_SHARE = 0.2
"""Of its score a turn gives to the one beside it; half as much to the next but one."""
REPLY_SHARE = 0.5
"""Of its score a question gives to its reply."""
ASKING_COST = 0.8
"""Asking tells nothing: a turn that ends with a question stands back by this much."""
SESSION_SHARE = 0.25
"""Of a session's best score that all its turns get."""
_SHORT, _LONG = 40.0, 80.0


def dialogue(average_length: float) -> float:
    """1 for texts as short as the turns of a talk, 0 for texts as long as documents."""
    return min(1.0, max(0.0, (_LONG - average_length) / (_LONG - _SHORT)))


def neighbour_gains(content: FloatArray, asking: NDArray[np.bool_], field: Field) -> FloatArray:
    """What each turn gets from the turns around it: a share of their scores, and of a question before it."""
    gains = np.zeros_like(content)
    for distance in (1, 2):
        if len(field) <= distance:
            break
        share = np.where(field.beside(distance), np.float32(NEIGHBOUR_SHARE / distance), np.float32(0))
        gains[distance:] += share * content[:-distance]
        gains[:-distance] += share * content[distance:]
    if len(field) > 1 and asking.any():
        replies = field.beside(1) & asking[:-1]
        gains[1:] += np.where(replies, REPLY_SHARE * np.maximum(content[:-1], 0), 0)
    return gains


def session_gains(scores: FloatArray, field: Field) -> FloatArray:
    """A share of the best score in its session for each memory: where one thing fits, more may."""
    if not len(field):
        return np.zeros(0, dtype=np.float32)
    starts = np.flatnonzero(np.diff(field.sessions, prepend=field.sessions[0] - 1))
    best = np.maximum(np.maximum.reduceat(scores, starts), 0)
    gains = SESSION_SHARE * np.repeat(best, np.diff(starts, append=len(field)))
    gains[field.sessions == NO_SESSION] = 0
    return gains.astype(np.float32)

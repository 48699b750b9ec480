"""What the turns around a memory say about it. Pure.

A turn of a talk is a sentence or two and often means nothing alone: "Yes, last week!" answers the turn before.
A long text stands for itself, and takes nothing from its neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memoranda.retrieval.field import NO_SESSION, Field
from memoranda.types import FloatArray

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

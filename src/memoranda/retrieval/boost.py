"""What is known of a memory besides its words: who said it, when, and what kind of answer it holds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np

from memoranda.retrieval.field import Field
from memoranda.types import FloatArray, IntArray, Window

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

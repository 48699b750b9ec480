"""The time a question speaks of: "last March", "on 3 June 2023", "two weeks ago" → windows. Pure, and no guess.

Read by `memoranda.dates` against the asker's clock, and then as questions are meant: they ask of what was, so "in May"
is the last one; a window is made of whole days; and who counts in weeks, or
back from today ("two months ago"), does not count exactly.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from memoranda.dates import Mention, find_mentions
from memoranda.types import Window

_DAY: Final = timedelta(days=1)
_MOST_READ: Final = 2_000  # characters; whoever asks in more is not naming a date
_LEAD: Final = re.compile(r"(?:\b(?:on|in|during|of|at|over|within|for)\s+)?(?:\bthe\s+)?$", re.I)
_LEAD_REACH: Final = 20
_WEEK: Final = timedelta(days=7)
_COUNTED_BACK: Final = re.compile(r"\b(?:ago|back)$", re.I)
# "The Sunday mass", "the Friday report": which one, a question rarely says.
_BARE_WEEKDAY: Final = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day", re.I)


def read_windows(text: str, now: datetime) -> tuple[Window, ...]:
    """The windows a question names that have begun by `now`; dates with a year count before words like "last week"."""
    asked = text[:_MOST_READ]
    named = [each for each in find_mentions(asked, now, prefer="past") if each.start <= now and _is_sure(each)]
    dates = [mention for mention in named if mention.is_absolute]
    return tuple(window for mention in dates or named if (window := _window(asked, mention)))


def _is_sure(mention: Mention) -> bool:
    return mention.kind == "at" and not _BARE_WEEKDAY.fullmatch(mention.text)


def _window(text: str, mention: Mention) -> Window | None:
    """The days around what is named; None where they lie before the first year or after the last."""
    first, last = mention.span
    lead = _LEAD.search(text, max(0, first - _LEAD_REACH), first)
    around = _vagueness(mention)
    try:
        start, end = mention.start - around, mention.end + around + _DAY - timedelta.resolution
    except OverflowError:
        return None
    return Window(_midnight(start), _midnight(end), text[lead.start() if lead else first : last])


def _vagueness(mention: Mention) -> timedelta:
    """How far the time that is meant may lie beside the one that is named."""
    length = mention.end - mention.start
    if mention.is_absolute or not (length == _WEEK or _COUNTED_BACK.search(mention.text)):
        return timedelta(0)
    return max(_DAY, length / 4)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)

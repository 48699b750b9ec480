"""Time expressions in English text, resolved against the moment they were said."""

from recollect.dates.find import Kind, Mention, find_mentions
from recollect.dates.intervals import Interval, Precision
from recollect.dates.tense import Tense

__all__ = ["Interval", "Kind", "Mention", "Precision", "Tense", "find_mentions"]

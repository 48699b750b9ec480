"""Time expressions in English text, resolved against the moment they were said."""

from memoranda.dates.find import Kind, Mention, find_mentions
from memoranda.dates.intervals import Interval, Precision
from memoranda.dates.rules import Tense

__all__ = ["Interval", "Kind", "Mention", "Precision", "Tense", "find_mentions"]

"""Time expressions in English text, resolved relative to the time when they were said."""

from memoranda.dates.compound import MentionKind
from memoranda.dates.find import Mention, find_mentions
from memoranda.dates.intervals import Interval, Precision
from memoranda.dates.rules import Tense

__all__ = ["Interval", "Mention", "MentionKind", "Precision", "Tense", "find_mentions"]

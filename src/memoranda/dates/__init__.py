"""Time expressions in English and eight other languages, resolved relative to the time when they were said."""

from memoranda.dates.find import Mention, MentionKind, find_mentions
from memoranda.dates.rules import Interval, Precision, Tense

__all__ = ["Interval", "Mention", "MentionKind", "Precision", "Tense", "find_mentions"]

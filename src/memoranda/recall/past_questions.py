"""What a question asks about the past: whether it asks for what was, and of which time. Pure.

Only then does recall also find what has ended. A question about the present never does, even if it is put in the past
tense for politeness ("What was my rent again?") or asks for words ("Where did I say I live?").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from memoranda.types import Window

_MAX_CHARACTERS: Final = 2_000  # a longer question is not read to its end
ANY_TIME: Final = Window(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), "")
_PERSON = r"(?:i|we|you|he|she|they|(?:my|our|the|his|her|their) [\w'’-]+|(?-i:[A-Z][\w'’-]+))"
# Says itself that it asks for what was, whatever else it says.
_WAS: Final = re.compile(
    r"(?<!\bam i )(?<!\bi am )(?<!\bis )(?<!\bare )(?<!\bget )(?<!\bgetting )\bused to\b"
    r"|\bprevious(?:ly)?\b|\bformer(?:ly)?\b|\bin the past\b|\bback (?:then|when)\b|\bat (?:that|the) time\b"
    r"|\bin those days\b"
    r"|\bpast (?:jobs?|homes?|addresses|employers?|cities|places|partners?|names?)\b"
    rf"|\b(?:have|has|had|did|was|were) {_PERSON} ever\b"
    rf"|\b(?:have|has) {_PERSON} (?:already |once )?(?:lived|worked|been to|owned|smoked)\b"
    r"|\b(?:else|all)\b[^?]{0,120}?\b(?:have|has|had) [^?]{0,120}?\b(?:lived|worked|owned|studied|rented)\b"
    r"|\b(?:lived|worked|had|owned|drove|rented|smoked|was|were|did|used)\b[^?]{0,120}?\b(?:before|until|prior to)\b"
    r"|\bbefore (?:this|that|(?:the|my) (?:current|present|new)"
    r"|(?:i|we|he|she|they) (?:moved|changed|switched|started|joined|left|quit|got))\b"
    r"|\b(?:my|our|\w+['’]s) (?:old|last) (?:job|employer|boss|manager|company|address|home|flat|apartment|house|city"
    r"|town|phone|number|landlord|dentist|doctor|car|name|school|rent|salary|team|role|position|partner)\b",
    re.I,
)
_LEAD: Final = re.compile(
    r"^\W*(?:(?:so|and|but|ok|okay|hi|hello|hey|well|please|just)\b[\s,]*)*"
    r"(?:(?:(?:can|could|would|will) you (?:please )?)?(?:tell|remind) me\b"
    r"|do you (?:still )?(?:know|remember)\b)?[\s,:]*",
    re.I,
)
_FIRST_VERB: Final = re.compile(
    r"\b(?:(?P<past>did|was|were|had|(?<=\bi )(?:lived|worked|owned|drove|smoked|rented))"
    r"|am|is|are|do|does|have|has|can|could|should|will|would|may|must)\b|(?<=\w)['’](?:s|m|re|ve|ll)\b",
    re.I,
)
# Polite, or about words: the answer is how things are.
_NOW: Final = re.compile(
    r"\bagain\s*\??$|\b(?:now|currently|these days|nowadays|at the moment|today)\b|\bwhat was (?:it|that)\b"
    r"|\bdid (?:i|we|you|he|she|they) (?:just |ever |already )?"
    r"(?:say|tell|mention|call|write|note|ask|save|store|give)\b",
    re.I,
)


def find_time_asked_about(question: str, windows: Sequence[Window], now: datetime) -> Window | None:
    """Return the time of which what was true then is asked for; None for a question about the present.

    Args:
        question: The question.
        windows: The times that it names.
        now: The asker's time.
    """
    text = _LEAD.sub("", question[:_MAX_CHARACTERS])
    over = [window for window in windows if window.end <= now]
    named = Window(min(each.start for each in over), max(each.end for each in over), "") if over else None
    verb = _FIRST_VERB.search(text)
    in_the_past = verb is None or verb["past"] is not None
    if named is not None and len(over) == len(windows):
        return named if in_the_past or _WAS.search(text) else None
    if windows:
        return None
    if _WAS.search(text):
        return ANY_TIME
    return ANY_TIME if verb is not None and in_the_past and not _NOW.search(text) else None

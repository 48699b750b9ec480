"""Finds what a speaker promises or wants to be reminded of. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from memoranda.dates.find import Mention
from memoranda.remember.base import Utterance
from memoranda.remember.values import trim_value
from memoranda.storage.claims import Claim
from memoranda.text.sentences import Span

_REMIND: Final = re.compile(
    r"(?:^|[.!?,;:]\s*|\b(?:please|and|can you|could you)\s+)(?:please\s+)?(?:remind me to|don['’]t let me forget to"
    r"|i (?:must|have to|need to) remember to"
    r"|i promise(?:d)?(?: you)?(?: to| that i(?:['’]ll| will))?) (?P<value>[^.!?\n]+)",
    re.I,
)
_COMMITMENT: Final = re.compile(
    r"(?:^|[.!?,;:]\s*|\b(?:and|but|so)\s+)(?P<i>i)(?:['’]ll| will|['’]m going to| am going to|['’]m gonna) "
    r"(?P<value>(?:send|bring|call|phone"
    r"|email|text|pay|buy|book|finish|submit|deliver|write|prepare|fix|pick up|drop off|meet|visit|return"
    r"|schedule|cancel|order|review|share|renew|apply|sign|attend|fly|move|host|teach|lend|donate) [^.!?;\n]+)",
    re.I,
)


def find_commitments(utterance: Utterance, events: Sequence[Mention]) -> Iterator[Claim]:
    """Yield what the speaker promises or wants to be reminded of: true until it is due."""
    offset = utterance.span[0]
    for pattern in (_REMIND, _COMMITMENT):
        for match in pattern.finditer(utterance.text):
            value = trim_value(utterance.text, match.span("value"), [event.span[0] - offset for event in events])
            if value is None:
                continue
            start = match.start("i") if "i" in match.groupdict() else match.start("value")
            span: Span = (offset + start, offset + match.start("value") + len(value))
            due = next((event.end for event in events if event.end > utterance.said_at), None)
            yield Claim(
                utterance.speaker, "will", value, span, utterance.said_at, utterance.said_at, due, trust=utterance.role
            )

"""What a speaker says of themselves, where a rule is sure: facts, preferences, decisions, commitments. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from memoranda.dates.find import Mention
from memoranda.remember.base import Utterance
from memoranda.remember.patterns import Pattern, patterns_for
from memoranda.sentences import Span, sentence_spans
from memoranda.storage.claims import Claim
from memoranda.text import lower_case

MAX_TEXT: Final = 4_000
"""A longer text is a document somebody pasted: its "I" is not the speaker."""
_WORD: Final = re.compile(r"\w+")
# "I", "my", "we", "let's", "call me", "remind me", in lower case: the first letter comes first, so that the search can
# skip to it.
_FIRST_PERSON: Final = re.compile(
    r"[imwlcr](?<!\w.)(?:(?<=i)m?|(?<=m)y|(?<=w)e|(?<=l)et['’]s|(?<=c)all\s+me|(?<=r)emind\s+me)\b"
)
# Asked, imagined, reported or quoted: not said of oneself.
_NOT_MEANT: Final = re.compile(
    r"(?!.*\bremind\s+me\s+to\b).*\?\s*$|\s*(?:[>\"“]"
    r"|(?:if|what\s+if|would|could|should|imagine|suppose|pretend|let's\s+say|say|assume|unless)\b)",
    re.I | re.S,
)
_NOT_MEANT_INSIDE: Final = re.compile(
    r"\bi\s+wish\b|\bif\s+i\b|\bact\s+as\b|\bas\s+if\b|\b(?:he|she|they|someone|people)\s+(?:said|says|told|asked)\b",
    re.I,
)
_INSIDE: Final = frozenset(("wish", "if", "act", "said", "says", "told", "asked"))
_CUT: Final = re.compile(
    r"\s*(?:,\s*(?:and\s+i|but|so|which|who|because|since|though|although|it|that|i|we|they|he|she|you|and\s+it|and\s+we"
    r"|as|right|too|especially|thanks|then|while|where|when)\b|\s(?:but|because|although|though|whereas|which|so\s+that"
    r"|and\s+(?:i|it|we|my|they|he|she|that|now|am|i['’]m)|when|while|whenever|since|as\s+well|so\s+much|so|after|before)\b|\s?[-–—]+\s|[)\]]|\s\(|,\s+(?:\w+\s+){0,3}(?:is|are|was|were)\b).*$",
    re.I | re.S,
)
_TRAILING: Final = re.compile(
    r"(?:[\s,]+(?:too|now|either|anymore|any\s+more|as\s+well|these\s+days|right\s+now|at\s+the\s+moment|myself|a\s+lot"
    r"|already|recently|lately|again|though|btw|together|finally|instead|with|in|at|on|for|from|to|of|and|or|the|a))+\s*$",
    re.I,
)
_VAGUE_WORDS = """
    it that this them these those him her you everything something anything nothing one what how all mine there here
    being to a the your my when someone people things stuff both more most some
"""
_VAGUE: Final = frozenset(_VAGUE_WORDS.split())
_DATED: Final = frozenset(("owns", "visited", "condition", "allergic to", "diet", "studies", "decided"))
_LISTED: Final = frozenset(("allergic to", "speaks"))
MAX_VALUE: Final = 160


def find_claims(utterance: Utterance, events: Sequence[Mention]) -> tuple[Claim, ...]:
    """The claims of a user's words, each with the words that make it; none of an assistant's."""
    if len(utterance.text) > MAX_TEXT or not _speaks_for_itself(utterance):
        return ()
    claims: list[Claim] = []
    for start, end in _in_first_person(utterance.text):
        sentence = utterance.text[start:end]
        words = frozenset(_WORD.findall(sentence.lower()))
        patterns = patterns_for(words)
        if patterns and _is_meant(words, sentence):
            claims += _in_sentence(utterance, start, sentence, events, patterns)
    return tuple(claims)


def _in_first_person(text: str) -> list[Span]:
    places = [found.start() for found in _FIRST_PERSON.finditer(lower_case(text))]
    return [span for span in sentence_spans(text) if any(span[0] <= at < span[1] for at in places)] if places else []


def _is_meant(words: frozenset[str], sentence: str) -> bool:
    if _NOT_MEANT.match(sentence):
        return False
    return words.isdisjoint(_INSIDE) or not _NOT_MEANT_INSIDE.search(sentence)


def _speaks_for_itself(utterance: Utterance) -> bool:
    """An assistant has no home town; somebody with a name of their own does."""
    return utterance.role == "user" or (utterance.role == "assistant" and utterance.speaker != "assistant")


def _in_sentence(
    utterance: Utterance, start: int, sentence: str, events: Sequence[Mention], patterns: Iterable[Pattern]
) -> Iterator[Claim]:
    seen: list[Span] = []
    for pattern in patterns:
        for match in pattern.regex.finditer(sentence):
            span = _value_span(match)
            offset = utterance.span[0] + start
            near = [each for each in events if offset <= each.span[0] < offset + len(sentence)]
            value = _value(sentence, span, offset, near)
            if value is None or any(one[0] < span[1] and span[0] < one[1] for one in seen):
                continue
            seen.append(span)
            evidence = (offset + _evidence_start(match), offset + _evidence_end(match, span, value))
            for each in _listed(value) if pattern.attribute in _LISTED else [value]:
                yield _claim(utterance, pattern, match, each, evidence, near)


def _value_span(match: re.Match[str]) -> Span:
    named = "value2" if match.groupdict().get("value2") else "value"
    return match.span(named)


def _evidence_start(match: re.Match[str]) -> int:
    """From the "I" on, not from the comma before it."""
    return (
        match.start("i")
        if match.groupdict().get("i")
        else match.start() + len(match.group()) - len(match.group().lstrip())
    )


def _evidence_end(match: re.Match[str], span: Span, value: str) -> int:
    """Up to the end of the value, or of the words that follow it: "is my favourite book"."""
    return match.end() if match.end() > span[1] else span[0] + len(value)


def _listed(value: str) -> list[str]:
    """Peanuts and shellfish are two things."""
    return [each.strip() for each in re.split(r",\s*(?:and\s+)?|\s+and\s+", value) if each.strip()]


def _value(sentence: str, span: Span, offset: int, events: Sequence[Mention]) -> str | None:
    """The value without what follows it: another clause, a date, a filler. None when nothing telling is left."""
    dated = [event.span[0] - offset for event in events if span[0] < event.span[0] - offset < span[1]]
    text = sentence[span[0] : min([span[1], *dated])]
    text = _CUT.sub("", text).rstrip(" ,.'\"")
    while (shorter := _TRAILING.sub("", text)) != text:
        text = shorter
    words = text.lower().split()
    if not words or len(text) > MAX_VALUE or words[0] in _VAGUE - {"a", "the", "my", "to", "your"}:
        return None
    return text if any(word not in _VAGUE for word in words) else None


def _claim(
    utterance: Utterance, pattern: Pattern, match: re.Match[str], value: str, evidence: Span, events: Sequence[Mention]
) -> Claim:
    groups = match.groupdict()
    what = " ".join((groups.get("what") or "").lower().split())
    kin = " ".join((groups.get("kin") or "").lower().split())
    start, end = _validity(utterance.said_at, pattern, events)
    return Claim(
        subject=f"{utterance.speaker}'s {kin}" if kin else utterance.speaker,
        attribute=pattern.attribute.format(what=what),
        value=value,
        span=evidence,
        said_at=utterance.said_at,
        valid_from=start,
        valid_to=end,
        holds=pattern.holds,
        single=pattern.single,
        trust=utterance.trust,
    )


def _validity(said_at: datetime, pattern: Pattern, events: Sequence[Mention]) -> tuple[datetime, datetime | None]:
    """From when until when it is true, as far as the sentence dates it; else from when it was said.

    What somebody will do is dated by when it is due.
    """
    if pattern.attribute == "will":
        return said_at, next((event.end for event in events if event.end > said_at), None)
    if not events or not (pattern.single or pattern.attribute in _DATED):
        return (said_at, said_at) if pattern.ended else (said_at, None)
    event = events[0]
    if event.kind == "until":
        return said_at, event.end
    if pattern.ended:
        return min(event.start, said_at), min(event.end, said_at)
    return event.start, None

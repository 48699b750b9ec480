"""Finds claims: facts, preferences, decisions and commitments that speakers state about themselves. Pure.

Each row of `PATTERNS` is a kind of sentence that makes a claim; a sentence that no row matches for certain makes none.
In a row, a space matches any spaces, ' matches either apostrophe, and ~name is replaced by that entry of `_PARTS`.
~(some|words) are the trigger words of a row: every match contains one of them, so the row is tried only on sentences
that do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

from memoranda.dates.find import Mention
from memoranda.remember.base import Utterance
from memoranda.storage.claims import Claim
from memoranda.text import Span, lower_case, sentence_spans

_MAX_TEXT: Final = 4_000
"""A longer text is a pasted document, whose "I" is not the speaker."""
_WORD: Final = re.compile(r"\w+")
# "I", "my", "we", "let's", "call me", "remind me", in lower case. The first letter comes first, so that the search can
# skip to it.
_FIRST_PERSON: Final = re.compile(
    r"[imwlcr](?<!\w.)(?:(?<=i)m?|(?<=m)y|(?<=w)e|(?<=l)et['’]s|(?<=c)all\s+me|(?<=r)emind\s+me)\b"
)
# Questions, conditions, reported speech and quotations state nothing about the speaker.
_NO_STATEMENT: Final = re.compile(
    r"(?!.*\bremind\s+me\s+to\b).*\?\s*$|\s*(?:[>\"“]"
    r"|(?:if|what\s+if|would|could|should|imagine|suppose|pretend|let's\s+say|say|assume|unless)\b)",
    re.I | re.S,
)
_REPORTED: Final = re.compile(
    r"\bi\s+wish\b|\bif\s+i\b|\bact\s+as\b|\bas\s+if\b|\b(?:he|she|they|someone|people)\s+(?:said|says|told|asked)\b",
    re.I,
)
_REPORTED_HINTS: Final = frozenset(("wish", "if", "act", "said", "says", "told", "asked"))
_NEXT_CLAUSE: Final = re.compile(
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
_DATED_ATTRIBUTES: Final = frozenset(("owns", "visited", "condition", "allergic to", "diet", "studies", "decided"))
_LIST_ATTRIBUTES: Final = frozenset(("allergic to", "speaks"))
_MAX_VALUE: Final = 160

_NAMED = (
    r"[A-Z\u00c0-\u00de][\w\u00c0-\u024f'’&.-]*(?: (?:of |the |de |and )?[A-Z\u00c0-\u00de][\w\u00c0-\u024f'’&.-]*)*"
)
_PARTS: Final = {
    # Where a clause of the speaker begins.
    "start": (
        r"(?:^|[,;:.!?—–-]\s*"
        r"|\b(?:and|but|so|because|since|that|actually|now|btw|well|yes|yeah|hi|hey|as|while|also) )"
    ),
    "i": r"~start(?P<i>i)\b",
    "am": r"~start(?P<i>i(?: am|'m|m)) (?:still |now |currently |actually |just )?",
    "we": r"\b(?P<i>i|we)\b",
    "have": r"(?:'ve| have| had)?\s+",
    "adv": (
        r"(?:(?:also|really|just|still|now|recently|finally|actually|currently|always|absolutely|totally"
        r"|already) )*"
    ),
    "value": r"(?P<value>[^.!?;:\n]+)",
    # "I love your turtles" and "I like how it looks" are about the moment.
    "liked": (
        r"(?P<value>(?!(?:your|his|her|their|how|when|what|that|this|these|those|where|it|them|to see|the way|the idea"
        r"|the thought|the fact|being able|seeing|hearing|on|in|at|by|with|from|as)\b)[^.!?;:\n]+)"
    ),
    "proper": rf"(?P<value>(?-i:(?:the )?{_NAMED}))",
    "kin": r"(?P<kin>(?:(?:older|younger|little|big|best|new|late) )?~relation)",
    "my_kin": r"\bmy ~kin(?: (?-i:[A-Z][\w-]+),?)?",
    "relation": (
        r"(?:sister|brother|mother|father|mom|mum|dad|wife|husband|son|daughter|girlfriend|boyfriend|partner|fianc[eé]e?"
        r"|cousin|aunt|uncle|grandma|grandpa|grandmother|grandfather|nephew|niece|boss|manager|friend|colleague|roommate"
        r"|~pet)"
    ),
    "pet": r"(?:dog|cat|puppy|kitten|horse|parrot|rabbit|turtle|hamster)",
    "thing": (
        r"(?:~pet|kid|son|daughter|sister|brother|sibling|car|bike|house|apartment|motorcycle|boat)s?"
        r"|puppies|children"
    ),
    "status": r"(?P<value>~(married|single|engaged|divorced|widowed|separated))",
    "diet": (
        r"(?P<value>~(vegan|vegetarian|pescatarian|diabetic|coeliac|celiac|teetotal)"
        r"|(?:lactose|gluten)[\s-]~(intolerant))"
    ),
    "occupation": (
        r"~(engineer|developer|teacher|nurse|doctor|lawyer|designer|student|manager|accountant|chef|writer|artist"
        r"|musician|scientist|researcher|consultant|analyst|architect|electrician|plumber|pilot|journalist"
        r"|photographer|therapist|counsellor|counselor|pharmacist|dentist|veterinarian|professor|librarian|mechanic|carpenter"
        r"|farmer|paramedic|firefighter|banker)"
    ),
    "game": (
        r"(?:piano|guitar|violin|drums|cello|flute|bass|saxophone|trumpet|ukulele|clarinet|chess|tennis|football|soccer"
        r"|basketball|volleyball|golf|hockey|badminton|rugby|cricket|video games)"
    ),
    "illness": (
        r"(?:(?:type [12] )?diabetes|asthma|epilepsy|arthritis|migraines?|insomnia|anxiety|depression|adhd|ibs|eczema"
        r"|high blood pressure|hypertension)"
    ),
    "drug": (
        r"(?:\d+\s?mg of )?"
        r"(?:metformin|insulin|ibuprofen|aspirin|antibiotics|antidepressants|medication for [\w\s]+)"
    ),
    "new_job": (
        r"(?:~(joined)|(?:started|got|took|accepted|landed) (?:a|the|my) (?:new )?"
        r"~(job|position|role|internship) (?:at|with))"
    ),
    "article": r"(?:an?|the|two|three|\d+|my (?:first|own)|some)",
    "no_job": r"(?:(?:no longer|don't) ~(work) (?:at|for)|(?:quit|left) my ~(job) at|got ~(fired|laid off) from)",
    "month_day": r"(?:[A-Z]\w+ \d{1,2}(?:st|nd|rd|th)?|(?:the )?\d{1,2}(?:st|nd|rd|th)? (?:of )?[A-Z]\w+)",
    "very": r"(?:all[\s-]time |absolute |new |current )?",
    # "I'll keep going" is no commitment; these are actions that somebody can complete.
    "action": (
        r"(?P<value>~(send|bring|call|phone|email|text|pay|buy|book|finish|submit|deliver|write|prepare|fix|pick up"
        r"|drop off|meet|visit|return|schedule|cancel|order|review|share|renew|apply|sign|attend|fly|move|host|teach"
        r"|lend|donate) [^.!?;\n]+)"
    ),
    "request": r"(?:^|[,;:.!?—–-]\s*|\b(?:please|can you|could you|and) )(?:please )?",
}

_PART: Final = re.compile("~(" + "|".join(sorted(_PARTS, key=len, reverse=True)) + ")")
_TRIGGERS: Final = re.compile(r"~\(([^()]*)\)")
_NUMBER: Final = r"\d{1,3}"
"""A trigger that any number satisfies."""


@dataclass(frozen=True, slots=True)
class ClaimPattern:
    """A kind of sentence that makes a claim."""

    attribute: str
    """May contain `{what}`, which is filled from the group of that name."""
    template: str
    single: bool = False
    """Whether a subject has one value at a time."""
    holds: bool = True
    ended: bool = False
    """Whether it says that something was true and is no longer: "I used to live in Rome"."""

    @property
    def regex(self) -> re.Pattern[str]:
        return _compile(self.template)


def _expand(template: str) -> str:
    while _PART.search(template):
        template = _PART.sub(lambda part: _PARTS[part[1]], template)
    return template


@cache  # compiled on first use, so that importing this module is fast
def _compile(template: str) -> re.Pattern[str]:
    plain = _expand(template).replace("~(", "(?:")
    both_apostrophes = re.sub(r"'(?!’)", "['’]", plain)
    return re.compile(both_apostrophes.replace(" ", r"[ \t]+"), re.I)


def _one(attribute: str, template: str, *, holds: bool = True, ended: bool = False) -> ClaimPattern:
    return ClaimPattern(attribute, template, single=True, holds=holds, ended=ended)


def _many(attribute: str, template: str, *, holds: bool = True) -> ClaimPattern:
    return ClaimPattern(attribute, template, holds=holds)


_IDENTITY = (
    _one("name", r"\bmy (?:full |first )?~(name) is ~proper"),
    _one("name", r"\b(?:please )?~(call) me ~proper"),
    _one("name", r"\bmy ~kin(?:'s ~(name) is| is ~(called|named)| ~(called|named)) ~proper"),
    _one("age", r"~am(?P<value>~(\d{1,3}))(?: years? old\b|(?=\s*(?:[.,!;]|and\b|$)))"),
    _one("age", r"~i (?:just |recently )?~(turned) (?P<value>\d{1,3})\b"),
    _one("age", r"~my_kin is (?P<value>~(\d{1,3}))(?: years? old\b|(?=\s*[.,!;]|$))"),
    _one("birthday", r"\bmy ~(birthday) is (?:on )?(?P<value>(?-i:~month_day))"),
    _one("birthday", r"~i was ~(born) on ~value"),
    _one("birth year", r"~i was ~(born) in (?P<value>(?:19|20)\d\d)\b"),
    _one("birthplace", r"~i was ~(born) (?:and raised )?in ~proper"),
    _one("home town", r"~am(?:originally )?~(from) ~proper"),
    _one("home town", r"~i ~(grew) up in ~proper"),
    _one("phone", r"\bmy ~(phone|cell|mobile)(?: number)? is (?P<value>\+?\d[\d\s().-]{5,18}\d)"),
    _one("email", r"\bmy ~(email|e-mail)(?: address)? is (?P<value>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"),
    _one("address", r"\bmy (?:home )?~(address) is ~value"),
    _one("pronouns", r"\bmy ~(pronouns) are (?P<value>\w+/\w+(?:/\w+)?)"),
    _one("relationship status", r"~am(?:happily |recently |newly )?~status\b"),
    _one("relationship status", r"~we~have~adv(?:got|gotten) ~status\b"),
)
_PLACE_AND_WORK = (
    _one("city", r"~i~have~adv~(live|lived|reside) in ~proper"),
    _one("city", r"~i(?:'ve been| have been) ~(living) in ~proper"),
    _one("city", r"~am~(living|based|settled) in ~proper"),
    _one("city", r"~we~have~adv~(moved|relocated) (?:back |here )?(?:from [\w\s]+? )?to ~proper"),
    _one("city", r"~my_kin (?:now )?(?:~(lives)|is ~(living)) in ~proper"),
    _one("city", r"~i used to ~(live) in ~proper", ended=True),
    _one("city", r"~i (?:no longer|don't) ~(live) in ~proper", holds=False),
    _one("employer", r"~i~have~adv(?:~(work|worked)|been ~(working)) (?:at|for) ~proper"),
    _one("employer", r"~am~(working|employed) (?:at|for|by) ~proper"),
    _one("employer", r"~i~have~adv~new_job ~proper"),
    _one("employer", r"~my_kin (?:now )?~(works) (?:at|for) ~proper"),
    _one("employer", r"~i used to ~(work) (?:at|for) ~proper", ended=True),
    _one("employer", r"~i ~no_job ~proper", holds=False),
    _one("occupation", r"~i~have~adv~(work|worked|working) as (?:an? |the )?~value"),
    _one("occupation", r"~am(?:working as )?an? (?P<value>(?:[\w-]+ ){0,2}~occupation)\b"),
    _many("studies", r"~am~(studying) ~value"),
    _many("studies", r"~i (?:~(majored) in|~(graduated) (?:from|in)|have a ~(degree) in) ~value"),
    _many("visited", r"~we~have~adv(?:~(visited)|~(been|travelled|traveled|flew|went) to) ~proper"),
)
_PREFERENCES = (
    _one(
        "favourite {what}",
        r"\bmy ~very~(favourite|favorite) (?P<what>[\w-]+(?: [\w-]+){0,2}?) (?:is|are|has to be|would be) ~value",
    ),
    _one(
        "favourite {what}",
        r"^(?P<value>[^,.!?;]{2,50}?) is my ~very~(favourite|favorite) (?P<what>[\w-]+(?: [\w-]+)?)(?=[.,!;]|$)",
    ),
    _many("likes", r"~i ~adv~(love|like|enjoy|adore|prefer) ~liked"),
    _many("likes", r"~am(?:a )?(?:big |huge )?(?:~(fan|fond) of|~(into)|~(obsessed) with|~(passionate) about) ~liked"),
    _many(
        "likes",
        r"~i (?:~(hate|dislike|loathe)|can'?t ~(stand)|(?:really )?(?:don'?t|do not) (?:really )?~(like|enjoy)) ~liked",
        holds=False,
    ),
    _many("hobby", r"\bmy (?:main |new |favou?rite )?~(hobby|hobbies|pastime|pastimes) (?:is|are|include) ~value"),
    _many("plays", r"~i ~adv~(play) (?:the )?(?P<value>~game)\b"),
    _many(
        "speaks", r"~i ~adv~(speak) (?:a little |some |fluent )?(?P<value>(?-i:[A-Z]\w+(?:(?:,| and|, and) [A-Z]\w+)*))"
    ),
)
_HEALTH = (
    _many("allergic to", r"~am(?:very |severely |deathly |also )?~(allergic) to ~value"),
    _many("allergic to", r"~i ~(have) (?:an? )?(?:severe |bad )?(?:allergy to ~value|(?P<value2>\w+) allergy)"),
    _many("allergic to", r"~amnot (?:actually |really )?~(allergic) to ~value", holds=False),
    _many("diet", r"~am(?:an? |a strict )?~diet\b"),
    _many("diet", r"~am(?:not|no longer) (?:an? )?~diet\b", holds=False),
    _many("condition", r"\b(?P<i>i)(?: was| got|'ve been| have been) (?:just |recently )?~(diagnosed) with ~value"),
    _many("condition", r"~i (?:~(have)|~(suffer) from) (?P<value>~illness)\b"),
    _many("takes", r"~i (?:~(take)|am ~(taking)|was ~(prescribed)) (?P<value>~drug)"),
)
_POSSESSIONS = (
    _many(
        "owns",
        r"~i~have~adv~(own|owned|bought|purchased|adopted|ordered) (?P<value>~article [^.!?;:\n]+)",
    ),
    _many("owns", r"~i ~(have) (?P<value>(?:an?|two|three|four|five|\d+) (?:[\w-]+ ){0,2}(?:~thing))\b"),
)
_INTENTIONS = (
    _many(
        "decided",
        r"~we~have~adv~(decided|chose|chosen|agreed|settled) (?P<value>(?:to|on|not to|that|against) [^.!?;\n]+)",
    ),
    _many("decided", r"\b(?:let's|we'?(?:ll| will)|i'?(?:ll| will)) ~(go) with ~value"),
    _many("will", r"~i ~(promise|promised) (?:(?:you|to|that) )+~value"),
    _many("will", r"~request~(remind) me to ~value"),
    _many("will", r"\b(?:don't let me ~(forget)|i (?:must|have to|need to) ~(remember)) (?:to )?~value"),
    _many("will", r"~start(?P<i>i)(?:'ll| will|'m going to| am going to|'m gonna) ~action"),
)
PATTERNS: Final = (*_IDENTITY, *_PLACE_AND_WORK, *_PREFERENCES, *_HEALTH, *_POSSESSIONS, *_INTENTIONS)


def find_claims(utterance: Utterance, events: Sequence[Mention]) -> tuple[Claim, ...]:
    """Return the claims in the words of a person; an assistant without a name makes none."""
    is_person = utterance.role == "user" or (utterance.role == "assistant" and utterance.speaker != "assistant")
    if len(utterance.text) > _MAX_TEXT or not is_person:
        return ()
    claims: list[Claim] = []
    for start, end in _first_person_sentences(utterance.text):
        sentence = utterance.text[start:end]
        words = frozenset(_WORD.findall(sentence.lower()))
        patterns = patterns_for(words)
        if patterns and _is_statement(words, sentence):
            claims += _find_in_sentence(utterance, start, sentence, events, patterns)
    return tuple(claims)


def patterns_for(words: Set[str]) -> list[ClaimPattern]:
    """Return the patterns that can match a sentence with these words, in lower case. Most sentences have few."""
    by_word = _positions_by_word()
    positions = {position for word in words & by_word.keys() for position in by_word[word]}
    if any(word[0].isdecimal() for word in words):
        positions.update(by_word[_NUMBER])
    return [PATTERNS[position] for position in sorted(positions)]


@cache
def _positions_by_word() -> dict[str, list[int]]:
    """Return the positions in `PATTERNS` of the patterns that each trigger word belongs to."""
    found: dict[str, list[int]] = {}
    for position, pattern in enumerate(PATTERNS):
        for words in _TRIGGERS.findall(_expand(pattern.template)):
            for word in words.split("|"):
                first = word if word == _NUMBER else re.split(r"\W", word)[0]
                found.setdefault(first, []).append(position)
    return found


def _first_person_sentences(text: str) -> list[Span]:
    found = [match.start() for match in _FIRST_PERSON.finditer(lower_case(text))]
    return [span for span in sentence_spans(text) if any(span[0] <= n < span[1] for n in found)] if found else []


def _is_statement(words: frozenset[str], sentence: str) -> bool:
    if _NO_STATEMENT.match(sentence):
        return False
    return words.isdisjoint(_REPORTED_HINTS) or not _REPORTED.search(sentence)


def _find_in_sentence(
    utterance: Utterance, start: int, sentence: str, events: Sequence[Mention], patterns: Iterable[ClaimPattern]
) -> Iterator[Claim]:
    seen: list[Span] = []
    offset = utterance.span[0] + start
    near = [event for event in events if offset <= event.span[0] < offset + len(sentence)]
    for pattern in patterns:
        for match in pattern.regex.finditer(sentence):
            span = match.span("value2" if match.groupdict().get("value2") else "value")
            value = _trim_value(sentence, span, offset, near)
            if value is None or any(other[0] < span[1] and span[0] < other[1] for other in seen):
                continue
            seen.append(span)
            evidence = _evidence_span(match, span, value)
            for item in _split_list(value) if pattern.attribute in _LIST_ATTRIBUTES else [value]:
                yield _claim(utterance, pattern, match, item, (offset + evidence[0], offset + evidence[1]), near)


def _evidence_span(match: re.Match[str], span: Span, value: str) -> Span:
    """Return the span from the "I" to the end of the value, or of the words after it: "is my favourite book"."""
    words = match.group()
    start = match.start("i") if match.groupdict().get("i") else match.start() + len(words) - len(words.lstrip())
    return start, match.end() if match.end() > span[1] else span[0] + len(value)


def _split_list(value: str) -> list[str]:
    return [item.strip() for item in re.split(r",\s*(?:and\s+)?|\s+and\s+", value) if item.strip()]


def _trim_value(sentence: str, span: Span, offset: int, events: Sequence[Mention]) -> str | None:
    """Return the value without what follows it: another clause, a date, a filler. None when it says nothing."""
    dates = [event.span[0] - offset for event in events if span[0] < event.span[0] - offset < span[1]]
    text = sentence[span[0] : min([span[1], *dates])]
    text = _NEXT_CLAUSE.sub("", text).rstrip(" ,.'\"")
    while (shorter := _TRAILING.sub("", text)) != text:
        text = shorter
    words = text.lower().split()
    if not words or len(text) > _MAX_VALUE or words[0] in _VAGUE - {"a", "the", "my", "to", "your"}:
        return None
    return text if any(word not in _VAGUE for word in words) else None


def _claim(
    utterance: Utterance,
    pattern: ClaimPattern,
    match: re.Match[str],
    value: str,
    evidence: Span,
    events: Sequence[Mention],
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
        trust=utterance.role,
    )


def _validity(said_at: datetime, pattern: ClaimPattern, events: Sequence[Mention]) -> tuple[datetime, datetime | None]:
    """Return from when until when a claim is true: the time in the sentence, or else from when it was said.

    What somebody will do is true until it is due.
    """
    if pattern.attribute == "will":
        return said_at, next((event.end for event in events if event.end > said_at), None)
    if not events or not (pattern.single or pattern.attribute in _DATED_ATTRIBUTES):
        return (said_at, said_at) if pattern.ended else (said_at, None)
    event = events[0]
    if event.kind == "until":
        return said_at, event.end
    if pattern.ended:
        return min(event.start, said_at), min(event.end, said_at)
    return event.start, None

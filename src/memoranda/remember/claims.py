"""Finds claims: what a sentence states about a person or a thing, by rules. Pure.

A claim has a subject, an attribute and a value, and says whether it is a plain statement or an explicit change: only a
change may hide what was said before. A clause that no pattern matches for certain makes no claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from memoranda.dates.find import Mention
from memoranda.remember.base import Utterance
from memoranda.remember.claim_patterns import ClaimPattern, possible_patterns
from memoranda.remember.clauses import Clause, find_clauses
from memoranda.remember.places import is_place, is_region
from memoranda.remember.values import Reading, attribute_for, read_value, split_list, trim_value
from memoranda.storage.claims import ANY_ATTRIBUTE, Claim, Operation, fold
from memoranda.text import Span

_MAX_TEXT: Final = 4_000
"""A longer text is a pasted document, whose "I" is not the speaker."""
_CHANGE: Final = re.compile(
    r"\b(?:now|nowadays|these days|from now on|as of|any\s?more|any longer|no longer|instead|new|back to"
    r"|finally|since yesterday)\b",
    re.I,
)
_LIST_ATTRIBUTES: Final = frozenset(("allergic to", "speaks"))
_RECENT: Final = timedelta(days=120)
"""A change that happened longer before it is told may be older than what is known."""
# "Correction: 1985", "I meant Thursday, not Tuesday".
_BARE_CORRECTION: Final = re.compile(
    r"(?:(?:it|that)(?:['’]s| is| was| should be)\s+|in\s+|on\s+|at\s+)?(?P<value>[^\s.!,]\S*?(?:\s\S+?){0,2}?)"
    r"(?:,?\s+(?:and\s+)?not\s+(?P<old>\S+?(?:\s\S+?)?))?[.!]*$",
    re.I,
)
_LONG_VALUE: Final = 3
"""A value of more words may be about something else: "my team moved to second place in the league"."""
_RESIDENCE: Final = re.compile(
    r"\b(?:relocat\w+|settled|apartment|flat|house|home|condo|city|town|village|permanently|family"
    r"|for (?:work|good|school|college)"
    r"|for (?:a|my|his|her|the|our) (?:new )?job)\b",
    re.I,
)
_FIRST_PERSON: Final = frozenset(("i", "we", "me", "my", "our"))
_USER: Final = re.compile(r"(?:the\s+)?(?:user|customer|client|patient)(?:['’]s)?$", re.I)
_KIN: Final = re.compile(r"(?:my|our)\s+(.+?)(?:['’]s)?$", re.I)
_NO_SUBJECTS_WORDS = """
    it this that there he she they you what who here everything something nothing please thanks today tomorrow
    yesterday what's that's it's there's here's
"""
_NO_SUBJECTS: Final = frozenset(_NO_SUBJECTS_WORDS.split())
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


def find_claims(utterance: Utterance, events: Sequence[Mention]) -> tuple[Claim, ...]:
    """Return the claims in an utterance; the first person of an assistant without a name is nobody."""
    if len(utterance.text) > _MAX_TEXT:
        return ()
    claims: list[Claim] = []
    for clause in find_clauses(utterance.text):
        claims += _claims_in(clause, utterance, events)
    claims += _commitments(utterance, events)
    return tuple(claims)


def _claims_in(clause: Clause, utterance: Utterance, events: Sequence[Mention]) -> Iterator[Claim]:
    for pattern in possible_patterns(clause.text):
        match = pattern.regex.match(clause.text)
        if match is None:
            continue
        found = list(_claims_of(pattern, match, clause, utterance, events))
        if found:
            yield from found
            return
    if clause.corrects and (correction := _BARE_CORRECTION.match(clause.text)) is not None:
        yield from _correct(correction, clause, utterance)


def _correct(match: re.Match[str], clause: Clause, utterance: Utterance) -> Iterator[Claim]:
    """Yield a correction that names only the right value; the write finds the claim that it corrects."""
    if not _is_person(utterance) or read_value(match["value"]).kind == "text":
        return
    offset, said_at = utterance.span[0], utterance.said_at
    start, end = clause.span(*match.span())
    yield Claim(
        subject=utterance.speaker,
        attribute=ANY_ATTRIBUTE,
        value=match["value"],
        span=(offset + start, offset + end),
        said_at=said_at,
        valid_from=said_at,
        trust=utterance.role,
        operation="correct",
        replaces=match["old"],
    )


def _claims_of(
    pattern: ClaimPattern, match: re.Match[str], clause: Clause, utterance: Utterance, events: Sequence[Mention]
) -> Iterator[Claim]:
    groups = match.groupdict()
    subject = _subject(groups, utterance)
    offset = utterance.span[0]
    near = [event for event in events if clause.start <= event.span[0] - offset < clause.end]
    dates = [event.span[0] - offset - clause.start + clause.added for event in near]
    group = "value2" if groups.get("value2") else "value"
    about_thing = "{what}" in pattern.attribute
    habit = about_thing and not pattern.single
    value = trim_value(clause.text, match.span(group), dates, keep_dates=about_thing and pattern.single)
    if habit and match.start(group) in dates:
        value = None  # "I quit smoking two months ago" names no value
    if subject is None or (value is None and groups.get(group) and not habit):
        return
    if not about_thing and any(event.start > utterance.said_at for event in near):
        return  # a plan
    reading = read_value(value or "")
    attribute, single = attribute_for(pattern, groups.get("what"), reading)
    if attribute is None:
        return
    old = groups.get("old") or groups.get("old2")
    leads = match.start(group) == match.start()  # "Ghent is home now"
    # Of "at 7 pm with Clara" only the time is the value: the rest is said beside it, and stays.
    said = reading.value if value is not None and reading.value in value else value
    last = match.end() if said is None or leads else clause.text.index(said, match.start(group)) + len(said)
    start, end = clause.span(match.start(), last)
    at = match.start(group) if value is None else clause.text.index(value, match.start(group))
    in_value = clause.span(at, at + len(value or ""))
    told = [event for event in near if not in_value[0] <= event.span[0] - offset < in_value[1]] if about_thing else near
    valid_from, valid_to = _validity(utterance.said_at, clause, told)
    for item in split_list(reading.value) if attribute in _LIST_ATTRIBUTES else [reading.value]:
        yield Claim(
            subject=subject,
            attribute=attribute,
            value=item,
            span=(offset + start, offset + end),
            said_at=utterance.said_at,
            valid_from=valid_from,
            valid_to=valid_to,
            holds=pattern.holds == reading.positive,
            single=single,
            trust=utterance.role,
            operation=_operation(pattern, clause, reading, valid_from, utterance.said_at),
            replaces=None if old is None else trim_value(old, (0, len(old)), ()),
        )


def _operation(
    pattern: ClaimPattern, clause: Clause, reading: Reading, valid_from: datetime, said_at: datetime
) -> Operation:
    """Return what the clause does; a change told long after it happened is only a statement, and so is a long value."""
    if pattern.attribute == "city":
        certain = pattern.operation != "update" or is_place(reading.value) or _RESIDENCE.search(clause.text)
        if not certain or is_region(reading.value):
            return "state"  # a country may hold the city that is known
    wordy = "{what}" in pattern.attribute and reading.kind == "text" and len(reading.value.split()) > _LONG_VALUE
    if clause.tense == "past" or clause.qualified or wordy:
        return "state"
    if clause.corrects and pattern.operation == "state":
        return "correct"  # "I meant that I was born in 1985": however long ago that was
    if said_at - valid_from > _RECENT:
        return "state"
    if pattern.operation != "state":
        return pattern.operation
    changed = _CHANGE.search(clause.text)
    if changed is None:
        return "state"
    return "update" if pattern.holds else "end"


def _subject(groups: dict[str, str | None], utterance: Utterance) -> str | None:
    """Return whom or what a clause is about; None when that is not certain."""
    found = groups.get("who") or groups.get("whose") or ""
    if (
        groups.get("whose")
        and groups.get("who")
        and (groups["whose"] or "").lower() in ("my", "our", "the", "his", "her", "their")
    ):
        found = groups["who"] or ""
    lowered = fold(found)
    if lowered in ("", "the", "this"):
        return utterance.owner if "whose" in groups or not groups.get("who") else None
    if lowered in _FIRST_PERSON:
        return utterance.speaker if _is_person(utterance) else None
    if _USER.match(lowered):
        return utterance.owner
    if (kin := _KIN.match(" ".join(found.split()))) is not None:
        return f"{utterance.speaker}'s {kin[1]}"
    name = re.sub(r"['’]s$", "", " ".join(found.split()))
    return None if lowered.split()[0] in _NO_SUBJECTS else name


def _is_person(utterance: Utterance) -> bool:
    """Return whether the "I" of an utterance is somebody: the user, or an assistant with a name."""
    return utterance.role == "user" or utterance.speaker != utterance.role


def _validity(said_at: datetime, clause: Clause, events: Sequence[Mention]) -> tuple[datetime, datetime | None]:
    """Return from when until when a claim is true: the time in the clause, or else from when it was said."""
    past = clause.tense == "past"
    event = next((event for event in events if event.start <= said_at), None)
    if event is None:
        return said_at, said_at if past else None
    if event.kind == "until":
        return said_at, event.end
    if past:
        return min(event.start, said_at), min(event.end, said_at)
    return min(event.start, said_at), None


def _commitments(utterance: Utterance, events: Sequence[Mention]) -> Iterator[Claim]:
    """Yield what the speaker promises or wants to be reminded of: true until it is due."""
    if not _is_person(utterance):
        return
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

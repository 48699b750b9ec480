"""Read the claims of one clause, by the patterns that match it. Pure.

A claim has a subject, an attribute and a value, and says whether it is a plain statement or an explicit change: only a
change may hide what was said before. A clause that no pattern matches for certain makes no claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from memoranda.dates.find import Mention
from memoranda.remember.base import Utterance
from memoranda.remember.claims.corrections import FIRST_PERSON, NOT_OLD, read_bare_correction
from memoranda.remember.claims.passing import may_be_club, may_be_no_employer, may_be_no_home
from memoranda.remember.claims.patterns import PARTS, PREVIOUS, ClaimPattern, possible_patterns
from memoranda.remember.claims.values import (
    PREFERENCE,
    Reading,
    attribute_for,
    is_known_home,
    is_thing,
    length_of_phrase,
    length_of_value,
    may_be_first_name,
    may_be_quality,
    may_be_several,
    names_home,
    names_person,
    read_value,
    split_list,
    trim_value,
)
from memoranda.remember.reading.clauses import Clause
from memoranda.remember.reading.lexicon import ANYBODY, NOW, POSSESSIVES, USER
from memoranda.storage.claims import ANY_ATTRIBUTE, LONG_AGO, Claim, Operation, fold, value_shape
from memoranda.text.places import is_place, is_region
from memoranda.text.sentences import Span

_CHANGE: Final = re.compile(rf"\b(?:{NOW}|new|back to|finally|since yesterday)\b", re.I)
_NOW: Final = re.compile(rf"\b(?:{NOW})\b", re.I)
_RELATION: Final = re.compile(PARTS["relation"], re.I)
_TOGETHER: Final = frozenset((("name", "occupation"), ("name", "employer"), ("occupation", "employer")))
"""Pairs of attributes that one clause may state together: "I'm Sam, a nurse at Bosch"."""
_LASTING: Final = frozenset(("home town", "birthplace", "birth year"))
_LIST_ATTRIBUTES: Final = frozenset(("allergic to", "speaks"))
_RECENT: Final = timedelta(days=120)
"""A change that was reported later than this after it happened may be older than what is known."""
_ONE_DAY: Final = timedelta(days=1, hours=1)
# "I had moved to Rome as a student" is over, "I moved to Rome ten years ago" need not be.
_THEN: Final = re.compile(
    r"\b(?:had|used to|when|until|for (?:a|two|three|\d+)|as a|back then|once|at the time|first|originally)\b", re.I
)
_LONG_VALUE: Final = 3
"""A value of more words may be about something else: "my team moved to second place in the league"."""
# Where somebody is need not be where they live: "I'm in Rome now", "we're staying in Bonn".
_STAYS: Final = re.compile(
    r"\b(?:stay(?:s|ing)?|moving|relocating)\b|(?:\b(?:am|are|is)|['’](?:m|re|s))\s+(?:(?:now|back|currently|just)\s+)?(?:in|at)\s+(?-i:[A-Z])",
    re.I,
)
_MOVED: Final = re.compile(r"\b(?:moved|relocated|shifted|transferred)\b", re.I)
_BASE_VERB: Final = re.compile(
    r"love|like|enjoy|adore|prefer|hate|dislike|loathe|detest|despise|have|own|live|work|speak|drink|eat|smoke|drive"
    r"|ride|wear|play|teach|practi[cs]e|collect|run|study|read|watch|use|rent|support|follow|take|keep|attend|date|vape|fast|swim"
    r"|meditate|gamble"
)
# "The alarm is set to 7" says how it is; "was set", "has been set" and "is now set" say that it changed.
_STATE_OF: Final = re.compile(
    rf"(?:\b(?:is|are)|['’](?:s|re)) (?:(?!(?:been|being|now|just|got|finally)\b)\w+ )*?(?:{PARTS['change']}|renamed|rebranded)",
    re.I,
)
# A temporary state does not replace a permanent one; for a thing, neither does the state of one day.
_FOR_A_WHILE: Final = re.compile(
    r"\b(?:tonight|this weekend|for now|for the (?:moment|time being|day|night|week|weekend|month|summer|winter)|temporarily|meanwhile)\b",
    re.I,
)
_FOR_TODAY: Final = re.compile(
    r"(?<!as of )(?<!since )(?<!starting )(?<!from )(?<!effective )\b(?:today|tomorrow|this (?:morning|afternoon|evening))\b",
    re.I,
)
_AT_AN_END: Final = re.compile(r"(?:all |nearly |almost )?(?:over|done|finished|through|up|gone|past)(?: with)?", re.I)
_YEAR: Final = re.compile(r"\d{4}")
_BEFORE_TIME: Final = re.compile(r"(?:(?:in|on|at|since|from|as of|back|the|early|late)\s+)*", re.I)
_HERE: Final = "here"
_IN_PLACE: Final = re.compile(r"\b(?:from|in|to)\s+(?P<place>[A-Z][\w-]+(?:\s[A-Z][\w-]+)?)")
_POINTING: Final = frozenset(("it", "this", "that", "these", "those", "them", "him", "her", "one", "something"))
_WHERE: Final = frozenset(("in", "on", "at", "near", "from", "with", "off", "out"))
_OWNER: Final = re.compile(rf"\b(?:{POSSESSIVES}|your)\b", re.I)
_ENDED: Final = frozenset((ANY_ATTRIBUTE, "employer", "owns"))
_USER: Final = re.compile(rf"(?:the\s+)?(?:{USER})(?:['’]s)?$", re.I)
_KIN: Final = re.compile(r"(?:my|our)\s+(.+?)(?:['’]s)?$", re.I)
_NO_SUBJECTS_WORDS = """
    it this that there he she they you your his her their its let what who here everything
    something nothing please thanks today tomorrow hello hi hey greetings regards cheers
    yesterday what's that's it's there's here's people everyone everybody nobody someone somebody anyone anybody
"""
_NO_SUBJECTS: Final = frozenset(_NO_SUBJECTS_WORDS.split())


def claims_in_clause(clause: Clause, utterance: Utterance, events: Sequence[Mention]) -> Iterator[Claim]:
    first, last = clause.start - clause.lead, clause.end
    near = tuple(event for event in events if first <= event.span[0] - utterance.span[0] < last)
    made = ""
    for pattern in possible_patterns(clause.text):
        if made and (made, pattern.attribute) not in _TOGETHER:
            continue
        match = pattern.regex.match(clause.text)
        found = list(_build_claims(_PatternMatch(pattern, match, clause, utterance, near))) if match is not None else []
        made = found[0].attribute if found else made
        yield from found
    if not made and is_person(utterance) and (correction := read_bare_correction(clause, utterance)) is not None:
        yield correction


@dataclass(frozen=True, slots=True)
class _PatternMatch:
    """A pattern that matches a clause, with the properties that the rules derive from it."""

    pattern: ClaimPattern
    match: re.Match[str]
    clause: Clause
    utterance: Utterance
    near: tuple[Mention, ...]
    """The times that the clause names."""

    @property
    def group(self) -> str:
        return "value2" if self.match.groupdict().get("value2") else "value"

    @property
    def is_passing(self) -> bool:
        """Whether the place that somebody joined or moved to may not be an employer or a home."""
        said, value = self.utterance.text[self.clause.start :], self.part(self.group) or ""
        if self.pattern.attribute == "employer" and re.search(r"\bjoin", self.before_value, re.I):
            return may_be_no_employer(value, said)
        if self.pattern.attribute != "city" or not _MOVED.search(self.before_value):
            return False
        return may_be_no_home(value, said)

    @property
    def about_thing(self) -> bool:
        return "{what}" in self.pattern.attribute or self.pattern.attribute == PREVIOUS

    @property
    def is_habit(self) -> bool:
        return self.about_thing and not self.pattern.single

    @property
    def contrast(self) -> str | None:
        """The value that the words after the clause reject: "call me Kate, not Katie"."""
        denied = NOT_OLD.match(self.utterance.text, self.clause.end)
        same = denied is not None and same_shape(denied["old"], self.part(self.group) or "")
        return denied["old"] if denied is not None and same else None

    @property
    def is_vague(self) -> bool:
        """Whether the value is only a pronoun ("Theo drinks it"), or says where a person is instead of who."""
        words = fold(self.part(self.group) or "").removeprefix("now ").split()
        if not words or self.names_only_time:
            return False
        if self.pattern.attribute == "owns":
            return not is_thing(words)
        what = fold(self.part("what") or "")
        if self.pattern.attribute == "studies" or what.endswith("name") or what.startswith(("favourite", "favorite")):
            return words[0] in _WHERE or words[0] == "not"
        if self.is_habit:
            keeps_doing = what.startswith("keep") and words[0].endswith("ing")
            return words[0] in _POINTING or words[0] in _WHERE or keeps_doing
        return self.about_thing and words[0] in _WHERE and names_person(what)

    @property
    def _dates(self) -> list[int]:
        """Where in the clause times begin."""
        offset = self.utterance.span[0]
        return [event.span[0] - offset - self.clause.start + self.clause.added for event in self.near]

    @property
    def names_only_time(self) -> bool:
        """Whether a habit has no value, but a time: "I quit smoking in March"."""
        start, end = self.match.span(self.group)
        first = next((date for date in self._dates if start <= date < end), None) if self.is_habit else None
        return first is not None and _BEFORE_TIME.fullmatch(self.clause.text, start, first) is not None

    @property
    def begins_at(self) -> datetime | None:
        """The future time from which the claim holds, where the clause begins with it: "From 2 June I'm …"."""
        said_at, start = self.utterance.said_at, self.clause.start + self.utterance.span[0]
        for event in self.near if self.clause.lead else ():
            if event.kind != "at" or self.clause.tense == "past":
                continue
            begins = event.start
            if begins < said_at - _RECENT and not _YEAR.search(event.text):
                begins = begins.replace(
                    year=begins.year + 1, day=min(begins.day, 28)
                )  # "from 1 February", said in July
            if begins > said_at and event.span[0] < start:
                return begins
        return None

    @property
    def before_value(self) -> str:
        return self.clause.text[self.match.start() : self.match.start(self.group)]

    @property
    def is_temporary(self) -> bool:
        """Whether the clause says that the claim is temporary: "17 degrees tonight"."""
        text = self.clause.text
        return _FOR_A_WHILE.search(text) is not None or (self.about_thing and _FOR_TODAY.search(text) is not None)

    def says_how(self, reading: Reading) -> bool:
        """Return whether the value may be a quality that replaces no other: "my favourite shirt is dirty now"."""
        said, leads = self.part(self.group) or "", self.match.start(self.group) == self.match.start()
        return self.about_thing and not leads and may_be_quality(self.part("what") or "", said, reading)

    @property
    def is_another_persons(self) -> bool:
        """Whether the thing that ended belongs to another person: "I sold his car", "Ana cancelled our plan"."""
        if self.pattern.holds or self.pattern.attribute not in _ENDED:
            return False
        owner = _OWNER.search(self.match.string, self.match.end("who"), self.match.end())
        own = fold(self.match["who"]) in FIRST_PERSON
        return owner is not None and (owner[0].lower() in FIRST_PERSON) != own

    @property
    def agrees(self) -> bool:
        """Whether the verb fits its subject: of "Sounds like fun" and "Your support means a lot" it does not."""
        who = fold(self.match.groupdict().get("who") or "i")
        if (
            who in FIRST_PERSON
            or (_KIN.match(who) and who.endswith("s"))
            or self.pattern.attribute in ("name", "handle")
        ):
            return True
        last = self.match.end("what") if self.is_habit else self.match.start(self.group)
        verbs = fold(self.clause.text[self.match.end("who") : last]).split()
        return not verbs or _BASE_VERB.fullmatch(verbs[-1]) is None or "does" in " ".join(verbs)

    def names_home(self, value: str) -> bool:
        """Return whether a name may be where somebody lives."""
        if value[:1].islower() and value != _HERE:
            return is_place(value)
        changes = self.pattern.operation == "update"
        return not changes or names_home(value, self.clause.text, self.part("old", "old2"))

    def part(self, *names: str) -> str | None:
        """Return the first of these parts of the clause that it has."""
        groups = self.match.groupdict()
        return next((groups[name] for name in names if groups.get(name)), None)

    def read_value(self) -> str | None:
        """Return the value without dates and fillers; None when the clause has none."""
        if self.names_only_time or fold(self.part(self.group) or "") == _HERE:
            return None if self.names_only_time else _HERE
        span, keep_dates = self.match.span(self.group), self.about_thing and self.pattern.single
        amount = trim_value(self.clause.text, span, self._dates)
        if amount is not None and read_value(amount).kind in ("number", "money"):
            return amount  # "760 euros on 1 March": the day is no part of it
        value = trim_value(self.clause.text, span, self._dates, keep_dates=keep_dates)
        changes = self.pattern.operation in ("update", "end") or _NOW.search(self.clause.text)
        if value is None or not changes or read_value(value).kind not in ("name", "text"):
            return value
        return value[: length_of_phrase(value)]

    @property
    def place_before(self) -> str | None:
        """The last place that the words before the clause name: "Hello from Ghent! I live here now"."""
        named = [found["place"] for found in _IN_PLACE.finditer(self.utterance.text, 0, self.clause.start)]
        return next((place for place in reversed(named) if is_place(place)), None)

    def span(self, value: str | None, reading: Reading) -> Span:
        """Return where in the message the claim is made, up to the end of its value."""
        # In "at 7 pm with Clara" only the time is the value; the rest is another statement, which stays.
        said = reading.value if value is not None and reading.value in value else value
        if said is not None and self.pattern.single:
            said = said[: length_of_value(said)]
        start = self.match.start(self.group)
        leads = start == self.match.start()  # "Ghent is home now"
        last = self.match.end() if said is None or leads else self.clause.text.index(said, start) + len(said)
        first, end = self.clause.span(self.match.start(), last)
        return self.utterance.span[0] + first, self.utterance.span[0] + end

    def times(self, value: str | None) -> tuple[Mention, ...]:
        """Return the times at which the claim holds, without those that are its value."""
        at = self.match.start(self.group)
        at = at if value is None else self.clause.text.index(value, at)
        first, end = self.clause.span(at, at + len(value or ""))
        offset = self.utterance.span[0]
        return tuple(event for event in self.near if not first <= event.span[0] - offset < end)


def _build_claims(found: _PatternMatch) -> Iterator[Claim]:
    """Yield the claims of a clause: one, or one for each item of a list; none when it is not certain."""
    subject, value = _subject(found.match.groupdict(), found.utterance), found.read_value()
    if subject is None or _is_refused(found, value):
        return
    reading = Reading(value or "", "text") if found.is_habit else read_value(value or "")
    if found.pattern.attribute == "allergic to" and reading.kind == "day":
        return  # a joke
    claim = _build_claim(found, subject, value, reading)
    if claim is None:
        return
    stated = found.place_before if value == _HERE else reading.value
    yield from (replace(claim, value=item) for item in _items(claim.attribute, stated or ""))


def _is_refused(found: _PatternMatch, value: str | None) -> bool:
    """Return whether a clause makes no claim: its value, subject or verb is not certain, or it describes a plan."""
    pattern, said_at = found.pattern, found.utterance.said_at
    if value is None and found.part(found.group) and not found.is_habit:
        return True
    if found.begins_at is None and not found.about_thing and any(event.start > said_at for event in found.near):
        return True  # a plan
    if not pattern.holds and any(event.start > said_at for event in found.times(value)):
        return True  # "I quit smoking tomorrow"
    if pattern.attribute == "name" and "who" in found.match.groupdict() and not may_be_first_name(value or ""):
        return True
    if pattern.past and found.clause.tense != "past":
        return True
    if pattern.is_label and found.utterance.message is not None:
        return True  # "Answer: gravity" in a conversation is no note about anybody
    return found.is_vague or found.is_another_persons or not found.agrees


def _build_claim(found: _PatternMatch, subject: str, value: str | None, reading: Reading) -> Claim | None:
    """Return the claim of a clause; None when its attribute is unknown, or its value cannot be a home."""
    pattern, utterance, clause = found.pattern, found.utterance, found.clause
    stated, old = found.part(found.group) or "", found.part("old", "old2")
    attribute, single = attribute_for(pattern, found.part("what"), reading, stated, past=clause.tense == "past")
    if attribute is None or (attribute == "city" and not found.names_home(reading.value)):
        return None
    if attribute == PREFERENCE:
        attribute = f"{PREFERENCE} {' or '.join(sorted((fold(reading.value), fold(old or ''))))}"
        old = None
    subject, attribute = _owner_of_name(subject, attribute)
    valid_from, valid_to, starts_by, operation = _time_and_operation(found, value, reading, attribute)
    if old is None and single and operation in ("state", "update") and found.contrast and not clause.qualified:
        old, operation = found.contrast, "update"
    return Claim(
        subject=subject,
        attribute=attribute,
        value=reading.value,
        span=found.span(value, reading),
        said_at=utterance.said_at,
        valid_from=valid_from,
        valid_to=valid_to,
        holds=pattern.holds == reading.positive,
        single=single,
        trust=utterance.role,
        operation=operation,
        replaces=None if old is None else trim_value(old, (0, len(old)), ()),
        doubted=found.is_passing,
        starts_by=starts_by,
    )


def _time_and_operation(
    found: _PatternMatch, value: str | None, reading: Reading, attribute: str
) -> tuple[datetime, datetime | None, datetime | None, Operation]:
    """Return from when and until when a claim is true, when it began at the latest, and the operation of its clause."""
    said_at = found.utterance.said_at
    valid_from, valid_to, starts_by = _validity(said_at, found.clause, found.times(value))
    if valid_to is None and found.is_temporary:
        valid_to = max((event.end for event in found.near if event.end > said_at), default=None)
    operation = _operation(found, reading, valid_from)
    if (begins := found.begins_at) is not None:
        valid_from, valid_to, starts_by, operation = begins, None, None, "state"
    if attribute in _LASTING or operation == "event":
        valid_to = None  # "I'm originally from Coimbra" and "I moved there ten years ago" do not say that it is over
    return valid_from, valid_to, starts_by, operation


def _items(attribute: str, value: str) -> list[str]:
    if attribute == "city" and not value:
        return []  # "I live here", and nothing says where
    return split_list(value) if attribute in _LIST_ATTRIBUTES else [value]


def _owner_of_name(subject: str, attribute: str) -> tuple[str, str]:
    """Return the name of a dog or a sister as theirs: "the dog is called Rex" is about the dog's name."""
    noun, _, last = attribute.rpartition(" ")
    if last == "name" and _RELATION.fullmatch(noun):
        return f"{subject}'s {noun}", "name"
    return subject, attribute


def _operation(found: _PatternMatch, reading: Reading, valid_from: datetime) -> Operation:
    """Return the operation of the clause; a change reported long after it happened is only a statement, as is a long value."""
    pattern, clause, said_at = found.pattern, found.clause, found.utterance.said_at
    if ANYBODY.match(clause.text):
        return "state"  # another friend may be meant
    if pattern.attribute == "employer" and may_be_club(reading.value, clause.text):
        return "state"  # "I started at Gold's Gym"
    if found.about_thing and _AT_AN_END.fullmatch(reading.value):
        return "state"  # "my shift is now over" does not say which shift
    if found.about_thing and may_be_several(found.part("what") or ""):
        return "state"  # a new client need not be the only one
    if found.about_thing and reading.kind in ("name", "text") and not found.part("old") and _MOVED.search(clause.text):
        return "state"  # a gym that moved to Main Street is the same gym
    if pattern.attribute == "city" and (
        _STAYS.search(clause.text)
        or is_region(reading.value)  # a country may hold the city that is known
        or (pattern.operation == "state" and not is_place(reading.value))  # a quarter may lie in it
        or not is_known_home(reading.value, clause.text, found.part("old", "old2"))
    ):
        return "state"
    own_name = pattern.attribute == "name" and fold(found.part("whose") or "") == "my"
    if own_name and " " not in reading.value and not clause.corrects:
        return "state"  # a single name may be a nickname, a role or an idiom: "my name is now Mud"
    wordy = "{what}" in pattern.attribute and reading.kind == "text" and len(reading.value.split()) > _LONG_VALUE
    if pattern.operation == "update" and said_at - valid_from > _RECENT and not _THEN.search(clause.text):
        return "event"
    if (
        clause.tense == "past"
        or clause.qualified
        or wordy
        or found.is_temporary
        or _STATE_OF.search(found.before_value)
    ):
        return "state"
    if clause.corrects and pattern.operation == "state":
        # "I meant that I was born in 1985" was always so; "actually, it's ramen now" is so from now on.
        return "update" if pattern.holds and _NOW.search(clause.text) else "correct"
    if said_at - valid_from > _RECENT:
        return "state"
    if pattern.operation != "state":
        return pattern.operation
    if _CHANGE.search(clause.text) is None or found.says_how(reading):
        return "state"
    return "update" if pattern.holds else "end"


def _subject(groups: dict[str, str | None], utterance: Utterance) -> str | None:
    """Return the subject of a clause; None when it is not certain."""
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
    if lowered in FIRST_PERSON:
        return first_person(utterance) if is_person(utterance) else None
    if _USER.match(lowered):
        return utterance.owner
    if (kin := _KIN.match(" ".join(found.split()))) is not None:
        return f"{first_person(utterance)}'s {kin[1]}"
    name = re.sub(r"['’]s$", "", " ".join(found.split()))
    return None if lowered.split()[0] in _NO_SUBJECTS else name


def first_person(utterance: Utterance) -> str:
    """Return the person that "I" refers to: where a user speaks without a name, the owner of the memory."""
    return utterance.owner if utterance.role == "user" and utterance.owner != "user" else utterance.speaker


def is_person(utterance: Utterance) -> bool:
    """Return whether "I" in an utterance refers to a person: the user, or an assistant with a name."""
    return utterance.role == "user" or utterance.speaker != utterance.role


_Validity: TypeAlias = tuple[datetime, datetime | None, datetime | None]
"""From when and until when a claim is true, and when it began at the latest, where that is not its start."""


def _validity(said_at: datetime, clause: Clause, events: Sequence[Mention]) -> _Validity:
    """Return when a claim is true: in the time that the clause names, or else from when it was said."""
    past = clause.tense == "past"
    event = next((event for event in events if event.start <= said_at), None)
    if event is None:
        return said_at, said_at if past else None, None
    if event.kind == "until":
        return (said_at if event.end > said_at else LONG_AGO), event.end, None
    if past:
        return min(event.start, said_at), min(event.end, said_at), None
    is_period = event.kind == "at" and event.end - event.start > _ONE_DAY
    return event.start, None, min(event.end, said_at) if is_period else None


def same_shape(one: str, other: str) -> bool:
    """Return whether two values look alike: both names, or both numbers."""
    return value_shape(one) == value_shape(other)

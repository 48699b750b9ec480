"""Read facts: the current value of each slot, the values that it replaced, and disputes.

Facts are read from the claims of the stored memories by the rules that decide what a new memory ends
(`storage.supersession`), as of the time that is asked for. Claims link and end older ones, and for that a loose reading
does no harm; but a list of facts is read without the words around them, where "I love the idea", "the answer is
gravity" and "school starts on the 2nd" say nothing. So only claims are shown that are understood without the
conversation (`is_shown`). The others are still recalled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Final

from memoranda.errors import NotFound
from memoranda.recall.later import attach_later
from memoranda.results.recall import Fact, FactConflict, FactValue
from memoranda.storage.base import Store
from memoranda.storage.claim_resolution import made_by
from memoranda.storage.claims import (
    ANY_ATTRIBUTE,
    RETRACTIONS,
    THAT_PERSON,
    Claim,
    StoredClaim,
    claim_time,
    claims_in,
    claims_in_scope,
    claims_of,
    fold,
    owner_of,
    slot_of,
    slot_words,
)
from memoranda.storage.past import TimeView, reworded_since
from memoranda.storage.supersession import MadeClaim, fold_value, replay
from memoranda.text.places import is_place
from memoranda.text.terms import query_terms
from memoranda.types import JSON, Clock, Hit, Memory, Scope, trust_rank

# A value that points at something said before, or goes on as a sentence: "lots of them", "what we had".
_POINTING: Final = re.compile(
    r"\b(?:it|its|them|this|that|these|those|mine|yours|hers|ours|theirs|i|we|you|he|she|they|please)\b", re.I
)
_RELATIVE: Final = re.compile(r"(?:on )?(?:today|tonight|tomorrow|yesterday|soon|now|(?:next|this|last) \w+)", re.I)
# Where the value goes on with what stood before it, it was cut out of a longer sentence.
_GOES_ON: Final = re.compile(r"(?:and|or|but|during|in|on|at|with|for|as|everywhere|not)\b", re.I)
_NO_SUBJECT: Final = re.compile(r"\W*[a-z]{3,}\b(?<!\bour)(?<!\buser)", re.ASCII)
"""Words that begin with a verb, or with a noun that looks like one: "so much love everywhere"."""
_NO_HABIT: Final = re.compile(
    r"(?:\b(?:am|are|is)|['’](?:m|re|s))\s+(?:\w+\s+)?like\b|(?:\b(?:have|has|recently|just)|['’]ve)\s+(?:\w+\s+)?(?:read|run)\b",
    re.I,
)
"""A comparison ("we're like a family"), or what was done once ("I've read it")."""
_MEASURED: Final = (" day", " date", " time", " money", " duration", " temperature")
_AMOUNTS: Final = frozenset(
    ("rent", "price", "salary", "budget", "cost", "fee", "wage", "income", "deposit", "fare", "bill")
)
_ADDRESS: Final = re.compile(r"https?://|@|\w\.\w+/")
_FIXED_WORDS = """
    name nickname handle age birthday birthplace city employer occupation partner studies likes speaks diet condition
    subscription decided owns height weight
"""
_FIXED: Final = frozenset(
    (*_FIXED_WORDS.split(), "birth year", "home town", "relationship status", "allergic to", "favourite", "preferred")
)
"""Attributes, or how they begin, that say what they mean whatever stands around them."""
_WHOSE: Final = re.compile(r"(?:.*?\b(?:my|our)\b|[\w'’ -]+['’]s\b)", re.I)
_THE: Final = re.compile(r"\W*(?:the|this|a|an)\b", re.I)
_NO_NOUNS_WORDS = """
    a all am any are be been being by can did do does everyone everything from had has have he her here his how i if in
    is it its like made me my no not on one only or our out please she so some such than that the their them then there
    these they this to too up us very was we were what when where which while who why will with you your
"""
_NO_NOUNS: Final = frozenset(_NO_NOUNS_WORDS.split())
_ALONE: Final = frozenset(("smoke", "vape", "meditate", "gamble", "drink"))
"""Habits that need no object: "I smoke", but not "my brother drives and I hold the cat"."""
_HAVE: Final = re.compile(r"\b(?:have|has|had|got|['’]ve)\b", re.I)
# What somebody who "has" or "got" it owns: of other nouns ("a plan", "a great deal") that cannot be known.
_BELONGINGS_WORDS = """
    accordion apartment aquarium bass bicycle bike bird boat bungalow bus cabin camera campervan canary canoe car
    caravan cat cello chicken clarinet condo cottage cow desktop dog donkey drone drum duck ebike farm fish flat flute
    garage garden goat goldfish guitar hamster harp hen horse house iguana ipad iphone kayak kitten laptop lizard
    macbook membership moped motorbike motorcycle oboe organ parrot phone piano pig pony printer puppy rabbit rat
    retriever saxophone scooter sheep smartphone snake spaniel subscription surfboard tablet telescope tent terrier
    tortoise tractor trailer trombone truck trumpet turtle ukulele van viola violin yacht
    labrador poodle beagle dachshund collie corgi sedan honda civic toyota corolla volvo tesla golf bmw audi
    brother brothers child children daughter daughters kid kids sister sisters son sons twin twins
"""
_BELONGINGS: Final = frozenset(_BELONGINGS_WORDS.split())
_DETAIL: Final = re.compile(r"\s(?:with|for|from|of|in|on|at|to|named|called|that|who|which)\b.*", re.I | re.S)


def is_shown(claim: Claim, memory: Memory, *, owned: bool = False) -> bool:
    """Return whether a claim is understood by itself; `owned`, whether the owner of its thing is known."""
    if "…" in claim.attribute or _RELATIVE.fullmatch(claim.value.strip()) or is_place(claim.subject):
        return False
    if claim.attribute.casefold() == claim.subject.casefold():
        return False  # the name was read as the attribute: "ana lives in Lyon"
    if claim.doubted and not claim.holds:
        return False  # what it denies may be less: "I no longer drink coffee after 3"
    said = _evidence_text(claim, memory)
    if not claim.value:
        return _is_plain_habit(claim, said)
    if _POINTING.search(claim.value) or _GOES_ON.match(claim.value):
        return False
    if not _is_known(claim.attribute) and not _NO_NOUNS.isdisjoint(claim.attribute.split()[:-1]):
        return False
    if not claim.single and (_NO_SUBJECT.match(said) or _NO_HABIT.search(said)):
        return False
    if claim.attribute == "likes":
        return not _is_about_known_thing(claim.value, said) and not _is_choice_of_name(claim.value, memory.content)
    if claim.attribute == "owns":
        return _is_owned(claim.value, said)
    if not _is_fixed(claim.attribute) and (claim.single or _THE.match(said)):
        return owned or _is_said_of_thing(claim, memory, said)
    return True


def _is_owned_thing(claim: Claim, memory: Memory) -> bool:
    return claim.single and _WHOSE.match(_evidence_text(claim, memory)) is not None


def _evidence_text(claim: Claim, memory: Memory) -> str:
    start = memory.evidence[0] if memory.evidence else 0
    return memory.content[max(0, claim.span[0] - start) : claim.span[1] - start]


def _is_known(attribute: str) -> bool:
    return attribute in _FIXED or attribute.startswith("preferred ")


def _is_fixed(attribute: str) -> bool:
    return _is_known(attribute) or attribute.startswith("favourite ") or attribute.endswith(" name")


def _is_plain_habit(claim: Claim, said: str) -> bool:
    """Return whether a claim without a value is a denial or a habit: "I smoke", but not "I drink mine black"."""
    if not claim.holds:
        return True
    named = query_terms(said)
    return claim.attribute in _ALONE and not _POINTING.search(said[2:]) and named[-1:] == query_terms(claim.attribute)


def _is_about_known_thing(value: str, said: str) -> bool:
    """Return whether somebody likes one thing that was spoken of: "the idea", but not jazz or the Cubs."""
    definite = re.search(rf"\b(?:the|this|that|your|his|her|their)\s+{re.escape(value)}", said, re.I)
    return definite is not None and value[:1].islower()


def _is_choice_of_name(value: str, content: str) -> bool:
    """Return whether somebody likes a name for a child, a pet or a thing, and not whoever or whatever has it."""
    return (
        value.istitle()
        and " " not in value
        and re.search(r"\b(?:names|naming|name (?:it|him|her))\b", content) is not None
    )


def _is_owned(value: str, said: str) -> bool:
    """Return whether what somebody has is theirs for long; "own", "bought" and "adopted" say so themselves."""
    if _HAVE.search(said) is None:
        return not re.search(r"\bfor\b", value)
    thing = _DETAIL.sub("", value).casefold().split()[-2:]  # not as terms: in French "car" is a stop word
    return not _BELONGINGS.isdisjoint((*thing, *(word.removesuffix("s") for word in thing)))


def _is_said_of_thing(claim: Claim, memory: Memory, said: str) -> bool:
    """Return whether words say whose thing it is, and what of it: in a conversation "the meeting" needs a measure."""
    if memory.message_id is None or _WHOSE.match(said):
        return True
    changes = (claim.operation != "state" or claim.replaces is not None) and not claim.value[:1].islower()
    measured = claim.attribute.endswith(_MEASURED) or _ADDRESS.search(claim.value) is not None
    return memory.trust == "user" and (changes or measured)


_NO_FACTS: Final = frozenset((ANY_ATTRIBUTE, "says", "will"))
"""Attributes of claims that fill no slot of their own."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A claim of a slot, and the times between which it holds."""

    claim: Claim
    memory: Memory
    since: datetime
    until: datetime | None

    def is_true_at(self, moment: datetime) -> bool:
        return self.since <= moment and (self.until is None or self.until > moment)

    @property
    def made(self) -> MadeClaim:
        return made_by(self.memory, self.claim)

    @property
    def standing(self) -> tuple[int, bool]:
        """How much it counts against others: by trust, and one's own words above those of other people."""
        return trust_rank(self.claim.trust), self.made.is_own

    @property
    def order(self) -> tuple[datetime, int, int]:
        return claim_time(self.claim), self.memory.id, self.claim.span[0]

    def to_value(self) -> FactValue:
        claim, memory = self.claim, self.memory
        return FactValue(
            value=claim.value,
            holds=claim.holds,
            since=self.since if self.until is None else min(self.since, self.until),
            until=self.until,
            said_at=claim.said_at,
            memory_id=memory.id,
            content=memory.content,
            trust=claim.trust,
            source=memory.source,
            speaker=memory.speaker,
        )


class Facts:
    """Reads facts, conflicts and the history of slots in a scope."""

    def __init__(self, store: Store, clock: Clock, read_notes: Callable[[str, Memory], dict[str, JSON]]) -> None:
        """Create a reader.

        Args:
            store: Where memories are kept.
            clock: Tells which values hold now.
            read_notes: Returns what the rules extract from a text of a memory.
        """
        self._store = store
        self._clock = clock
        self._read_notes = read_notes

    def facts(
        self, scope: Scope, as_of: datetime | None, known_at: datetime | None, subject: str | None = None
    ) -> list[Fact]:
        """Return the current values, by subject and attribute; with a subject, those about it."""
        now = self._clock()
        moment = as_of or known_at or now
        found = [pair for slot in self._slots(scope, known_at, subject) for pair in _facts_of(slot, moment)]
        marked, _ = attach_later(
            self._store, scope, [Hit(known.memory, 1.0) for _, known in found], now, known_at, as_of
        )
        facts = [
            replace(fact, later=tuple(each for each in hit.later if _may_be_about(each, known)))
            for (fact, known), hit in zip(found, marked, strict=True)
        ]
        return sorted(facts, key=lambda fact: (fact.subject.casefold(), fact.attribute, fact.value.casefold()))

    def conflicts(self, scope: Scope, subject: str | None = None) -> list[FactConflict]:
        """Return the slots in which sources disagree, the most trusted value first."""
        now = self._clock()
        found = []
        for slot in self._slots(scope, None, subject):
            values = _disputed(slot, now)
            if values:
                first = values[0].claim
                shown = tuple(known.to_value() for known in values)
                found.append(FactConflict(first.subject, first.attribute, shown))
        return sorted(found, key=lambda conflict: (conflict.subject.casefold(), conflict.attribute))

    def values(self, scope: Scope, slot: str) -> list[FactValue]:
        """Return every value that a slot ever had, oldest first; `NotFound` when nothing was said about it."""
        subject, separator, attribute = slot.partition("/")
        wanted = fold(subject), fold(attribute)
        for known in self._slots(scope, None):
            names = {(fold(each.claim.subject), fold(each.claim.attribute)) for each in known}
            if separator and wanted in names:
                return [_until_next(each, known).to_value() for each in sorted(known, key=lambda each: each.order)]
        raise NotFound(f"nothing is known about {slot!r} in {scope}: a slot is written subject/attribute, see facts()")

    def current(self, values: Sequence[FactValue]) -> FactValue:
        """Return the value of a slot that counts now: the most trusted one that holds, else the one said last."""
        now = self._clock()
        holding = [value for value in values if value.since <= now and (value.until is None or value.until > now)]
        return max(holding, key=lambda value: (trust_rank(value.trust), value.said_at), default=values[-1])

    def _slots(self, scope: Scope, known_at: datetime | None, subject: str | None = None) -> Iterator[list[_Known]]:
        """Yield the claims of each slot with their ends, by what was known at that time; or only those of a subject."""
        visible = self._claims(scope, known_at, subject)
        shared = _shared_slots(visible)
        for _, run in groupby(sorted(visible, key=shared), key=shared):
            slot = _resolve(list(run))
            if not slot or slot[0].claim.attribute in _NO_FACTS or slot[0].claim.subject == THAT_PERSON:
                continue
            if subject is None or _is_about(slot[0].claim.subject, subject):
                yield slot

    def _claims(self, scope: Scope, known_at: datetime | None, subject: str | None) -> list[StoredClaim]:
        latest = TimeView(self._clock(), known_at=known_at).latest
        stored = self._store.read(lambda tx: claims_in_scope(tx, scope, latest, subject), tenant=scope.tenant)
        if known_at is None:
            return stored
        found = self._store.read(lambda tx: reworded_since(tx, scope, known_at), tenant=scope.tenant)
        reworded = [memory for memory in found if not memory.has_expired(latest)]
        changed = {memory.id for memory in reworded}
        kept = [each for each in stored if each.memory.recorded_at <= known_at and each.memory.id not in changed]
        return kept + [claim for memory in reworded for claim in self._read_claims(memory)]

    def _read_claims(self, memory: Memory) -> list[StoredClaim]:
        """Return the claims in words that the memory no longer has, which the notes do not hold."""
        past = replace(memory, notes=self._read_notes(memory.content, memory))
        owner = owner_of(past)
        return [StoredClaim(past, position, slot_of(owner, claim)) for position, claim in enumerate(claims_of(past))]


def _is_about(subject: str, name: str) -> bool:
    """Return whether a subject is the one with this name: "Zoe's brother Max" is Max."""
    folded, wanted = fold(subject), fold(name)
    return folded == wanted or ("'s " in folded and folded.endswith(f" {wanted}"))


def _shared_slots(visible: Sequence[StoredClaim]) -> Callable[[StoredClaim], bytes]:
    """Return a function for the slot that a claim has for all agents together: their claims are about one person.

    A name that one relative has is theirs: "Tarek" and "Hana's son Tarek". A rent of "980" is one of "980 euros".
    """
    relatives: dict[tuple[str | None, str], set[str]] = {}
    for stored in visible:
        claim = claims_of(stored.memory)[stored.position]
        user, subject = stored.memory.user, str(claim["subject"])
        if "'s " in subject and subject.split()[-1][:1].isupper():
            relatives.setdefault((user, fold(subject.split()[-1])), set()).add(subject)

    def slot(stored: StoredClaim) -> bytes:
        claim = dict(claims_of(stored.memory)[stored.position])
        user, subject = stored.memory.user, fold(str(claim["subject"]))
        if claim["attribute"].rpartition(" ")[2] in _AMOUNTS:
            claim["attribute"] += " money"
        known = relatives.get((user, subject), set())
        claim["subject"] = next(iter(known)) if len(known) == 1 else claim["subject"]
        return slot_of(replace(owner_of(stored.memory), agent=None), claim)

    return slot


def _resolve(stored: Sequence[StoredClaim]) -> list[_Known]:
    claims = [each.as_made() for each in stored]
    found = replay([made_by(each.memory, claim) for each, claim in zip(stored, claims, strict=True)])
    return [
        _Known(claim, each.memory, start or claim.valid_from, claim.valid_to if ending is None else ending.at)
        for each, claim, start, ending in zip(stored, claims, found.starts, found.endings, strict=True)
        if claim.operation not in RETRACTIONS
    ]


def _may_be_about(later: Memory, known: _Known) -> bool:
    """Return whether later words may be about this claim, not about another one of the same memory."""
    own = slot_words(known.claim)
    others = {slot_words(claim) for claim in claims_in(known.memory.notes)} - {own}
    said = {slot_words(claim) for claim in claims_in(later.notes)}
    return own in said or others.isdisjoint(said)


def _facts_of(slot: Sequence[_Known], moment: datetime) -> Iterator[tuple[Fact, _Known]]:
    """Yield the values of a slot at a moment: one for an attribute with one value at a time, else one for each."""
    # Whose "the landlord" is, another message about the same slot may say: "Our landlord is Mr. Claes."
    owned = any(_is_owned_thing(known.claim, known.memory) for known in slot)
    true_then = [
        known
        for known in slot
        if known.is_true_at(moment) and not known.claim.reported and is_shown(known.claim, known.memory, owned=owned)
    ]
    # A claim that earlier turns make uncertain counts only if no other claim fills its slot.
    sure = [known for known in true_then if not known.claim.doubted]
    true_then = [known for known in true_then if not (known.claim.doubted and _is_known_otherwise(known, sure))]
    if any(known.claim.single for known in true_then):
        affirmed = [known for known in true_then if known.claim.holds and not _is_denied(known, true_then)] or true_then
        groups = [affirmed] if affirmed else []
    else:
        by_value = sorted(true_then, key=lambda known: fold_value(known.claim.value))
        groups = [list(run) for _, run in groupby(by_value, key=lambda known: fold_value(known.claim.value))]
    for group in groups:
        current = max(group, key=lambda known: (known.standing, known.order))
        yield _to_fact(current, slot, moment), current


def _is_known_otherwise(known: _Known, sure: Sequence[_Known]) -> bool:
    """Return whether something else is known of what a claim is about: its slot, or of a list of things this one."""
    value = fold_value(known.claim.value)
    return any(known.claim.single or fold_value(other.claim.value) == value for other in sure)


def _is_denied(known: _Known, others: Sequence[_Known]) -> bool:
    """Return whether the same source, or a more trusted one, denied a value later."""
    return any(
        not other.claim.holds
        and other.order > known.order
        and fold_value(other.claim.value) in ("", fold_value(known.claim.value))
        and other.standing >= known.standing
        for other in others
    )


def _to_fact(current: _Known, slot: Sequence[_Known], moment: datetime) -> Fact:
    claim = current.claim
    others = sorted((known for known in slot if known is not current), key=lambda known: known.order)
    before = [known for known in _rivals(current, others) if known.order < current.order]
    against = _disputing(current, slot, moment)
    return Fact(
        subject=claim.subject,
        attribute=claim.attribute,
        value=claim.value,
        holds=claim.holds,
        since=current.since,
        said_at=claim.said_at,
        memory_id=current.memory.id,
        content=current.memory.content,
        trust=claim.trust,
        source=current.memory.source,
        speaker=current.memory.speaker,
        replaced=tuple(_replaced(_until_next(known, [*others, current]), current) for known in before),
        disputed_by=tuple(known.to_value() for known in against),
    )


def _replaced(known: _Known, current: _Known) -> FactValue:
    """Return a value before the current one, with an end: the start of the current one, where nothing ended it."""
    value = known.to_value()
    return value if value.until is not None else replace(value, until=max(value.since, current.since))


def _rivals(current: _Known, others: Iterable[_Known]) -> list[_Known]:
    """Return what says something else in the slot: of an attribute with several values, only what denies this one."""
    value = fold_value(current.claim.value)
    return [
        known
        for known in others
        if _differ(known, current) and (current.claim.single or fold_value(known.claim.value) == value)
    ]


def _disputing(current: _Known, slot: Sequence[_Known], moment: datetime) -> list[_Known]:
    """Return what less trusted sources said later; one's own later words replace, they do not dispute."""
    later = [known for known in _rivals(current, slot) if known.order > current.order and known.is_true_at(moment)]
    return sorted((known for known in later if known.standing < current.standing), key=lambda known: known.order)


def _until_next(known: _Known, slot: Sequence[_Known]) -> _Known:
    """Return a value that nothing ended as one that held until the same person, or a more trusted one, said another."""
    if known.until is not None or not known.claim.single:
        return known
    said = [each.since for each in slot if _replaces(each, known)]
    return replace(known, until=max(known.since, min(said))) if said else known


def _replaces(later: _Known, known: _Known) -> bool:
    held = later.until is None or later.until > later.since  # a retracted value never held
    return held and later.order > known.order and later.standing >= known.standing and _differ(later, known)


def _differ(one: _Known, other: _Known) -> bool:
    return (fold_value(one.claim.value), one.claim.holds) != (fold_value(other.claim.value), other.claim.holds)


def _disputed(slot: Sequence[_Known], moment: datetime) -> list[_Known]:
    """Return the values that contradict each other, most trusted first; none when later ones replaced earlier ones."""
    memories = {memory for pair in replay([known.made for known in slot]).conflicts for memory in pair}
    holding = [known for known in slot if known.is_true_at(moment)]
    found = [
        known
        for known in holding
        if known.memory.id in memories and not any(_is_replaced_by(later, known) for later in holding)
    ]
    for _, current in _facts_of(slot, moment):
        shown = [current, *against] if (against := _disputing(current, slot, moment)) else []
        found += [known for known in shown if known not in found]
    if len({(fold_value(known.claim.value), known.claim.holds) for known in found}) < 2:
        return []  # whoever was contradicted has said the same since
    return sorted(found, key=lambda known: (*(-part for part in known.standing), known.order))


def _is_replaced_by(later: _Known, known: _Known) -> bool:
    """Return whether the same person said another value later, as trusted as before."""
    newer, older = later.made, known.made
    same = newer.speaker == older.speaker and newer.is_own == older.is_own and later.standing >= known.standing
    return same and newer.claim.single and older.claim.single and later.order > known.order

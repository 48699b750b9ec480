"""What is known about whom: the current value of each slot, what it replaced, and what is disputed.

Facts are read from the claims of the stored memories by the rules that decide what a new memory ends
(`storage.supersession`), as of the time that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Final

from memoranda.errors import NotFound
from memoranda.recall.shown_facts import is_shown
from memoranda.results.facts import Fact, FactConflict, FactValue
from memoranda.storage.base import Store
from memoranda.storage.claim_resolution import made_by
from memoranda.storage.claims import (
    ANY_ATTRIBUTE,
    Claim,
    StoredClaim,
    claims_in_scope,
    claims_of,
    fold,
    owner_of,
    slot_of,
)
from memoranda.storage.past import TimeView, reworded_since
from memoranda.storage.supersession import MadeClaim, fold_value, replay, told_at
from memoranda.types import JSON, Clock, Memory, Scope, trust_rank

_NO_FACTS: Final = frozenset((ANY_ATTRIBUTE, "says", "will"))
"""Attributes of claims that fill no slot of their own."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A claim of a slot, and what became of it."""

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
        return told_at(self.claim), self.memory.id, self.claim.span[0]

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
        moment = as_of or known_at or self._clock()
        found = [fact for slot in self._slots(scope, known_at, subject) for fact in _facts_of(slot, moment)]
        return sorted(found, key=lambda fact: (fact.subject.casefold(), fact.attribute, fact.value.casefold()))

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
            claim = known[0].claim
            if separator and (fold(claim.subject), fold(claim.attribute)) == wanted:
                return [each.to_value() for each in sorted(known, key=lambda each: each.order)]
        raise NotFound(f"nothing is known about {slot!r} in {scope}: a slot is written subject/attribute, see facts()")

    def current(self, values: Sequence[FactValue]) -> FactValue:
        """Return the value of a slot that counts now: the most trusted one that holds, else the one said last."""
        now = self._clock()
        holding = [value for value in values if value.since <= now and (value.until is None or value.until > now)]
        return max(holding, key=lambda value: (trust_rank(value.trust), value.said_at), default=values[-1])

    def _slots(self, scope: Scope, known_at: datetime | None, subject: str | None = None) -> Iterator[list[_Known]]:
        """Yield the claims of each slot with their ends, by what was known at that time; or only those of a subject."""
        visible = self._claims(scope, known_at, subject)
        for _, run in groupby(sorted(visible, key=_shared_slot), key=_shared_slot):
            slot = _resolve(list(run))
            if not slot or slot[0].claim.attribute in _NO_FACTS:
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


def _shared_slot(stored: StoredClaim) -> bytes:
    """Return the slot that a claim has for all agents together: what they were told is about one person."""
    owner = replace(owner_of(stored.memory), agent=None)
    return slot_of(owner, claims_of(stored.memory)[stored.position])


def _resolve(stored: Sequence[StoredClaim]) -> list[_Known]:
    claims = [each.as_made() for each in stored]
    found = replay([made_by(each.memory, claim) for each, claim in zip(stored, claims, strict=True)])
    return [
        _Known(claim, each.memory, start or claim.valid_from, claim.valid_to if ending is None else ending.at)
        for each, claim, start, ending in zip(stored, claims, found.starts, found.endings, strict=True)
        if claim.operation != "retract"
    ]


def _facts_of(slot: Sequence[_Known], moment: datetime) -> Iterator[Fact]:
    """Yield the values of a slot at a moment: one for an attribute with one value at a time, else one for each."""
    true_then = [
        known
        for known in slot
        if known.is_true_at(moment) and not known.claim.reported and is_shown(known.claim, known.memory)
    ]
    if any(known.claim.single for known in true_then):
        affirmed = [known for known in true_then if known.claim.holds and not _is_denied(known, true_then)] or true_then
        groups = [affirmed] if affirmed else []
    else:
        by_value = sorted(true_then, key=lambda known: fold_value(known.claim.value))
        groups = [list(run) for _, run in groupby(by_value, key=lambda known: fold_value(known.claim.value))]
    for group in groups:
        current = max(group, key=lambda known: (known.standing, known.order))
        yield _to_fact(current, slot, moment)


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
    claim, value = current.claim, fold_value(current.claim.value)
    others = sorted((known for known in slot if known is not current), key=lambda known: known.order)
    different = [
        known for known in others if fold_value(known.claim.value) != value or known.claim.holds != claim.holds
    ]
    if not claim.single:
        different = [known for known in different if fold_value(known.claim.value) == value]
    before = [known for known in different if known.order < current.order]
    # One's own later words replace, they do not dispute.
    against = [
        known
        for known in different
        if known.order > current.order and known.is_true_at(moment) and _is_below(known, current)
    ]
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
        replaced=tuple(_replaced(known, current) for known in before),
        disputed_by=tuple(known.to_value() for known in against),
    )


def _replaced(known: _Known, current: _Known) -> FactValue:
    """Return a value before the current one, with an end: the start of the current one, where nothing ended it."""
    value = known.to_value()
    return value if value.until is not None else replace(value, until=max(value.since, current.since))


def _is_below(known: _Known, current: _Known) -> bool:
    return known.standing < current.standing


def _disputed(slot: Sequence[_Known], moment: datetime) -> list[_Known]:
    """Return the values that contradict each other, most trusted first; none when later ones replaced earlier ones."""
    memories = {memory for pair in replay([known.made for known in slot]).conflicts for memory in pair}
    holding = [known for known in slot if known.is_true_at(moment)]
    found = [
        known
        for known in holding
        if known.memory.id in memories and not any(_renews(later, known) for later in holding)
    ]
    if len({(fold_value(known.claim.value), known.claim.holds) for known in found}) < 2:
        return []  # whoever was contradicted has said the same since
    return sorted(found, key=lambda known: (*(-part for part in known.standing), known.order))


def _renews(later: _Known, known: _Known) -> bool:
    """Return whether the same person said another value later, as trusted as before."""
    newer, older = later.made, known.made
    same = newer.voice == older.voice and newer.is_own == older.is_own and later.standing >= known.standing
    return same and newer.claim.single and older.claim.single and later.order > known.order

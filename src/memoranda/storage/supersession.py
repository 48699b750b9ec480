"""Decide how claims relate: new, repeated, superseding another, or only contradicting it. Pure functions.

A subject has one value of a single-valued attribute at a time: of two values, the one that became true later holds. A
source of lower trust never replaces what a source of higher trust said, so a document cannot correct the user.

What holds depends only on the stored claims, each compared in order with those before it. So after a claim is removed,
`replay` of the remaining ones gives what holds now: a claim that only the removed one ended holds again, and a claim
that another one would have ended too is now ended by that other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from memoranda.storage.claims import Claim, fold
from memoranda.types import trust_rank

Action: TypeAlias = Literal["add", "repeat", "supersede", "past", "conflict"]


@dataclass(frozen=True, slots=True)
class KnownClaim:
    """A claim that is stored."""

    id: int
    claim: Claim


@dataclass(frozen=True, slots=True)
class ClaimDecision:
    """What to do with a claim.

    `add`: store it. `repeat`: it is known. `supersede`: store it, and end the claims in `ends`. `past`: store it as
    ended at `valid_to`. `conflict`: store it next to the claim it contradicts, and change nothing.
    """

    action: Action
    ends: tuple[int, ...] = ()
    ends_at: datetime | None = None
    """When the ended claims stopped being true."""
    valid_to: datetime | None = None
    of: int | None = None
    """The stored claim that it repeats, that contradicts it, or that is newer."""


@dataclass(frozen=True, slots=True)
class MadeClaim:
    """A claim as it was made, and the id of the memory that makes it."""

    memory: int
    claim: Claim


@dataclass(frozen=True, slots=True)
class Ending:
    """When a claim stopped being true, and the id of the memory that ended it."""

    at: datetime
    by: int


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of `replay`: one entry in `endings` for each claim, in order."""

    endings: list[Ending | None]
    conflicts: set[tuple[int, int]]
    """The memory that contradicts, and the one of higher trust that it contradicts."""


def replay(made: Sequence[MadeClaim]) -> Resolution:
    """Resolve the claims of one slot, made in this order. The claims of one memory never end each other."""
    result = Resolution([None] * len(made), set())
    held = _HeldClaims(made)
    for position, each in enumerate(made):
        decision = decide(each.claim, held.comparable(each))
        if decision.action == "supersede" and decision.ends_at is not None:
            for ended in decision.ends:
                result.endings[ended] = Ending(decision.ends_at, each.memory)
                held.remove(ended)
        elif decision.action == "past" and decision.of is not None and decision.valid_to is not None:
            result.endings[position] = Ending(decision.valid_to, made[decision.of].memory)
        elif decision.action == "conflict" and decision.of is not None:
            result.conflicts.add((each.memory, made[decision.of].memory))
        if result.endings[position] is None and each.claim.valid_to is None:
            held.add(position)
    return result


class _HeldClaims:
    """The positions of claims that hold so far, by value, so that a claim is compared with few of a thousand."""

    def __init__(self, made: Sequence[MadeClaim]) -> None:
        self._made = made
        self._single: set[int] = set()
        self._by_value: dict[str, set[int]] = {}

    def comparable(self, new: MadeClaim) -> list[KnownClaim]:
        """Return the claims of other memories that could repeat or contradict this one, oldest first."""
        found = self._by_value.get(_fold_value(new.claim.value), set()) | (self._single if new.claim.single else set())
        return [KnownClaim(n, self._made[n].claim) for n in sorted(found) if self._made[n].memory != new.memory]

    def add(self, position: int) -> None:
        claim = self._made[position].claim
        self._by_value.setdefault(_fold_value(claim.value), set()).add(position)
        if claim.single:
            self._single.add(position)

    def remove(self, position: int) -> None:
        self._by_value[_fold_value(self._made[position].claim.value)].discard(position)
        self._single.discard(position)


def decide(claim: Claim, known: Sequence[KnownClaim]) -> ClaimDecision:
    """Compare a new claim with those that are stored and still hold."""
    about = [each for each in known if _is_same_slot(each.claim, claim) and _is_open(each.claim, claim.valid_from)]
    same = next((each for each in about if _is_same(each.claim, claim)), None)
    if same is not None:
        return ClaimDecision("repeat", of=same.id)
    against = [each for each in about if _contradicts(each.claim, claim)]
    if not against:
        return ClaimDecision("add")
    return _decide_contradiction(claim, against)


def _decide_contradiction(claim: Claim, against: Sequence[KnownClaim]) -> ClaimDecision:
    stronger = next((each for each in against if _trust_of(each.claim) > _trust_of(claim)), None)
    if stronger is not None:
        return ClaimDecision("conflict", of=stronger.id)
    later = [each for each in against if _time_of(each.claim) > _time_of(claim)]
    if later and claim.valid_to is not None:  # it states its own end
        return ClaimDecision("add")
    if later:
        first = min(later, key=lambda each: _time_of(each.claim))
        return ClaimDecision("past", valid_to=first.claim.valid_from, of=first.id)
    if claim.valid_to is not None and claim.valid_to <= claim.said_at:  # about the past: it ends nothing that holds
        return ClaimDecision("add")
    return ClaimDecision("supersede", ends=tuple(each.id for each in against), ends_at=claim.valid_from)


def _trust_of(claim: Claim) -> int:
    return trust_rank(claim.trust)


def _time_of(claim: Claim) -> tuple[datetime, datetime]:
    return claim.valid_from, claim.said_at


def _is_same_slot(one: Claim, other: Claim) -> bool:
    return _fold_value(one.subject) == _fold_value(other.subject) and one.attribute == other.attribute


def _is_open(claim: Claim, at: datetime) -> bool:
    return claim.valid_to is None or claim.valid_to > at


def _is_same(one: Claim, other: Claim) -> bool:
    return one.holds == other.holds and _fold_value(one.value) == _fold_value(other.value)


def _contradicts(one: Claim, other: Claim) -> bool:
    """Return whether the claims deny each other, or give two values to a single-valued attribute."""
    if _fold_value(one.value) == _fold_value(other.value):
        return one.holds != other.holds
    return one.single and other.single and one.holds and other.holds


def _fold_value(text: str) -> str:
    """Return a value as it is compared: folded, and without an article."""
    folded = fold(text)
    first, _, rest = folded.partition(" ")
    return rest if rest and first in ("the", "a", "an") else folded

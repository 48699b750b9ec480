"""Claims against claims: what is new, what takes the place of something, what is only a contradiction. Pure.

A subject has one value of a single-valued attribute at a time: of two, the one that became true later holds. A source
of lower trust never replaces what a source of higher trust said, so a document cannot correct the user.

What holds follows from the claims that are there, each compared in its turn with those before it, and from nothing
else. So when a claim is taken away, `replay` of the rest says what holds now: what only that one ended holds again, and
what another one would have ended as well has ended with that other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

from memoranda.storage.claims import Claim

Action: TypeAlias = Literal["add", "repeat", "supersede", "past", "conflict"]
TRUST: Final = {"user": 3, "system": 3, "tool": 2, "assistant": 1}
"""Whose word counts more; a source that is not named here counts 0."""


@dataclass(frozen=True, slots=True)
class KnownClaim:
    """A claim that is stored."""

    id: int
    claim: Claim


@dataclass(frozen=True, slots=True)
class ClaimDecision:
    """What to do with a claim.

    `add`: store it. `repeat`: it is known. `supersede`: store it, and end the claims named in `ends`. `past`: store it
    as something that is over since `valid_to`. `conflict`: store it beside the one it contradicts; it changes nothing.
    """

    action: Action
    claim: Claim
    reason: str
    ends: tuple[int, ...] = ()
    ends_at: datetime | None = None
    """When the ended claims stopped being true."""
    valid_to: datetime | None = None
    of: int | None = None
    """The stored claim that it repeats, or that contradicts it."""


@dataclass(frozen=True, slots=True)
class MadeClaim:
    """A claim as it was made, and the memory that makes it."""

    memory: int
    claim: Claim


@dataclass(frozen=True, slots=True)
class Ending:
    """When a claim stopped being true, and the memory that says so."""

    at: datetime
    by: int


@dataclass(frozen=True, slots=True)
class Resolution:
    """What became of claims, one place for each in their order."""

    endings: list[Ending | None]
    conflicts: set[tuple[int, int]]
    """The memory that contradicts, and the one of higher trust that it contradicts."""


def replay(made: Sequence[MadeClaim]) -> Resolution:
    """What becomes of the claims on one question, made in this order. The claims of one memory never end each other."""
    done = Resolution([None] * len(made), set())
    board = _HeldClaims(made)
    for number, each in enumerate(made):
        decision = decide(each.claim, board.beside(each))
        if decision.action == "supersede" and decision.ends_at is not None:
            for ended in decision.ends:
                done.endings[ended] = Ending(decision.ends_at, each.memory)
                board.take_off(ended)
        elif decision.action == "past" and decision.of is not None and decision.valid_to is not None:
            done.endings[number] = Ending(decision.valid_to, made[decision.of].memory)
        elif decision.action == "conflict" and decision.of is not None:
            done.conflicts.add((each.memory, made[decision.of].memory))
        if done.endings[number] is None and each.claim.valid_to is None:
            board.put(number)
    return done


class _HeldClaims:
    """The claims that hold so far, found by their value: of a thousand things somebody likes, few are compared."""

    def __init__(self, made: Sequence[MadeClaim]) -> None:
        self._made = made
        self._singles: set[int] = set()
        self._by_value: dict[str, set[int]] = {}

    def beside(self, new: MadeClaim) -> list[KnownClaim]:
        """What could speak for or against a claim, oldest first."""
        near = self._by_value.get(_fold_value(new.claim.value), set()) | (self._singles if new.claim.single else set())
        return [KnownClaim(n, self._made[n].claim) for n in sorted(near) if self._made[n].memory != new.memory]

    def put(self, number: int) -> None:
        claim = self._made[number].claim
        self._by_value.setdefault(_fold_value(claim.value), set()).add(number)
        if claim.single:
            self._singles.add(number)

    def take_off(self, number: int) -> None:
        self._by_value[_fold_value(self._made[number].claim.value)].discard(number)
        self._singles.discard(number)


def decide(claim: Claim, known: Sequence[KnownClaim]) -> ClaimDecision:
    """What a new claim means for those that are stored and still hold."""
    about = [each for each in known if _same_question(each.claim, claim) and _is_open(each.claim, claim.valid_from)]
    same = next((each for each in about if _says_same(each.claim, claim)), None)
    if same is not None:
        return ClaimDecision("repeat", claim, f"claim {same.id} says so already", of=same.id)
    against = [each for each in about if _contradicts(each.claim, claim)]
    if not against:
        return ClaimDecision("add", claim, "nothing known speaks against it")
    return _decide_against(claim, against)


def trust_of(claim: Claim) -> int:
    return TRUST.get(claim.trust, 0)


def _decide_against(claim: Claim, against: Sequence[KnownClaim]) -> ClaimDecision:
    stronger = next((each for each in against if trust_of(each.claim) > trust_of(claim)), None)
    if stronger is not None:
        return ClaimDecision(
            "conflict", claim, f"claim {stronger.id} comes from a source of higher trust", of=stronger.id
        )
    later = [each for each in against if _time_of(each.claim) > _time_of(claim)]
    if later and claim.valid_to is not None:
        return ClaimDecision("add", claim, "it says itself until when it was true")
    if later:
        first = min(later, key=lambda each: _time_of(each.claim))
        return ClaimDecision("past", claim, f"claim {first.id} is newer", valid_to=first.claim.valid_from, of=first.id)
    if claim.valid_to is not None and claim.valid_to <= claim.said_at:
        return ClaimDecision("add", claim, "it tells of the past and ends nothing that holds")
    ends = tuple(each.id for each in against)
    return ClaimDecision("supersede", claim, f"newer than {_list_claims(ends)}", ends=ends, ends_at=claim.valid_from)


def _time_of(claim: Claim) -> tuple[datetime, datetime]:
    return claim.valid_from, claim.said_at


def _same_question(one: Claim, other: Claim) -> bool:
    return _fold_value(one.subject) == _fold_value(other.subject) and one.attribute == other.attribute


def _is_open(claim: Claim, at: datetime) -> bool:
    return claim.valid_to is None or claim.valid_to > at


def _says_same(one: Claim, other: Claim) -> bool:
    return one.holds == other.holds and _fold_value(one.value) == _fold_value(other.value)


def _contradicts(one: Claim, other: Claim) -> bool:
    """Another value of what has one at a time, or the same value denied."""
    if _fold_value(one.value) == _fold_value(other.value):
        return one.holds != other.holds
    return one.single and other.single and one.holds and other.holds


def _fold_value(text: str) -> str:
    words = text.casefold().replace("’", "'").split()
    return " ".join(words[1:] if words[:1] in (["the"], ["a"], ["an"]) and len(words) > 1 else words)


def _list_claims(ids: Sequence[int]) -> str:
    return f"claim{'s' if len(ids) > 1 else ''} {', '.join(map(str, ids))}"

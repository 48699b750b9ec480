"""What a memory says of somebody, against what is held so far: inside the transaction that writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from recollect.extraction.base import Span
from recollect.extraction.lexicon import tells
from recollect.extraction.notes import claims_in
from recollect.reconcile.supersede import Decision, KnownClaim, decide
from recollect.storage import lifecycle
from recollect.storage.base import Link, Supersede
from recollect.storage.claims import HeldClaim, claims_of, end_claims, held_on, index_claims, owner_of
from recollect.storage.writing import apply_changes
from recollect.types import Association, Memory, Outcome, Scope

if TYPE_CHECKING:
    from sqlalchemy import Connection

SUPERSEDES: Final = "supersedes"
CONTRADICTS: Final = "contradicts"


def settle(connection: Connection, outcomes: Iterable[Outcome], at: int) -> list[Outcome]:
    """The outcomes of a write, after what the new memories say was compared with what was held."""
    return [_settled(connection, outcome, at) for outcome in outcomes]


def _settled(connection: Connection, outcome: Outcome, at: int) -> Outcome:
    memory = outcome.memory
    if outcome.status != "stored" or memory is None or not claims_of(memory):
        return outcome
    new = _New(connection, memory, at)
    for place, claim in enumerate(claims_in(memory.notes)):
        held = held_on(connection, owner_of(memory), claims_of(memory)[place], but=memory.id)
        known = [KnownClaim(number, claims_in(each.memory.notes)[each.place]) for number, each in enumerate(held)]
        new.take(place, decide(claim, known), held)
    return new.outcome(outcome)


class _New:
    """A memory that was just written, and what becomes of others through it."""

    def __init__(self, connection: Connection, memory: Memory, at: int) -> None:
        self._connection = connection
        self._memory = memory
        self._at = at
        self._replaced: list[Memory] = []
        self._past: dict[int, tuple[HeldClaim, datetime]] = {}

    def take(self, place: int, decision: Decision, held: Sequence[HeldClaim]) -> None:
        if decision.action == "supersede" and decision.ends_at is not None:
            self._end([held[number] for number in decision.ends], decision.ends_at)
        elif decision.action == "past" and decision.of is not None and decision.valid_to is not None:
            self._past[place] = (held[decision.of], decision.valid_to)
        elif decision.action == "conflict" and decision.of is not None:
            self._link(held[decision.of].memory, CONTRADICTS)

    def outcome(self, outcome: Outcome) -> Outcome:
        """As it is after all claims were taken; a memory that tells only of the past is superseded at once."""
        memory, reason = self._with_past(), outcome.reason
        index_claims(self._connection, memory.id, owner_of(memory), memory.notes)
        if memory.superseded_by is not None:
            return replace(outcome, status="superseded", memory=memory, reason=f"{memory.superseded_by} is newer")
        if self._replaced:
            reason = f"takes the place of what {_listed(self._replaced)} said"
        return replace(outcome, memory=memory, reason=reason)

    def _end(self, ended: Sequence[HeldClaim], at: datetime) -> None:
        for old in {each.memory.id: each.memory for each in ended}.values():
            places = [each.place for each in ended if each.memory.id == old.id]
            after = replace(old, notes=end_claims(self._connection, old, places, at))
            self._link(old, SUPERSEDES)
            self._replaced.append(old)
            if _tells_no_more(after):
                self._supersede(old, self._memory.id, at)

    def _with_past(self) -> Memory:
        memory = self._memory
        if not self._past:
            return memory
        for place, (held, until) in self._past.items():
            memory = replace(memory, notes=end_claims(self._connection, memory, [place], until))
            newer = held
        if not _tells_no_more(memory):
            return memory
        self._supersede(memory, newer.memory.id, until)
        return replace(memory, superseded_by=newer.memory.id, valid_to=until)

    def _supersede(self, old: Memory, by: int, at: datetime) -> None:
        lifecycle.supersede(self._connection, Supersede(_owner(old), (old.id,), by, at), self._at)

    def _link(self, other: Memory, kind: str) -> None:
        link = Association(self._memory.id, other.id, kind, 1.0)
        apply_changes(self._connection, [Link(_owner(other), link)], self._at)


def _tells_no_more(memory: Memory) -> bool:
    """Whether all that a memory says of anybody has ended, and it says nothing else."""
    claims = claims_in(memory.notes)
    if any(claim.valid_to is None for claim in claims):
        return False
    start, end = memory.evidence or (0, len(memory.content))
    if len(memory.content) != end - start:  # a model's own words for its evidence, which is all that it tells
        return True
    said = [(claim.span[0] - start, claim.span[1] - start) for claim in claims]
    return not tells(_without(memory.content, said), {word.lower() for word in (memory.speaker or "").split()})


def _without(text: str, spans: Sequence[Span]) -> str:
    return "".join(" " if any(start <= n < end for start, end in spans) else sign for n, sign in enumerate(text))


def _owner(memory: Memory) -> Scope:
    return Scope(memory.tenant, user=memory.user)


def _listed(memories: Sequence[Memory]) -> str:
    return ", ".join(str(number) for number in sorted({memory.id for memory in memories}))

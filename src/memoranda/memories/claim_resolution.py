"""What memories say of somebody, and what of it holds: inside the transaction that writes or removes them.

What holds on a question, such as where Ana lives, follows from the claims of the memories that are there, in the order
in which they were written (`reconcile.supersede`). A new memory is compared with what holds. When a memory goes, or
says something else from now on, the questions it spoke to are decided anew from what is left: what only that memory
had ended holds again, and what a third one ends as well has ended with that one. Put away is not gone: an archived
memory still counts, and one that was merged is spoken for by the one that repeats it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from memoranda.memories import lifecycle
from memoranda.memories.changes import Change, Edit, Link, Remove, Supersede
from memoranda.memories.claims import (
    CLAIMS,
    ENDED_BY,
    MadeClaim,
    as_said,
    claims_of,
    claims_on,
    enders_of,
    held_on,
    index_claims,
    owner_of,
    questions_of,
    write_notes,
)
from memoranda.memories.read import get_memories
from memoranda.memories.supersession import Decision, Ending, KnownClaim, MadeBy, Replayed, decide, replay
from memoranda.memories.write import apply_changes
from memoranda.remember.base import Claim
from memoranda.remember.extraction import claims_in
from memoranda.remember.patterns import tells
from memoranda.sentences import Span
from memoranda.storage.sqlite.connections import fetch_on
from memoranda.types import Association, Memory, Outcome, Scope

if TYPE_CHECKING:
    from sqlalchemy import Connection


CONTRADICTS: Final = "contradicts"


def settle(connection: Connection, outcomes: Iterable[Outcome], at: int) -> list[Outcome]:
    """The outcomes of a write, after what the new memories say was compared with what was held."""
    return [_settled(connection, outcome, at) for outcome in outcomes]


def apply_and_revise(connection: Connection, changes: Sequence[Change], at: int) -> list[Outcome]:
    """The outcomes of changes that take memories away or give them other words, once it is decided what holds now."""
    questions: set[bytes] = set()
    outcomes: list[Outcome] = []
    for change in changes:
        if isinstance(change, Edit):
            outcomes.append(_edit(connection, change, at))
        else:
            questions |= _asked_by(connection, change)
            outcomes += apply_changes(connection, [change], at)
    revise(connection, questions, at)
    return outcomes


def revise(connection: Connection, questions: Collection[bytes], at: int) -> None:
    """Decides questions anew, from the claims that are there."""
    made = claims_on(connection, questions)
    ends: dict[int, dict[int, Ending | None]] = {}
    memories = {each.memory.id: each.memory for each in made}
    for claims, done in _replayed(made):
        for each, end in zip(claims, done.ends, strict=True):
            ends.setdefault(each.memory.id, {})[each.place] = end
        for one, other in done.conflicts:
            _contradict(connection, one, memories[other], at)
    for number, places in ends.items():
        rewrite(connection, memories[number], places, at)


def _settled(connection: Connection, outcome: Outcome, at: int) -> Outcome:
    memory = outcome.memory
    if outcome.status != "stored" or memory is None or not claims_of(memory):
        return outcome
    new = _New(connection, memory, at)
    for place, claim in enumerate(claims_in(memory.notes)):
        held = held_on(connection, owner_of(memory), claims_of(memory)[place], but=memory.id)
        known = [KnownClaim(number, _claim(each)) for number, each in enumerate(held)]
        new.take(place, decide(claim, known), held)
    return new.outcome(outcome)


class _New:
    """A memory that was just written, and what becomes of others through it."""

    def __init__(self, connection: Connection, memory: Memory, at: int) -> None:
        self._connection = connection
        self._memory = memory
        self._at = at
        self._replaced: set[int] = set()
        self._past: dict[int, Ending | None] = {}

    def take(self, place: int, decision: Decision, held: Sequence[MadeClaim]) -> None:
        if decision.action == "supersede" and decision.ends_at is not None:
            self._end([held[number] for number in decision.ends], Ending(decision.ends_at, self._memory.id))
        elif decision.action == "past" and decision.of is not None and decision.valid_to is not None:
            self._past[place] = Ending(decision.valid_to, held[decision.of].memory.id)
        elif decision.action == "conflict" and decision.of is not None:
            _contradict(self._connection, self._memory.id, held[decision.of].memory, self._at)

    def outcome(self, outcome: Outcome) -> Outcome:
        """As it is after all claims were taken; a memory that tells only of the past is superseded at once."""
        memory, reason = rewrite(self._connection, self._memory, self._past, self._at), outcome.reason
        index_claims(self._connection, memory.id, owner_of(memory), memory.notes)
        if memory.superseded_by is not None:
            return replace(outcome, status="superseded", memory=memory, reason=f"{memory.superseded_by} is newer")
        if self._replaced:
            reason = f"takes the place of what {', '.join(map(str, sorted(self._replaced)))} said"
        return replace(outcome, memory=memory, reason=reason)

    def _end(self, ended: Sequence[MadeClaim], end: Ending) -> None:
        for old in {each.memory.id: each.memory for each in ended}.values():
            places = [each.place for each in ended if each.memory.id == old.id]
            rewrite(self._connection, old, dict.fromkeys(places, end), self._at)
            self._replaced.add(old.id)


def _asked_by(connection: Connection, change: Change) -> set[bytes]:
    """The questions that those memories speak to which a change takes away."""
    if isinstance(change, Remove) or (isinstance(change, Supersede) and change.merged):
        return questions_of(connection, change.scope, change.ids)
    return set()


def _edit(connection: Connection, change: Edit, at: int) -> Outcome:
    """Other words are a new claim in the old one's place; the same words leave what others ended of it as it is."""
    owner = Scope(change.draft.scope.tenant, user=change.draft.scope.user)
    known = _get(connection, owner, change.id)
    if known is None or not (claims_of(known) or change.draft.notes.get(CLAIMS)):
        return apply_changes(connection, [change], at)[0]
    if known.content == change.draft.content:
        return apply_changes(connection, [replace(change, draft=replace(change.draft, notes=known.notes))], at)[0]
    questions = questions_of(connection, owner, [change.id])
    _release(connection, known, at)
    outcome = apply_changes(connection, [change], at)[0]
    revise(connection, questions | questions_of(connection, owner, [change.id]), at)
    return replace(outcome, memory=_get(connection, owner, change.id))


def _release(connection: Connection, memory: Memory, at: int) -> None:
    """Takes back what others ended of a memory, and its contradictions."""
    for _, done in _replayed(claims_on(connection, questions_of(connection, owner_of(memory), [memory.id]))):
        lifecycle.unlink(connection, [pair for pair in done.conflicts if memory.id in pair], CONTRADICTS)
    rewrite(connection, memory, dict.fromkeys(range(len(claims_of(memory)))), at)


def _replayed(made: Sequence[MadeClaim]) -> Iterable[tuple[list[MadeClaim], Replayed]]:
    """The claims on each question, and what becomes of them."""
    for _, run in groupby(sorted(made, key=lambda each: each.question), key=lambda each: each.question):
        claims = list(run)
        yield claims, replay([MadeBy(each.memory.id, _claim(each)) for each in claims])


def _claim(made: MadeClaim) -> Claim:
    """A claim as it was made."""
    return claims_in({CLAIMS: [as_said(claims_of(made.memory)[made.place])]})[0]


def _contradict(connection: Connection, one: int, other: Memory, at: int) -> None:
    link(connection, Association(one, other.id, CONTRADICTS, 1.0), other, at)


def _get(connection: Connection, scope: Scope, memory_id: int) -> Memory | None:
    return get_memories(fetch_on(connection), scope, [memory_id])[0]


SUPERSEDES: Final = "supersedes"
_End: TypeAlias = tuple[datetime | None, int | None]
"""`valid_to` and `superseded_by`."""


def rewrite(connection: Connection, memory: Memory, ends: Mapping[int, Ending | None], at: int) -> Memory:
    """The memory after these of its claims, by their numbers, have ended, or None: hold as they were made."""
    after = replace(memory, notes={**memory.notes, CLAIMS: _with_ends(claims_of(memory), ends)})
    if after.notes == memory.notes:
        return memory
    write_notes(connection, memory.id, after.notes)
    _link_enders(connection, memory, after, at)
    was, now = _end_of(memory), _end_of(after)
    if was == now or (memory.valid_to, memory.superseded_by) != was:
        return after
    lifecycle.set_end(connection, memory.id, now, at)
    return replace(after, valid_to=now[0], superseded_by=now[1])


def link(connection: Connection, association: Association, owner: Memory, at: int) -> None:
    scope = Scope(owner.tenant, user=owner.user)
    apply_changes(connection, [Link(scope, association)], at)


def _with_ends(claims: Sequence[Mapping[str, Any]], ends: Mapping[int, Ending | None]) -> list[dict[str, Any]]:
    return [_with_end(claim, ends[place]) if place in ends else dict(claim) for place, claim in enumerate(claims)]


def _with_end(claim: Mapping[str, Any], end: Ending | None) -> dict[str, Any]:
    said = as_said(claim)
    return said if end is None else said | {"valid_to": end.at.isoformat(), ENDED_BY: end.by}


def _link_enders(connection: Connection, before: Memory, after: Memory, at: int) -> None:
    were, are = enders_of(before), enders_of(after)
    lifecycle.unlink(connection, [(by, before.id) for by in were - are], SUPERSEDES)
    for by in sorted(are - were):
        link(connection, Association(by, before.id, SUPERSEDES, 1.0), before, at)


def _end_of(memory: Memory) -> _End:
    """When a memory ends by its claims, and by whom; twice None when it does not."""
    ended = [claim for claim in claims_of(memory) if ENDED_BY in claim]
    if not ended or not _tells_no_more(memory):
        return None, None
    last = max(ended, key=_valid_to)
    return max(map(_valid_to, claims_of(memory))), last[ENDED_BY]


def _valid_to(claim: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(claim["valid_to"])


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

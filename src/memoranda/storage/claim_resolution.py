"""Resolve claims inside the transaction that writes or removes their memories.

What holds in a slot, such as where Ana lives, follows from the claims of the stored memories, in the order in
which they were written (`supersession`). A new claim is compared with those that hold. When a memory is
removed or gets other words, its slots are resolved again from the claims that are left: what only that memory had
ended holds again. An archived memory still counts; of a merged one, the memory that repeats it makes the claim.

A memory that says nothing but claims ends with the last of them, superseded by the memory that ended it. A memory that
was ended in another way, by hand or by merging, stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any, Final, TypeAlias

from memoranda.storage import lifecycle
from memoranda.storage.base import Transaction
from memoranda.storage.claims import (
    CLAIMS,
    ENDED_BY,
    StoredClaim,
    as_made,
    claims_in,
    claims_in_slots,
    claims_of,
    enders_of,
    index_claims,
    open_claims,
    owner_of,
    slots_of,
    write_notes,
)
from memoranda.storage.supersession import ClaimDecision, Ending, KnownClaim, MadeClaim, Resolution, decide, replay
from memoranda.text import Span, has_content
from memoranda.types import Memory, Outcome

CONTRADICTS: Final = "contradicts"
SUPERSEDES: Final = "supersedes"
_End: TypeAlias = tuple[datetime | None, int | None]
"""`valid_to` and `superseded_by`."""


def resolve_new(tx: Transaction, outcome: Outcome) -> Outcome:
    """Compare the claims of a memory that was just written with those that hold; return its final outcome."""
    memory = outcome.memory
    if outcome.status != "stored" or memory is None or not claims_of(memory):
        return outcome
    replaced: set[int] = set()
    past: dict[int, Ending | None] = {}
    for position, claim in enumerate(claims_in(memory.notes)):
        held = open_claims(tx, owner_of(memory), claims_of(memory)[position], except_of=memory.id)
        decision = decide(claim, [KnownClaim(number, stored.as_made()) for number, stored in enumerate(held)])
        if decision.action == "supersede" and decision.ends_at is not None:
            replaced |= _end_claims(tx, [held[n] for n in decision.ends], Ending(decision.ends_at, memory.id))
        elif (ending := _past_ending(decision, held)) is not None:
            past[position] = ending
        elif decision.action == "conflict" and decision.of is not None:
            lifecycle.associate(tx, memory.id, held[decision.of].memory.id, CONTRADICTS)
    memory = apply_endings(tx, memory, past)
    index_claims(tx, memory.id, owner_of(memory), memory.notes)
    if memory.superseded_by is not None:
        return replace(outcome, status="superseded", memory=memory, reason=f"{memory.superseded_by} is newer")
    reason = f"replaces what {', '.join(map(str, sorted(replaced)))} said" if replaced else outcome.reason
    return replace(outcome, memory=memory, reason=reason)


def resolve_slots(tx: Transaction, slots: Collection[bytes]) -> None:
    """Decide again what holds in these slots, from the stored claims."""
    if not slots:
        return
    stored = claims_in_slots(tx, slots)
    memories = {each.memory.id: each.memory for each in stored}
    endings: dict[int, dict[int, Ending | None]] = {}
    for claims, resolution in _replay_slots(stored):
        for each, ending in zip(claims, resolution.endings, strict=True):
            endings.setdefault(each.memory.id, {})[each.position] = ending
        for one, other in resolution.conflicts:
            lifecycle.associate(tx, one, other, CONTRADICTS)
    for memory_id, by_position in endings.items():
        apply_endings(tx, memories[memory_id], by_position)


def release(tx: Transaction, memory: Memory) -> None:
    """Take back the ends that others gave to a memory's claims, and its contradictions."""
    for _, resolution in _replay_slots(claims_in_slots(tx, slots_of(tx, owner_of(memory), [memory.id]))):
        lifecycle.unlink(tx, [pair for pair in resolution.conflicts if memory.id in pair], CONTRADICTS)
    apply_endings(tx, memory, dict.fromkeys(range(len(claims_of(memory)))))


def apply_endings(tx: Transaction, memory: Memory, endings: Mapping[int, Ending | None]) -> Memory:
    """End these claims of a memory, by position; None restores a claim as it was made. Return the memory after it."""
    claims = [
        _with_ending(claim, endings[position]) if position in endings else dict(claim)
        for position, claim in enumerate(claims_of(memory))
    ]
    after = replace(memory, notes={**memory.notes, CLAIMS: claims})
    if after.notes == memory.notes:
        return memory
    write_notes(tx, memory.id, after.notes)
    _associate_enders(tx, memory, after)
    old_end, new_end = _end_of(memory), _end_of(after)
    if old_end == new_end or (memory.valid_to, memory.superseded_by) != old_end:
        return after
    lifecycle.set_end(tx, memory.id, *new_end)
    return replace(after, valid_to=new_end[0], superseded_by=new_end[1])


def _end_claims(tx: Transaction, ended: Sequence[StoredClaim], ending: Ending) -> set[int]:
    """End stored claims and return the ids of their memories."""
    memories = {each.memory.id: each.memory for each in ended}
    for memory in memories.values():
        positions = [each.position for each in ended if each.memory.id == memory.id]
        apply_endings(tx, memory, dict.fromkeys(positions, ending))
    return set(memories)


def _past_ending(decision: ClaimDecision, held: Sequence[StoredClaim]) -> Ending | None:
    """Return the end of a new claim that is already past."""
    if decision.action != "past" or decision.of is None or decision.valid_to is None:
        return None
    return Ending(decision.valid_to, held[decision.of].memory.id)


def _replay_slots(stored: Sequence[StoredClaim]) -> Iterable[tuple[list[StoredClaim], Resolution]]:
    """Yield the claims of each slot, and what becomes of them."""
    for _, run in groupby(sorted(stored, key=lambda each: each.slot), key=lambda each: each.slot):
        claims = list(run)
        yield claims, replay([MadeClaim(each.memory.id, each.as_made()) for each in claims])


def _with_ending(claim: Mapping[str, Any], ending: Ending | None) -> dict[str, Any]:
    made = as_made(claim)
    return made if ending is None else made | {"valid_to": ending.at.isoformat(), ENDED_BY: ending.by}


def _associate_enders(tx: Transaction, before: Memory, after: Memory) -> None:
    old, new = enders_of(before), enders_of(after)
    lifecycle.unlink(tx, [(by, before.id) for by in old - new], SUPERSEDES)
    for by in sorted(new - old):
        lifecycle.associate(tx, by, before.id, SUPERSEDES)


def _end_of(memory: Memory) -> _End:
    """Return when a memory ends by its claims, and by whom; (None, None) when it does not."""
    ended = [claim for claim in claims_of(memory) if ENDED_BY in claim]
    if not ended or not _says_only_past(memory):
        return None, None
    last = max(ended, key=_valid_to)
    return max(map(_valid_to, claims_of(memory))), last[ENDED_BY]


def _valid_to(claim: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(claim["valid_to"])


def _says_only_past(memory: Memory) -> bool:
    """Return whether all claims of a memory have ended and it says nothing else."""
    claims = claims_in(memory.notes)
    if any(claim.valid_to is None for claim in claims):
        return False
    start, end = memory.evidence or (0, len(memory.content))
    if len(memory.content) != end - start:  # words of a model, which say nothing beyond the evidence
        return True
    spans = [(claim.span[0] - start, claim.span[1] - start) for claim in claims]
    speaker = {word.lower() for word in (memory.speaker or "").split()}
    return not has_content(_blank_out(memory.content, spans), speaker)


def _blank_out(text: str, spans: Sequence[Span]) -> str:
    return "".join(" " if any(start <= n < end for start, end in spans) else char for n, char in enumerate(text))

"""Resolve claims inside the transaction that writes or removes their memories.

What holds in a slot, such as where Ana lives, follows from the claims of the stored memories (`supersession`). A new
claim is compared with those that hold. When a memory is removed or gets other words, its slots are resolved again from
the claims that are left: what only that memory had ended holds again. An archived memory still counts; of a merged
one, the memory that repeats it makes the claim. A quarantined memory makes no claims until it is released.

A memory that says nothing but claims ends with the last of them, superseded by the memory that ended it. A memory that
was ended in another way, by hand or by merging, stays as it is. A memory that a later one only follows stays in
recall; an association says what followed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any, Final, TypeAlias

from memoranda.security.id_cipher import IdText
from memoranda.storage import lifecycle
from memoranda.storage.add import true_from
from memoranda.storage.base import ReadTransaction, Transaction
from memoranda.storage.changes import NewMemory
from memoranda.storage.claim_binding import (
    bind_claims,
    corrects_words,
    find_corrected,
    find_said_before,
    retracts_other_words,
)
from memoranda.storage.claims import (
    CLAIMS,
    DISPUTED,
    ENDED_BY,
    FOLLOWED,
    RETRACTED,
    RETRACTIONS,
    Claim,
    StoredClaim,
    claim_time,
    claims_in,
    claims_in_slots,
    claims_of,
    enders_of,
    index_claims,
    open_claims,
    owner_of,
    slot_words,
    slots_of,
    slots_of_other_agents,
    speaker_key,
    with_start,
    without_end,
    write_notes,
)
from memoranda.storage.rows import from_micros
from memoranda.storage.supersession import (
    Ending,
    MadeClaim,
    Resolution,
    relate_made,
    replay,
    starts_after,
)
from memoranda.text.sentences import blank_out, has_content, overlap
from memoranda.types import Memory, Outcome, Scope, trust_rank

CONTRADICTS: Final = "contradicts"
SUPERSEDES: Final = "supersedes"
FOLLOWS: Final = "follows"
BY_MEANING: Final = 0.5
"""The strength of an association with an older memory that is only near in meaning."""
MARKS_ONLY: Final = 0.25
"""The same where that may mean nothing: recall marks the older one, and leaves the order as it is."""
_End: TypeAlias = tuple[datetime | None, int | None]
"""`valid_to` and `superseded_by`."""


def resolve_new(tx: Transaction, outcome: Outcome, new: NewMemory) -> Outcome:
    """Compare the claims of a memory that was just written with those that hold; return its final outcome."""
    memory = outcome.memory
    if outcome.status != "stored" or memory is None or memory.quarantined_at is not None:
        return outcome
    _follow_by_meaning(tx, memory, new)
    if not claims_of(memory):
        return outcome
    corrections = [claim for claim in claims_in(memory.notes) if corrects_words(claim)]
    memory = bind_claims(tx, memory, new.related)
    for older_id, claim in new.aligned:
        _add_claim(tx, memory, older_id, claim)
    for claim in claims_in(memory.notes):
        if retracts_other_words(claim):
            follow(tx, memory.id, find_said_before(tx, memory, claim))
    index_claims(tx, memory.id, owner_of(memory), memory.notes)
    stored = [
        (claim, open_claims(tx, owner_of(memory), claims_of(memory)[position], except_of=memory.id))
        for position, claim in enumerate(claims_in(memory.notes))
    ]
    if any(_needs_replay(claim, others) for claim, others in stored):
        # It was said before something that is stored already, so it has to take its place between the others.
        replaced = resolve_slots(tx, slots_of(tx, owner_of(memory), [memory.id]), by=memory.id)
        memory = lifecycle.read_memory(tx, memory.id)
    else:
        made = [(made_by(memory, claim), others) for claim, others in stored]
        replaced = {ended for claim, others in made for ended in _apply(tx, claim, others)}
    for claim in corrections:
        follow(tx, memory.id, set(find_corrected(tx, memory, claim)) - replaced)
    link_other_agents(tx, memory)
    if memory.superseded_by is not None:
        return replace(outcome, status="superseded", memory=memory, reason=f"{memory.superseded_by} is newer")
    reason = IdText("replaces what ", tuple(sorted(replaced)), " said") if replaced else outcome.reason
    return replace(outcome, memory=memory, reason=reason)


def _needs_replay(claim: Claim, others: Sequence[StoredClaim]) -> bool:
    """Return whether a claim is not simply the latest of its slot: it is older than another one, or retracts one.

    What began in a period needs what was said in it.
    """
    if claim.operation in RETRACTIONS or claim.operation == "correct":
        return True
    made = [other.as_made() for other in others]
    return any(claim_time(other) > claim_time(claim) or starts_after(claim, other) for other in made)


def _apply(tx: Transaction, new: MadeClaim, others: Sequence[StoredClaim]) -> set[int]:
    """End, follow or contradict what was said before; return the memories whose claims ended."""
    relations = [(other, relate_made(to_made(other), new)) for other in others]
    for other, relation in relations:
        if relation == "contradict":
            _contradict(tx, new.memory, other.memory.id)
    follow(tx, new.memory, [other.memory.id for other, relation in relations if relation == "follow"])
    ending = Ending(new.claim.valid_from, new.memory)
    return _end_claims(tx, [(other, ending) for other, relation in relations if relation == "end"])


def to_made(stored: StoredClaim) -> MadeClaim:
    """Return a stored claim as its memory made it, with its speaker."""
    return made_by(stored.memory, stored.as_made())


def made_by(memory: Memory, claim: Claim) -> MadeClaim:
    """Return a claim of a memory with its speaker and the time when it expires."""
    return MadeClaim(memory.id, claim, speaker_key(memory), memory.expires_at)


def follow(tx: Transaction, memory_id: int, older: Iterable[int], strength: float = 1.0) -> None:
    """Record that a memory follows older ones about the same thing, which stay in recall."""
    for older_id in sorted(set(older) - {memory_id}):
        lifecycle.associate(tx, memory_id, older_id, FOLLOWS, strength)
        lifecycle.mark(tx, older_id, FOLLOWED)


def _contradict(tx: Transaction, memory_id: int, other_id: int) -> None:
    lifecycle.associate(tx, memory_id, other_id, CONTRADICTS)
    for each in (memory_id, other_id):
        lifecycle.mark(tx, each, DISPUTED)


def link_other_agents(tx: Transaction, memory: Memory) -> None:
    """Link a memory with the user's claims to other agents in the same slots: the later one follows.

    Nothing ends: an agent that does not know of a change still recalls its own memories.
    """
    made = [made_by(memory, claim) for claim in claims_in(memory.notes) if claim.operation not in RETRACTIONS]
    slots = slots_of_other_agents(tx, owner_of(memory), claims_of(memory))
    for other in claims_in_slots(tx, slots) if made else ():
        if claims_of(other.memory)[other.position]["valid_to"] is not None:
            continue
        known = to_made(other)
        for each in made:
            if slot_words(each.claim) == slot_words(known.claim):
                _link_made(tx, *sorted((known, each), key=lambda one: (claim_time(one.claim), one.memory)))


def _link_made(tx: Transaction, older: MadeClaim, newer: MadeClaim) -> None:
    relation = relate_made(older, newer)
    if relation == "contradict":
        _contradict(tx, newer.memory, older.memory)
    elif relation in ("end", "follow"):
        follow(tx, newer.memory, [older.memory])


def _unlink_other_agents(tx: Transaction, memory: Memory) -> None:
    linked = (
        linked_with(tx, [memory.id]) | lifecycle.read_followers(tx, [memory.id], (FOLLOWS,)).get(memory.id, {}).keys()
    )
    found = lifecycle.read_memories(tx, Scope(memory.tenant, user=memory.user), sorted(linked))
    others = [other.id for other in found if other.agent != memory.agent]
    pairs = [pair for other in others for pair in ((memory.id, other), (other, memory.id))]
    for kind in (CONTRADICTS, FOLLOWS):
        lifecycle.unlink(tx, pairs, kind)
    clear_marks(tx, [memory.id, *others])


def _follow_by_meaning(tx: Transaction, memory: Memory, new: NewMemory) -> None:
    """Record the memories that a memory probably updates, where its channel is trusted as much as theirs."""
    named = ((older if isinstance(older, int) else older.stored_id, likeness) for older, likeness in new.follows)
    likely = {older: likeness for older, likeness in named if older is not None}
    owner = owner_of(memory)
    found = lifecycle.read_memories(tx, Scope(owner.tenant, user=owner.user), list(likely)) if likely else []
    for older in found:
        if trust_rank(older.trust) <= trust_rank(memory.trust):
            follow(tx, memory.id, [older.id], strength=likely[older.id])


def linked_with(tx: ReadTransaction, ids: Collection[int]) -> set[int]:
    """Return the memories that these follow or contradict, or that contradict them."""
    followed = lifecycle.read_followed(tx, ids, FOLLOWS)
    opposed = lifecycle.read_opposed(tx, list(ids), CONTRADICTS)
    return (followed | opposed.keys()) - set(ids)


def clear_marks(tx: Transaction, ids: Collection[int]) -> None:
    """Take the mark from memories that nothing follows or contradicts any more."""
    followed = lifecycle.read_followers(tx, sorted(ids), (FOLLOWS,))
    opposed = lifecycle.read_opposed(tx, sorted(ids), CONTRADICTS)
    for memory_id in sorted(ids):
        for key, found in ((FOLLOWED, followed), (DISPUTED, opposed)):
            if memory_id not in found:
                lifecycle.unmark(tx, memory_id, key)


def resolve_slots(tx: Transaction, slots: Collection[bytes], by: int | None = None) -> set[int]:
    """Decide again what holds in these slots, from the stored claims; return the memories that `by` replaces.

    What has expired ends nothing any more.
    """
    if not slots:
        return set()
    now = from_micros(tx.at)
    stored = [each for each in claims_in_slots(tx, slots) if not each.memory.has_expired(now)]
    memories = {each.memory.id: each.memory for each in stored}
    endings: dict[int, dict[int, Ending | None]] = {}
    starts: dict[int, dict[int, datetime | None]] = {}
    follows: dict[tuple[int, int], float] = {}
    for claims, resolution in _replay_slots(stored):
        for each, ending, start in zip(claims, resolution.endings, resolution.starts, strict=True):
            endings.setdefault(each.memory.id, {})[each.position] = ending
            starts.setdefault(each.memory.id, {})[each.position] = start
        follows |= dict.fromkeys(resolution.marks, MARKS_ONLY) | dict.fromkeys(resolution.follows, 1.0)
        for one, other in sorted(resolution.conflicts):
            _contradict(tx, one, other)
    for memory_id, by_position in endings.items():
        apply_endings(tx, memories[memory_id], by_position, starts[memory_id])
    for (one, other), strength in sorted(follows.items()):
        follow(tx, one, [other], strength)
    return {each for each, ended in endings.items() if any(_is_replaced(ending, by) for ending in ended.values())}


def _is_replaced(ending: Ending | None, by: int | None) -> bool:
    return ending is not None and ending.by == by and not ending.retracted


def release(tx: Transaction, memory: Memory) -> None:
    """Undo the ends that others gave to a memory's claims, its contradictions, and its links to older memories."""
    _unlink_other_agents(tx, memory)
    for _, resolution in _replay_slots(claims_in_slots(tx, slots_of(tx, owner_of(memory), [memory.id]))):
        lifecycle.unlink(tx, [pair for pair in resolution.conflicts if memory.id in pair], CONTRADICTS)
        lifecycle.unlink(tx, [pair for pair in resolution.follows | resolution.marks if memory.id in pair], FOLLOWS)
    positions = range(len(claims_of(memory)))
    apply_endings(tx, memory, dict.fromkeys(positions), dict.fromkeys(positions))


def apply_endings(
    tx: Transaction,
    memory: Memory,
    endings: Mapping[int, Ending | None],
    starts: Mapping[int, datetime | None] | None = None,
) -> Memory:
    """End these claims of a memory, or start them earlier, by position; None undoes it. Return the memory after it."""
    starts = starts or {}
    claims = [
        _with_ending(claim, endings[position]) if position in endings else dict(claim)
        for position, claim in enumerate(claims_of(memory))
    ]
    claims = [with_start(claim, starts[n]) if n in starts else claim for n, claim in enumerate(claims)]
    if claims == list(claims_of(memory)):
        return memory
    after = replace(memory, notes={**lifecycle.read_notes(tx, memory.id), CLAIMS: claims})
    write_notes(tx, memory.id, after.notes)
    _associate_enders(tx, memory, after)
    if true_from(memory) != true_from(after):
        lifecycle.set_true_from(tx, memory.id, true_from(after))
    old_end, new_end = _end_of(memory), _end_of(after)
    if old_end == new_end or (memory.valid_to, memory.superseded_by) != old_end:
        return after
    lifecycle.set_end(tx, memory.id, *new_end)
    return replace(after, valid_to=new_end[0], superseded_by=new_end[1])


def _add_claim(tx: Transaction, memory: Memory, older_id: int, claim: Claim) -> None:
    """Add a claim to an older memory of the same owner, unless it makes one about the same words."""
    owner = owner_of(memory)
    (older,) = lifecycle.read_memories(tx, Scope(owner.tenant, user=owner.user), [older_id]) or (None,)
    slot = claim.subject, claim.attribute
    known = [each for each in claims_in(older.notes) if (each.subject, each.attribute) == slot] if older else []
    if older is None or any(overlap(claim.span, each.span) for each in known):
        return
    notes = {**older.notes, CLAIMS: [*claims_of(older), claim.to_json()]}
    write_notes(tx, older_id, notes)
    index_claims(tx, older_id, owner_of(older), notes)


def _end_claims(tx: Transaction, ended: Sequence[tuple[StoredClaim, Ending]]) -> set[int]:
    """End stored claims and return the ids of their memories."""
    memories = {claim.memory.id: claim.memory for claim, _ in ended}
    for memory in memories.values():
        apply_endings(tx, memory, {claim.position: ending for claim, ending in ended if claim.memory.id == memory.id})
    return set(memories)


def _replay_slots(stored: Sequence[StoredClaim]) -> Iterable[tuple[list[StoredClaim], Resolution]]:
    """Yield the claims of each slot, and how they are resolved."""
    for _, run in groupby(sorted(stored, key=lambda each: each.slot), key=lambda each: each.slot):
        claims = list(run)
        yield claims, replay([to_made(each) for each in claims])


def _with_ending(claim: Mapping[str, Any], ending: Ending | None) -> dict[str, Any]:
    made = without_end(claim)
    if ending is None:
        return made
    retracted = {RETRACTED: ending.retracted} if ending.retracted else {}
    return made | retracted | {"valid_to": ending.at.isoformat(), ENDED_BY: ending.by}


def _associate_enders(tx: Transaction, before: Memory, after: Memory) -> None:
    old, new = enders_of(before), enders_of(after)
    if gone := [(by, before.id) for by in sorted(old - new)]:
        lifecycle.unlink(tx, gone, SUPERSEDES)
        lifecycle.unlink(tx, gone, FOLLOWS)  # a corrected memory does not follow the right one
        clear_marks(tx, [before.id])
    for by in sorted(new - old):
        lifecycle.associate(tx, by, before.id, SUPERSEDES)


def _end_of(memory: Memory) -> _End:
    """Return when a memory ends by its claims, and by whom; (None, None) when it does not."""
    ended = [claim for claim in claims_of(memory) if ENDED_BY in claim]
    if not ended or any(RETRACTED in claim for claim in ended) or not _says_only_past(memory):
        return None, None
    last = max(ended, key=_valid_to)
    return max(map(_valid_to, claims_of(memory))), last[ENDED_BY]


def _valid_to(claim: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(claim["valid_to"])


def _says_only_past(memory: Memory) -> bool:
    """Return whether all claims of a memory have ended and its text has no other content."""
    claims = claims_in(memory.notes)
    if any(claim.valid_to is None for claim in claims):
        return False
    start, end = memory.evidence or (0, len(memory.content))
    if len(memory.content) != end - start:  # words of a model, which only repeat the evidence
        return True
    spans = [(claim.span[0] - start, claim.span[1] - start) for claim in claims]
    speaker = {word.lower() for word in (memory.speaker or "").split()}
    return not has_content(blank_out(memory.content, spans), speaker)

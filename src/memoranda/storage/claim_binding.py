"""Find the stored claim for a change that names only a value: "I sold the boat", "correction: 1985"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from memoranda.storage import lifecycle
from memoranda.storage.base import Transaction
from memoranda.storage.changes import StoredMessage
from memoranda.storage.claims import (
    ANY_ATTRIBUTE,
    CLAIMS,
    RETRACTIONS,
    THAT_PERSON,
    Claim,
    StoredClaim,
    claims_in,
    claims_in_slots,
    claims_of_memories,
    fold,
    has_shape,
    owner_of,
    slot_words,
    value_shape,
    write_notes,
)
from memoranda.storage.message_log import read_last_messages
from memoranda.storage.read import ids_of_message, latest_ids
from memoranda.storage.supersession import denies_answer, fits, fold_value, names_same, names_value
from memoranda.text.places import looks_like_place
from memoranda.text.sentences import blank_out
from memoranda.types import Memory, Scope

_LATEST: Final = 4
"""The number of latest memories that a retraction may be about."""
_RETRACTABLE_WITHIN: Final = timedelta(days=1)
_TURNS: Final = 40
"""The number of earlier messages that a retraction may be about, past small talk and answers of others."""
_MEASURES: Final = frozenset(("day", "time", "money"))


def bind_claims(tx: Transaction, memory: Memory, related: Sequence[int]) -> Memory:
    """Set the attribute of a change that names only values to that of the claim that it changes.

    "I sold the boat" is about the claim with the boat, and "correction: 1985" about the latest year. A change that fits
    no stored claim keeps no attribute, and so changes nothing.
    """
    claims = claims_in(memory.notes)
    if all(_is_bound(claim) for claim in claims):
        return memory
    person = _find_person(tx, memory) if any(claim.subject == THAT_PERSON for claim in claims) else None
    known = [replace(claim, subject=person) if person and claim.subject == THAT_PERSON else claim for claim in claims]
    bound = [
        each
        for claim in known
        if claim.subject != THAT_PERSON
        for each in ([claim] if _is_bound(claim) else _bind_claim(claim, _find_candidates(tx, memory, claim, related)))
    ]
    notes = {**memory.notes, CLAIMS: [claim.to_json() for claim in bound]}
    write_notes(tx, memory.id, notes)
    return replace(memory, notes=notes)


def _find_person(tx: Transaction, memory: Memory) -> str | None:
    """Return the person that "she" refers to: the only one in the answered question, or in the last message."""
    owner = owner_of(memory)
    last = read_last_messages(tx, owner, _LATEST, memory.message_id) if memory.message_id is not None else []
    if last and (last[0].speaker or last[0].role) != memory.speaker and "?" in (last[0].content or ""):
        names = {name for name in _NAME.findall(last[0].content or "") if not looks_like_place(name)}
        return names.pop() if len(names) == 1 else None
    own = next((each for each in last if (each.speaker or each.role) == memory.speaker), None)
    if own is None or (len(last) > 1 and own is not last[0] and "?" in (last[0].content or "")):
        return None
    stored = claims_of_memories(tx, owner, ids_of_message(tx, owner, own.message_id))
    speaker = fold(memory.speaker or "")
    people = {
        claim.subject
        for each in stored
        if fold((claim := each.as_made()).subject) not in (speaker, fold(memory.user or ""))
    }
    people = {one for one in people if not any(other != one and other.startswith(one) for other in people)}
    return people.pop() if len(people) == 1 else None


_NAME: Final = re.compile(r"(?<![.!?] )(?<!^)\b(?!I\b)[A-Z][a-z\u00df-\u024f]+")
"""A name inside a sentence, where a capital is no accident."""


def _find_candidates(tx: Transaction, memory: Memory, claim: Claim, related: Sequence[int]) -> list[StoredClaim]:
    """Return the claims that a change without a slot may be about.

    "Correction: 1985" and "scratch that" are about the speaker's previous statement, whatever else is known.
    """
    retracts = claim.operation in RETRACTIONS
    if (retracts or claim.operation == "correct") and claim.replaces is None:
        found = find_said_before(tx, memory, claim)
    elif retracts:
        found = latest_ids(tx, owner_of(memory), _LATEST)
    else:
        found = list(related)
    meant = [stored for stored in claims_of_memories(tx, owner_of(memory), found) if stored.memory.id != memory.id]
    if claim.operation == "correct" and claim.single:  # "Turin was right" after all, as it was said before
        return [stored for stored in meant if _was_said(claim.value, claims_in_slots(tx, [stored.slot]))]
    return meant


def _was_said(value: str, stored: Iterable[StoredClaim]) -> bool:
    return any(fold_value(each.as_made().value) == fold_value(value) for each in stored)


def retracts_other_words(claim: Claim) -> bool:
    """Return whether a claim retracts a statement without claims: the two are only linked."""
    return claim.operation == "retract" and not _is_bound(claim) and claim.replaces is None


def find_said_before(tx: Transaction, memory: Memory, claim: Claim) -> list[int]:
    """Return the memories of the speaker's previous message; none where the claim is about a later one of others."""
    owner = owner_of(memory)
    if memory.message_id is None:
        return [each for each in latest_ids(tx, owner, 2) if each != memory.id][:1]
    answers: list[str] = []
    skipped = 0
    for message in read_last_messages(tx, owner, _TURNS if claim.skips else _LATEST, memory.message_id):
        if (message.speaker or message.role) == memory.speaker:
            if skipped < claim.skips:
                skipped += 1
                continue
            if claim.operation == "retract" and not _may_retract(claim, message, answers):
                return []
            return ids_of_message(tx, owner, message.message_id)
        answers.append(message.content or "")
        if claim.operation == "correct" and has_shape(message.content or "", value_shape(claim.value)):
            return []
    return []


def corrects_words(claim: Claim) -> bool:
    """Return whether a claim gives only a value in place of another one: "Correction: 6", "Bergen, sorry"."""
    return claim.operation == "correct" and claim.attribute == ANY_ATTRIBUTE and not claim.single


def find_corrected(tx: Transaction, memory: Memory, claim: Claim) -> list[int]:
    """Return the memories of the speaker's previous message, if it has a value that the correction may be about.

    They are marked where no claim of them is corrected: "Correction: 6" after "We meet at 5".
    """
    owner, shape = owner_of(memory), value_shape(claim.value)
    found = lifecycle.read_memories(tx, Scope(owner.tenant, user=owner.user), find_said_before(tx, memory, claim))
    recent = (each for each in found if claim.said_at - each.valid_from <= _RETRACTABLE_WITHIN)
    return [each.id for each in recent if has_shape(each.content, shape)]


def _may_retract(claim: Claim, message: StoredMessage, answers: Sequence[str]) -> bool:
    """Return whether a retraction is about the statement of a message, not about its question or an answer to it."""
    if claim.said_at - message.said_at > _RETRACTABLE_WITHIN or denies_answer(claim.value, answers, message.content):
        return False
    return "?" not in (message.content or "") or not claim.value.casefold().endswith(("that", "this", "mind", "nvm"))


def _is_bound(claim: Claim) -> bool:
    """Return whether the slot of a claim is known."""
    return claim.attribute != ANY_ATTRIBUTE and claim.subject != THAT_PERSON and not names_thing(claim)


def _bind_claim(claim: Claim, known: Sequence[StoredClaim]) -> list[Claim]:
    """Return the claim in the slot of the stored claim that it is about; as it is, when there is none."""
    if claim.operation in RETRACTIONS:
        return _bind_retraction(claim, known)
    if claim.attribute != ANY_ATTRIBUTE:
        return [_bind_noun(claim, known)]
    if claim.operation == "correct" and claim.replaces is None:
        known = [stored for stored in known if _is_only_value(stored)]
    fitting = [made for stored in known if fits(made := stored.as_made(), claim)]
    if not fitting:
        return [claim]
    named = claim.replaces or claim.value
    older = max(fitting, key=lambda each: (names_same(each.value, named), each.said_at))
    bound = replace(claim, subject=older.subject, attribute=older.attribute, single=older.single)
    if claim.operation == "correct" and claim.replaces is None:
        return [bound]
    if not names_same(older.value, named):  # "my car" may be another one than "a company car": it is only linked
        return [replace(bound, operation="state", replaces=older.value)]
    return [bound if claim.holds else replace(bound, value=older.value)]


def _is_only_value(stored: StoredClaim) -> bool:
    """Return whether the words around a claim contain no other value of its shape."""
    memory, claim = stored.memory, stored.as_made()
    start = memory.evidence[0] if memory.evidence else 0
    around = blank_out(memory.content, [(claim.span[0] - start, claim.span[1] - start)])
    return not has_shape(around, value_shape(claim.value))


def _bind_retraction(claim: Claim, known: Sequence[StoredClaim]) -> list[Claim]:
    """Return one retraction for each claim of the memory that the speaker made last, if that was not long ago."""
    own = [stored for stored in known if stored.as_made().said_at <= claim.said_at and _is_about(stored, claim.subject)]
    if claim.replaces is not None:
        named = [stored for stored in own if _may_have_replaced(stored.as_made(), claim.replaces, known)]
        if not named and claim.operation == "doubt" and _is_unknown(claim.replaces, own):
            claim = replace(claim, operation="remark")  # "the VW" may be the Golf that was sold
        else:
            own = named
    if not own:
        return [claim]
    last = max(own, key=lambda stored: (stored.as_made().said_at, stored.memory.id)).memory.id
    made = [stored.as_made() for stored in own if stored.memory.id == last]
    recent = [
        each for each in made if claim.said_at - each.said_at <= _RETRACTABLE_WITHIN and _may_be_retracted(each, claim)
    ]
    return [
        replace(
            claim,
            subject=each.subject,
            attribute=each.attribute,
            value=each.value,
            single=each.single,
            replaces=None,
            skips=0,
        )
        for each in recent
    ] or [claim]


def _is_unknown(named: str, known: Sequence[StoredClaim]) -> bool:
    """Return whether words name a thing that no claim mentions: not "Ghent", which can only be a home."""
    return named[:1].islower() and not any(names_value(stored.as_made().value, named) for stored in known)


def _may_be_retracted(said: Claim, claim: Claim) -> bool:
    """Return whether a retraction fits a claim: "No, I didn't" does not fit "I like jazz", which replaces nothing."""
    if said.operation in RETRACTIONS:
        return False
    return claim.operation == "retract" or said.operation not in ("state", "event") or said.single


def _may_have_replaced(change: Claim, named: str, known: Sequence[StoredClaim]) -> bool:
    """Return whether a change may have replaced the thing that a retraction names: "I'm still in Oslo": the city."""
    if change.holds and names_value(change.value, named):
        return False  # the retraction says that this value still holds
    values = [made.value for stored in known if slot_words(made := stored.as_made()) == slot_words(change)]
    if any(names_value(value, named) for value in values):
        return True
    if change.attribute.rpartition(" ")[2] == fold(named).rpartition(" ")[2]:
        return True  # "I'm keeping my old name"
    return change.attribute == ("city" if looks_like_place(named) else "employer") and named[:1].isupper()


def _is_about(stored: StoredClaim, speaker: str) -> bool:
    subject, name = fold(stored.as_made().subject), fold(speaker)
    return subject == name or subject.startswith(f"{name}'s ")


def names_thing(claim: Claim) -> bool:
    """Return whether a change is about a thing that may have a longer name in another claim: "the meeting"."""
    return (
        claim.operation == "update"
        and claim.attribute.rpartition(" ")[2] in _MEASURES
        and claim.attribute.count(" ") == 1
    )


def _bind_noun(claim: Claim, known: Sequence[StoredClaim]) -> Claim:
    """Return a change of "the meeting" as one of "the team meeting", where that is the only known meeting.

    It is only linked then, since there may be an unknown one.
    """
    same = [made for stored in known if fold((made := stored.as_made()).subject) == fold(claim.subject)]
    attributes = {made.attribute for made in same if made.single}
    longer = {each for each in attributes if each.endswith(f" {claim.attribute}")}
    if claim.attribute in attributes or len(longer) != 1:
        return claim
    return replace(claim, attribute=longer.pop(), operation="state")

"""Find later memories about the same thing as a hit, and put them above the hit for a question about the present."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeAlias

from memoranda.storage.base import Store
from memoranda.storage.claim_resolution import BY_MEANING, CONTRADICTS, FOLLOWS, SUPERSEDES
from memoranda.storage.claims import (
    DISPUTED,
    FOLLOWED,
    RETRACTED,
    claims_in,
    claims_of,
    described_times,
    ended_when_said,
    enders_of,
    fold,
    slot_words,
)
from memoranda.storage.lifecycle import read_followers, read_opposed
from memoranda.storage.past import TimeView
from memoranda.storage.supersession import fold_value
from memoranda.text.terms import query_terms
from memoranda.types import Hit, Memory, Scope, trust_rank

_PAST: Final = re.compile(
    r"\b(?:used\s+to|before|previous(?:ly)?|former(?:ly)?|original(?:ly)?|first|initially|earlier|in\s+the\s+past|back\s+then"
    r"|(?<!how )old|once|ever|history|did|was|were|had)\b",
    re.I,
)

# "Do I run more than before?" is about the present, compared with the past.
_COMPARED: Final = re.compile(r"\bthan\b(?P<with>.*)", re.I | re.S)


def asks_for_the_present(question: str) -> bool:
    """Return whether a question is not about the past."""
    return _PAST.search(_COMPARED.sub("", question)) is None


def _compares_with_the_past(question: str) -> bool:
    compared = _COMPARED.search(question)
    return compared is not None and _PAST.search(compared["with"]) is not None and asks_for_the_present(question)


_CURRENT: Final = re.compile(
    r"\b(?:current(?:ly)?|now|nowadays|these\s+days|at\s+the\s+moment|still|latest|newest|most\s+recent)\b", re.I
)
_COUNT: Final = re.compile(r"\bhow\s+(?:many|much|long|often|far|old|frequently)\b.{0,200}?\b(?:i|my|we|our)\b", re.I)
_COUNTING: Final = re.compile(r"\bhow\s+(?:many|much|long|often|far|old|frequently)\b", re.I)
_SPAN: Final = re.compile(r"\b(?:pass(?:ed)?|elapsed|between|before|after|ago|did it take)\b", re.I)
"""Words that ask for a time between two others: "How many days passed before I left?"."""
_CLOSE: Final = 0.6
"""The share of the best score from which hits answer a question about equally well."""
_OWN_WORDS: Final = ("lexical", "dense")
_CLOSE_IN_WORDS: Final = 0.5
"""The same share for the score of its own words and meaning: a new state is often part of a longer message."""
_BEST: Final = 5
"""How many of the best hits may be different states of one thing, however many hits were asked for."""
_NEARLY: Final = 0.3
"""The share of a hit's score that a memory which is only near in meaning must have to be put above it."""
_NEARLY_IN_DIALOGUE: Final = 0.8
"""The same where people take turns, however near it is: they return to a subject without changing anything."""


def put_latest_first(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with later states of a thing above earlier ones, where the question asks for the latest state.

    Only a hit with another value of the same thing moves: a hit that is merely later may be about something else.
    """
    if len(hits) < 2 or not _asks_for_latest(question):
        return list(hits)
    close = [hit for hit in hits[:_BEST] if _says_as_much(hit, hits[0])]
    newest_first = sorted(close, key=lambda hit: (hit.memory.valid_from, hit.id), reverse=True)
    asked = set(query_terms(_CURRENT.sub(" ", _COUNTING.sub(" ", question))))
    ordered: list[Hit] = []
    for hit in hits:
        newer = [each for each in newest_first if each not in ordered and _says_anew(each, hit, asked)]
        ordered += newer if hit in close else []
        ordered += [hit] if hit not in ordered else []
    return _with_falling_scores(ordered)


def _says_anew(hit: Hit, older: Hit, asked: Collection[str]) -> bool:
    """Return whether a hit of a later session names most of the things asked about that the older one names."""
    if hit.memory.valid_from <= older.memory.valid_from or _is_same_session(hit.memory, older.memory):
        return False
    named, before = (set(query_terms(each.content)).intersection(asked) for each in (hit, older))
    return 2 * len(named & before) > len(before)


def _is_same_session(memory: Memory, other: Memory) -> bool:
    return memory.session is not None and memory.session == other.session


def _asks_for_latest(question: str) -> bool:
    """Return whether a question asks for the latest state: in words, in a comparison with the past, or for a count."""
    if _CURRENT.search(question) or _compares_with_the_past(question):
        return True
    return _COUNT.search(question) is not None and _SPAN.search(question) is None


def put_ended_first(hits: Sequence[Hit], now: datetime) -> list[Hit]:
    """Return the hits with ended memories above those that replaced them, the latest end first: for the past."""
    ended = [hit for hit in hits if hit.memory.valid_to is not None and hit.memory.valid_to <= now]
    ended.sort(key=lambda hit: (hit.memory.valid_to or now, hit.id), reverse=True)
    ordered: dict[int, Hit] = {}
    for hit in hits:
        ordered |= {each.id: each for each in ended if each.superseded_by == hit.id and each.id not in ordered}
        ordered.setdefault(hit.id, hit)
    return _with_falling_scores(list(ordered.values()))


def _with_falling_scores(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits, each with a score that is at least that of those below it."""
    raised: list[Hit] = []
    for hit in reversed(hits):
        least = raised[-1].score if raised else 0.0
        raised.append(hit if hit.score >= least else replace(hit, score=least))
    return raised[::-1]


def _says_as_much(hit: Hit, best: Hit) -> bool:
    """Return whether a hit answers about as well as the best one, by its own words instead of its neighbours'."""
    if hit.score < _CLOSE * best.score or hit.memory.speaker != best.memory.speaker:
        return False
    return _own_score(hit) >= _CLOSE_IN_WORDS * _own_score(best)


def _own_score(hit: Hit) -> float:
    return sum(score.score for score in hit.why if score.arm in _OWN_WORDS)


WeakPairs: TypeAlias = dict[tuple[int, int], float]
"""Pairs of a memory and an older one that are linked by meaning, and may be about different things; with strengths."""


def attach_later(
    store: Store,
    scope: Scope,
    hits: Sequence[Hit],
    now: datetime,
    known_at: datetime | None = None,
    as_of: datetime | None = None,
) -> tuple[list[Hit], WeakPairs]:
    """Return the hits with later memories about the same thing and disputes; and which of these pairs are weak.

    Only memories count that had not expired, were known, and had begun to be true: now, or at `as_of`.
    """
    marked = [
        hit.id
        for hit in hits
        if hit.memory.notes and (hit.memory.notes.keys() & (FOLLOWED, DISPUTED) or enders_of(hit.memory))
    ]
    if not marked:
        return list(hits), {}
    against_ids = store.read(lambda tx: read_opposed(tx, marked, CONTRADICTS), tenant=scope.tenant)
    linked = sorted({*marked, *against_ids})
    newer_ids = store.read(lambda tx: read_followers(tx, linked, (FOLLOWS, SUPERSEDES)), tenant=scope.tenant)
    wanted = sorted({other for ids in (*newer_ids.values(), *against_ids.values()) for other in ids})
    view = TimeView(now, as_of, known_at)
    read = (memory for memory in store.get(scope, wanted) if memory and _counts(memory, view))
    found = {memory.id: memory for memory in read if _has_begun(memory, as_of or now)}
    found = {key: memory for key, memory in found.items() if as_of is None or is_true_at(memory, as_of)}
    weak = {
        (newer, older): strength
        for older, found_newer in newer_ids.items()
        for newer, strength in found_newer.items()
        if strength < 1.0
    }

    def newer_than(memory: Memory) -> tuple[Memory, ...]:
        return _in_order(memory, [found[each] for each in newer_ids.get(memory.id, ()) if each in found])

    def is_outdated_dispute(memory: Memory, other: Memory) -> bool:
        return _is_outdated_dispute(memory, other, (*newer_than(memory), *newer_than(other)))

    attached = [
        replace(
            hit,
            later=(later := newer_than(hit.memory)),
            strengths=tuple(newer_ids[hit.id][memory.id] for memory in later),
            disputed=tuple(
                found[other]
                for other in against_ids.get(hit.id, ())
                if other in found and not is_outdated_dispute(hit.memory, found[other])
            ),
        )
        for hit in hits
    ]
    return attached, weak


def _is_outdated_dispute(memory: Memory, other: Memory, newer: Sequence[Memory]) -> bool:
    """Return whether newer memories fill all slots in which two memories disagree: an old one disputes nothing."""
    shared = _slots_of(memory) & _slots_of(other)
    return bool(shared) and shared <= {slot for each in newer for slot in _slots_of(each)}


def _slots_of(memory: Memory) -> set[tuple[str, str]]:
    return set(map(slot_words, claims_in(memory.notes)))


def least_share(strength: float, *, in_dialogue: bool) -> float:
    """Return the share of a hit's score that a later memory needs to be put above it, by the strength of their link."""
    if strength == 1.0:
        return 0.0
    if strength < BY_MEANING:
        return 1.0
    if in_dialogue:
        return _NEARLY_IN_DIALOGUE
    return 0.0 if strength > BY_MEANING else _NEARLY


def surest_later(hit: Hit, limit: int = 2) -> list[Memory]:
    """Return the later memories that are most surely about the same thing as a hit, the surest first."""
    strengths = hit.strengths or (1.0,) * len(hit.later)
    order = sorted(range(len(hit.later)), key=lambda n: (strengths[n], n), reverse=True)
    return [hit.later[n] for n in order[:limit]]


def put_newer_first(
    hits: Sequence[Hit],
    make_hit: Callable[[Memory, Hit], Hit | None],
    replies: Mapping[int, int] | None = None,
    now: datetime | None = None,
    make_trusted: Callable[[Memory, Hit], Hit | None] | None = None,
) -> list[Hit]:
    """Return the hits with later memories above those that they follow, and above the replies to those.

    A memory only about the past goes below one that holds in the same slot, and one of lower trust below the one it
    disputes.

    Args:
        hits: The hits, best first.
        make_hit: Returns a hit for a memory that follows a hit; None where it is not to be put above it.
        replies: By the id of a hit that replies to another hit, the id of that one. A reply repeats what was true when
            the other was said.
        now: The time that is asked about; None where past and present states count alike.
        make_trusted: Returns a hit for a memory of higher trust that a hit disputes; None where there is none to show.
    """
    hits = hits if now is None else _put_past_last(hits, now)
    against = {} if now is None else _more_trusted_in_slot(hits, now)
    ordered: list[Hit] = []
    placed: set[int] = set()
    by_id = {hit.id: hit for hit in hits}

    def place(hit: Hit) -> None:
        if hit.id in placed:
            return
        placed.add(hit.id)
        answered = by_id.get((replies or {}).get(hit.id, 0))
        for memory in reversed(answered.later if answered else ()):
            if (newer := by_id.get(memory.id)) and make_hit(memory, answered or hit):
                place(replace(newer, score=max(newer.score, hit.score)))
        for memory in reversed(hit.later):
            newer = make_hit(memory, hit)
            if newer is not None:
                known = by_id.get(newer.id, newer)
                place(replace(known, score=max(known.score, hit.score)))
        for memory in (*more_trusted(hit), *against.get(hit.id, ())):
            trusted = by_id.get(memory.id) or (make_trusted(memory, hit) if make_trusted else None)
            if trusted is not None:
                place(replace(trusted, score=max(trusted.score, hit.score)))
        ordered.append(hit)

    for hit in hits:
        place(hit)
    return ordered


def more_trusted(hit: Hit) -> list[Memory]:
    """Return the memories of higher trust that a hit disputes."""
    rank = trust_rank(hit.memory.trust)
    return [memory for memory in hit.disputed if trust_rank(memory.trust) > rank]


def _more_trusted_in_slot(hits: Sequence[Hit], now: datetime) -> dict[int, list[Memory]]:
    """Return for each hit, by id, the others of higher trust with another value in one of its slots."""
    if len({hit.memory.trust for hit in hits}) < 2:
        return {}
    speakers = {fold(hit.memory.speaker) for hit in hits if hit.memory.trust == "user" and hit.memory.speaker}
    said = {hit.id: _values_at(hit.memory, now, speakers) for hit in hits}
    return {
        hit.id: [
            other.memory
            for other in hits
            if trust_rank(other.memory.trust) > trust_rank(hit.memory.trust)
            and any(said[other.id].get(slot, value) != value for slot, value in said[hit.id].items())
        ]
        for hit in hits
    }


def _values_at(
    memory: Memory, now: datetime, speakers: Collection[str]
) -> dict[tuple[str, str, str | None], str | bool]:
    """Return for each value of a memory whether it holds, and the value of each slot with one value at a time.

    With a single speaker, notes about the user are about that person.
    """
    own = {fold(str(memory.user or "")), "user", *(speakers if len(speakers) == 1 else ())}
    found: dict[tuple[str, str, str | None], str | bool] = {}
    for claim in claims_in(memory.notes):
        if claim.valid_from > now or (claim.valid_to is not None and claim.valid_to <= now):
            continue
        subject, value = "user" if fold(claim.subject) in own else fold(claim.subject), fold_value(claim.value)
        found[subject, claim.attribute, value] = claim.holds
        if claim.single and claim.holds:
            found[subject, claim.attribute, None] = value
    return found


def _put_past_last(hits: Sequence[Hit], now: datetime) -> list[Hit]:
    """Return the hits with those only about the past ("My old number was …") below those that hold in the same slot."""
    past_only = {hit.id: slots for hit in hits if (slots := _past_only_slots(hit.memory))}
    if not past_only:
        return list(hits)
    holding = {hit.id: _slots_at(hit.memory, now) for hit in hits}
    ordered: dict[int, Hit] = {}
    for place, hit in enumerate(hits):
        if hit.id in past_only and hit.id not in ordered:
            ordered |= {each.id: each for each in hits[place + 1 :] if past_only[hit.id] & holding[each.id]}
        ordered.setdefault(hit.id, hit)
    return _with_falling_scores(list(ordered.values()))


def _past_only_slots(memory: Memory) -> set[tuple[str, str]]:
    """Return the slots of a memory if all its claims were over when they were said."""
    over = ended_when_said(claims_in(memory.notes))
    return _slots_of(memory) if over and not enders_of(memory) else set()


def _slots_at(memory: Memory, now: datetime) -> set[tuple[str, str]]:
    claims = claims_in(memory.notes)
    return {
        slot_words(claim)
        for claim in claims
        if claim.single and claim.valid_from <= now and (claim.valid_to is None or claim.valid_to > now)
    }


def _counts(memory: Memory, view: TimeView) -> bool:
    if memory.archived_at is not None or memory.quarantined_at is not None or memory.has_expired(view.latest):
        return False
    return not _is_retracted(memory) if view.known_at is None else memory.recorded_at <= view.known_at


def _is_retracted(memory: Memory) -> bool:
    """Return whether its speaker retracted all claims of a memory: it does not follow any older one."""
    made = claims_of(memory)
    return bool(made) and all(claim.get(RETRACTED, "doubt") != "doubt" for claim in made)


def is_true_at(memory: Memory, moment: datetime) -> bool:
    """Return whether a memory is about a moment: it was said before, or names a time that includes it."""
    return memory.valid_from <= moment or any(
        start <= moment and (end is None or end > moment) for start, end in described_times(memory.notes)
    )


def _has_begun(memory: Memory, moment: datetime) -> bool:
    """Return whether a memory is not only about the future: "From 1 May my boss is Karin"."""
    made = claims_in(memory.notes)
    return not made or any(claim.valid_from <= max(moment, claim.said_at) for claim in made)


def _in_order(memory: Memory, newer: Sequence[Memory]) -> tuple[Memory, ...]:
    later = [each for each in newer if (each.valid_from, each.id) > (memory.valid_from, memory.id)]
    return tuple(sorted(later, key=lambda each: (each.valid_from, each.id)))

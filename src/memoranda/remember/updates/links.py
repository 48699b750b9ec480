"""Links a new memory to older ones by its words, where no slot tells that both are about the same thing.

A value that it takes back ("the 21st, not the 12th"), a service that somebody switched to without saying which, an
employer that is only named, a wish that ended, or a death: the older memories stay, and refer to the new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from memoranda.index.partition import Partition
from memoranda.remember.claims.corrections import find_taken_back
from memoranda.remember.reading.clauses import find_clauses
from memoranda.remember.reading.lexicon import CHILDREN, PARTNERS, PETS, RELATIVES
from memoranda.remember.updates.intentions import find_ended, tells
from memoranda.storage.changes import NewMemory
from memoranda.storage.claim_resolution import BY_MEANING
from memoranda.storage.claims import CLAIMS, PRESENTED, Claim, claims_in, fold
from memoranda.text.terms import query_terms
from memoranda.types import IntArray, Memory

_LISTED: Final = 16
_CORRECTED: Final = 2
_NAME = r"(?-i:\b[A-Z\u00c0-\u00de][\w'’&.-]{0,40}\w(?: [A-Z\u00c0-\u00de\d][\w&.-]*\w){0,4})"
_ADVERBS = (
    r"(?:(?:has|have|['’]s|['’]ve|been|just|sadly|recently|finally|now|officially|suddenly|peacefully|unexpectedly"
    r"|am|['’]m|are|['’]re)\s+)*"
)
_PEOPLE = rf"{RELATIVES}|{PARTNERS}|{CHILDREN}|{PETS}|friend"
_DIED: Final = re.compile(
    rf"(?P<who>(?:my|our) (?:late |dear |old )?(?:{_PEOPLE})(?: {_NAME})?|{_NAME})\s+{_ADVERBS}"
    r"(?:passed away|died|is (?:dead|no longer with us)|(?:was|had to be) put (?:down|to sleep))\b",
    re.I,
)
_PUT_DOWN: Final = re.compile(
    rf"(?:i|we) had to (?:put|have) (?P<who>(?:my|our) (?:old )?(?:{PETS})(?: {_NAME})?|{_NAME})"
    r" (?:put )?(?:down|to sleep)\b",
    re.I,
)
_SWITCHED: Final = re.compile(
    rf"(?:i|we)(?:(?=['’])|\s+){_ADVERBS}(?:switched|changed|gone|went|moved) (?:over )?to (?P<value>{_NAME})"
    r"(?=[\s.!,]|$)",
    re.I,
)
_WITH: Final = re.compile(
    rf"(?:i|we)(?:(?=['’])|\s+){_ADVERBS}with (?P<value>{_NAME})\s+(?:since|for|now|these days|nowadays|as of)\b", re.I
)
_DEATHS: Final = (_DIED, _PUT_DOWN)
_HINT: Final = re.compile(r"\b(?:passed|died|dead|longer|put|to|with)\b", re.I)
_OWN: Final = re.compile(r"(?:my|our) (?:late |dear |old )?(?P<kin>.+)", re.I)
_SERVICE_NOUNS: Final = (
    "provider carrier operator bank broker insurer insurance supplier vendor editor browser phone laptop network gym"
    " airline pharmacy framework database host plan app"
)
"""What somebody has one of at a time, and may switch: "I switched to Iliad" may be about any of them."""
_WORK: Final = "work job employed hired joined company"


def find_linked(partition: Partition, new: NewMemory, among: IntArray) -> list[int]:
    """Return the memories that a new one may be linked to by its words."""
    found: list[int] = []
    for terms in _search_terms(new) if len(among) else ():
        found += partition.postings.search(terms, _LISTED, among=among)[0].tolist()
    return list(dict.fromkeys(found))


def _search_terms(new: NewMemory) -> Iterator[Sequence[str]]:
    yield from (value.terms for value in find_taken_back(new.content, new.valid_from))
    if (ended := find_ended(new.content)) is not None:
        yield tuple(ended.terms)
    for change in _find_changes(new):
        yield query_terms(change["who"] if change.re in _DEATHS else f"{_SERVICE_NOUNS} {_WORK}")


def link_by_words(new: NewMemory, olders: Sequence[Memory], speaker: str) -> None:
    """Let a new memory follow the older ones that its words are about; `speaker` is its subject where it says "I"."""
    _correct(new, olders)
    known = [older for older in olders if older.valid_from <= new.valid_from]
    if (ended := find_ended(new.content)) is not None and new.notes.get(PRESENTED) not in ("text", "doubt"):
        _follow(new, (older.id for older in known if tells(older.content, ended)), 1.0)
    for change in _find_changes(new):
        if change.re in _DEATHS:
            _follow(new, (older.id for older in known if _speaks_of(older, change["who"])), 1.0)
        elif change.re is _SWITCHED:
            _fill_slot(new, change, [claim for older in known for claim in _services(older, speaker)])
        else:
            _follow(new, (older.id for older in known if _services(older, speaker, "employer")), BY_MEANING)


def _find_changes(new: NewMemory) -> Iterator[re.Match[str]]:
    """Yield the clauses of the speaker's own that tell a change without a slot."""
    if new.notes.get(PRESENTED) in ("text", "doubt") or _HINT.search(new.content) is None:
        return
    for clause in find_clauses(new.content):
        found = (pattern.match(clause.text) for pattern in (*_DEATHS, _SWITCHED, _WITH))
        yield from (match for match in found if match is not None and not clause.qualified)


def _follow(new: NewMemory, olders: Iterable[int], strength: float) -> None:
    known = {older for older, _ in new.follows} | {older for older, _ in new.aligned}
    new.follows = (*new.follows, *((older, strength) for older in olders if older not in known))


def _speaks_of(older: Memory, who: str) -> bool:
    """Return whether a memory says something about somebody, by their name or as "my sister"."""
    own, name = _OWN.match(who), fold(who)
    if own is None:
        return re.search(rf"\b{re.escape(name)}\b", fold(older.content)) is not None
    kin = fold(own["kin"])
    return any(
        kin.split()[0] in fold(claim.value).split()
        or ((subject := fold(claim.subject).partition("'s ")[2]) and kin.startswith(subject))
        for claim in claims_in(older.notes)
    )


def _services(older: Memory, speaker: str, *others: str) -> list[Claim]:
    """Return the claims of a memory about which service or thing the speaker uses, or in other slots of theirs."""
    nouns = (*_SERVICE_NOUNS.split(), *others)
    return [
        claim
        for claim in claims_in(older.notes)
        if fold(claim.subject) == fold(speaker)
        and claim.single
        and claim.holds
        and claim.attribute.rpartition(" ")[2] in nouns
    ]


def _fill_slot(new: NewMemory, change: re.Match[str], services: Sequence[Claim]) -> None:
    """Give the new memory a claim in the only slot that can be meant, by which the older value is only linked."""
    if len({claim.attribute for claim in services}) != 1:
        return
    at, start = new.content.find(change["value"]), evidence_start(new.notes)
    span = (start + at, start + at + len(change["value"]))
    last = max(services, key=lambda claim: claim.said_at)
    made = Claim(
        last.subject, last.attribute, change["value"], span, new.valid_from, new.valid_from, single=True,
        trust=new.trust, replaces=last.value,
    )  # fmt: skip
    add_claim(new, made)


def _correct(new: NewMemory, holders: Sequence[Memory]) -> None:
    """Let a new memory follow those with a value that it takes back in words, which is as sure as a shared slot."""
    aligned = {memory_id for memory_id, _ in new.aligned}
    corrected = _select_corrected(new, [older for older in holders if older.id not in aligned])
    others = [each for each in new.follows if each[0] not in corrected]
    new.follows = (*((memory_id, 1.0) for memory_id in corrected), *others)
    for older in holders:
        if older.id in corrected:
            _add_corrected_claims(new, older)


def _add_corrected_claims(new: NewMemory, older: Memory) -> None:
    """Give the new memory a claim in each slot of an older one whose value it takes back; it is only linked by it."""
    said = {(claim.subject, claim.attribute) for claim in claims_in(new.notes)}
    start = evidence_start(new.notes)
    for value in find_taken_back(new.content, new.valid_from):
        for known in claims_in(older.notes):
            slot = known.subject, known.attribute
            if slot not in said and known.valid_to is None and value.is_in(known.value, older.valid_from):
                span = (value.span[0] + start, value.span[1] + start)
                made = Claim(
                    *slot, value.new, span, new.valid_from, new.valid_from, single=known.single, trust=new.trust,
                    replaces=known.value,
                )  # fmt: skip
                add_claim(new, made)


def add_claim(new: NewMemory, claim: Claim) -> None:
    """Add a claim to those of a new memory, once: its sentence may repeat several older ones."""
    known = new.notes.get(CLAIMS)
    claims: list[Any] = list(known) if isinstance(known, list) else []
    if claim.to_json() not in claims:
        new.notes[CLAIMS] = [*claims, claim.to_json()]


def _select_corrected(new: NewMemory, holders: Sequence[Memory]) -> list[int]:
    """Return the memories with a value that the new one takes back; those with its subject, if there are any.

    Only a day is telling enough where the new one does not name its subject: "It's 2 January now instead of the 9th".
    """
    about, others = list[int](), list[int]()
    for older in holders:
        for value in find_taken_back(new.content, new.valid_from):
            if older.valid_from <= new.valid_from and value.is_in(older.content, older.valid_from):
                shared = set(query_terms(new.content)) & set(query_terms(older.content)) - set(value.terms)
                (about if shared else others if value.day else []).append(older.id)
    return list(dict.fromkeys(about or others))[:_CORRECTED]


def evidence_start(notes: Mapping[str, Any]) -> int:
    """Return where in its message the text of a memory begins."""
    evidence = notes.get("evidence")
    return int(evidence[0]) if isinstance(evidence, list) else 0

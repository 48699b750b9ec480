"""Link a new memory to older ones by its words, where the two share no slot.

It links a corrected value ("the 21st, not the 12th"), a switch to another service without the name of the old one, an
employer mentioned only by name, a wish, plan or allergy that ended ("I no longer want to be a vet"), and a death. The
older memories stay, and refer to the new one. A wish matches only in the same words of the same person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memoranda.index.partition import Partition
from memoranda.remember.base import framing_in
from memoranda.remember.claims.corrections import find_replaced_values
from memoranda.remember.reading.clauses import find_clauses
from memoranda.remember.reading.contractions import expand
from memoranda.remember.reading.lexicon import CHILDREN, PARTNERS, PETS, RELATIVES
from memoranda.storage.changes import NewMemory
from memoranda.storage.claim_resolution import BY_MEANING
from memoranda.storage.claims import CLAIMS, Claim, claims_in, fold
from memoranda.text.cache import text_cache
from memoranda.text.terms import query_terms
from memoranda.types import IntArray, Memory

_LISTED: Final = 16
_NOT_STATED: Final = ("quoted", "uncertain")
"""Framings of text that its speaker may not state."""
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
    """Return the ids of memories to which a new one may be linked by its words."""
    found: list[int] = []
    for terms in _search_terms(new) if len(among) else ():
        found += partition.postings.search(terms, _LISTED, among=among)[0].tolist()
    return list(dict.fromkeys(found))


def _search_terms(new: NewMemory) -> Iterator[Sequence[str]]:
    yield from (value.terms for value in find_replaced_values(new.content, new.valid_from))
    if (ended := find_ended(new.content)) is not None:
        yield tuple(ended.terms)
    for change in _find_changes(new):
        yield query_terms(change["who"] if change.re in _DEATHS else f"{_SERVICE_NOUNS} {_WORK}")


def link_by_words(new: NewMemory, olders: Sequence[Memory], speaker: str) -> None:
    """Let a new memory follow the older ones that share its subject; `speaker` is the subject of its "I"."""
    _correct(new, olders)
    known = [older for older in olders if older.valid_from <= new.valid_from]
    if (ended := find_ended(new.content)) is not None and framing_in(new.notes) not in _NOT_STATED:
        _follow(new, (older.id for older in known if states_intention(older.content, ended)), 1.0)
    for change in _find_changes(new):
        if change.re in _DEATHS:
            _follow(new, (older.id for older in known if _mentions(older, change["who"])), 1.0)
        elif change.re is _SWITCHED:
            _fill_slot(new, change, [claim for older in known for claim in _services(older, speaker)])
        else:
            _follow(new, (older.id for older in known if _services(older, speaker, "employer")), BY_MEANING)


def _find_changes(new: NewMemory) -> Iterator[re.Match[str]]:
    """Yield the speaker's own clauses that describe a change without a slot."""
    if framing_in(new.notes) in _NOT_STATED or _HINT.search(new.content) is None:
        return
    for clause in find_clauses(new.content):
        found = (pattern.match(clause.text) for pattern in (*_DEATHS, _SWITCHED, _WITH))
        yield from (match for match in found if match is not None and not clause.qualified)


def _follow(new: NewMemory, olders: Iterable[int], strength: float) -> None:
    known = {older for older, _ in new.follows} | {older for older, _ in new.aligned}
    new.follows = (*new.follows, *((older, strength) for older in olders if older not in known))


def _mentions(older: Memory, who: str) -> bool:
    """Return whether a memory is about a person, by their name or as "my sister"."""
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
    """Add a claim in the only slot that fits to the new memory; it only links the older value."""
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
    """Let a new memory follow those with a value that it corrects in words, which is as sure as a shared slot."""
    aligned = {memory_id for memory_id, _ in new.aligned}
    corrected = _select_corrected(new, [older for older in holders if older.id not in aligned])
    others = [each for each in new.follows if each[0] not in corrected]
    new.follows = (*((memory_id, 1.0) for memory_id in corrected), *others)
    for older in holders:
        if older.id in corrected:
            _add_corrected_claims(new, older)


def _add_corrected_claims(new: NewMemory, older: Memory) -> None:
    """Add a claim for each slot of an older memory whose value the new one corrects; it only links them."""
    said = {(claim.subject, claim.attribute) for claim in claims_in(new.notes)}
    start = evidence_start(new.notes)
    for value in find_replaced_values(new.content, new.valid_from):
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
    """Return the memories with a value that the new one corrects; those with its subject, if there are any.

    Where the new one does not name its subject, only a day is specific enough: "It's 2 January now instead of the 9th".
    """
    about, others = list[int](), list[int]()
    for older in holders:
        for value in find_replaced_values(new.content, new.valid_from):
            if older.valid_from <= new.valid_from and value.is_in(older.content, older.valid_from):
                shared = set(query_terms(new.content)) & set(query_terms(older.content)) - set(value.terms)
                (about if shared else others if value.day else []).append(older.id)
    return list(dict.fromkeys(about or others))[:_CORRECTED]


def evidence_start(notes: Mapping[str, Any]) -> int:
    """Return where in its message the text of a memory begins."""
    evidence = notes.get("evidence")
    return int(evidence[0]) if isinstance(evidence, list) else 0


_WISHES = (
    r"(?:wants?|wanted|wanting|wish(?:es|ing)?|hop(?:es?|ing)|plan(?:s|ning)?|intend(?:s|ing)?|aim(?:s|ing)?|dream(?:s|ing)?"
    r"|think(?:s|ing)?|consider(?:s|ing)?|look(?:s|ing)|try(?:ing)?|tries|sav(?:es?|ing)|train(?:s|ing)|prepar(?:es?|ing)|going"
    r"|would (?:like|love)|interested|keen|set|thinking|dying|determined)"
)
_WHO = r"(?P<who>i|we|(?:the )?(?:user|customer|client)|(?:my|our|his|her|their) (?:[\w'’-]+ ){0,2}?[\w'’-]+|(?-i:[A-Z])[\w'’-]+)"
_BE = r"(?:(?:am|is|are|have|has|been|now|also|really|actually|'s|'m|'re) )*"
_REST = r"(?P<rest>[^.!?;,\n]+?)"
_END = r"(?=[\s.!]*$|[,;]| (?:because|since|but|so|and (?:i|we|he|she|they)|after all|any ?more|any longer|now)\b)"
_LEAD = r"\W*(?:(?:so|and|but|well|actually|ok|okay|yeah|no|honestly|btw|update|news)\b[\s,:]*)*"
_OVER: Final = tuple(
    re.compile(_LEAD + template, re.I)
    for template in (
        rf"{_WHO} {_BE}no longer {_WISHES}(?: (?:to|of|about|in|on|for|forward to))? {_REST}{_END}",
        rf"{_WHO} {_BE}(?:(?:do|does|am|is|are) )?not (?:really )?{_WISHES}(?: (?:to|of|about|in|on|for))? {_REST}"
        r" (?:any ?more|any longer|after all|now)\b",
        rf"{_WHO} {_BE}(?:stopped|quit|done) {_WISHES}(?: (?:to|of|about|in|on|for))? {_REST}{_END}",
        rf"{_WHO} {_BE}(?:gave up|given up|dropped|abandoned|scrapped|shelved|buried|let go of|cancell?ed)(?: on)?"
        rf" (?:(?:my|our|the|his|her|their|that) )?(?:old )?(?:plans?|dreams?|idea|hopes?|wish|goal)(?: (?:to|of|about|for))? {_REST}{_END}",
        rf"{_WHO} {_BE}(?:changed (?:my|our|his|her|their) mind about|decided against|decided not to) {_REST}{_END}",
        rf"{_WHO} {_BE}(?:will not|going not to|not going to) {_REST} after all\b",
    )
)
_ALLERGY_OVER: Final = re.compile(
    rf"{_LEAD}{_WHO} {_BE}(?:outgr(?:ew|own)|got over|gotten over|got rid of|overcame|overcome|lost|no longer ha(?:ve|s)|not ha(?:ve|s)"
    r"|do(?:es)? not have)(?: (?:my|his|her|their|the|an?|any))? (?P<rest>[^.!?;,\n]*?\ballerg(?:y|ies)(?: to [^.!?;,\n]+?)?)"
    rf"{_END}",
    re.I,
)
_INTENDED: Final = re.compile(rf"{_LEAD}{_WHO} {_BE}{_WISHES}\b(?P<rest>.*)", re.I | re.S)
_ALLERGIC: Final = re.compile(
    rf"{_LEAD}{_WHO} {_BE}(?:\w+ly )?(?:ha(?:ve|s) )?(?P<rest>.*\ballerg(?:ic|y|ies)\b.*)", re.I | re.S
)
_LONGEST: Final = 2_000
"""Characters that are read from the beginning of a text."""
_DENIED: Final = re.compile(r"\b(?:not|never|no longer|any ?more)\b", re.I)
_FIRST: Final = frozenset(("i", "we", "user", "the user", "customer", "the customer", "client", "the client"))
_NO_OBJECT: Final = frozenset(query_terms("allergy allergic allergies severe bad plan dream idea day soon really"))


@dataclass(frozen=True, slots=True)
class Intention:
    """A wish, plan or allergy: the person who has it, and the terms of its object."""

    who: str
    terms: frozenset[str]
    is_allergy: bool = False


@text_cache(1024)
def find_ended(text: str) -> Intention | None:
    """Return the wish, plan or allergy that a text says is over; None when it names none."""
    full = _plain(text)
    if (allergy := _ALLERGY_OVER.match(full)) is not None:
        return _to_intention(allergy, is_allergy=True)
    found = next(filter(None, (pattern.match(full) for pattern in _OVER)), None)
    return None if found is None else _to_intention(found)


@text_cache(1024)
def states_intention(older: str, ended: Intention) -> bool:
    """Return whether an older text states an intention that ended later: the same person, and every word of it."""
    full = _plain(older)
    found = (_ALLERGIC if ended.is_allergy else _INTENDED).match(full)
    if found is None or _DENIED.search(full):
        return False
    stated = _to_intention(found)
    return stated is not None and stated.who == ended.who and ended.terms <= stated.terms


def _plain(text: str) -> str:
    piece = expand(text[:_LONGEST]).text
    full = re.sub(r"\b(he|she|it|[A-Z]\w+)['’]s\b(?= (?:no|not|been|\w+ing)\b)", r"\1 is", piece)
    return " ".join(full.split())


def _to_intention(found: re.Match[str], *, is_allergy: bool = False) -> Intention | None:
    who = found["who"].casefold()
    terms = frozenset(query_terms(found["rest"])) - _NO_OBJECT
    return Intention("i" if who in _FIRST else who, terms, is_allergy) if terms else None

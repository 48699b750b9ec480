"""Find the claims of a text: statements about a person or a thing, by rules. Pure.

Clauses (`match`) and promises make claims. The claims of one text are then resolved together: a later one may end or
correct an earlier one, words such as "scratch that" retract them, and a change becomes a plain statement when other
words may qualify it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from memoranda.dates.find import Mention
from memoranda.remember.base import Utterance
from memoranda.remember.claims.match import claims_in_clause, first_person, is_person, same_shape
from memoranda.remember.claims.patterns import ABOUT_PEOPLE, PREVIOUS
from memoranda.remember.claims.reports import is_plain_report, is_point, is_undone, is_whole
from memoranda.remember.claims.retractions import WITHDRAWAL
from memoranda.remember.claims.values import (
    is_redacted,
    names_person,
    read_value,
    trim_value,
)
from memoranda.remember.reading.clauses import Clause, find_clauses
from memoranda.remember.reading.contractions import expand
from memoranda.remember.reading.entities import NOT_NAMES
from memoranda.remember.reading.foreign_text import blank_foreign
from memoranda.remember.reading.lexicon import CHANGE, CHILDREN, PARTNERS, POSSESSIVES, RELATIVES
from memoranda.remember.reading.questions import NOT_NAMED
from memoranda.storage.claims import ANY_ATTRIBUTE, THAT_PERSON, Claim, fold
from memoranda.storage.supersession import names_value, relate
from memoranda.text.cache import text_cache
from memoranda.text.places import is_place
from memoranda.text.sentences import EMPTY_WORDS, Span, has_content, sentence_spans

_MAX_TEXT: Final = 4_000
"""A longer text is a pasted document, whose "I" is not the speaker."""
_ANY_TIME: Final = datetime.min.replace(tzinfo=UTC)
_MEASURES: Final = frozenset(("number", "money", "time", "day", "address"))


def find_claims(utterance: Utterance, events: Sequence[Mention]) -> tuple[Claim, ...]:
    """Return the claims in an utterance; the first person of an assistant without a name is nobody."""
    if len(utterance.text) > _MAX_TEXT:
        return ()
    if utterance.framing == "quoted":  # it may still be the answer to a question about a change
        return tuple(_apply_retractions([], utterance if is_person(utterance) else None))
    full, offset = expand(utterance.text), utterance.span[0]
    if full.text == utterance.text:
        return _find_claims(utterance, events)

    def move(span: Span, to: Callable[[int], int]) -> Span:
        return offset + to(span[0] - offset), offset + to(span[1] - offset)

    moved = [replace(event, span=move(event.span, full.from_written)) for event in events]
    found = _find_claims(replace(utterance, text=full.text), moved)
    return tuple(replace(claim, span=move(claim.span, full.to_written)) for claim in found)


def _find_claims(utterance: Utterance, events: Sequence[Mention]) -> tuple[Claim, ...]:
    claims: list[Claim] = []
    for clause in find_clauses(utterance.text):
        spoken = _with_speaker(clause, utterance)
        if spoken is None:
            continue
        stated = _with_subject(_without_now(spoken), claims, utterance)
        claims += filter(None, map(_about_person_before, claims_in_clause(stated, utterance, events)))
    if is_person(utterance):
        claims += _find_commitments(utterance, events)
        claims += _find_relatives(utterance, claims)
    shown = [claim for claim in claims if not is_redacted(f"{claim.subject} {claim.value}")]
    resolved = _keep_last_change(_resolve_in_text(shown))
    return tuple(
        _apply_retractions(
            [_limit(claim, resolved, utterance, events) for claim in resolved],
            utterance if is_person(utterance) else None,
        )
    )


# "Lives in Leeds", "no longer works there": clauses about a third person.
_OF_THIRD: Final = re.compile(
    r"(?:(?:now|then|just|also|still|finally|currently|recently|actually|officially|already)\s+)*"
    r"(?:no\s+longer\s+(?!(?:miss|pass|guess|dress|discuss|access|possess|obsess|process|stress|kiss|focus)\b)\w+s"
    r"|is|has|lives|works|drives|prefers|uses|likes)\b",
    re.I,
)


def _with_speaker(clause: Clause, utterance: Utterance) -> Clause | None:
    """Return a clause without a subject as one about the person a question asked about; None where that is unknown."""
    if clause.text[: clause.added] != "I " or utterance.role != "user" or utterance.message is None:
        return clause
    person, rest = utterance.asked_about, clause.text[clause.added :]
    if person == NOT_NAMED or (not person and _OF_THIRD.match(rest)):
        return None
    if not person:
        return clause
    return replace(clause, text=f"{person} {rest[:1].lower()}{rest[1:]}", added=len(person) + 1)


_NOW_FIRST: Final = re.compile(r"now,?\s+(?=\w)", re.I)
_PRONOUN: Final = re.compile(r"(?:he|she)(?=['’\s])|(?P<whose>his|her)(?=\s)", re.I)
_SOMEBODY: Final = "Thatperson"
"""Stands for "she" where the message names nobody."""
_KIN: Final = re.compile(rf"\b(?:{POSSESSIVES}|an?) (?:\w+ )?(?:{PARTNERS}|{CHILDREN}|{RELATIVES})\b", re.I)
_NAMED: Final = re.compile(r"(?<![.!?] )(?<!^)\b(?!I\b)[A-Z]\w+")


def _without_now(clause: Clause) -> Clause:
    """Return a clause without a "now" in front of its subject: "…, now I live in Ghent"."""
    found = None if clause.added else _NOW_FIRST.match(clause.text)
    if found is None:
        return clause
    cut = found.end()
    return replace(clause, text=clause.text[cut:], start=clause.start + cut, lead=clause.lead + cut)


def _with_subject(clause: Clause, before: Sequence[Claim], utterance: Utterance) -> Clause:
    """Return a clause about "she" as one about the only person that the message mentions before."""
    pronoun = _PRONOUN.match(clause.text)
    people = {_person_of(claim, utterance): claim for claim in before} if pronoun else {}
    people.pop("", None)
    if pronoun is None or len(people) > 1:
        return clause
    person, claim = next(iter(people.items()), (_SOMEBODY, None))
    between = utterance.text[claim.span[1] - utterance.span[0] if claim else 0 : clause.start]
    named = (name for name in _NAMED.findall(between) if name.casefold() not in NOT_NAMES)
    if any(not is_place(name) for name in named) or (claim is None and _KIN.search(between)):
        return clause  # "she" may be whoever was named since
    phrase = f"{person}'s" if pronoun["whose"] else person
    text = phrase + clause.text[pronoun.end() :]
    return replace(clause, text=text, added=clause.added + len(phrase) - pronoun.end())


def _about_person_before(claim: Claim) -> Claim | None:
    """Return a claim about "she" with a subject that the write resolves; None where it is not about a person."""
    if claim.subject == _SOMEBODY and claim.attribute in (*ABOUT_PEOPLE, "birthday"):
        return replace(claim, subject=THAT_PERSON, operation="state")
    return None if fold(_SOMEBODY) in fold(f"{claim.subject} {claim.attribute} {claim.value}") else claim


def _person_of(claim: Claim, utterance: Utterance) -> str:
    """Return the person that a claim is about or names, in the speaker's words; empty for the speaker."""
    speaker = {utterance.speaker, utterance.owner}
    if claim.subject in speaker:
        return claim.value if names_person(claim.attribute) and claim.holds else ""
    owner, kin, rest = claim.subject.partition("'s ")
    return f"my {rest}" if kin and owner in speaker else claim.subject


_RELATIVE: Final = re.compile(
    rf"\b(?:my|our) (?P<kin>(?:{PARTNERS}|{CHILDREN}|{RELATIVES})) (?P<name>(?-i:[A-Z\u00c0-\u00de][a-z\u00df-\u024f]+))\b(?!['’])",
    re.I,
)


def _find_relatives(utterance: Utterance, claims: Sequence[Claim]) -> Iterator[Claim]:
    """Yield the names of the speaker's relatives, wherever the speaker mentions them: "with my husband Joris"."""
    named = {(fold(claim.subject), fold(claim.value)) for claim in claims if claim.attribute == "name"}
    speaker = first_person(utterance)
    for found in _RELATIVE.finditer(blank_foreign(utterance.text)):
        subject, name = f"{speaker}'s {fold(found['kin'])}", found["name"]
        if (fold(subject), fold(name)) in named or is_place(name) or name.casefold() in EMPTY_WORDS:
            continue
        first, end = utterance.span[0] + found.start(), utterance.span[0] + found.end()
        yield Claim(subject, "name", name, (first, end), utterance.said_at, utterance.said_at, trust=utterance.role)


def _limit(claim: Claim, claims: Sequence[Claim], utterance: Utterance, events: Sequence[Mention]) -> Claim:
    """Return the claim; a change that other words in the message may qualify becomes a statement, which hides nothing."""
    is_bare = claim.operation == "correct" and claim.attribute == ANY_ATTRIBUTE  # it can only be about the words before
    offset = utterance.span[0]
    changed = CHANGE.search(utterance.text, claim.span[0] - offset, claim.span[1] - offset) is not None
    undone = changed and is_undone(utterance.text[claim.span[1] - offset :])
    if utterance.framing == "uncertain" and not is_bare:
        claim = replace(claim, doubted=True)
    if undone and claim.holds and not is_bare:
        return replace(claim, operation="state", doubted=True, valid_to=claim.valid_to or claim.said_at)
    times = [_shift(event.span, -offset) for event in events if is_point(event)]
    span, spans = _shift(claim.span, -offset), [_shift(each.span, -offset) for each in claims]
    states = claim.holds and claim.operation in ("state", "event")
    whole = is_whole(utterance.text, span, spans, times, states=states, denies=not claim.holds)
    if not (is_bare or whole) and _may_be_limited(claim):
        claim = replace(claim, doubted=True)
    if claim.operation in ("state", "event"):
        return claim
    if utterance.framing == "unrelated_context" and not is_bare:
        return replace(claim, operation="state")
    understood = (each.span for each in claims if _is_understood(each) or _same_sentence(claim, each, utterance))
    others = [_shift(each, -offset) for each in understood]
    moves, contrasts = claim.attribute == "city", claim.replaces is not None
    plain = is_plain_report(utterance.text, span, claim.value, others, times, moves=moves, contrasts=contrasts)
    return claim if plain else replace(claim, operation="state")


def _shift(span: Span, by: int) -> Span:
    return span[0] + by, span[1] + by


def _may_be_limited(claim: Claim) -> bool:
    """Return whether words after a claim may take from it: what changes or ends, and where somebody lives or works."""
    return claim.operation not in ("state", "event") or not claim.holds or claim.attribute in ("city", "employer")


def _same_sentence(change: Claim, claim: Claim, utterance: Utterance) -> bool:
    """Return whether a claim about a possession is in the sentence of a change: "We sold the boat and bought a van"."""
    first, last = sorted((change.span[0], claim.span[0]))
    between = utterance.text[first - utterance.span[0] : last + 1 - utterance.span[0]]
    return claim.attribute == "owns" and len(sentence_spans(between)) == 1


def _is_understood(claim: Claim) -> bool:
    """Return whether a claim next to a change is certainly the speaker's own: "the hero is Luca" may be about a text."""
    changes = claim.operation not in ("state", "event", "retract")
    measures = claim.valid_to is None and read_value(claim.value).kind in _MEASURES  # "the film was two hours" does not
    return changes or claim.attribute in ABOUT_PEOPLE or measures


@text_cache(256)
def claims_in_text(text: str) -> tuple[Claim, ...]:
    """Return the claims of a text of a user about whom nothing is known."""
    return find_claims(Utterance("", "user", "user", _ANY_TIME, text, (0, len(text))), ())


def _claims_in_sentence(sentence: str) -> tuple[Claim, ...]:
    """Return the claims of a sentence of a user; none where a clause of it makes no claim."""
    claims = claims_in_text(sentence)
    return claims if len(find_clauses(sentence)) <= len(claims) else ()


def slots_in(sentence: str) -> frozenset[tuple[str, str]]:
    """Return the slots that a sentence fills, by subject and attribute; none where other words follow its last claim."""
    claims = claims_in_text(sentence)
    whole = all(not has_content(sentence[claim.span[1] :], ()) for claim in claims[-1:])
    return frozenset((claim.subject, claim.attribute) for claim in claims) if whole else frozenset()


def is_understood(sentence: str) -> bool:
    """Return whether a sentence consists of claims about people and measures: "My rent is 900 euros"."""
    claims = _claims_in_sentence(sentence)
    return bool(claims) and all(map(_is_understood, claims))


def is_claimed(sentence: str) -> bool:
    """Return whether a sentence consists of claims; "I play the neighbour" may be about a play."""
    claims = _claims_in_sentence(sentence)
    return bool(claims) and not any(_THE_VALUE.search(sentence, claim.span[0]) for claim in claims if not claim.single)


_THE_VALUE: Final = re.compile(r"\b(?:the|this|that)\b", re.I)


def _resolve_in_text(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims of one text after later ones have ended earlier ones: "I live in Hamburg. I moved to Ghent."."""
    resolved: list[Claim] = []
    for claim in claims:
        newer = _with_slot(claim, resolved)
        if newer is None:
            continue
        ended = [older for older in resolved if _ends(older, newer)]
        if newer.operation == "correct":
            resolved = [older for older in resolved if older not in ended]  # it never was true
        else:
            end = newer.valid_from
            resolved = [
                replace(older, valid_from=min(older.valid_from, end), valid_to=end) if older in ended else older
                for older in resolved
            ]
        resolved.append(newer)
    return resolved


def _with_slot(claim: Claim, before: Sequence[Claim]) -> Claim | None:
    """Return a claim that names only a value with the slot that it changes; None when that is unknown."""
    if claim.attribute == PREVIOUS:
        last = before[-1] if before else None
        same = last is not None and read_value(last.value).kind == read_value(claim.value).kind in _MEASURES
        return replace(claim, subject=last.subject, attribute=last.attribute) if last and same else None
    return _with_corrected_slot(claim, before) if claim.attribute == ANY_ATTRIBUTE else claim


def _with_corrected_slot(claim: Claim, before: Sequence[Claim]) -> Claim:
    """Return a correction that names only a value, with the slot of the last claim with a value of the same shape."""
    if claim.operation != "correct":
        return claim
    for older in reversed(before):
        wanted = names_value(older.value, claim.replaces) if claim.replaces else same_shape(older.value, claim.value)
        if wanted and fold(older.subject) == fold(claim.subject) and older.holds and older.valid_to is None:
            return replace(claim, attribute=older.attribute, single=older.single)
    return claim


def _ends(older: Claim, newer: Claim) -> bool:
    same_slot = (fold(older.subject), older.attribute) == (fold(newer.subject), newer.attribute)
    return same_slot and older.attribute != ANY_ATTRIBUTE and relate(older, newer) == "end"


def _keep_last_change(claims: list[Claim]) -> list[Claim]:
    """Return the claims with one change of a slot, the last: "I moved to Rome, then back to Kiel" ends nothing else.

    Neither does "I grew up in Rome, moved to Kiel and live in Bonn".
    """
    last = {(claim.subject, claim.attribute): n for n, claim in enumerate(claims) if claim.holds and not claim.valid_to}
    kept: list[Claim] = []
    for n, claim in enumerate(claims):
        final = last.get((claim.subject, claim.attribute), n)
        if _changes(claim) and final != n:
            claim = replace(claim, operation="state", valid_to=claim.valid_from if _changes(claims[final]) else None)
        kept.append(claim)
    return kept


def _changes(claim: Claim) -> bool:
    return claim.single and claim.operation == "update" and claim.holds and claim.attribute != ANY_ATTRIBUTE


_REMIND: Final = re.compile(
    r"(?:^|[.!?,;:]\s*|\b(?:please|and|can you|could you)\s+)(?:please\s+)?(?:remind me to|do not let me forget to"
    r"|i (?:must|have to|need to) remember to"
    r"|i promise(?:d)?(?: you)?(?: to| that i(?:['’]ll| will))?) (?P<value>[^.!?\n]+)",
    re.I,
)
_COMMITMENT: Final = re.compile(
    r"(?:^|[.!?,;:]\s*|\b(?:and|but|so)\s+)(?P<i>i)(?:['’]ll| will|['’]m going to| am going to|['’]m gonna) "
    r"(?P<value>(?:send|bring|call|phone"
    r"|email|text|pay|buy|book|finish|submit|deliver|write|prepare|fix|pick up|drop off|meet|visit|return"
    r"|schedule|cancel|order|review|share|renew|apply|sign|attend|fly|move|host|teach|lend|donate) [^.!?;\n]+)",
    re.I,
)


def _find_commitments(utterance: Utterance, events: Sequence[Mention]) -> Iterator[Claim]:
    """Yield what the speaker promises or wants to be reminded of: true until it is due."""
    offset = utterance.span[0]
    for pattern in (_REMIND, _COMMITMENT):
        for match in pattern.finditer(utterance.text):
            value = trim_value(utterance.text, match.span("value"), [event.span[0] - offset for event in events])
            if value is None:
                continue
            start = match.start("i") if "i" in match.groupdict() else match.start("value")
            span: Span = (offset + start, offset + match.start("value") + len(value))
            due = next((event.end for event in events if event.end > utterance.said_at), None)
            yield Claim(
                utterance.speaker, "will", value, span, utterance.said_at, utterance.said_at, due, trust=utterance.role
            )


# "Just kidding about the film" retracts nothing about the speaker.
_GOES_ON: Final = re.compile(r"\s+(?:about|on|regarding|with|for|of|in|at)\b", re.I)
_ABOUT_SELF: Final = re.compile(r"\b(?:i|i['’]\w+|we|we['’]\w+|my|our|it|it['’]s|there)\b", re.I)
# "Never mind, I'm keeping the car", "the Golf is still here": the named thing identifies the retracted change.
_STILL_SO: Final = re.compile(
    r"^\W{0,9}(?:the|my|our) (?P<kept>(?:[\w'’-]+ ){1,3}?)(?:is|are) still\b"
    r"|\b(?:still|stay|staying|keep|keeping|stick|sticking)\b(?: (?!(?:the|my|our)\b)(?-i:[a-z]+)){0,3}?"
    r" (?P<named>(?-i:[A-Z])[\w'’-]*(?: (?-i:[A-Z])[\w'’-]*)*|(?:the|my|our) (?!own\b)[^.,!?;\n]+?(?=[.,!?;\n]|$| (?:after all|in the end|anyway|though|instead)\b))",
    re.I,
)


def _apply_retractions(claims: list[Claim], utterance: Utterance | None) -> Iterator[Claim]:
    """Yield the claims that the same text does not retract, and a retraction of what was said before it.

    Without an utterance there is no speaker who could retract something.
    """
    if utterance is None:
        yield from claims
        return
    text = blank_foreign(utterance.text)
    for skips in utterance.also:
        yield replace(_build_retraction(utterance, (0, len(text))), operation="remark", skips=skips, replaces=None)
    asked = [each for each in WITHDRAWAL.finditer(text) if not _is_asked(text, each.start())]  # "A joke, right?"
    found = next(filter(_is_about_speaker, asked), next(iter(asked), None))
    start, end = (utterance.span[0] + place for place in (found.span() if found else (0, 0)))
    if found is None or (not _is_about_speaker(found) and not any(claim.span[0] >= end for claim in claims)):
        yield from claims
        if utterance.retraction and not any(_is_own_change(claim, utterance) for claim in claims):
            yield replace(_build_retraction(utterance, (0, len(text))), operation=utterance.retraction)
        return
    yield from (claim for claim in claims if claim.span[1] > start)
    if not has_content(utterance.text[: found.start()], ()) or not any(claim.span[1] <= start for claim in claims):
        yield _build_retraction(utterance, found.span())


def _is_own_change(claim: Claim, utterance: Utterance) -> bool:
    """Return whether a claim is a change of the speaker's own; "the move got called off" only retracts another one."""
    retracts = utterance.retraction != "remark" and not claim.holds
    return claim.subject == first_person(utterance) and claim.operation not in ("state", "event") and not retracts


def _is_about_speaker(found: re.Match[str]) -> bool:
    """Return whether a retraction is about the speaker's own statement: not "just kidding about the film"."""
    after = found.string[found.end() :]
    if found["goes_on"] or _GOES_ON.match(after):
        return found["goes_on"] is not None
    is_complete = found["order"] or found["elsewhere"] or found["joke"] or not has_content(after, ())
    return bool(is_complete) or _ABOUT_SELF.search(after) is not None


def _is_asked(text: str, position: int) -> bool:
    return any(text[first:end].endswith("?") for first, end in sentence_spans(text) if first <= position < end)


def _build_retraction(utterance: Utterance, span: Span) -> Claim:
    offset, said_at = utterance.span[0], utterance.said_at
    still = _STILL_SO.search(utterance.text, span[0])
    return Claim(
        utterance.speaker,
        ANY_ATTRIBUTE,
        utterance.text[slice(*span)],
        (offset + span[0], offset + span[1]),
        said_at,
        said_at,
        holds=False,
        trust=utterance.role,
        operation="retract",
        skips=utterance.skips,
        replaces=still and (still["named"] or f"the {still['kept'].strip()}"),
    )

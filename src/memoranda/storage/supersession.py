"""Decide how two claims in one slot relate. Pure functions.

Of two claims the one that was said later counts, whenever they were stored. An explicit change ("I moved to Ghent", "I
no longer smoke") ends the older claim. A plain statement with another value only follows it: both stay, and the older
one refers to the newer. A source of lower trust neither ends nor follows what a source of higher trust said: it
contradicts it, and both are shown. So does another person: only who said something may end it. What expires only
follows what lasts longer, which holds again once the other one has expired.

What holds depends only on the stored claims. So after a claim is removed, `replay` of the remaining ones gives what
holds now: a claim that only the removed one ended holds again, and one that another would have ended too is now ended
by that other one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import SequenceMatcher
from typing import Final, Literal, TypeAlias

from memoranda.storage.claims import ANY_ATTRIBUTE, MAX_FOLLOWED, RETRACTIONS, Claim, claim_time, fold, value_shape
from memoranda.text.places import is_place, place_level
from memoranda.types import trust_rank

Relation: TypeAlias = Literal["none", "repeat", "end", "follow", "contradict"]
_WORD: Final = re.compile(r"[^\W_]+")
_ARTICLES: Final = frozenset(("the", "a", "an", "my", "our", "his", "her", "their"))
_ANY_SHAPE: Final = ("occupation", "relationship status", "favourite ", "preferred ")
"""Attributes whose values are written with or without a capital: "teacher", "CTO"."""
_CURRENCY: Final = re.compile(r"[$€£¥]|\b(?:dollars?|euros?|pounds?|usd|eur|gbp|chf|yen)\b")
_SYMBOLS: Final = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "usd": "dollar", "eur": "euro", "gbp": "pound"}
_SEVERAL: Final = re.compile(
    r"[,&+;/]\s|\s[&+/]\s|\b(?:and|or|plus|as well as|along with|together with|besides)\b", re.I
)
_DIGITS: Final = 3
"""How many digits more a number may have than the one it replaces."""
_SHORT_WORD: Final = 5
_TYPO_RATIO: Final = 0.85
"""The similarity from which one word counts as the other with a typing error."""


@dataclass(frozen=True, slots=True)
class MadeClaim:
    """A claim as it was made, and the id of the memory that makes it."""

    memory: int
    claim: Claim
    speaker: str = ""
    """The name of the speaker (`claims.speaker_key`); empty for a note without a speaker."""
    expires_at: datetime | None = None

    @property
    def is_own(self) -> bool:
        """Whether the speaker says it about themselves, or about something of theirs."""
        subject = fold(self.claim.subject)
        return bool(self.speaker) and (subject == self.speaker or subject.startswith(f"{self.speaker}'s "))


@dataclass(frozen=True, slots=True)
class Ending:
    """When a claim stopped being true, and the id of the memory that ended it."""

    at: datetime
    by: int
    retracted: Literal["", "retract", "doubt"] = ""
    """Whether the speaker retracted the claim, or may have ("doubt")."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of resolving claims. One entry in `endings` for each claim, in the order given."""

    endings: list[Ending | None]
    starts: list[datetime | None]
    """The start of a claim, where others show another one than it states: of a correction the start of the corrected
    value, and of what began in a period the end of it, where the period has an older statement."""
    follows: set[tuple[int, int]] = field(default_factory=set)
    """The memory that said something later, and the one that said it before."""
    marks: set[tuple[int, int]] = field(default_factory=set)
    """The same pairs where the speaker may have retracted the later memory: the order in recall does not change."""
    conflicts: set[tuple[int, int]] = field(default_factory=set)
    """The memory that contradicts, and the one of higher trust that it contradicts."""


def replay(made: Sequence[MadeClaim]) -> Resolution:
    """Resolve the claims of one slot. The claims of one memory never end each other."""
    result = Resolution([None] * len(made), [None] * len(made))
    order = sorted(range(len(made)), key=lambda n: (claim_time(made[n].claim), made[n].memory, n))
    held = _HeldClaims(made)
    doubted, remarked = set[int](), set[int]()
    for position, by in _find_retracted(made, order):
        if by.claim.operation == "remark":
            remarked.add(position)
            continue
        how: Literal["retract", "doubt"] = "doubt" if by.claim.operation == "doubt" else "retract"
        result.endings[position] = Ending(made[position].claim.valid_from, by.memory, how)
        if how == "doubt":
            doubted.add(position)
    for position in order:
        newer = made[position]
        if newer.claim.operation in RETRACTIONS or (result.endings[position] is not None and position not in doubted):
            continue
        follows = result.marks if position in doubted else result.follows
        relations = [(older, relate_made(made[older], newer)) for older in held.comparable(position)]
        if any(starts_after(newer.claim, made[older].claim) for older, each in relations if each in ("end", "follow")):
            result.starts[position] = newer.claim.starts_by
        for older, relation in relations:
            if relation == "end" and position not in doubted | remarked:
                _end(result, made, older, position)
                held.remove(older)
                for restored in _find_restored(result, made, older, position):
                    result.endings[restored] = None
                    held.add(restored)
            elif relation in ("end", "follow"):
                follows.add((newer.memory, made[older].memory))
            elif relation == "contradict":
                result.conflicts.add((newer.memory, made[older].memory))
        if newer.claim.valid_to is None and position not in doubted:
            held.add(position)
    return result


def _end(result: Resolution, made: Sequence[MadeClaim], older: int, newer: int) -> None:
    """End a claim by another one: a corrected value was never true, and the right value replaces it from its start."""
    at = made[newer].claim.valid_from
    if made[newer].claim.operation == "correct":
        started = result.starts[older] or made[older].claim.valid_from
        if started < (result.starts[newer] or at):
            result.starts[newer] = started
        at = min(started, at)
    else:
        at = result.starts[newer] or at
    result.endings[older] = Ending(at, made[newer].memory)


def starts_after(newer: Claim, older: Claim) -> bool:
    """Return whether a claim began after another was said to hold: "this year", after "I live in Oslo" of March.

    Only the period is known in which it began, so the older one is taken to hold until its end.
    """
    if newer.starts_by is None or newer.operation == "correct":
        return False
    return newer.valid_from < older.said_at < newer.starts_by


def _find_restored(result: Resolution, made: Sequence[MadeClaim], older: int, newer: int) -> list[int]:
    """Return the claims that a correction restores: it has their value, and ends the claim that ended them."""
    right = made[newer].claim
    if right.operation != "correct":
        return []
    return [
        n
        for n, ending in enumerate(result.endings)
        if ending is not None and ending.by == made[older].memory and _is_same(made[n].claim.value, right.value)
    ]


def _find_retracted(made: Sequence[MadeClaim], order: Sequence[int]) -> Iterator[tuple[int, MadeClaim]]:
    """Yield each claim that its speaker retracted, the last one with that value, and the retraction."""
    for position in order:
        back = made[position]
        if back.claim.operation not in RETRACTIONS:
            continue
        taken = [n for n in order if _retracts(back, made[n])]
        if taken:
            yield taken[-1], back


def _retracts(back: MadeClaim, other: MadeClaim) -> bool:
    said = other.claim
    return (
        said.operation not in RETRACTIONS
        and back.memory != other.memory
        and _may_end(other, back)
        and _lasts_as_long(other, back)
        and said.said_at <= back.claim.said_at
        and _is_same(said.value, back.claim.value)
        and trust_rank(back.claim.trust) >= trust_rank(said.trust)
    )


class _HeldClaims:
    """The positions of claims that hold so far, by value, so that a claim is compared with few of a thousand."""

    def __init__(self, made: Sequence[MadeClaim]) -> None:
        self._made = made
        self._values = [(fold_value(each.claim.value), each.claim.holds) for each in made]
        self._single: list[int] = []
        self._by_value: dict[tuple[str, bool], list[int]] = {}

    def comparable(self, newer: int) -> list[int]:
        """Return the claims of other memories that this one could end, follow or contradict, oldest first.

        A claim with the same value changes nothing, however often it was made.
        """
        (value, holds), claim = self._values[newer], self._made[newer].claim
        found = set(self._by_value.get((value, not holds), ()))
        if claim.replaces is not None:  # any value may be the one that it names
            found.update(n for same in self._by_value.values() for n in same)
        elif claim.single:
            found.update(self._single if claim.operation not in ("state", "event") else self._single[-MAX_FOLLOWED:])
        memory = self._made[newer].memory
        return [n for n in sorted(found) if self._values[n] != (value, holds) and self._made[n].memory != memory]

    def add(self, position: int) -> None:
        self._by_value.setdefault(self._values[position], []).append(position)
        if self._made[position].claim.single:
            self._single.append(position)

    def remove(self, position: int) -> None:
        self._by_value[self._values[position]].remove(position)
        if position in self._single:
            self._single.remove(position)


def relate_made(older: MadeClaim, newer: MadeClaim) -> Relation:
    """Return the relation of a later claim to an older one, given the speakers of both."""
    relation = relate(older.claim, newer.claim)
    if older.claim.reported and relation in ("end", "follow"):
        return "none"  # the "I" of a page may be its author
    if relation == "end" and not _may_end(older, newer):
        return "contradict"
    if relation == "end" and not _lasts_as_long(older, newer):
        return "follow"
    if relation == "follow" and older.is_own and newer.speaker and not newer.is_own:
        return "contradict"  # a claim of Bob about Ana does not replace her own
    return relation


def _may_end(older: MadeClaim, newer: MadeClaim) -> bool:
    """Return whether one may hide the other: both have the same speaker, or the older one has none."""
    return older.speaker in ("", newer.speaker)


def _lasts_as_long(older: MadeClaim, newer: MadeClaim) -> bool:
    """Return whether the newer one expires no sooner than the older one."""
    return newer.expires_at is None or (older.expires_at is not None and older.expires_at <= newer.expires_at)


def relate(older: Claim, newer: Claim) -> Relation:
    """Return the relation of a later claim to an older one in the same slot."""
    if older.valid_to is not None or (newer.valid_to is not None and newer.valid_to <= newer.said_at):
        return "none"  # one of them is about the past
    if _is_same(older.value, newer.value) and older.holds == newer.holds:
        return "repeat"
    if not _disagree(older, newer):
        return "none"
    return relate_contradiction(older, newer)


def relate_contradiction(older: Claim, newer: Claim) -> Relation:
    """Return the relation of a newer claim to an older one that it disagrees with."""
    if newer.replaces is not None and not names_value(older.value, newer.replaces):
        return "none"  # it says which value it replaces, and that is another one
    if trust_rank(newer.trust) < trust_rank(older.trust):
        return "contradict"
    if newer.replaces is not None and not names_same(older.value, newer.replaces):
        return "follow"  # "my car" may be another one than "a company car"
    if (
        states_several(older.value)
        and not _is_same(older.value, newer.replaces or newer.value)
        and not _names_only_new_value(newer)
    ):
        return "follow"  # what ended may be one of them
    if newer.operation in ("state", "event") or newer.doubted or _is_finer(older, newer):
        return "follow"
    return "follow" if newer.operation == "update" and _may_both_hold(older, newer) else "end"


def _names_only_new_value(claim: Claim) -> bool:
    """Return whether a change names a value, but not the value that it replaces: "I live in Ghent now"."""
    return claim.holds and claim.replaces is None


def _may_both_hold(older: Claim, newer: Claim) -> bool:
    """Return whether another value need not replace the older one: it may be a part, another measure, or a typo."""
    if newer.replaces is not None or not (older.holds and newer.holds):
        return False  # it says itself what is over
    if older.attribute == "city":
        return place_level(older.value) != place_level(newer.value)
    if not _are_of_one_kind(older.value, newer.value):
        return True  # one of them says where it is
    if _is_typo(older.value, newer.value):
        return True
    if _currency(older.value) != _currency(newer.value) or _digits_differ(older.value, newer.value):
        return True
    # "My car is a Golf" and "my car is dirty now" are of different kinds: a name, a number, an ordinary word.
    return not older.attribute.startswith(_ANY_SHAPE) and value_shape(older.value) != value_shape(newer.value)


def _is_finer(older: Claim, newer: Claim) -> bool:
    """Return whether a value only says more exactly what the older one says: "Oslo, Norway" after "Oslo"."""
    finer = _words(older.value) < _words(newer.value) and value_shape(newer.value) != "address"
    return finer and newer.replaces is None and older.holds and newer.holds


def _are_of_one_kind(one: str, other: str) -> bool:
    """Return whether two names are both names of places, or neither is."""
    places = [value_shape(value) == "name" and is_place(value) for value in (one, other)]
    return places[0] == places[1]


def _digits_differ(one: str, other: str) -> bool:
    """Return whether two numbers are of different kinds by their length, such as a shirt's and a telephone's."""
    digits = [sum(char.isdigit() for char in value) for value in (one, other)]
    return min(digits) > 0 and abs(digits[0] - digits[1]) > _DIGITS


def _currency(value: str) -> str | None:
    found = _CURRENCY.search(fold(value))
    return _SYMBOLS.get(found[0], found[0].rstrip("s")) if found else None


def _is_typo(one: str, other: str) -> bool:
    """Return whether two words differ as by a typing error."""
    if not (one.isalpha() and other.isalpha()) or min(len(one), len(other)) < _SHORT_WORD:
        return False
    return SequenceMatcher(None, fold(one), fold(other)).ratio() >= _TYPO_RATIO


def _disagree(older: Claim, newer: Claim) -> bool:
    """Return whether two claims deny each other, or give two values to an attribute that has one at a time."""
    if _is_same(older.value, newer.value) or (not newer.holds and not newer.value and older.single):
        return older.holds != newer.holds
    if older.holds and newer.replaces is not None and names_value(older.value, newer.replaces):
        return True
    if not (older.holds and newer.holds and older.single and newer.single):
        return False
    old, new = _words(older.value), _words(newer.value)
    coarser, finer = new < old, old < new  # "Germany" after "Berlin, Germany", and the other way round
    return not coarser and not (finer and newer.operation == "state")


def names_value(value: str, named: str) -> bool:
    """Return whether words name a value: "the Tesla" names "a red Tesla", but "car" does not name "car wash"."""
    old, new = _words(value), _words(named)
    if not old or not new or not (new <= old or old <= new):
        return False
    return _last_word(value) == _last_word(named) or old == new


def names_same(value: str, named: str) -> bool:
    """Return whether words name exactly a value: "the company car" and "a company car", but not "my car"."""
    return _words(value) == _words(named)


def may_name_thing(value: str, named: str) -> bool:
    """Return whether words may name the thing that a value is: "the car" may be "a red car", "my toy car" is another.

    A value of several things is none of them: the end of one is not the end of the others.
    """
    return names_value(value, named) and _words(named) <= _words(value) and not states_several(value)


def fits(made: Claim, claim: Claim) -> bool:
    """Return whether a change that names only values may be about a claim."""
    if made.attribute == ANY_ATTRIBUTE or not made.holds:
        return False
    if claim.operation == "correct" and claim.replaces is None:  # it may be about anybody
        alike = value_shape(made.value) == value_shape(claim.value) and _are_of_one_kind(made.value, claim.value)
        return alike and _are_as_long(made.value, claim.value) and _measure_alike(made.value, claim.value)
    same = made.subject.casefold() == claim.subject.casefold()
    if claim.operation == "correct":  # "Jan, not Jon" may be the speaker's brother
        same = same or made.subject.casefold().startswith(f"{claim.subject.casefold()}'s ")
    return same and may_name_thing(made.value, claim.replaces or claim.value)


def _measure_alike(one: str, other: str) -> bool:
    """Return whether the units of two numbers allow one to correct the other: not "5 bullets" and "3 May"."""
    old, new = (_unit_words(value) for value in (one, other))
    return not old or not new or old == new or value_shape(one) != "number"


def _unit_words(value: str) -> set[str]:
    return {"month" if value_shape(word) == "day" else word for word in _words(value) if word.isalpha()}


def _are_as_long(one: str, other: str) -> bool:
    """Return whether two numbers have about as many digits: 12 corrects no phone number."""
    digits = [sum(char.isdigit() for char in value) for value in (one, other)]
    return abs(digits[0] - digits[1]) <= 1


def states_several(value: str) -> bool:
    """Return whether a value is a list: "a car and a bike"."""
    return _SEVERAL.search(value) is not None


def _is_same(one: str, other: str) -> bool:
    return fold_value(one) == fold_value(other)


def fold_value(text: str) -> str:
    """Return a value as it is compared: folded, without punctuation at its end, and without an article."""
    folded = fold(text).strip(" .,!")
    first, _, rest = folded.partition(" ")
    return rest if rest and first in _ARTICLES else folded


def _words(value: str) -> frozenset[str]:
    return frozenset(_WORD.findall(fold(value))) - _ARTICLES


def _last_word(value: str) -> str:
    words = _WORD.findall(fold(value))
    return words[-1] if words else ""


# "Scratch that", "I made that up": about the speaker's own words, even after an answer.
_OWN_WORDS: Final = re.compile(
    r"\b(?:i|me|my|we|our|you|scratch|scrap|strike|forget|ignore|disregard|undo|delete|erase|remove|revert|cancel|discard"
    r"|drop|never ?mind|nvm|jk|kidding|joking|joke|lies?|lied|lying|prank|made|meant|oops|test|testing"
    r"|wrong (?:window|chat|person|thread|tab|channel|group|conversation|recipient|contact|room"
    r"|screen))\b",
    re.I,
)
_TO_SPEAKER: Final = re.compile(
    r"\byou(?:r|['’]re|['’]ve)?\b|\b(?:congrat\w*|noted|got it|great|ok|okay|sure|wow|nice)\b", re.I
)
_VALUE: Final = re.compile(r"\b[A-Z][\w'’-]+|\d[\d.,:]*\d|\d")
_STATEMENT: Final = 4
"""The smallest number of words of an answer that makes a statement."""


def denies_answer(words: str, answers: Iterable[str], said: str | None) -> bool:
    """Return whether a retraction is about an answer: "That's not true" after "So you live in Rome".

    Args:
        words: The words of the retraction.
        answers: The messages of others since the speaker's last message.
        said: That last message: an answer that repeats a name or a number of it to the speaker only confirms it.
    """
    if _OWN_WORDS.search(words) or words.lstrip().startswith("/"):
        return False
    values = set(_VALUE.findall(said or ""))
    stated = [each for each in answers if len(each.split()) >= _STATEMENT and not each.rstrip().endswith("?")]
    return any(_TO_SPEAKER.search(each) is None or values.isdisjoint(_VALUE.findall(each)) for each in stated)

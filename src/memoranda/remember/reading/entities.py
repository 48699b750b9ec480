"""Find names, places, organisations, titles, quantities and addresses in a text, by rules. Pure.

Where the rules cannot tell what kind of name it is, the kind is `name`. A single capitalised word at the start of a
sentence is not taken for a name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from memoranda.remember.base import Entity, EntityKind
from memoranda.remember.reading.lexicon import POSSESSIVES
from memoranda.text.sentences import EMPTY_WORDS, Span, sentence_spans

_MAX_TEXT: Final = 20_000
"""A longer text is a document, whose names are not the speaker's."""

_CALENDAR_WORDS = """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
    sundays january february march april may june july august september october november december christmas easter
    thanksgiving halloween spring summer autumn fall winter mr mrs ms dr prof sir
"""
NOT_NAMES: Final = EMPTY_WORDS | frozenset(_CALENDAR_WORDS.split())
_HOLIDAY = (
    r"(?:(?:Chinese |Lunar )?New Year(?:['’]?s)?(?: Eve| Day)?|(?:Christmas|Easter)(?: Eve| Day| Sunday| Monday)?|Xmas"
    r"|Thanksgiving(?: Day)?|Halloween|Hanukkah|Chanukah|Passover|Diwali|Kwanzaa|Ramadan|Eid(?: Mubarak)?"
    r"|(?:Black|Good|Holy|Ash|Palm|Cyber|Shrove|Whit) (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
    r"|(?:Mother|Father|Valentine|Veteran|President|Women|Children|Teacher|April Fool|St\.? Patrick)s?['’]?s? Day"
    r"|(?:Boxing|Independence|Bastille|Earth|Labou?r|Memorial|Remembrance|Armistice|Election|Groundhog) Day"
    r"|Fourth of July|(?:Long )?Weekend)"
)
_COUNTED = r"(?:Year|Grade|Class|Week|Day|Chapter|Part|Room|Page|Step|Phase|Plan|Level|Unit|Season|Episode|Option)"
_SET_PHRASE: Final = re.compile(
    r"(?=[A-Z])(?<!\w)(?:(?:(?:Happy|Merry|Blessed|Belated) ){0,3}"
    rf"(?:{_HOLIDAY}|(?:Happy|Belated) (?:Birthday|Anniversary|Holidays?))"
    r"|(?:Best|Kind|Warm|Many|Good|Season['’]s) (?:Regards|Wishes|Thanks|Luck|Greetings|Morning|Evening|Night)"
    r"|Oh My (?:God|Gosh)|Dear(?= [A-Z])|Hello World|Bon App[eé]tit"
    rf"|{_COUNTED} (?:\d+|[A-Z]|One|Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten))\b"
)
"""Words that are capitalised because of the phrase: greetings, holidays, and what is counted ("Chapter Three")."""
_UPPER = r"[A-Z\u00c0-\u00de]"
_CAPITAL = rf"{_UPPER}[\w\u00c0-\u024f'’&-]*"
# The capital comes first and the condition that it begins a word follows, so that the search can skip to the capitals.
_NAME: Final = re.compile(
    rf"{_UPPER}(?<!\w{_UPPER})[\w\u00c0-\u024f'’&-]*(?:\s+(?:(?:of|of\s+the|the|de|van|von|la|le|del|da|di)\s+)?{_CAPITAL})*"
)
_TITLE_BEFORE: Final = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|Professor|Uncle|Aunt|Sir|President|Captain|Coach)\.?\s+$")
_KIN = (
    r"(?:sister|brother|mother|father|mom|mum|dad|wife|husband|son|daughter|friend|girlfriend|boyfriend|partner|fianc[eé]e?"
    r"|cousin|aunt|uncle|grandma|grandpa|grandmother|grandfather|nephew|niece|boss|manager|colleague|coworker|neighbou?r"
    r"|roommate|flatmate|therapist|doctor|teacher|coach|dog|cat|puppy|kitten|pup|horse|parrot|hamster)"
)
_KIN_BEFORE: Final = re.compile(
    rf"\b(?:{POSSESSIVES})\s+(?:\w+\s+)?{_KIN}(?:['’]s\s+name\s+is|\s+is\s+(?:called|named)|\s+(?:called|named)|,)?\s+$",
    re.I,
)
_PLACE_BEFORE: Final = re.compile(
    r"\b(?:live[sd]?\s+in|living\s+in|moved\s+to|moving\s+to|born\s+in|based\s+in|flew\s+to|fly(?:ing)?\s+to|trip\s+to"
    r"|travel(?:l?ed|l?ing)?\s+to|vacation\s+in|holiday\s+in|near|visit(?:ed|ing)?|been\s+to|in)\s+(?:the\s+)?$",
    re.I,
)
_PLACE_NAMES = """
    City Island Islands Beach Park Lake River Mountain Mountains Mount Street Avenue Road Square County Valley Bay
    Forest Museum Airport Station Bridge Canyon Castle Cathedral Falls
"""
_PLACE_WORDS: Final = frozenset(_PLACE_NAMES.split())
_ORGANISATION_BEFORE: Final = re.compile(
    r"\b(?:work(?:s|ed|ing)?\s+(?:at|for|with)|job\s+(?:at|with)|interview\s+(?:at|with)|hired\s+by|joined|employed\s+by"
    r"|intern(?:ed|ing|ship)?\s+at|stud(?:y|ied|ying)\s+at|graduated\s+from|volunteer(?:s|ed|ing)?\s+(?:at|for|with))\s+(?:the\s+)?$",
    re.I,
)
_ORGANISATION_NAMES = """
    Inc Ltd LLC GmbH Corp Corporation Company University College School Hospital Bank Institute Foundation Group Agency
    Association Club Church Clinic Center Centre Academy Studio Lab Labs Airline Airlines Ministry Department
"""
_ORGANISATION_WORDS: Final = frozenset(_ORGANISATION_NAMES.split())
# The patterns above can match only if the last word before a name, apart from "the", is one of these.
_PERSON_LEADS = """
    mr mrs ms dr prof professor uncle aunt sir president captain coach is called named sister brother mother father mom
    mum dad wife husband son daughter friend girlfriend boyfriend partner fiance fiancee fiancé fiancée cousin grandma
    grandpa grandmother grandfather nephew niece boss manager colleague coworker neighbor neighbour roommate flatmate
    therapist doctor teacher dog cat puppy kitten pup horse parrot hamster
"""
_BEFORE_PERSON: Final = frozenset(_PERSON_LEADS.split())
_BEFORE_PLACE: Final = frozenset(("in", "to", "near", "visit", "visited", "visiting"))
_BEFORE_ORGANISATION: Final = frozenset(("at", "for", "with", "by", "joined", "from"))
_WORD: Final = re.compile(r"\w+")
_TOKEN: Final = re.compile(r"\S+")
_QUOTED: Final = re.compile(r"[\"“]([^\"“”\n]{2,80})[\"”]")
# A kind, what a text must contain for it, and its pattern.
_PATTERNS: Final[tuple[tuple[EntityKind, re.Pattern[str], re.Pattern[str]], ...]] = (
    ("email", re.compile("@"), re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,24}){1,4}\b")),
    ("url", re.compile(r"://|www\."), re.compile(r"\bhttps?://[^\s<>\"')\]]+|\bwww\.[^\s<>\"')\]]+")),
    ("handle", re.compile("@"), re.compile(r"(?<![\w@.])@[A-Za-z_]\w{1,30}\b")),
    (
        "phone",
        re.compile(r"\d{3}[ .-]\d{3}"),
        re.compile(r"(?<![\w.])(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\)[ .-]?)?\d{3}[ .-]\d{3,4}[ .-]?\d{2,4}\b"),
    ),
    (
        "quantity",
        re.compile(r"\d"),
        re.compile(
            r"[$€£¥\d](?:(?<=[$€£¥])\s?\d[\d,]{0,30}(?:\.\d{1,30})?\s?(?:k|m|million|billion|thousand)?\b"
            r"|(?<=\d)(?<!\w\d)[\d,]{0,30}(?:\.\d{1,30})?\s?(?:%|percent\b|dollars?\b|euros?\b|pounds?\b|bucks\b|km\b|kilomet(?:er|re)s?\b|miles?\b|m\b"
            r"|met(?:er|re)s?\b|cm\b|feet\b|ft\b|inch(?:es)?\b|kg\b|kilos?\b|g\b|grams?\b|lbs?\b|oz\b|litres?\b|liters?\b|ml\b"
            r"|hours?\b|minutes?\b|mins?\b|seconds?\b|days?\b|weeks?\b|months?\b|years?\b|calories\b|pages?\b|people\b|times\b"
            r"|GB\b|MB\b|TB\b|°[CF]?))",
            re.I,
        ),
    ),
)  # fmt: skip


def find_entities(text: str, people: Collection[str] = ()) -> tuple[Entity, ...]:
    """Return what a text mentions, in the order of the text. `people` are the names of the speakers."""
    if len(text) > _MAX_TEXT:
        return ()
    found: list[Entity] = []
    taken = bytearray(len(text))
    for entity in (*_find_patterns(text), *_find_titles(text)):
        if not any(taken[slice(*entity.span)]):
            found.append(entity)
            taken[slice(*entity.span)] = b"x" * (entity.span[1] - entity.span[0])
    names = [entity for entity in _find_names(text, frozenset(people)) if not any(taken[slice(*entity.span)])]
    return tuple(sorted([*found, *names], key=lambda entity: entity.span))


def _find_patterns(text: str) -> Iterator[Entity]:
    for kind, hint, pattern in _PATTERNS:
        for match in pattern.finditer(text) if hint.search(text) else ():
            words = match.group().rstrip(" .,;:!?")
            yield Entity(kind, words, (match.start(), match.start() + len(words)))


def _find_titles(text: str) -> Iterator[Entity]:
    for match in _QUOTED.finditer(text):
        words = match[1].rstrip(" .,!?")
        if words[:1].isupper() and words.lower() not in NOT_NAMES:
            yield Entity("title", words, (match.start(1), match.start(1) + len(words)))


def _find_names(text: str, people: frozenset[str]) -> Iterator[Entity]:
    text = _SET_PHRASE.sub(lambda phrase: phrase.group().lower(), text)
    for start, end in sentence_spans(text):
        if text[start:end].isupper():
            continue
        for match in _NAME.finditer(text, start, end):
            span = _trim_name(match, start)
            if span is not None:
                yield Entity(_classify(text, span, people), text[slice(*span)], span)


def _trim_name(match: re.Match[str], sentence_start: int) -> Span | None:
    """Return the name without words that are capitalised for another reason; None when nothing is left."""
    if match.start() == sentence_start and len(match.group().split()) == 1:
        return None
    words = [(word.group(), match.start() + word.start()) for word in _TOKEN.finditer(match.group())]
    while words and _is_common(words[-1][0]):
        words.pop()
    while words and not _begins_name(words, sentence_start):
        words.pop(0)
    if not words:
        return None
    last, start = words[-1]
    bare = last.removesuffix("'s").removesuffix("’s").rstrip("'’-&")
    return (words[0][1], start + len(bare)) if len(bare) > 1 or len(words) > 1 else None


def _begins_name(words: list[tuple[str, int]], sentence_start: int) -> bool:
    """Return whether the first word belongs to the name: "New" does in "New York", "Great" in "to Great Britain"."""
    first, inside = words[0][0], words[0][1] > sentence_start
    if not _is_common(first):
        return inside or len(words) > 1
    opens = first == "New" or (inside and first in ("Great", "Long"))
    return opens and len(words) > 1 and not _is_common(words[1][0])


def _is_common(word: str) -> bool:
    lowered = word.lower().replace("’", "'")
    return lowered in NOT_NAMES or lowered.removesuffix("'s") in NOT_NAMES


def _classify(text: str, span: Span, people: frozenset[str]) -> EntityKind:
    name, before = text[slice(*span)], text[max(0, span[0] - 40) : span[0]]
    words, previous = _WORD.findall(name), _last_word(before)
    if _is_speaker(name, people) or (
        previous in _BEFORE_PERSON and (_TITLE_BEFORE.search(before) or _KIN_BEFORE.search(before))
    ):
        return "person"
    if not _ORGANISATION_WORDS.isdisjoint(words):
        return "organisation"
    if previous in _BEFORE_ORGANISATION and _ORGANISATION_BEFORE.search(before):
        return "organisation"
    if not _PLACE_WORDS.isdisjoint(words) or (previous in _BEFORE_PLACE and _PLACE_BEFORE.search(before)):
        return "place"
    return "name"


def _last_word(before: str) -> str:
    words = _WORD.findall(before.lower())
    if words[-1:] == ["the"]:
        words.pop()
    return words[-1] if words else ""


def _is_speaker(name: str, people: frozenset[str]) -> bool:
    # A short form counts: Mel for Melanie.
    return name in people or (len(name) >= 2 and any(person.startswith(name) for person in people))

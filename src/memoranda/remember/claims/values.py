"""Read the values and attributes of claims: the kind of a value, the slot that it fills, and whether it is a home. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, Literal, TypeAlias

from memoranda.remember.claims.patterns import ClaimPattern
from memoranda.remember.reading.lexicon import (
    ACQUAINTANCES,
    CHILDREN,
    LANGUAGE,
    PARTNERS,
    RELATIVES,
    SUPERIORS,
    WEEKDAY,
    topics_in,
)
from memoranda.text.places import is_place, looks_like_place
from memoranda.text.sentences import EMPTY_WORDS, Span

# How words for departments, services and products end: "Marketing", "Fastmail", "Kubernetes".
_USED: Final = re.compile(
    r"(?:ing|ment|[ts]ion|ance|ence|ship|ness|ics|ity|al|ware|soft|mail|app|bank|tech|net|ify|hub|book|box|gram|chat|pay"
    r"|com|phone|works?|labs?|cloud|base|desk|flow|sky|[^aeiou]es|[a-z]s)$",
    re.I,
)
_RESIDENCE: Final = re.compile(
    r"\b(?:relocat\w+|settled|apartment|flat|house|home|condo|city|town|village|permanently|family"
    r"|with (?:my|our) (?:wife|husband|partner|parents|kids|children)"
    r"|for (?:work|good|school|college)"
    r"|for (?:a|my|his|her|the|our) (?:[\w'’]+ )?job)\b",
    re.I,
)


def names_home(value: str, text: str, old: str | None) -> bool:
    """Return whether a name may be the place that somebody moved to; "I moved to Marketing" may not name a place.

    Args:
        value: The name.
        text: The clause that holds it.
        old: Where they moved from, if it says so.
    """
    alone = old is None and f"{value} for " not in text  # "from Signal to Threema", "to Kanban for my tasks"
    return is_known_home(value, text, old) or (alone and _may_be_place(value))


def is_known_home(value: str, text: str, old: str | None) -> bool:
    """Return whether a name is a known place, or the words around it are about a home."""
    return looks_like_place(value) or (old is not None and is_place(old)) or _RESIDENCE.search(text) is not None


def _may_be_place(name: str) -> bool:
    """Return whether a name may be an unknown place: it is not an ordinary word or a thing that people use."""
    words = name.split()
    written = all(word.isalpha() and word[1:] == word[1:].lower() for word in words)
    return written and _USED.search(name) is None and not any(topics_in(word) for word in words)


Kind: TypeAlias = Literal["text", "name", "number", "money", "day", "time", "address", "state"]

_NUMBERS = "(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred)"
_UNITS = (
    r"(?:%|kg|kgs|kilos?|g|mg|mcg|ml|l|lbs?|pounds|cm|m|km|miles?|feet|ft|inch(?:es)?|hours?|hrs?|minutes?|mins?|days?|weeks?"
    r"|months?|years?|people|gb|mb|tb|times|units?|steps|pages|calories|kcal|degrees|bpm|points?|users?|replicas?|nodes?|cores?)"
)
_DAYS = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_MAX_VALUE: Final = 160
_MAX_WORDS: Final = 14
_MAX_ITEM: Final = 4
_NO_THING: Final = re.compile(
    r"\b(?:i|me|you|it|them|him|her|us|we|they|please|is|are|was|don['’]t|not|have|has|will|can)\b", re.I
)
_REDACTED: Final = re.compile(r"\[redacted\b|\bredacted\]", re.I)
PREFERENCE_OF: Final = "preferred {what}"
PREFERENCE: Final = "preferred of"
"""The attribute of a choice between two things, which it is followed by."""
_PERSON: Final = re.compile(
    rf"(?:{PARTNERS}|{SUPERIORS}|{RELATIVES}|{ACQUAINTANCES}|doctor|dentist|therapist|coach|teacher|landlord|landlady|owner|assignee"
    r"|reviewer|president|ceo|cto|cfo|captain|lead|lawyer|accountant|tutor|mentor|nanny|babysitter|vet|gp)",
    re.I,
)
_KIN: Final = re.compile(f"{PARTNERS}|{CHILDREN}|{RELATIVES}", re.I)
_TITLED: Final = re.compile(r"(?:Mr|Mrs|Ms|Miss|Mister|Sir|King|Queen|Prince|Princess|Captain)\b")
_MEASURED_WORDS = """
    age score weight height price rent salary budget temperature capacity quota limit dose dosage duration length size
    distance speed
"""
_MEASURED: Final = frozenset(_MEASURED_WORDS.split())
_NEXT_CLAUSE: Final = re.compile(
    r"\s*(?:,\s*(?:and\s+i|but|so|which|who|because|since|though|although|it|that|i|we|they|he|she|you|and\s+it|and\s+we"
    r"|as|right|too|especially|thanks|please|(?:can|could|would|will)\s+(?:you|we|i)|then|while|where|when|not)\b|\s(?:but|because|although|though|whereas|which|so\s+that"
    r"|and\s+(?:i|it|we|my|they|he|she|that|now|am|i['’]m)|when|while|whenever|since|as\s+well|so\s+much|so|after|before|instead\s+of"
    r"|rather\s+than|starting|effective|from\s+now\s+on|due\s+to|according\s+to|as\s+(?:far|of|usual|always|ever|planned|agreed|before|per)|until\s+further\s+notice|by\s+the\s+way)\b|\s?[–—]+\s|\s-\s|:\s|[)\]]|\s\(|,\s+(?:\w+\s+){0,3}(?:is|are|was|were)\b|,\s+(?-i:[A-Z])(?!\w*days?\b)\w+\s+(?-i:[a-z])\w+|,\s+only\b).*$",
    re.I | re.S,
)
_TRAILING: Final = re.compile(
    r"(?:(?<![\s,])[\s,]+(?:too|now|either|anymore|any\s+more|as\s+well|these\s+days|right\s+now|at\s+the\s+moment|myself|a\s+lot"
    r"|already|recently|lately|again|though|btw|together|as|mostly|usually|sharp|by\s+far|hands\s+down|for\s+(?:now|good|sure|the\s+time\s+being|the\s+moment)|at\s+the\s+(?:latest|earliest)|so\s+far|of\s+course|definitely|temporarily|finally|instead|currently|officially|permanently|nowadays|today|tonight|this\s+(?:morning|afternoon|evening|weekend)|with|in|at|on|for|from|to|of|and|or|the|(?-i:a)))+\s*$",
    re.I,
)
_LEADING: Final = re.compile(
    r"(?:(?:now|back(?=\s+(?:on|at|in)\b)|currently|still|just|actually|officially|only|about|around|roughly|approximately|called|named|set|due|scheduled|set\s+for"
    r"|on|at|in|by|for|to|with|the|a|an|going\s+to\s+be|my|our|number|no\.|hosted|deployed|located|stored|running|written|built|based)\s+)+",
    re.I,
)
# The words after a value are another statement, unless they are the second half of a name: "Berlin, Germany".
_AFTER_VALUE: Final = re.compile(
    r"\s(?:and|or|but|plus|with|without|while|like|who|which|whose|where|because|for|at|near|under|by|from|in|on|via|through|until|after|before|behind"
    r"|opposite|except)\b"
    r"|,(?!\s+(?-i:[A-Z])[\w'’.-]*(?:\s(?-i:[A-Z])[\w'’.-]*)*\s*(?:,|$))",
    re.I,
)
# A measure goes on as long as its words are numbers, units, days and what joins them: "9 to 5, Mondays", "4.50 euros a month".
_MEASURE: Final = re.compile(
    r"(?:(?:the|about|around|between|from|v|early|late|mid|end\sof|every|each|next|this|last|half)[\s-])*"
    rf"(?:[$€£¥#]?\d[\w.,:/%°€$£+-]*|{_DAYS}|week|month|year|noon|midnight|today|tomorrow|q[1-4]|an?\s{_UNITS}|{_NUMBERS})\b[%°]?"
    r"(?:,?\s(?:(?:to|and|at|on|of|or|until|[–-])\s)*(?:[$€£]?\d[\w.,:/%°€$£-]*"
    rf"|{_UNITS}|(?:an?|per|each|every)\s\w+|[ap]\.?m\b|o['’]?clock|dollars|euros?|pounds|usd|eur|gbp|chf|yen|zloty|crowns?|francs?"
    rf"|noon|midnight|{_NUMBERS}|{_DAYS})(?!\w))*"
    # What is counted: "3 bedrooms", but not "9 from gate B4".
    r"(?:\s(?!(?:from|in|on|at|by|via|with|for|and|but|or|to|of|near|after|before|starting|sharp|now|then|as|so|if|because|when|since|until|too"
    r"|again|instead|only|just|running|that|which|who|is|are|was)\b)[a-z]+(?=\s*$|[\s,]))?",
    re.I,
)
_NO_VALUE: Final = frozenset(("now", "again", "anymore", "in", "at", "daily", "a lot", "too", "today"))
_VAGUE_WORDS = """
    it that this them these those him her you everything something anything nothing one what how all mine there here
    being to a the your my when someone people things stuff both more most some
"""
_VAGUE: Final = frozenset(_VAGUE_WORDS.split())
_EMAIL: Final = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<!\w)@\w[\w.]+|https?://\S+|[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|example)\b(?:/\S*)?"
)
_MONEY: Final = re.compile(
    r"[$€£¥]\s?\d[\d.,]*\s?[kKmM]?\b|\b\d[\d.,]*\s?[kKmM]?\s?(?:dollars|euros?|pounds|usd|eur|gbp|chf|yen)\b", re.I
)
_TIME: Final = re.compile(
    r"\b\d{1,2}(?::\d\d)?\s?(?:am|pm|a\.m\.|p\.m\.|o['’]?clock)\b|\b\d{1,2}:\d\d\b|\b(?:noon|midnight)\b", re.I
)
_DAY: Final = re.compile(
    rf"\b(?:{_DAYS})\b|\b(?:19|20)\d\d\b|\b(?:today|tomorrow|q[1-4]|next\s+(?:week|month|year))\b", re.I
)
_NUMBER: Final = re.compile(r"(?<![\w.])[v#]?\d[\d.,:/ -]*\d|(?<![\w.])\d\b")
_HOUSE: Final = re.compile(r"\d{1,5}[a-z]?,?\s[A-Z][a-z]")
_UNIT: Final = re.compile(rf"(?:\d[\d.,]*\s?|^(?:half\san?|an?|{_NUMBERS})\s)(?P<unit>{_UNITS})(?!\w)", re.I)
_DIMENSIONS: Final = {
    unit: dimension
    for dimension, units in (
        ("weight", "kg kilo g mg mcg lb pound"), ("length", "cm m km mile feet ft inch inche"), ("volume", "ml l"),
        ("duration", "hour hr minute min day week month year"), ("size", "gb mb tb"), ("temperature", "degree"),
    )
    for unit in units.split()
}  # fmt: skip
"""What a unit measures: 1.80 m and 180 cm are values of one slot."""
_WORD_NUMBERS_WORDS = """
    one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred
"""
_WORD_NUMBERS: Final = frozenset(_WORD_NUMBERS_WORDS.split())
# Two states of which one is the denial of the other.
_OPPOSITES: Final = {
    "off": "on", "closed": "open", "shut": "open", "down": "up", "disabled": "enabled", "offline": "online",
    "unavailable": "available", "inactive": "active", "unlocked": "locked", "empty": "full", "broken": "working",
    "unemployed": "employed", "occupied": "vacant", "private": "public", "optional": "required", "asleep": "awake",
    "unhealthy": "healthy", "sick": "healthy", "ill": "healthy", "dead": "alive", "false": "true", "unpaid": "paid",
    "incomplete": "complete", "unfinished": "finished", "out of stock": "in stock", "unmarried": "married",
}  # fmt: skip
_STATES: Final = frozenset(_OPPOSITES.values())
# Words for the same attribute, so that one sentence can update another that says it differently.
_SYNONYMS: Final = {
    "phone number": "phone", "cell": "phone", "cell number": "phone", "mobile": "phone", "mobile number": "phone", "number": "phone",
    "cellphone": "phone", "cell phone": "phone", "telephone": "phone", "telephone number": "phone", "phone no": "phone",
    "e-mail": "email", "email address": "email", "e-mail address": "email", "mail": "email", "mail address": "email",
    "boss": "manager", "line manager": "manager", "supervisor": "manager", "company": "employer", "workplace": "employer", "firm": "employer",
    "title": "occupation", "job title": "occupation", "job": "occupation", "profession": "occupation", "position": "occupation", "role": "occupation",
    "home address": "address", "street address": "address", "postal address": "address", "city": "city", "home city": "city", "residence": "city",
    "location": "city", "full name": "name", "surname": "last name", "dob": "birthday", "date of birth": "birthday", "birth date": "birthday",
    "favorite": "favourite", "colour": "color", "date": "day",
}  # fmt: skip
_DETERMINERS: Final = re.compile(r"^(?:the|this|my|our|a|an)\s+")
_ADJECTIVES: Final = re.compile(
    r"^(?:(?:new|current|updated|latest|primary|main|present|actual|correct|preferred(?= (?:language|pronoun|contact))|all[ -]time|absolute|own|next)\s+)+",
    re.I,
)
_FORMER: Final = re.compile(r"^(?:(?:old|former|previous|first|last|earlier|original|ex)[\s-]+(?!name))+")
_OF: Final = re.compile(r"^(\w+) (?:of|for) (?:an?|the|my|our) (.+)$")
"""The price of a loaf is the loaf price."""
# Nouns of which a person may have several at once: another value does not replace the first.
_SEVERAL_WORDS = """
    friend friends hobby hobbies sister sister's brother cousin colleague pet dog cat child kid son daughter
    uncle aunt neighbour neighbor idea problem plan goal thing reason point advice question answer tip example
    interest skill strength weakness dream passion fear allergy book movie film song
"""
_SEVERAL: Final = frozenset(_SEVERAL_WORDS.split())


# Nouns of which a new one may be in addition to the old one.
_MAYBE_SEVERAL_WORDS = """
    client customer student pupil patient project course class medication medicine drug supplement tattoo account card
    subscription language instrument sport case task customer tenant investor sponsor gadget plant
"""
_MAYBE_SEVERAL: Final = frozenset(_MAYBE_SEVERAL_WORDS.split())

# Nouns that have one value at a time, even where the value is an ordinary word: "my size is medium".
_WITH_ONE_VALUE_WORDS = """
    manager boss doctor dentist therapist coach teacher landlord employer occupation subscription
    colour color size plan tier status state level grade rank score priority stage phase version release branch
    region zone database framework language editor theme font layout mode setting option format unit currency timezone diet
    allergy blood type goal target quota limit deadline budget price rent salary owner lead assignee reviewer contact
    industry title role position hobby sport instrument major degree
    course policy rule default model engine supplier vendor partner wife husband
    girlfriend boyfriend fiance fiancee weight height age temperature capacity order route commute ride dose dosage
    medication treatment diagnosis schedule shift day time date code class meal choice
    preference style method approach strategy vote answer decision verdict result outcome winner champion president ceo captain
"""
# Of these the value is a name, a number or "a …": "my car is clean" and "my name is mud" say how it is, not which.
_NAMED_WORDS = """
    name nickname address phone email number team department office school university gym bank insurer provider carrier
    airline hotel venue room desk car bike laptop location city country residence birthplace hometown destination
    password username handle url host port server wifi network printer key flight seat gate
"""
_NAMED: Final = frozenset(_NAMED_WORDS.split())
# Of these the value is a place.
_LOCATED_WORDS = """
    address office hotel venue room desk location city country residence birthplace hometown destination seat gate
    printer key flight server host
"""
_LOCATED: Final = frozenset(_LOCATED_WORDS.split())
_SAYS_WHERE: Final = re.compile(
    r"(?:(?:now|back|still)\s+)*(?:in|on|at|near|under|behind|inside|outside|next to|with)\s", re.I
)
_WITH_ONE_VALUE: Final = frozenset(_WITH_ONE_VALUE_WORDS.split()) | _NAMED
# Of these the value itself is a quality: "my size is medium".
_QUALITIES_WORDS = """
    colour color size status state level grade rank priority stage phase mode tier format currency gender pronouns
"""
_QUALITIES: Final = frozenset(_QUALITIES_WORDS.split())
_BELONGING: Final = re.compile(r"(?:ish|ese|ian|ican|rman|ench|utch|olic|ist|ite|ing|ed|team)$")
"""How words for a people, a faith or a state end."""
_ADJECTIVE: Final = re.compile(
    rf"(?:.* )?{LANGUAGE}|.*['’]s?|\S+-(?:based|free|made|owned|friendly|only)|\w{{2,}}(?:ous|ful|less|able|ible|ing|ed|ant)"
    # "Sold out", "Selling the house", "Ben's best friend"; "Bank of America" is a name.
    r"|\S+(?: \S+)*? (?!(?:of|de|the|and|for|am|pm|kg|in|von|van|der|la|el|di|da|du)\b)[a-z]\S*.*"
)
_WHICH: Final = re.compile(r"(?:now\s+)?(?:an?|the|one|my|our|called|named)\b", re.I)


_NO_THINGS_WORDS = """
    question questions idea ideas problem problems issue issues headache call calls minute minutes hour hours second
    feeling feelings plan plans chance point doubt clue time look go day week weekend moment choice reason request favor
    favour thought thoughts suggestion answer opinion task appointment meeting cold fever rest break blast laugh
"""
_BEFORE_DETAILS: Final = frozenset(("with", "about", "for", "of", "on", "in", "from", "to", "at"))
_NO_THINGS: Final = frozenset(_NO_THINGS_WORDS.split())
"""What somebody "has" without owning it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A value as it is compared: its text, its kind, its unit, and whether it is affirmed."""

    value: str
    kind: Kind
    unit: str = ""
    positive: bool = True


def is_redacted(words: str) -> bool:
    """Return whether words hold the replacement of a secret, or what the rules of values leave of it."""
    return _REDACTED.search(words) is not None


def is_number(word: str) -> bool:
    """Return whether a word says how many: "5", "5mg", "five"."""
    return word[:1].isdigit() or word.casefold() in _WORD_NUMBERS


def read_value(value: str) -> Reading:
    """Return what kind of value it is; one of two opposite states is read as the denial of the other."""
    folded = " ".join(value.casefold().split())
    if folded in _OPPOSITES:
        return Reading(_OPPOSITES[folded], "state", positive=False)
    if folded in _STATES:
        return Reading(folded, "state")
    if (address := _EMAIL.search(value)) is not None:
        return Reading(address[0], "address")
    if (money := _MONEY.search(value)) is not None:
        return Reading(money[0].strip(), "money")
    if (time := _TIME.search(value)) is not None:
        return Reading(time[0], "time")
    if (unit := _UNIT.search(value)) is not None:
        name = unit["unit"].lower().rstrip("s")
        return Reading(_measure_of(value), "number", _DIMENSIONS.get(name, name))
    if len(value.split()) <= 8 and _DAY.search(measure := _measure_of(value)) and _MEASURE.match(value):
        return Reading(measure, "day")
    first = folded.split(" ")[0] if folded else ""
    # Not "booked for the 31st", and not a house in a street.
    numbered = not value[:1].islower() and _NUMBER.search(value) and len(value.split()) <= 5 and not _HOUSE.match(value)
    if numbered or first in _WORD_NUMBERS:
        return Reading(_measure_of(value), "number")
    return Reading(value, "name" if value[:1].isupper() or _HOUSE.match(value) else "text")


def _measure_of(value: str) -> str:
    """Return the measure that a value begins with: of "25 minutes by metro" the rest says more."""
    measure = _MEASURE.match(value)
    return value[: measure.end()].rstrip(" ,") if measure else value


def attribute_for(
    pattern: ClaimPattern, what: str | None, reading: Reading, said: str = "", *, past: bool = False
) -> tuple[str | None, bool]:
    """Return the attribute that a value fills, and whether it has one value at a time.

    Args:
        pattern: The kind of clause.
        what: The noun phrase that it is about.
        reading: The value.
        said: The value in full.
        past: Whether it describes the past: "my old number" is the number.
    """
    if "{what}" not in pattern.attribute:
        return pattern.attribute, pattern.single
    if pattern.attribute == PREFERENCE_OF:
        return PREFERENCE, True
    noun = normal_noun(what or "", past=past)
    if not noun:
        return None, False
    attribute = pattern.attribute.format(what=noun)
    if not pattern.single:
        return _verb(noun), False
    attribute = _SYNONYMS.get(attribute, attribute)
    last = noun.split()[-1]
    if not _has_shape(last, reading):
        return None, False
    if attribute.endswith(" name"):
        return attribute, True
    if last in _NAMED - _LOCATED and reading.kind == "name" and _SAYS_WHERE.match(said):
        return f"{attribute} location", True  # "my team is in Rome" does not say which team
    if reading.kind in ("day", "time", "money"):
        named = attribute.endswith(reading.kind) or (reading.kind == "day" and attribute.endswith("date"))
        return attribute if named else f"{attribute} {reading.kind}", True
    if reading.kind == "number":
        return attribute if last in _MEASURED else f"{attribute} {reading.unit}".strip(), True
    if reading.kind == "state":
        return f"{attribute} state", False
    if attribute.startswith("favourite "):
        return attribute, True
    if last in _NAMED and reading.kind == "text" and not _WHICH.match(said):
        return None, False
    # "My family is awesome" says how it is, "my plan is Starter" what it is: an opinion replaces none.
    if reading.kind in ("name", "address") or last in _WITH_ONE_VALUE or "~noun:" in pattern.template:
        return attribute, last not in _SEVERAL
    return None, False


def _has_shape(noun: str, reading: Reading) -> bool:
    """Return whether a value has the shape that a noun needs: "my wife is pregnant" does not say who she is."""
    if _KIN.fullmatch(noun) and _TITLED.match(reading.value):
        return False  # nobody calls their partner by a title: "my partner is Mr Universe"
    if _PERSON.fullmatch(noun):
        return reading.kind == "name"
    if noun in _MEASURED:
        return reading.kind in ("number", "money", "time", "day")
    return True


def names_person(what: str) -> bool:
    """Return whether a noun phrase names somebody: "my new doctor"."""
    return _PERSON.fullmatch(normal_noun(what).rpartition(" ")[2]) is not None


def may_be_first_name(value: str) -> bool:
    """Return whether "I'm …" with such a word may state a name: not "I'm German", "I'm Catholic" or "I'm Team Rocket"."""
    words = value.split()
    first = words[0].casefold() if words else ""
    kind = _BELONGING.search(first) or is_adjective(value) or is_place(value) or _DAY.fullmatch(first)
    return bool(words) and not kind and first not in EMPTY_WORDS and not topics_in(first)


def may_be_several(what: str) -> bool:
    """Return whether somebody may have a new one of these and keep the old one."""
    noun = normal_noun(what).rpartition(" ")[2]
    # "My dog is now called Rex" renames the dog, "my new dog is called Rex" is about another dog.
    return noun in _MAYBE_SEVERAL or (noun in _SEVERAL and not what.casefold().startswith(noun))


def may_be_quality(what: str, said: str, reading: Reading) -> bool:
    """Return whether a value may be a quality instead of a name: an ordinary word, unless the attribute is a quality."""
    asked = normal_noun(what).rpartition(" ")[2] in _QUALITIES
    empty = reading.value.casefold() in EMPTY_WORDS and not normal_noun(what).startswith("favourite")
    title = names_person(what) and reading.value.isupper()  # "my partner is now CEO"
    how = reading.kind == "text" or empty or title or is_adjective(reading.value)
    return how and not asked and _WHICH.match(said) is None


def is_adjective(value: str) -> bool:
    """Return whether a capitalized value is an adjective and not a name: "Italian", "Tom's"."""
    return _ADJECTIVE.fullmatch(value) is not None


def normal_noun(what: str, *, past: bool = False) -> str:
    """Return a noun phrase as attributes are compared: lower case, without "new", "current", or "old" of what was."""
    folded = " ".join(what.casefold().replace("’", "'").split())
    folded = _DETERMINERS.sub("", folded)
    folded = _FORMER.sub("", folded) if past else folded
    folded = _ADJECTIVES.sub("", folded).replace("favorite", "favourite").replace("color", "colour")
    folded = _OF.sub(r"\2 \1", folded)
    return _SYNONYMS.get(folded, folded)


def _verb(word: str) -> str:
    """Return a verb in one form: "plays" and "playing" are "play"."""
    first, _, rest = word.partition(" ")
    for ending, base in (("ies", "y"), ("ches", "ch"), ("goes", "go"), ("ing", ""), ("s", "")):
        if first.endswith(ending) and len(first) > len(ending) + 1:
            first = first.removesuffix(ending) + base
            break
    known = {"goe": "go", "driv": "drive", "tak": "take", "us": "use", "smok": "smoke", "rid": "ride", "dat": "date", "vap": "vape", "runn": "run", "practic": "practice",
             "swimm": "swim", "practis": "practice", "practise": "practice", "meditat": "meditate", "gambl": "gamble", "commut": "commute", "subscrib": "subscribe"}  # fmt: skip
    return f"{known.get(first, first)} {rest}".strip()


def split_list(value: str) -> list[str]:
    """Return the items of a list, up to the first one that is not a thing: "nuts, keep them coming"."""
    items = [item.strip() for item in re.split(r",\s*(?:and\s+)?|\s+and\s+", value) if item.strip()]
    return list(takewhile(lambda item: len(item.split()) <= _MAX_ITEM and not _NO_THING.search(item), items))


def trim_value(sentence: str, span: Span, dates: Sequence[int], *, keep_dates: bool = False) -> str | None:
    """Return the value without a following clause, date or filler; None when nothing is left."""
    cuts = [] if keep_dates else [date for date in dates if span[0] < date < span[1]]
    text = sentence[span[0] : min([span[1], *cuts])]
    text = _NEXT_CLAUSE.sub("", text).strip(" ,.!'\"")
    while (shorter := _TRAILING.sub("", text)) != text:
        text = shorter
    leading = _LEADING.match(text)
    if leading and leading.end() < len(text) and not re.match(r"[A-Z]", text):
        text = text[leading.end() :]
    words = [] if text.lower() in _NO_VALUE else text.lower().split()
    if (
        not words
        or len(text) > _MAX_VALUE
        or len(words) > _MAX_WORDS
        or (words[0] in _VAGUE - {"a", "the", "my", "to", "your"} and not _UNIT.match(text))
    ):
        return None
    return text if any(word not in _VAGUE for word in words) else None


def length_of_value(value: str) -> int:
    """Return the length of a value without further statements: of "6" in "6 and deaf", of "9" in "9 from gate B4"."""
    rest = _AFTER_VALUE.search(value)
    if read_value(value).kind in ("number", "money", "time", "day"):
        return len(_measure_of(value))
    return len(value) if rest is None else rest.start()


_LINKS = (
    "for|in|on|at|with|without|around|about|near|by|from|during|under|over|behind|between|among|through|via|per|than|like|as|while|when"
    "|whenever|where|if|unless|except|before|after|until|till|to"
)
_ADVERBS = (
    "most|some|every|each|any|half|both|all|once|twice|only|always|often|sometimes|usually|mostly|rarely|seldom|occasionally|now|then"
    "|again|daily|weekly|monthly|yearly|weekends?|weekdays?|[a-z]{3,}ly"
    rf"|(?:(?i:{WEEKDAY})|morning|afternoon|evening|night|summer|winter|spring|autumn|fall)s"
    rf"|(?:\d+|an?|{_NUMBERS}) (?:hour|day|night|week|weekend|month|year|time)s?"
)
# A noun phrase ends where one of these stands: how often, when and where something is so is no part of its name.
_PHRASE_END: Final = re.compile(rf"\s(?:{_LINKS}|{_ADVERBS})\b(?!['’-])", re.I)
_NAME_END: Final = re.compile(
    rf"\s(?:(?:{_LINKS})\b(?!\s(?:the\s|a\s|an\s)?(?!(?i:{_DAYS})\b)[A-Z])|(?:{_ADVERBS})\b)(?!['’-])"
)
"""The same of a name, which may have capitals after such a word: "The Girl with the Dragon Tattoo"."""


def length_of_phrase(value: str) -> int:
    """Return how many characters of a value are its noun phrase: of "Emacs most days" and "green in summer" the first.

    What is left says how often, when or where it is so.
    """
    found = (_NAME_END if value[:1].isupper() else _PHRASE_END).search(value)
    return len(value) if found is None else found.start()


def is_thing(words: Sequence[str]) -> bool:
    """Return whether what somebody "has" can be owned, by the noun before its details: not "a question about cats"."""
    details = (n for n, word in enumerate(words) if word in _BEFORE_DETAILS or (n > 1 and word.endswith("ed")))
    head = next(details, len(words))
    return _NO_THINGS.isdisjoint(words[max(0, head - 1) : head]) and words[0] != "no"

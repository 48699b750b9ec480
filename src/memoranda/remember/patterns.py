"""The sentences from which a claim is read: one row a pattern, and only where a pattern is sure.

In a row, a blank stands for any blanks, ' for either apostrophe, and ~word for the part of that name. ~(some|words) are
those that tell a row: whatever it matches holds one of them, so it is tried only on sentences that do.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from functools import cache
from typing import Final

_NAMED = (
    r"[A-Z\u00c0-\u00de][\w\u00c0-\u024f'’&.-]*(?: (?:of |the |de |and )?[A-Z\u00c0-\u00de][\w\u00c0-\u024f'’&.-]*)*"
)
_PARTS: Final = {
    # Where the speaker's own clause begins.
    "start": (
        r"(?:^|[,;:.!?—–-]\s*"
        r"|\b(?:and|but|so|because|since|that|actually|now|btw|well|yes|yeah|hi|hey|as|while|also) )"
    ),
    "i": r"~start(?P<i>i)\b",
    "am": r"~start(?P<i>i(?: am|'m|m)) (?:still |now |currently |actually |just )?",
    "we": r"\b(?P<i>i|we)\b",
    "have": r"(?:'ve| have| had)?\s+",
    "adv": (
        r"(?:(?:also|really|just|still|now|recently|finally|actually|currently|always|absolutely|totally"
        r"|already) )*"
    ),
    "value": r"(?P<value>[^.!?;:\n]+)",
    # "I love your turtles", "I like how it looks": said of the moment.
    "liked": (
        r"(?P<value>(?!(?:your|his|her|their|how|when|what|that|this|these|those|where|it|them|to see|the way|the idea"
        r"|the thought|the fact|being able|seeing|hearing|on|in|at|by|with|from|as)\b)[^.!?;:\n]+)"
    ),
    "proper": rf"(?P<value>(?-i:(?:the )?{_NAMED}))",
    "kin": r"(?P<kin>(?:(?:older|younger|little|big|best|new|late) )?~relation)",
    "whose": r"\bmy ~kin(?: (?-i:[A-Z][\w-]+),?)?",
    "relation": (
        r"(?:sister|brother|mother|father|mom|mum|dad|wife|husband|son|daughter|girlfriend|boyfriend|partner|fianc[eé]e?"
        r"|cousin|aunt|uncle|grandma|grandpa|grandmother|grandfather|nephew|niece|boss|manager|friend|colleague|roommate"
        r"|~pet)"
    ),
    "pet": r"(?:dog|cat|puppy|kitten|horse|parrot|rabbit|turtle|hamster)",
    "thing": (
        r"(?:~pet|kid|son|daughter|sister|brother|sibling|car|bike|house|apartment|motorcycle|boat)s?"
        r"|puppies|children"
    ),
    "status": r"(?P<value>~(married|single|engaged|divorced|widowed|separated))",
    "diet": (
        r"(?P<value>~(vegan|vegetarian|pescatarian|diabetic|coeliac|celiac|teetotal)"
        r"|(?:lactose|gluten)[\s-]~(intolerant))"
    ),
    "occupation": (
        r"~(engineer|developer|teacher|nurse|doctor|lawyer|designer|student|manager|accountant|chef|writer|artist"
        r"|musician|scientist|researcher|consultant|analyst|architect|electrician|plumber|pilot|journalist"
        r"|photographer|therapist|counsellor|counselor|pharmacist|dentist|veterinarian|professor|librarian|mechanic|carpenter"
        r"|farmer|paramedic|firefighter|banker)"
    ),
    "game": (
        r"(?:piano|guitar|violin|drums|cello|flute|bass|saxophone|trumpet|ukulele|clarinet|chess|tennis|football|soccer"
        r"|basketball|volleyball|golf|hockey|badminton|rugby|cricket|video games)"
    ),
    "illness": (
        r"(?:(?:type [12] )?diabetes|asthma|epilepsy|arthritis|migraines?|insomnia|anxiety|depression|adhd|ibs|eczema"
        r"|high blood pressure|hypertension)"
    ),
    "drug": (
        r"(?:\d+\s?mg of )?"
        r"(?:metformin|insulin|ibuprofen|aspirin|antibiotics|antidepressants|medication for [\w\s]+)"
    ),
    "new_job": (
        r"(?:~(joined)|(?:started|got|took|accepted|landed) (?:a|the|my) (?:new )?"
        r"~(job|position|role|internship) (?:at|with))"
    ),
    "article": r"(?:an?|the|two|three|\d+|my (?:first|own)|some)",
    "no_job": r"(?:(?:no longer|don't) ~(work) (?:at|for)|(?:quit|left) my ~(job) at|got ~(fired|laid off) from)",
    "month_day": r"(?:[A-Z]\w+ \d{1,2}(?:st|nd|rd|th)?|(?:the )?\d{1,2}(?:st|nd|rd|th)? (?:of )?[A-Z]\w+)",
    "very": r"(?:all[\s-]time |absolute |new |current )?",
    # "I'll keep going" is no commitment; these are things that get done or do not.
    "deed": (
        r"(?P<value>~(send|bring|call|phone|email|text|pay|buy|book|finish|submit|deliver|write|prepare|fix|pick up"
        r"|drop off|meet|visit|return|schedule|cancel|order|review|share|renew|apply|sign|attend|fly|move|host|teach"
        r"|lend|donate) [^.!?;\n]+)"
    ),
    "request": r"(?:^|[,;:.!?—–-]\s*|\b(?:please|can you|could you|and) )(?:please )?",
}

_PART: Final = re.compile("~(" + "|".join(sorted(_PARTS, key=len, reverse=True)) + ")")
_TELLING: Final = re.compile(r"~\(([^()]*)\)")
_NUMBER: Final = r"\d{1,3}"
"""Told by any number: as good as a word."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """How a sentence says something of somebody."""

    attribute: str
    """May hold `{what}`, filled from the group of that name."""
    template: str
    single: bool = False
    """Whether one has one value at a time."""
    holds: bool = True
    ended: bool = False
    """Whether it says that something was so and is no more: "I used to live in Rome"."""

    @property
    def regex(self) -> re.Pattern[str]:
        return _regex(self.template)


def _expanded(template: str) -> str:
    while _PART.search(template):
        template = _PART.sub(lambda part: _PARTS[part[1]], template)
    return template


@cache  # made when first needed: importing this module costs nothing
def _regex(template: str) -> re.Pattern[str]:
    plain = _expanded(template).replace("~(", "(?:")
    both_apostrophes = re.sub(r"'(?!’)", "['’]", plain)
    return re.compile(both_apostrophes.replace(" ", r"[ \t]+"), re.I)


def _one(attribute: str, template: str, *, holds: bool = True, ended: bool = False) -> Pattern:
    return Pattern(attribute, template, single=True, holds=holds, ended=ended)


def _many(attribute: str, template: str, *, holds: bool = True) -> Pattern:
    return Pattern(attribute, template, holds=holds)


_WHO = (
    _one("name", r"\bmy (?:full |first )?~(name) is ~proper"),
    _one("name", r"\b(?:please )?~(call) me ~proper"),
    _one("name", r"\bmy ~kin(?:'s ~(name) is| is ~(called|named)| ~(called|named)) ~proper"),
    _one("age", r"~am(?P<value>~(\d{1,3}))(?: years? old\b|(?=\s*(?:[.,!;]|and\b|$)))"),
    _one("age", r"~i (?:just |recently )?~(turned) (?P<value>\d{1,3})\b"),
    _one("age", r"~whose is (?P<value>~(\d{1,3}))(?: years? old\b|(?=\s*[.,!;]|$))"),
    _one("birthday", r"\bmy ~(birthday) is (?:on )?(?P<value>(?-i:~month_day))"),
    _one("birthday", r"~i was ~(born) on ~value"),
    _one("birth year", r"~i was ~(born) in (?P<value>(?:19|20)\d\d)\b"),
    _one("birthplace", r"~i was ~(born) (?:and raised )?in ~proper"),
    _one("home town", r"~am(?:originally )?~(from) ~proper"),
    _one("home town", r"~i ~(grew) up in ~proper"),
    _one("phone", r"\bmy ~(phone|cell|mobile)(?: number)? is (?P<value>\+?\d[\d\s().-]{5,18}\d)"),
    _one("email", r"\bmy ~(email|e-mail)(?: address)? is (?P<value>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"),
    _one("address", r"\bmy (?:home )?~(address) is ~value"),
    _one("pronouns", r"\bmy ~(pronouns) are (?P<value>\w+/\w+(?:/\w+)?)"),
    _one("relationship status", r"~am(?:happily |recently |newly )?~status\b"),
    _one("relationship status", r"~we~have~adv(?:got|gotten) ~status\b"),
)
_WHERE = (
    _one("city", r"~i~have~adv~(live|lived|reside) in ~proper"),
    _one("city", r"~i(?:'ve been| have been) ~(living) in ~proper"),
    _one("city", r"~am~(living|based|settled) in ~proper"),
    _one("city", r"~we~have~adv~(moved|relocated) (?:back |here )?(?:from [\w\s]+? )?to ~proper"),
    _one("city", r"~whose (?:now )?(?:~(lives)|is ~(living)) in ~proper"),
    _one("city", r"~i used to ~(live) in ~proper", ended=True),
    _one("city", r"~i (?:no longer|don't) ~(live) in ~proper", holds=False),
    _one("employer", r"~i~have~adv(?:~(work|worked)|been ~(working)) (?:at|for) ~proper"),
    _one("employer", r"~am~(working|employed) (?:at|for|by) ~proper"),
    _one("employer", r"~i~have~adv~new_job ~proper"),
    _one("employer", r"~whose (?:now )?~(works) (?:at|for) ~proper"),
    _one("employer", r"~i used to ~(work) (?:at|for) ~proper", ended=True),
    _one("employer", r"~i ~no_job ~proper", holds=False),
    _one("occupation", r"~i~have~adv~(work|worked|working) as (?:an? |the )?~value"),
    _one("occupation", r"~am(?:working as )?an? (?P<value>(?:[\w-]+ ){0,2}~occupation)\b"),
    _many("studies", r"~am~(studying) ~value"),
    _many("studies", r"~i (?:~(majored) in|~(graduated) (?:from|in)|have a ~(degree) in) ~value"),
    _many("visited", r"~we~have~adv(?:~(visited)|~(been|travelled|traveled|flew|went) to) ~proper"),
)
_TASTE = (
    _one(
        "favourite {what}",
        r"\bmy ~very~(favourite|favorite) (?P<what>[\w-]+(?: [\w-]+){0,2}?) (?:is|are|has to be|would be) ~value",
    ),
    _one(
        "favourite {what}",
        r"^(?P<value>[^,.!?;]{2,50}?) is my ~very~(favourite|favorite) (?P<what>[\w-]+(?: [\w-]+)?)(?=[.,!;]|$)",
    ),
    _many("likes", r"~i ~adv~(love|like|enjoy|adore|prefer) ~liked"),
    _many("likes", r"~am(?:a )?(?:big |huge )?(?:~(fan|fond) of|~(into)|~(obsessed) with|~(passionate) about) ~liked"),
    _many(
        "likes",
        r"~i (?:~(hate|dislike|loathe)|can'?t ~(stand)|(?:really )?(?:don'?t|do not) (?:really )?~(like|enjoy)) ~liked",
        holds=False,
    ),
    _many("hobby", r"\bmy (?:main |new |favou?rite )?~(hobby|hobbies|pastime|pastimes) (?:is|are|include) ~value"),
    _many("plays", r"~i ~adv~(play) (?:the )?(?P<value>~game)\b"),
    _many(
        "speaks", r"~i ~adv~(speak) (?:a little |some |fluent )?(?P<value>(?-i:[A-Z]\w+(?:(?:,| and|, and) [A-Z]\w+)*))"
    ),
)
_HEALTH = (
    _many("allergic to", r"~am(?:very |severely |deathly |also )?~(allergic) to ~value"),
    _many("allergic to", r"~i ~(have) (?:an? )?(?:severe |bad )?(?:allergy to ~value|(?P<value2>\w+) allergy)"),
    _many("allergic to", r"~amnot (?:actually |really )?~(allergic) to ~value", holds=False),
    _many("diet", r"~am(?:an? |a strict )?~diet\b"),
    _many("diet", r"~am(?:not|no longer) (?:an? )?~diet\b", holds=False),
    _many("condition", r"\b(?P<i>i)(?: was| got|'ve been| have been) (?:just |recently )?~(diagnosed) with ~value"),
    _many("condition", r"~i (?:~(have)|~(suffer) from) (?P<value>~illness)\b"),
    _many("takes", r"~i (?:~(take)|am ~(taking)|was ~(prescribed)) (?P<value>~drug)"),
)
_HAS = (
    _many(
        "owns",
        r"~i~have~adv~(own|owned|bought|purchased|adopted|ordered) (?P<value>~article [^.!?;:\n]+)",
    ),
    _many("owns", r"~i ~(have) (?P<value>(?:an?|two|three|four|five|\d+) (?:[\w-]+ ){0,2}(?:~thing))\b"),
)
_INTENDS = (
    _many(
        "decided",
        r"~we~have~adv~(decided|chose|chosen|agreed|settled) (?P<value>(?:to|on|not to|that|against) [^.!?;\n]+)",
    ),
    _many("decided", r"\b(?:let's|we'?(?:ll| will)|i'?(?:ll| will)) ~(go) with ~value"),
    _many("will", r"~i ~(promise|promised) (?:(?:you|to|that) )+~value"),
    _many("will", r"~request~(remind) me to ~value"),
    _many("will", r"\b(?:don't let me ~(forget)|i (?:must|have to|need to) ~(remember)) (?:to )?~value"),
    _many("will", r"~start(?P<i>i)(?:'ll| will|'m going to| am going to|'m gonna) ~deed"),
)
PATTERNS: Final = (*_WHO, *_WHERE, *_TASTE, *_HEALTH, *_HAS, *_INTENDS)


def patterns_for(words: Set[str]) -> list[Pattern]:
    """The patterns that can match a sentence of these words, in lower case: most sentences have few."""
    by_word = _by_word()
    places = {place for word in words & by_word.keys() for place in by_word[word]}
    if any(word[0].isdecimal() for word in words):
        places.update(by_word[_NUMBER])
    return [PATTERNS[place] for place in sorted(places)]


@cache
def _by_word() -> dict[str, list[int]]:
    """Where the patterns stand that a word tells."""
    found: dict[str, list[int]] = {}
    for place, pattern in enumerate(PATTERNS):
        for words in _TELLING.findall(_expanded(pattern.template)):
            for word in words.split("|"):
                first = word if word == _NUMBER else re.split(r"\W", word)[0]
                found.setdefault(first, []).append(place)
    return found

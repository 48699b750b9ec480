"""How important a text is, 0…1, and whether it is small talk. Pure, and needs no model.

The score is made of features. A reason to remember has the probability that the text matters; together they are the
probability that at least one of them does. So more reasons always give a higher score, and no feature alone reaches
1. Signs of small talk have a negative weight: each takes its share of the score away.

    0.1  small talk, a question           "What do you think of that painting?"
    0.2  something that happened          "We saw a play at the Globe last Friday."
    0.6  a fact, a plan, a preference     "I moved to Lisbon in May." · "I'll send the contract by Friday."
    0.9  health, safety, "remember this"  "I'm allergic to penicillin." · "Please remember: the gate code changes."
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from memoranda.remember.base import Feature
from memoranda.remember.importance.pleasantries import is_pleasantry
from memoranda.remember.importance.words import classes_of
from memoranda.text.sentences import EMPTY_WORDS, split_sentences
from memoranda.text.wishes import asks_for_good, standing_wishes

_MAX_CHARS: Final = 4_000
"""The rest of a longer text does not change the score."""
_MATTERS: Final = 0.3
"""A feature from this weight on is a reason of its own; below it, a detail."""


def _set_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EXPLICIT_HINTS: Final = _set_of("remember note mind forget record important")
_SELF: Final = _set_of(
    "i i'm i've i'd i'll my me mine we we're we've we'd we'll our ours us user user's customer client patient caller"
)
_OTHERS: Final = _set_of("he she they he's she's they're his her their him them")
_SUBJECTS: Final = _set_of("i we he she they user customer client patient caller member tenant")
_CONTRACTED: Final = _set_of("i'm we're he's she's they're i've we've they've")
_BE: Final = _set_of("am are is be was were been")
_ADVERBS: Final = _set_of(
    "just also really still already always never often usually only sometimes currently now mostly finally "
    "recently actually both all then definitely probably totally even mainly normally generally"
)
_MODALS: Final = _set_of("will would shall should may might can could do does did 'd i'll we'll won't")
_NOT: Final = _set_of(
    "can't cannot don't doesn't never unable not no only avoid without couldn't won't mustn't shouldn't isn't "
    "aren't ain't didn't neither nor nothing none"
)
_LIMITS: Final = _set_of("can't cannot don't doesn't never unable only avoid won't mustn't always nobody")
_HARM: Final = _set_of(
    "kill upset trigger swell react makes make gives give dangerous harm limits touch trace sick ill poorly bloat free"
)
_IDIOMS: Final = _set_of(
    "believe wait agree imagine complain resist tell say think remember help worry mind know see get even recall"
)
_MENTAL: Final = _set_of(
    "guess see wonder think know mean hope agree suppose believe bet feel understand doubt swear wish figure "
    "notice hear say admit remember forget"
)
_MOODS: Final = _set_of(
    "tired bored hungry thirsty sleepy happy sad sorry sure fine okay ok good well back here there glad excited "
    "curious kidding joking serious late early ready busy cold warm hot full surprised impressed confused lost "
    "stuck done just sitting scrolling lying waiting looking watching listening eating drinking reading trying "
    "having doing so a-bit pretty very really quite honestly"
)
_NEEDS: Final = _set_of("need needs needed require requires rely relies depend depends supposed obliged")
_FUTURE: Final = _set_of("i'll we'll will going planning want wants tomorrow next")
_ASKED: Final = _set_of(
    "write rewrite rephrase reword translate summarise summarize explain show give tell continue make try add "
    "list generate create draft fix describe compare define suggest recommend let let's scrap go repeat shorten "
    "expand"
)
_POLITE: Final = _set_of("please ok okay now so and then well just")
_MOMENT: Final = _set_of("today tonight yesterday again just somehow funny bit kinda silly weird random")
_WISHES: Final = _set_of("i'd we'd would user'd")
_WISHED: Final = _set_of("like love prefer rather want appreciate")
_ADDRESSED: Final = _set_of("call email answer text phone address contact reach write message")
_HABIT_CHANGES: Final = _set_of("stop stopped quit start started begin began up keep avoid dropped resumed")
_DANGERS: Final = _set_of("dangerous unsafe deadly fatal lethal harmful risky hurts hurt kills kill life-threatening")
_OWNERS: Final = _set_of("my our his her their user's its have has got own owns had")
_HOLDS: Final = _set_of("my our own owns bought buy buying sold sell selling rent renting rented have got has")
_INSTRUCTIONS: Final = _set_of("don't never always keep use avoid bring leave ensure stick speak reply respond send")
_CAUSES: Final = _set_of("makes make gives give sends send leaves leave")
_PARTS: Final = _set_of("break broke breaking broken split")
_UP: Final = frozenset(("up",))
_TO: Final = frozenset(("to",))
_ME: Final = frozenset(("me",))
_HAVE: Final = _set_of("have has got")
_AFFECTED: Final = _set_of("me us him her them my")
_HEARSAY: Final = _set_of("read heard hear dreamt dreamed guess think thought wonder wondered")
_ELLIPTIC: Final = _set_of("no never only can't cannot without avoid must don't needs")
_PRONOUNS: Final = _SELF | _OTHERS | _set_of("you you're your it it's that that's this there there's who what")
_PERSONAL_TOPICS: Final = (
    ("family event", 0.5), ("identity", 0.45), ("work", 0.4), ("workplace", 0.15), ("plan", 0.4), ("preference", 0.45),
)  # fmt: skip
"""The classes of words that count where a text speaks of somebody."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*|\d[\w.,:/-]*")
_EXPLICIT: Final = re.compile(
    r"\b(?:(?:please|you\s+should|must|to)\s+remember\b|remember\s+this\b|please\s+(?:note|keep\s+in\s+mind)|(?:don't|never)\s+"
    r"(?:\w+\s+){0,2}forget|keep\s+in\s+mind|note\s+to\s+self|for\s+the\s+record|important\s*:|make\s+a\s+note)"
    r"|^\s*remember(?:\s*[:,-]|\s+(?:my|our|the)\b)"
)
_NAME: Final = re.compile(r"(?<=[^.!?…:\"“\n] )(?!I\b)[A-Z][\w'’-]+")
_QUESTION: Final = re.compile(r"^[^.!]*\?\s*$", re.S)
_DIGIT: Final = re.compile(r"\d")
_CODE: Final = re.compile(r"@\w|\d{3,}|\d[-:/]\d|[$€£]\s?\d|\d\s?(?:€|euros?|dollars?|pounds?|kg|kilos?|cm|mg|%)")
_OWN: Final = frozenset(("my", "our", "user's"))
_OPENERS: Final = _SUBJECTS | _CONTRACTED | _OWN
"""The words after which somebody may state how they are."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A text as the features need it."""

    text: str
    words: tuple[str, ...]
    """In lower case, with numbers."""
    found: frozenset[str]
    classes: frozenset[str]
    names: int

    @property
    def is_personal(self) -> bool:
        return bool(self.found & _SELF or self.found & _OTHERS or "kin" in self.classes)


def find_features(text: str, role: str = "user") -> tuple[Feature, ...]:
    """Return the features of a text."""
    return tuple(_yield_features(_read(text[:_MAX_CHARS]), role))


def combine_features(features: Sequence[Feature]) -> float:
    """Return the importance that the features give, 0…1."""
    nothing, share = 1.0, 1.0
    for feature in features:
        if feature.weight >= 0:
            nothing *= 1 - feature.weight
        else:
            share *= 1 + feature.weight
    return (1 - nothing) * share


def is_small_talk(text: str) -> bool:
    """Return whether every sentence is recognised as small talk: it has signs of it and nothing that could matter.

    A name, a number or a fact about somebody is never small talk, and neither is a text in doubt, or one that asks for
    something once and for all.
    """
    if len(text) > _MAX_CHARS or asks_for_good(text):
        return False
    sentences = split_sentences(text)
    return bool(sentences) and all(_is_small_sentence(_read(sentence)) for sentence in sentences)


def _read(text: str) -> _Text:
    words = tuple(_WORD.findall(text.lower().replace("’", "'")))
    parts = [part for word in words for part in ((word, *word.split("-")) if "-" in word else (word,))]
    classes = frozenset(name for part in parts for name in classes_of(part))
    names = len(_NAME.findall(" ".join(text.split())))
    return _Text(text, words, frozenset(parts), classes, names)


def _yield_features(text: _Text, role: str) -> Iterator[Feature]:
    yield Feature("words", round(min(0.1, 0.02 * len(_content_words(text))), 3))
    explicit = role == "user" and text.found & _EXPLICIT_HINTS and _EXPLICIT.search(text.text.lower().replace("’", "'"))
    if explicit:
        yield Feature("explicit", 0.85)
    reasons = [*_find_topics(text), *_find_shapes(text)]
    yield from reasons
    yield from _find_details(text)
    if not explicit:
        yield from _find_small_talk(text, any(feature.weight >= _MATTERS for feature in reasons))


def _find_topics(text: _Text) -> Iterator[Feature]:
    """Yield what the text is about: the classes of its words, where they speak of somebody."""
    classes, personal = text.classes, text.is_personal
    limited = bool(text.found & _LIMITS or text.found & _NOT or text.found & _HARM)
    if text.found & _DANGERS and personal:
        yield Feature("danger", 0.6)
    if "health" in classes or ("body" in classes and personal and (limited or text.found & _NEEDS)):
        yield Feature("safety", 0.85 if personal else 0.45)
    if "access" in classes:
        yield Feature("access", 0.75)
    if "diet" in classes or ("food" in classes and limited):
        yield Feature("diet", 0.75)
    if "kin" in classes or ("pet" in classes and _has_owner(text.words)):
        yield Feature("family", 0.5 if text.found & _SELF or _has_owner(text.words) else 0.25)
    if _follows(text, _PARTS, _UP) and personal:
        yield Feature("family event", 0.5)
    if "property" in classes and text.found & _HOLDS:
        yield Feature("property", 0.35)
    for name, weight in _PERSONAL_TOPICS:
        if name in classes and personal:
            yield Feature(name, weight)
    if "duty" in classes:
        yield Feature("obligation", 0.5)
    if "number" in classes and (_DIGIT.search(text.text) or "is" in text.found):
        yield Feature("key number", 0.5)


def _has_owner(words: Sequence[str]) -> bool:
    """Return whether a relative or a pet is somebody's: "my dog", "have two cats"."""
    for position, word in enumerate(words):
        if {"kin", "pet"} & set(classes_of(word)) and set(words[max(0, position - 3) : position]) & _OWNERS:
            return True
    return False


def _find_shapes(text: _Text) -> Iterator[Feature]:
    """Yield what the sentence does: limits somebody, needs something, announces something, states how somebody is."""
    words = text.words
    if text.found & _LIMITS and text.is_personal and _is_limited(words):
        yield Feature("limit", 0.45)
    if text.found & _ELLIPTIC and not text.found & _PRONOUNS and len(words) > 2:
        # Somebody who leaves out the subject speaks of themselves: "no stairs please", "trains, never planes".
        yield Feature("limit", 0.4)
    if text.found & _NEEDS or _follows(text, _HAVE, _TO):
        yield Feature("need", 0.4)
    if text.is_personal and text.found & _FUTURE:
        yield Feature("commitment", 0.4)
    if _states_something(words):
        yield Feature("personal fact", 0.45)
    if _follows(text, _CAUSES, _AFFECTED):
        yield Feature("effect", 0.35)
    if (words and words[0] in _INSTRUCTIONS and not _is_request(words)) or standing_wishes(text.text):
        yield Feature("instruction", 0.4)
    if _follows(text, _WISHES, _WISHED) or _follows(text, _ADDRESSED, _ME):
        yield Feature("wish", 0.45)
    if _follows_form(text, _HABIT_CHANGES, "ing") and text.is_personal:
        yield Feature("habit", 0.45)


def _is_limited(words: Sequence[str]) -> bool:
    """Return whether somebody cannot, never or only does something, and it is no idiom such as "can't wait"."""
    return any(word in _LIMITS and after not in _IDIOMS for word, after in pairwise((*words, "")))


def _follows(text: _Text, first: frozenset[str], second: frozenset[str]) -> bool:
    if first.isdisjoint(text.found) or second.isdisjoint(text.found):
        return False
    return any(one in first and other in second for one, other in pairwise(text.words))


def _follows_form(text: _Text, first: frozenset[str], ending: str) -> bool:
    if first.isdisjoint(text.found):
        return False
    return any(one in first and other.endswith(ending) for one, other in pairwise(text.words))


def _states_something(words: Sequence[str]) -> bool:
    """Return whether somebody says in the present what they are, have or do: "I use …", "I'm a …", "my … is …"."""
    for position, word in enumerate(words):
        if word not in _OPENERS:
            continue
        rest = [each for each in words[position + 1 : position + 5] if each not in _ADVERBS]
        if not rest:
            continue
        if word in _SUBJECTS and _is_state(rest):
            return True
        if word in _CONTRACTED and (rest[0] in ("got", "been") if word.endswith("ve") else rest[0] not in _MOODS):
            return True
        if word in _OWN and any(_is_present(each) for each in rest[1:4]):
            return True
    return False


def _is_present(word: str) -> bool:
    """Return whether a word after "my …" is a verb in the present: "my commute takes"."""
    return word in ("is", "are", "has", "have", "was") or (word.endswith("s") and not word.endswith(("'s", "ss", "us")))


def _is_state(rest: Sequence[str]) -> bool:
    verb = rest[0]
    if verb in _BE:
        return len(rest) > 1 and verb not in ("was", "were") and rest[1] not in _MOODS
    if verb in _MODALS or verb in _MENTAL or "'" in verb or not verb.isalpha():
        return False
    return not verb.endswith("ed") and "past" not in classes_of(verb)


def _find_details(text: _Text) -> Iterator[Feature]:
    if "time" in text.classes:
        yield Feature("date", 0.15)
    if _CODE.search(text.text):
        yield Feature("number", 0.15)
    elif _DIGIT.search(text.text):
        yield Feature("number", 0.08)
    if text.names:
        yield Feature("names", round(min(0.2, 0.08 * text.names), 3))


def _find_small_talk(text: _Text, has_reason: bool) -> Iterator[Feature]:
    """Yield the signs of small talk, with negative weights; some count only where nothing else matters."""
    if _QUESTION.match(text.text):
        yield Feature("question", -0.7)
    if _is_request(text.words):
        yield Feature("request", -0.6)
    if _opens_lightly(text.words):
        yield Feature("small talk", -0.2 if has_reason else -0.4)
    trivial = sum("trivial" in classes_of(word) for word in text.words)
    if trivial:
        yield Feature("trivial", -0.2 if trivial == 1 else -0.45)
    if not has_reason and _tells_of_an_errand(text.words):
        yield Feature("errand", -0.35)
    if has_reason and _tells_of_hearsay(text.words):
        yield Feature("hearsay", -0.5)
    if text.found & _MOMENT:
        yield Feature("moment", -0.1 if has_reason else -0.3)
    if not text.is_personal:
        yield Feature("about nobody", -0.3)


def _is_request(words: Sequence[str]) -> bool:
    """Return whether it asks the assistant to do something with words: "Make it shorter", "Give me another one"."""
    first = next((word for word in words if word not in _POLITE), "")
    return first in _ASKED


def _opens_lightly(words: Sequence[str]) -> bool:
    return bool(words) and "small" in classes_of(words[0])


def _tells_of_an_errand(words: Sequence[str]) -> bool:
    """Return whether somebody tells what they did once: "I bought …", "Picked up …"."""
    if words and words[0].endswith("ed") and len(words[0]) > 4:
        return True
    for position, word in enumerate(words[:-1]):
        verb = next((each for each in words[position + 1 : position + 4] if each not in _ADVERBS), "")
        if word in ("i", "we") and (verb.endswith("ed") or "past" in classes_of(verb)):
            return True
    return False


def _tells_of_hearsay(words: Sequence[str]) -> bool:
    """Return whether it is what somebody read, heard, dreamt or guesses: "I read somewhere that …"."""
    start = [word for word in words[:4] if word not in _ADVERBS]
    return len(start) > 1 and start[0] == "i" and start[1] in _HEARSAY


def _content_words(text: _Text) -> list[str]:
    return [word for word in text.words if word not in EMPTY_WORDS and word.removesuffix("'s") not in EMPTY_WORDS]


def _is_small_sentence(text: _Text) -> bool:
    features = tuple(_yield_features(text, "user"))
    if (
        text.names
        or _DIGIT.search(text.text)
        or text.found & _NOT
        or any(feature.weight >= _MATTERS for feature in features)
        or not (_content_words(text) or is_pleasantry(text.text))
        or standing_wishes(text.text)
    ):
        return False
    if _QUESTION.match(text.text) or _is_request(text.words):
        return not text.found & _SELF or _follows(text, _ASKED, _ME)
    light = [word for word in _content_words(text) if _is_light(word)]
    other = len(_content_words(text)) - len(light)
    # What somebody says of themselves is a statement as soon as one word of it is more than a mood.
    return other == 0 or (bool(light) and other <= len(light) and other <= 1 and not text.found & _SELF)


def _is_light(word: str) -> bool:
    if word in _MOODS or word in _MOMENT or word in _MENTAL:
        return True
    classes = classes_of(word)
    return "small" in classes or "trivial" in classes

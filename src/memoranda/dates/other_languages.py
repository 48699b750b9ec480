"""Time expressions in other languages, by translation: a table for each language says what its words are in English.

A pattern finds the words, its translation is resolved by the rules for English. So "vor drei Wochen" and "three weeks
ago" are the same interval, and a language needs words but no code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from memoranda.dates.language_words import WORDS, DateWords
from memoranda.dates.rules import TenseFinder, blank

Edge = Literal["since", "until", "beside"]
_FOLDED: Final = str.maketrans(
    "áàâäãåéèêëíìîïóòôöõúùûüçñýœ０１２３４５６７８９", "aaaaaaeeeeiiiiooooouuuucnyo0123456789"
)


def _read_table(text: str) -> list[tuple[str, str]]:
    """Return the words of a table with their meanings; a word can have two, as "morgen" has."""
    return [
        (word.replace("_", " "), english.replace("_", " "))
        for entry in text.split()
        for english, _, words in (entry.partition("="),)
        for word in words.split(",")
    ]


_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_WEEKDAYS: Final = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


_SINCE_AFTER: Final = {"ja": r"(?:以来|から)", "zh": r"(?:以来|以來|起|开始)"}
_UNTIL_AFTER: Final = {"ja": r"まで", "zh": r"(?:为止|為止)"}
_BESIDE_AFTER: Final = {"ja": r"(?:の?前に|の?後に|より前)", "zh": r"(?:之前|以前|之后|以后|之後|以後)"}
_YEARS: Final = {"去年": -1, "昨年": -1, "今年": 0, "明年": 1, "来年": 1, "前年": -2}
"""Years relative to the present one. The translation has them in angle brackets."""
_HAN_DIGITS: Final = "零一二三四五六七八九"


def _han_numbers() -> dict[str, str]:
    """Return the numbers 1 to 99 as Chinese and Japanese write them."""
    found = {"两": "2", "兩": "2"}
    for number in range(1, 100):
        tens, ones = divmod(number, 10)
        head = ("" if tens == 1 else _HAN_DIGITS[tens]) + "十" if tens else ""
        found[head + (_HAN_DIGITS[ones] if ones else "")] = str(number)
    return found


_UNITS: Final = frozenset(["minute", "hour", "day", "week", "weekend", "month", "year", "decade"])
_DAYS: Final = frozenset(
    ("today", "yesterday", "tomorrow", "the day before yesterday", "the day after tomorrow", "last night")
)
_PARTS: Final = frozenset(["morning", "afternoon", "evening", "night"])
_SEASONS: Final = frozenset(["spring", "summer", "autumn", "winter"])


@dataclass(frozen=True, slots=True)
class Translation:
    """A time expression of another language: where it is, and the same in English."""

    start: int
    end: int
    english: str
    edge: Edge | None = None


class _Language:
    """The compiled rules of one language."""

    def __init__(self, code: str, words: DateWords) -> None:
        self._code, self._words = code, words
        meanings = _read_table(words.words)
        kinds = {"unit": _UNITS, "day": _DAYS, "part": _PARTS, "season": _SEASONS}
        self._slots = {kind: {word: name for word, name in meanings if name in names} for kind, names in kinds.items()}
        known = frozenset().union(*kinds.values())
        self._slots |= {
            "n": {word: name for word, name in meanings if name.isdigit()} if words.spaced else _han_numbers(),
            "month": _calendar(words.months, _MONTHS),
            "weekday": _calendar(words.weekdays, _WEEKDAYS),
            "holiday": {word: name for word, name in meanings if name not in known and not name.isdigit()},
        }
        self._rules = [(re.compile(self._expand(pattern)), english) for pattern, english in words.rules]
        self._edges = tuple(self._edge(edge, name) for edge, name in _EDGES)
        self._past, self._future = self._cues(words.past), self._cues(words.future)

    def find(self, folded: str) -> Iterator[Translation]:
        """Yield the expressions, those of earlier rules first; none overlap."""
        remaining = folded
        for pattern, english in self._rules:
            matches = list(pattern.finditer(remaining))
            for match in matches:
                yield Translation(*match.span(), self._translate(match, english), self._find_edge(folded, match))
            remaining = blank(remaining, [match.span() for match in matches])
        for match in _BARE_YEAR.finditer(remaining):  # a number is a year only where a word before it says so
            if edge := self._find_edge(folded, match):
                yield Translation(*match.span(), f"in {match.group()}", edge)

    def tense_finder(self, folded: str) -> TenseFinder:
        return TenseFinder(folded, _SENTENCE_MARK, self._past, self._future)

    def _expand(self, pattern: str) -> str:
        """Return the pattern with the words of the language in its slots."""
        expanded = re.sub(r"\{([a-z]+)(\d?)\}", self._slot, pattern)
        return rf"(?<![^\W_])(?:{expanded})(?![^\W_])" if self._words.spaced else f"(?:{expanded})"

    def _slot(self, slot: re.Match[str]) -> str:
        kind, number = slot.groups()
        name = kind + number
        if kind in _DIGIT_SLOTS:
            return f"(?P<{name}>{_DIGIT_SLOTS[kind]})"
        words = sorted(self._slots[kind], key=len, reverse=True)
        digits = r"\d{1,3}|" if kind == "n" else ""
        # A few: each of a thousand blanks would be tried as the first of those before a word.
        space = "" if self._words.spaced else r"\s{0,2}"
        alternatives = "|".join(word.replace(" ", r"\s+") for word in words)
        return f"{space}(?P<{name}>{digits}{alternatives}){space}"

    def _translate(self, match: re.Match[str], english: str) -> str:
        groups = {name.rstrip("23"): value for name, value in match.groupdict().items() if value is not None}
        if "d2" in match.groupdict():
            groups["d2"] = match["d2"]
        if "day" not in groups:
            groups["day"] = match.group()
        values = {name: self._meaning(name, value) for name, value in groups.items()}
        if "rel" in groups:
            values["rel"] = f"<{_YEARS[groups['rel']]}>"
        return english.format_map(values)

    def _meaning(self, slot: str, word: str) -> str:
        if word.isdigit():
            return word.zfill(2) if slot == "m" else word
        kind = slot.rstrip("2")
        folded = " ".join(word.split())
        meanings = self._slots.get(kind, {})
        if folded in meanings:
            return meanings[folded]
        return next((english for known, english in meanings.items() if re.fullmatch(known, folded)), word)

    def _edge(self, edge: Edge, field: str) -> tuple[Edge, re.Pattern[str] | None, re.Pattern[str] | None]:
        words = [word.replace("_", r"\s+") for word in getattr(self._words, field).split(",") if word]
        before = re.compile(rf"(?<![^\W_])(?:{'|'.join(words)})\s*$") if words else None
        after = {"since": _SINCE_AFTER, "until": _UNTIL_AFTER, "beside": _BESIDE_AFTER}[edge].get(self._code)
        return edge, before, re.compile(after) if after else None

    def _find_edge(self, folded: str, match: re.Match[str]) -> Edge | None:
        lead = folded[max(0, match.start() - 20) : match.start()]
        for edge, before, after in self._edges:
            if (before and before.search(lead)) or (after and after.match(folded, match.end())):
                return edge
        return None

    def _cues(self, words: str) -> re.Pattern[str]:
        found = "|".join(sorted(words.split(), key=len, reverse=True))
        return re.compile(rf"\b(?:{found})\b" if self._words.spaced else f"(?:{found})")


_EDGES: Final[tuple[tuple[Edge, str], ...]] = (("since", "since"), ("until", "until"), ("beside", "beside"))
_SENTENCE_MARK: Final = re.compile(r"[.!?\n。！？]")
_BARE_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_DIGIT_SLOTS: Final = {"d": r"[0-3]?\d", "m": r"[01]?\d", "year": r"(?:19|20)\d\d"}


def _calendar(words: str, english: Sequence[str]) -> dict[str, str]:
    entries = zip(words.split(), english, strict=True)
    return {word: name for alternatives, name in entries for word in alternatives.split("/")}


@cache
def language_rules(code: str) -> _Language | None:
    """Return the rules of a language, compiled on first use; None when there are none."""
    return _Language(code, WORDS[code]) if code in WORDS else None


def fold_accents(lowered: str) -> str:
    """Return a text in lower case without accents, with every character at the same offset."""
    return lowered.translate(_FOLDED)


@cache
def trigger_words() -> dict[str, tuple[str, ...]]:
    """Return the words for days of each language, which show the language of a text of a few words."""
    found: dict[str, list[str]] = {}
    for code, words in WORDS.items():
        if words.spaced:
            days = {word for word, english in _read_table(words.words) if english in _DAYS and " " not in word}
            for word in days.union(_calendar(words.weekdays, _WEEKDAYS)):
                found.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in found.items()}

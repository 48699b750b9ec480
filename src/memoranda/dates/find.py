"""Finds time expressions in text and resolves them to absolute intervals, relative to when the text was said.

First every simple expression is found ("last Friday", "9 June 2023"). Then the words around it are combined with it
("the week before …", "since …", "… at 3 pm"). An expression that can mean more than one time is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache, partial
from typing import Final, Literal, TypeAlias

from memoranda.dates import absolute, relative
from memoranda.dates.other_languages import Translation, fold_accents, language_rules, trigger_words
from memoranda.dates.rules import (
    DAY,
    DateContext,
    DateRule,
    EnglishTenseFinder,
    Interval,
    Precision,
    Tense,
    TenseFinder,
    add_months,
    add_units,
    blank,
    day_of,
    midnight,
    part_of,
    weekend_of,
)
from memoranda.dates.vocabulary import NUMBER, find_word_kinds, parse_count, weekday_number
from memoranda.text.cache import text_cache
from memoranda.text.languages import ENGLISH, recognize
from memoranda.text.sentences import pieces
from memoranda.text.terms import languages_of, lower_case

MentionKind: TypeAlias = Literal["at", "since", "until"]

_SIDE: Final = re.compile(
    rf"\b(?:{NUMBER}|the)\s+(?P<unit>day|night|weekend|week|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\s+"
    r"(?P<side>before|after|prior\s+to|following)\s+(?:the\s+)?$",
    re.I,
)
_OPEN: Final = re.compile(r"\b(?P<word>ever\s+since|since|until|till|by|before|after|from|for)\s+(?:the\s+)?$", re.I)
_PORTION: Final = re.compile(
    r"\b(?:(?P<adverb>early|mid|late)(?:\s+in|-|\s)\s*|(?:the\s+)?(?P<noun>start|beginning|middle|end)\s+of\s+)(?:the\s+)?$",
    re.I,
)
_BETWEEN: Final = re.compile(r"\s*(?:to|until|till|through|and|-|–)\s*(?:the\s+)?", re.I)
_RANGE_LEAD: Final = re.compile(r"\b(?:from|between)\s+(?:the\s+)?$", re.I)
_HOUR_AFTER: Final = re.compile(
    r"(?:\s+at|,)?\s+(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>am|pm|a\.m\.|p\.m\.)(?!\w)"
    r"|\s+at\s+(?P<hour24>\d{1,2}):(?P<minute24>\d\d)\b|\s+at\s+(?P<noon>noon|midday)\b",
    re.I,
)
_HOUR_BEFORE: Final = re.compile(
    r"\b(?:at\s+)?(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>am|pm|a\.m\.|p\.m\.)\s+(?:on\s+)?(?:the\s+)?$",
    re.I,
)
_PART_AFTER: Final = re.compile(r"\s+(?:in\s+the\s+|at\s+)?(?P<part>morning|afternoon|evening|night)\b", re.I)


@dataclass(frozen=True, slots=True)
class Expression:
    """A time expression in a text: its position and its interval."""

    start: int
    end: int
    interval: Interval
    kind: MentionKind = "at"
    english: str = ""


def expand_expressions(text: str, said_at: datetime, expressions: Sequence[Expression]) -> Iterator[Expression]:
    """Yield each simple expression with the words around it; those without an end or a start are left out.

    Args:
        text: The text.
        said_at: When it was said.
        expressions: The simple expressions, in order.
    """
    for expression in _join_ranges(text, expressions):
        expanded = _add_side(text, _add_hour(text, _add_portion(text, expression)))
        closed = _close_open_end(text, expanded, said_at)
        if closed is not None:
            yield closed


def _join_ranges(text: str, expressions: Sequence[Expression]) -> Iterator[Expression]:
    index = 0
    while index < len(expressions):
        first = expressions[index]
        second = expressions[index + 1] if index + 1 < len(expressions) else None
        lead = _RANGE_LEAD.search(text, max(0, first.start - 20), first.start)
        if second and lead and _BETWEEN.fullmatch(text, first.end, second.start):
            start, end = first.interval.start, second.interval.end
            if start < end:
                yield Expression(lead.start(), second.end, Interval(start, end, Precision.SPAN))
                index += 2
                continue
        yield first
        index += 1


def _add_portion(text: str, expression: Expression) -> Expression:
    """Resolve "early May" and "the end of 2022": a third of the period."""
    found = _PORTION.search(text, max(0, expression.start - 30), expression.start)
    whole = expression.interval
    if found is None or whole.precision not in (Precision.MONTH, Precision.SEASON, Precision.YEAR, Precision.DECADE):
        return expression
    third = (whole.end - whole.start) / 3
    word = (found["adverb"] or found["noun"]).lower()
    bounds = (whole.start, midnight(whole.start + third), midnight(whole.end - third), whole.end)
    third_index = 0 if word in ("early", "start", "beginning") else 2 if word in ("late", "end") else 1
    interval = Interval(bounds[third_index], bounds[third_index + 1], whole.precision)
    return replace(expression, start=found.start(), interval=interval)


def _add_hour(text: str, expression: Expression) -> Expression:
    """Resolve "tomorrow at 3 pm" and "Friday evening"."""
    if expression.interval.precision is not Precision.DAY:
        return expression
    day = expression.interval.start
    part = _PART_AFTER.match(text, expression.end)
    if part is not None:
        return replace(expression, end=part.end(), interval=part_of(day, part["part"].lower()))
    after = _HOUR_AFTER.match(text, expression.end)
    before = None if after else _HOUR_BEFORE.search(text, max(0, expression.start - 20), expression.start)
    found = after or before
    moment = _parse_hour(day, found) if found else None
    if moment is None or found is None:
        return expression
    return replace(
        expression,
        start=found.start() if before else expression.start,
        end=found.end() if after else expression.end,
        interval=moment,
    )


def _parse_hour(day: datetime, found: re.Match[str]) -> Interval | None:
    groups = found.groupdict()
    hour, minute = _parse_clock(groups)
    if hour > 23 or minute > 59:
        return None
    exact = bool(groups.get("minute") or groups.get("minute24"))
    start = day + timedelta(hours=hour, minutes=minute)
    length = timedelta(minutes=1) if exact else timedelta(hours=1)
    return Interval(start, start + length, Precision.MINUTE if exact else Precision.HOUR)


def _parse_clock(groups: dict[str, str | None]) -> tuple[int, int]:
    if groups.get("noon"):
        return 12, 0
    if groups.get("hour24"):
        return int(groups["hour24"] or 0), int(groups["minute24"] or 0)
    hour, minute = int(groups["hour"] or 0), int(groups["minute"] or 0)
    if not 1 <= hour <= 12:
        return 99, 0
    return hour % 12 + (12 if (groups["half"] or "").lower().startswith("p") else 0), minute


def _add_side(text: str, expression: Expression) -> Expression:
    """Resolve "the week before 9 June 2023" and "two days after Christmas"."""
    found = _SIDE.search(text, max(0, expression.start - 45), expression.start)
    if found is None:
        return expression
    sign = -1 if found["side"].lower().startswith(("before", "prior")) else 1
    unit = found["unit"].lower()
    interval = _interval_beside(expression.interval, unit, sign, parse_count(found) if found["number"] else None)
    return replace(expression, start=found.start(), interval=interval)


def _interval_beside(anchor: Interval, unit: str, sign: int, count: int | None) -> Interval:
    edge = anchor.start if sign < 0 else anchor.end
    if unit.endswith("day") and unit != "day":
        return _weekday_beside(edge, weekday_number(unit), sign)
    if unit == "weekend":
        nearest = weekend_of(edge - DAY if sign < 0 else edge)
        fits = nearest.end <= edge if sign < 0 else nearest.start >= edge
        return nearest.shift(sign * 7 * DAY * ((count or 1) - fits))
    if count is not None:
        return _shift_by_units(anchor, unit, sign * count)
    if unit in ("day", "night"):
        day = day_of(edge - DAY if sign < 0 else edge)
        return part_of(day.start, "night") if unit == "night" else day
    other = add_units(edge, unit, sign)
    return Interval(min(edge, other), max(edge, other), Precision(unit))


def _shift_by_units(anchor: Interval, unit: str, count: int) -> Interval:
    """Resolve "two days before": as exact as the time it is counted from."""
    if unit in ("month", "year"):
        months = count * (12 if unit == "year" else 1)
        return Interval(add_months(anchor.start, months), add_months(anchor.end, months), anchor.precision)
    return anchor.shift(add_units(anchor.start, unit, count) - anchor.start)


def _weekday_beside(edge: datetime, number: int, sign: int) -> Interval:
    if sign < 0:
        return day_of(edge - ((edge.weekday() - number) % 7 or 7) * DAY)
    return day_of(edge + (number - edge.weekday()) % 7 * DAY)


def _close_open_end(text: str, expression: Expression, said_at: datetime) -> Expression | None:
    """Resolve "since May" and "until Friday", which end or begin at `said_at`; return None for "before May"."""
    found = _OPEN.search(text, max(0, expression.start - 16), expression.start)
    if found is None:
        return expression
    word, whole = found["word"].lower().split()[-1], expression.interval
    if word == "for":  # "for three years", up to now; "for Christmas" is a day like any other
        return Expression(found.start(), expression.end, whole, "since") if whole.end == said_at else expression
    if word == "since" and whole.start < said_at:
        return Expression(found.start(), expression.end, Interval(whole.start, said_at, whole.precision), "since")
    if word in ("until", "till", "by") and whole.end > said_at:
        return Expression(found.start(), expression.end, Interval(said_at, whole.end, whole.precision), "until")
    if word in ("until", "till"):
        return Expression(found.start(), expression.end, whole, "until")
    if word == "from":
        return expression
    return None


MAX_TEXT: Final = 20_000
"""The longest text that is searched. A longer text is a document, whose dates are not relative to the speaker."""
_RULES: Final[tuple[DateRule, ...]] = (*absolute.RULES, *relative.RULES)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Mention:
    """A time that a text mentions."""

    span: tuple[int, int]
    """The position of the words in the text."""
    text: str
    start: datetime
    end: datetime
    """The first moment after it."""
    precision: Precision
    kind: MentionKind = "at"
    """`at`: within the interval; `since`: from its start until the text was said; `until`: up to its end."""
    english: str = ""
    """The same words in English; `text` itself when they are English."""

    @property
    def is_absolute(self) -> bool:
        """Whether the words contain a year, so that they mean the same whenever they are said."""
        return _YEAR.search(self.text) is not None


@text_cache(256)  # several steps use the same text one after the other
def find_mentions(text: str, said_at: datetime, *, prefer: Tense | None = None) -> tuple[Mention, ...]:
    """Return the times that a text mentions, in order.

    Args:
        text: The text; nothing is found in one longer than `MAX_TEXT`.
        said_at: When it was said.
        prefer: Whether to assume the past or the future where the sentence does not show it ("in May").
    """
    if len(text) > MAX_TEXT:
        return ()
    languages = _languages_of_dates(text)
    return tuple(
        _to_mention(text, replace(found, start=start + found.start, end=start + found.end))
        for start, end in pieces(text)
        for found in _find_in_piece(text[start:end], said_at, prefer, languages)
    )


def _find_in_piece(text: str, said_at: datetime, prefer: Tense | None, languages: Sequence[str]) -> list[Expression]:
    lowered = lower_case(text)
    translated = _find_translated(lowered, said_at, prefer, languages)
    # No rule for English may match a part of it.
    lowered = blank(lowered, sorted((found.start, found.end) for found in translated))
    rules = _select_rules(find_word_kinds(lowered))
    if not rules and not translated:
        return []
    english = sorted(_find_expressions(text, lowered, rules, said_at, prefer), key=lambda found: found.start)
    return sorted([*translated, *expand_expressions(text, said_at, english)], key=lambda found: found.start)


_SPACED: Final = re.compile(r"[^\W_]+")


def _languages_of_dates(text: str) -> tuple[str, ...]:
    """Return the languages whose time words are looked for; by words for days where nothing else shows a language."""
    found = languages_of(text)
    if found or len(text) > _SHORT_TEXT:
        return found
    words = _SPACED.findall(fold_accents(lower_case(text)))
    shown = [trigger_words()[word] for word in words if word in trigger_words()]
    if not shown or ENGLISH in recognize(text, words):
        return ()
    return shown[0]


_SHORT_TEXT: Final = 60
"""A longer text has function words that show its language."""
_RELATIVE_YEAR: Final = re.compile(r"<(-?\d)>")


def _find_translated(
    lowered: str, said_at: datetime, prefer: Tense | None, languages: Sequence[str]
) -> list[Expression]:
    """Return the expressions of the first language that has any."""
    folded = fold_accents(lowered) if languages else ""
    for language in languages:
        rules = language_rules(language)
        found = [] if rules is None else [*rules.find(folded)]
        if rules is not None and found:
            tenses = rules.tense_finder(folded)
            resolved = (_resolve(each, said_at, tenses.find(each.start, each.end) or prefer) for each in found)
            return [expression for expression in resolved if expression is not None]
    return []


def _resolve(found: Translation, said_at: datetime, tense: Tense | None) -> Expression | None:
    """Resolve the English of an expression; "since" and "until" as `_close_open_end` does."""
    english = _RELATIVE_YEAR.sub(lambda year: str(said_at.year + int(year[1])), found.english)
    mentions = find_mentions(english, said_at, prefer=tense)
    if len(mentions) != 1 or found.edge == "beside":
        return None
    mention = mentions[0]
    start, end, kind = mention.start, mention.end, mention.kind
    if found.edge == "since" and start < said_at:
        end, kind = said_at, "since"
    elif found.edge == "until" and end > said_at:
        start, kind = said_at, "until"
    return Expression(found.start, found.end, Interval(start, end, mention.precision), kind, mention.text)


def _to_mention(text: str, found: Expression) -> Mention:
    interval = found.interval
    words = text[found.start : found.end]
    span, english = (found.start, found.end), found.english or words
    return Mention(span, words, interval.start, interval.end, interval.precision, found.kind, english)


@lru_cache(maxsize=1_024)
def _select_rules(kinds: frozenset[str]) -> tuple[DateRule, ...]:
    return tuple(rule for rule in _RULES if rule.needs <= kinds)


def _find_expressions(
    text: str, lowered: str, rules: Iterable[DateRule], said_at: datetime, prefer: Tense | None
) -> Iterator[Expression]:
    remaining, tenses = lowered, EnglishTenseFinder(text)
    for rule in rules:
        regex, spans = rule.regex, []
        for match in regex.finditer(remaining):
            start, end = match.span("core") if "core" in regex.groupindex else match.span()
            end -= text[end - 1] == "."  # it ends an abbreviation or the sentence; both are possible
            context = DateContext(said_at, partial(_find_tense, tenses, start, end, prefer))
            try:
                interval = rule.resolve(match, context)
            except (ValueError, OverflowError):  # 31 June, or a thousand years ago: no such time
                interval = None
            if interval is not None:
                yield Expression(start, end, interval)
            spans.append((start, end))
        # Resolved or not, no later rule may match a part of it.
        remaining = blank(remaining, spans)


def _find_tense(tenses: TenseFinder, start: int, end: int, prefer: Tense | None) -> Tense | None:
    return tenses.find(start, end) or prefer

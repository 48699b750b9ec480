"""Rules for calendar times: dates, months, years, quarters, seasons, holidays."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from memoranda.dates.rules import (
    DAY,
    DateContext,
    DateRule,
    Interval,
    Precision,
    ambiguous,
    choose_by_tense,
    day_of,
    decade_of,
    midnight,
    month_of,
    quarter_of,
    rule,
    season_of,
    text_before,
    week_of,
    weekend_of,
    year_of,
)
from memoranda.dates.vocabulary import (
    DASH,
    DATE_DAY,
    DATE_DAY2,
    HOLIDAYS,
    MONTH,
    MONTH2,
    NUMBER,
    ORDINALS,
    SEASON,
    TIME_WORDS_BEFORE,
    WEEKDAY,
    WHICH,
    YEAR,
    Match,
    direction,
    month_number,
    optional_group,
    parse_count,
    weekday_number,
)

_YEARLY_EVENT: Final = re.compile(r"\b(?:birthday|anniversary|born|celebrated?s?)\b", re.I)
_BEGINS: Final = re.compile(r"\b(?:from|as of|starting|beginning|effective)(?: (?:in|on))? $")
"""Says that something holds from the nearest such month on."""
_CLAUSE_END: Final = re.compile(r"[.!?]")


def _at(context: DateContext, year: int, month: int, day: int = 1) -> datetime:
    return midnight(context.now).replace(year=year, month=month, day=day)


def _iso_moment(match: Match, context: DateContext) -> Interval:
    moment = datetime.fromisoformat(match.group().upper().replace(" ", "T"))
    start = moment if moment.tzinfo else moment.replace(tzinfo=context.now.tzinfo)
    return Interval(start, start + timedelta(minutes=1), Precision.MINUTE)


def _numeric_day(match: Match, context: DateContext) -> Interval:
    return day_of(_at(context, int(match["year"]), int(match["m"]), int(match["day"])))


def _slash_date(match: Match, context: DateContext) -> Interval | None:
    first, second = int(match["a"]), int(match["b"])
    if first > 12:
        return day_of(_at(context, int(match["year"]), second, first))
    if second > 12 or first == second:
        return day_of(_at(context, int(match["year"]), first, second))
    return None


def _day_with_year(match: Match, context: DateContext) -> Interval:
    return day_of(_at(context, int(match["year"]), month_number(match["month"]), int(match["day"])))


def _day_without_year(match: Match, context: DateContext) -> Interval | None:
    month, day = month_number(match["month"]), int(match["day"])
    if _YEARLY_EVENT.search(_CLAUSE_END.split(text_before(match.string, match.start()))[-1]) and context.tense is None:
        return None
    start = choose_by_tense(context, lambda year: _at(context, year, month, day))
    return day_of(start or _nearest(context, month, day))


def _nearest(context: DateContext, month: int, day: int) -> datetime:
    years = (context.now.year - 1, context.now.year, context.now.year + 1)
    return min((_at(context, year, month, day) for year in years), key=lambda start: abs(start - context.now))


def _day_range(match: Match, context: DateContext) -> Interval | None:
    month = month_number(match["month"])
    year = int(match["year"]) if match["year"] else None
    first = _at(context, year, month, int(match["day"])) if year else None
    first = first or choose_by_tense(context, lambda y: _at(context, y, month, int(match["day"])))
    first = first or _nearest(context, month, int(match["day"]))
    last = first.replace(day=int(match["day2"]))
    return Interval(first, last + DAY, Precision.SPAN) if first < last else None


def _month(match: Match, context: DateContext) -> Interval | None:
    month = month_number(match["month"])
    if optional_group(match, "year"):
        return month_of(_at(context, int(match["year"]), month))
    which = direction(optional_group(match, "which"))
    if which is None:
        start = choose_by_tense(context, lambda year: _at(context, year, month))
        if start is None and _BEGINS.search(text_before(match.string, match.start("month"))):
            start = _nearest(context, month, 1)
        return month_of(start) if start else None
    year = context.now.year
    if which < 0 and month >= context.now.month:
        year -= 1
    if which > 0 and month <= context.now.month:
        year += 1
    return month_of(_at(context, year, month))


def _month_range(match: Match, context: DateContext) -> Interval | None:
    first, last = month_number(match["month"]), month_number(match["month2"])
    if match["year"]:
        end = month_of(_at(context, int(match["year"]), last))
    else:
        start = choose_by_tense(context, lambda year: _at(context, year, last))
        if start is None:
            return None
        end = month_of(start)
    begin = end.start.replace(year=end.start.year - (first > last), month=first)
    return Interval(begin, end.end, Precision.SPAN)


def _season(match: Match, context: DateContext) -> Interval | None:
    season = match["season"].lower()
    if optional_group(match, "year"):
        return season_of(context.now, season, int(match["year"]))
    seasons = [season_of(context.now, season, context.now.year + shift) for shift in (-2, -1, 0, 1)]
    past = [interval for interval in seasons if interval.end <= context.now]
    coming = [interval for interval in seasons if interval.start > context.now]
    current = [interval for interval in seasons if interval.start <= context.now < interval.end]
    which = direction(optional_group(match, "which"))
    if which == -1:
        return past[-1]
    if which == 1:
        return coming[0]
    if which == 0:
        # In October, "this summer was hot" means the last summer; "this summer we go" can only mean the next one.
        return (current or (past[-1:] if _is_past_season(context, past[-1]) else coming))[0]
    if context.tense is None:
        return None
    return (current or (past[-1:] if context.tense == "past" else coming))[0]


def _seasons_ago(match: Match, context: DateContext) -> Interval:
    """Resolve "two winters ago": counted back from the last one that is over."""
    latest = context.now.year - parse_count(match) + 1
    found = season_of(context.now, match["season"].lower(), latest)
    over = season_of(context.now, match["season"].lower(), context.now.year).end <= context.now
    return found if over else season_of(context.now, match["season"].lower(), latest - 1)


def _is_past_season(context: DateContext, last: Interval) -> bool:
    return context.tense == "past" or (context.tense is None and context.now - last.end < 60 * DAY)


def _year(match: Match, context: DateContext) -> Interval:
    return year_of(context.now, int(match["year"]))


def _year_range(match: Match, context: DateContext) -> Interval | None:
    first, last = int(match["year"]), int(match["year2"])
    if first >= last:
        return None
    return Interval(year_of(context.now, first).start, year_of(context.now, last).end, Precision.SPAN)


def _decade(match: Match, context: DateContext) -> Interval:
    digits = match["decade"]
    return decade_of(context.now, int(digits) if len(digits) == 4 else 1900 + int(digits))


def _quarter(match: Match, context: DateContext) -> Interval:
    name = match["nth"].lower()
    number = int(name) if name.isdigit() else ORDINALS[name] % 5
    return quarter_of(_at(context, int(match["year"]), number * 3 - 2))


def _iso_month(match: Match, context: DateContext) -> Interval:
    return month_of(_at(context, int(match["year"]), int(match["m"])))


def _ordinal(match: Match, context: DateContext) -> Interval | None:
    """Resolve "the first Friday of May", or a weekend, week or day of a month."""
    month = _ordinal_month(match, context)
    if month is None:
        return None
    nth, unit = ORDINALS[match["nth"].lower()], match["what"].lower()
    if unit == "day":
        return day_of(month.start if nth == 1 else month.end - DAY)
    if unit == "week":
        start = month.start + 7 * (nth - 1) * DAY if nth > 0 else month.end - 7 * DAY
        return Interval(start, start + 7 * DAY, Precision.WEEK)
    weekday = 5 if unit == "weekend" else weekday_number(unit)
    if nth > 0:
        day = month.start + ((weekday - month.start.weekday()) % 7 + 7 * (nth - 1)) * DAY
    else:
        day = month.end - DAY - (month.end.weekday() - 1 - weekday) % 7 * DAY
    return weekend_of(day) if unit == "weekend" else day_of(day)


def _ordinal_month(match: Match, context: DateContext) -> Interval | None:
    if match["unit"] is None:
        return _month(match, context)
    shift = direction(match["which"]) or 0
    start = month_of(context.now).start
    return month_of(start + 31 * DAY) if shift > 0 else month_of(start - DAY) if shift < 0 else month_of(start)


def _holiday(match: Match, context: DateContext) -> Interval | None:
    name = " ".join(match["holiday"].lower().replace("’", "'").replace("st.", "st").split())
    day = HOLIDAYS[name]

    def start_in_year(year: int) -> datetime:
        return _at(context, year, day(year).month, day(year).day)

    if match["year"]:
        return day_of(start_in_year(int(match["year"])))
    if match["of"]:
        return day_of(start_in_year(context.now.year + (direction(match["of"]) or 0)))
    which = direction(match["which"])
    if which == 0:
        return day_of(start_in_year(context.now.year))
    tense = context.tense if which is None else "past" if which < 0 else "future"
    start = choose_by_tense(DateContext(context.now, lambda: tense), start_in_year)
    return day_of(start) if start else None


def _on_the_nth(match: Match, context: DateContext) -> Interval | None:
    """Resolve "on the 15th": of this month, the last or the next, by the tense."""
    if context.tense is None:
        return None
    start = midnight(context.now).replace(day=int(match["day"]))
    if (start <= context.now) == (context.tense == "past"):
        return day_of(start)
    month = month_of(context.now)
    other = month.start - DAY if context.tense == "past" else month.end
    return day_of(other.replace(day=int(match["day"])))


def _week_of(match: Match, context: DateContext) -> Interval | None:
    day = _day_with_year(match, context) if match["year"] else _day_without_year(match, context)
    return week_of(day.start) if day else None


_WEEKDAY_BEFORE = rf"(?:{WEEKDAY},?\s+(?:the\s+)?)?"
_HOLIDAY_NAMES = "|".join(sorted(HOLIDAYS, key=len, reverse=True)).replace("'", "['’]").replace("st ", r"st\.?\s+")
# A month or year alone counts only after a word that precedes a time: "may" and "march" are verbs, 2019 a number.
_TIME_WORD_BEFORE = (
    rf"\b(?:{'|'.join(TIME_WORDS_BEFORE)}|as\s+of|mid-|(?:end|start|beginning|middle|half|part|rest|class)\s+of)\s*\b"
)
RULES: Final[tuple[DateRule, ...]] = (
    rule(
        "year three-numbers", r"\b\d{4}-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:z|[+-]\d\d:\d\d)?", _iso_moment
    ),
    rule("year three-numbers", r"\b(?P<year>(?:19|20)\d\d)[-/.](?P<m>\d\d?)[-/.](?P<day>\d\d?)\b", _numeric_day),
    rule("year three-numbers", r"\b(?P<a>\d{1,2})[/.-](?P<b>\d{1,2})[/.-](?P<year>(?:19|20)\d\d)\b", _slash_date),
    rule("three-numbers", r"\b\d{1,2}[/.]\d{1,2}[/.]\d{2}\b", ambiguous),
    rule(
        "dated-month unit",
        rf"\b(?:the\s+)?week\s+of\s+(?:the\s+)?{DATE_DAY}\s+(?:of\s+)?{MONTH}(?:,?\s*{YEAR})?",
        _week_of,
    ),
    rule("dated-month unit", rf"\b(?:the\s+)?week\s+of\s+{MONTH}\s+{DATE_DAY}(?:,?\s*{YEAR})?", _week_of),
    rule("dated-month", rf"\b{DATE_DAY}{DASH}{DATE_DAY2}\s+(?:of\s+)?{MONTH}(?:,?\s*{YEAR})?", _day_range),
    rule("dated-month", rf"\b{MONTH}\s+{DATE_DAY}{DASH}{DATE_DAY2}\b(?:,?\s*{YEAR})?", _day_range),
    rule(
        "dated-month year", rf"{_WEEKDAY_BEFORE}\b(?:the\s+)?{DATE_DAY}\s+(?:of\s+)?{MONTH},?\s*{YEAR}", _day_with_year
    ),
    rule(
        "dated-month year", rf"{_WEEKDAY_BEFORE}\b{MONTH}\s+(?:the\s+)?{DATE_DAY}(?:\s*,\s*|\s+){YEAR}", _day_with_year
    ),
    rule(
        "order",
        r"\b(?:the\s+|on\s+the\s+)?(?P<nth>first|second|third|fourth|last|1st|2nd|3rd|4th)\s+"
        r"(?P<what>day|weekend|week|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\s+(?:of|in)\s+"
        rf"(?:(?:{WHICH}|the)\s+(?P<unit>month)\b|{MONTH}(?:,?\s+(?:of\s+)?{YEAR})?)",
        _ordinal,
    ),
    rule("dated-month year", rf"\b(?:(?:from|between)\s+)?{MONTH}{DASH}{MONTH2}(?:,?\s+{YEAR})", _month_range),
    rule("led-month", rf"\b(?:from|between)\s+{MONTH}{DASH}{MONTH2}(?:,?\s+{YEAR})?", _month_range),
    rule("dated-month year", rf"\b{MONTH},?\s+(?:of\s+)?{YEAR}", _month),
    rule("year", r"\b(?P<year>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])\b(?!-)", _iso_month),
    rule("dated-month", rf"{_WEEKDAY_BEFORE}\b(?:the\s+)?{DATE_DAY}\s+(?:of\s+)?{MONTH}(?!\w)", _day_without_year),
    rule(
        "dated-month",
        rf"{_WEEKDAY_BEFORE}\b{MONTH}\s+(?:the\s+)?{DATE_DAY}\b(?!\s*(?:%|[:.]\d|am\b|pm\b))",
        _day_without_year,
    ),
    rule(
        "holiday",
        rf"\b(?:{WHICH}\s+)?(?P<holiday>{_HOLIDAY_NAMES})(?!\w)(?:,?\s+(?:of\s+|in\s+)?{YEAR}|\s+(?P<of>last|this|next)\s+year\b)?",
        _holiday,
    ),
    rule("season year", rf"\b(?:the\s+)?{SEASON}\s+(?:of\s+|in\s+)?{YEAR}", _season),
    rule("which-season", rf"\b{WHICH}\s+{SEASON}(?!\s+(?:down|asleep|break))", _season),
    rule("counted-season", rf"\b{NUMBER}\s+{SEASON[:-2]}s?\s+(?:ago|back)\b", _seasons_ago),
    rule("led-season", rf"\b(?:in|over|during|since|until|by|early|late|mid)\s+(?P<core>(?:the\s+)?{SEASON})", _season),
    rule("quarter year", r"\bq(?P<nth>[1-4])\s+(?:of\s+)?(?P<year>(?:19|20)\d\d)\b", _quarter),
    rule(
        "quarter year",
        r"\b(?:the\s+)?(?P<nth>first|second|third|fourth|last)\s+quarter\s+of\s+(?P<year>(?:19|20)\d\d)\b",
        _quarter,
    ),
    rule("which-month", rf"\b{WHICH}\s+{MONTH}(?!\w)", _month),
    rule("led-month", rf"{_TIME_WORD_BEFORE}(?P<core>{MONTH})(?!\w)", _month),
    rule(
        "led-year",
        r"\b(?:from\s+|between\s+)(?P<year>(?:19|20)\d\d)(?:\s*[-–]\s*|\s+(?:to|and|until|through)\s+)"
        r"(?P<year2>(?:19|20)\d\d)\b",
        _year_range,
    ),
    rule("year", r"\b(?P<year>(?:19|20)\d\d)\s*[–-]\s*(?P<year2>(?:19|20)\d\d)\b", _year_range),
    rule("led-year", rf"{_TIME_WORD_BEFORE}(?:the\s+)?(?:year\s+)?(?P<core>{YEAR})(?!\s*%|,\d|-)", _year),
    rule("led-year", rf"\b(?:back\s+in\s+|year\s+)(?P<core>{YEAR})(?!\s*%|,\d)", _year),
    rule("the-tens", r"\bthe\s+['’]?(?P<decade>(?:19|20)?\d0)['’]?s\b", _decade),
    rule(
        "the-nth",
        r"\bon\s+(?P<core>the\s+(?P<day>\d{1,2})(?:st|nd|rd|th))\b(?!\s+(?:floor|of|street|time|grade))",
        _on_the_nth,
    ),
)

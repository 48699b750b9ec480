"""Rules for times relative to when the text was said: yesterday, last Friday, two weeks ago."""

from __future__ import annotations

import re
from typing import Final

from memoranda.dates.rules import (
    DAY,
    WEEK,
    DateContext,
    DateRule,
    Interval,
    Precision,
    add_months,
    add_units,
    ambiguous,
    calendar_unit,
    day_of,
    interval_around,
    is_perfect,
    midnight,
    part_of,
    rule,
    week_of,
    weekend_of,
)
from memoranda.dates.vocabulary import (
    ABOUT,
    NUMBER,
    PART,
    SHORT_WEEKDAY,
    UNIT,
    WEEKDAY,
    WHICH,
    Match,
    direction,
    optional_group,
    parse_count,
    weekday_number,
)

_DAYS: Final = {"today": 0, "yesterday": -1, "tomorrow": 1, "tonight": 0}
_PRECISIONS: Final = {"fortnight": Precision.WEEK, "night": Precision.DAY}

_FEW_OF = r"(?:few|several|many)\s+(?:moment|second|minute|hour|day|night|week|weekend|month|year|decade)s?"


def _named_day(match: Match, context: DateContext) -> Interval:
    words = match.group().lower()
    name = next(day for day in _DAYS if day in words)
    step = 0
    if re.match(r"(?:the\s+)?day\b", words):
        step = -1 if "before" in words else 1
    day = context.now + (_DAYS[name] + step) * DAY
    return part_of(day, "night") if name == "tonight" else day_of(day)


def _last_night(match: Match, context: DateContext) -> Interval:
    back = 2 if "before" in match.group().lower() else 1
    return part_of(context.now - back * DAY, "night")


def _this_part(match: Match, context: DateContext) -> Interval:
    return part_of(context.now, match["part"].lower())


def _ago(match: Match, context: DateContext) -> Interval:
    unit, count = match["unit"].lower(), parse_count(match)
    if unit == "weekend":
        return _last_weekend(context).shift(-(count - 1) * WEEK)
    if unit == "fortnight":
        unit, count = "week", 2 * count
    return interval_around(add_units(context.now, unit, -count), unit)


def _half_a_year_ago(match: Match, context: DateContext) -> Interval:  # noqa: ARG001
    return interval_around(add_months(context.now, -6), "month")


def _years_and_a_half_ago(match: Match, context: DateContext) -> Interval:
    return interval_around(add_months(context.now, -12 * parse_count(match) - 6), "month")


def _ago_today(match: Match, context: DateContext) -> Interval:
    """Resolve "a week ago today", which is one day and not a week."""
    back = 1 if match["day"].lower() == "yesterday" else 0
    return day_of(add_units(context.now - back * DAY, match["unit"].lower(), -parse_count(match)))


def _from_now(match: Match, context: DateContext) -> Interval | None:
    """Resolve "in two weeks". "Done in two days" is a duration, so the sentence must be about the future."""
    is_future = optional_group(match, "sure") is not None or context.tense == "future"
    if not is_future or match["unit"].lower() == "night":
        return None
    unit, count = match["unit"].lower(), parse_count(match)
    if unit == "fortnight":
        unit, count = "week", 2 * count
    return interval_around(add_units(context.now, unit, count), unit)


def _last_or_next_units(match: Match, context: DateContext) -> Interval | None:
    """Resolve "the last three months" and "the next two weeks": up to now, or from now on."""
    unit, count = match["unit"].lower(), parse_count(match)
    if unit == "weekend":
        return None
    if direction(match["which"]) == 1:
        return Interval(context.now, add_units(context.now, unit, count), _precision(unit))
    return _units_until_now(context, unit, count)


def _duration_until_now(match: Match, context: DateContext) -> Interval | None:
    """Resolve "I have lived here for three years", which ends now. "I lived there for three years" can be any three."""
    continues = match["now"] is not None or is_perfect(match.string, match.start())
    unit = match["unit"].lower()
    if not continues or unit == "weekend":
        return None
    return _units_until_now(context, unit, parse_count(match))


def _units_until_now(context: DateContext, unit: str, count: int) -> Interval:
    start = add_units(context.now, unit, -count)
    return Interval(start if unit in ("hour", "minute") else midnight(start), context.now, _precision(unit))


def _precision(unit: str) -> Precision:
    return _PRECISIONS.get(unit) or Precision(unit)


def _unit(match: Match, context: DateContext) -> Interval | None:
    """Resolve "last week", "this month", "next year"."""
    unit, step = match["unit"].lower(), direction(match["which"]) or 0
    if unit == "weekend":
        return _weekend(context, step)
    current = calendar_unit(context.now, unit)
    if step == 0:
        return current
    return calendar_unit(add_units(current.start, unit, step), unit)


def _past_unit(match: Match, context: DateContext) -> Interval:
    """Resolve "the past month": up to now, not the last calendar month."""
    unit = match["unit"].lower()
    return Interval(midnight(add_units(context.now, unit, -1)), context.now, Precision(unit))


def _weekend(context: DateContext, step: int) -> Interval:
    current = weekend_of(context.now)
    if step < 0:
        return _last_weekend(context)
    if step > 0:
        return current.shift(WEEK)
    # In the past tense from Monday to Wednesday, "this weekend" is the last one.
    return current.shift(-WEEK) if context.tense == "past" and context.now.weekday() < 3 else current


def _last_weekend(context: DateContext) -> Interval:
    return weekend_of(context.now).shift(-WEEK)


def _the_weekend(match: Match, context: DateContext) -> Interval | None:  # noqa: ARG001
    if context.tense is None:
        return None
    if context.tense == "future":
        return weekend_of(context.now)
    return weekend_of(context.now) if context.now.weekday() >= 5 else _last_weekend(context)


def _earlier(match: Match, context: DateContext) -> Interval:
    """Resolve "earlier this year", "later this month", "earlier today"."""
    unit = match["unit"].lower()
    whole = day_of(context.now) if unit == "today" else calendar_unit(context.now, unit.split()[-1])
    if match["side"].lower() == "earlier":
        return Interval(
            whole.start, max(context.now, whole.start + DAY) if unit != "today" else whole.end, whole.precision
        )
    return Interval(whole.start if unit == "today" else context.now, whole.end, whole.precision)


def _part_of_unit(match: Match, context: DateContext) -> Interval:
    """Resolve "the end of the month" and "the beginning of next year": a third of the unit."""
    unit = match["unit"].lower()
    whole = calendar_unit(add_units(calendar_unit(context.now, unit).start, unit, direction(match["which"]) or 0), unit)
    third = (whole.end - whole.start) / 3
    where = match["where"].lower()
    if where in ("start", "beginning"):
        return Interval(whole.start, midnight(whole.start + third), whole.precision)
    if where == "end":
        return Interval(midnight(whole.end - third), whole.end, whole.precision)
    return Interval(midnight(whole.start + third), midnight(whole.end - third), whole.precision)


def _weekday(match: Match, context: DateContext) -> Interval | None:
    number = weekday_number(match["weekday"])
    which = optional_group(match, "which")
    if which is None:
        return _weekday_by_tense(number, context)
    step = direction(which)
    if step == 0:
        return _this_weekday(number, context)
    if step == -1:
        return _previous_weekday(number, context)
    if which.lower().split()[-1] == "coming":
        return _following_weekday(number, context)
    return day_of(week_of(context.now).start + WEEK + number * DAY)


def _weekday_by_tense(number: int, context: DateContext) -> Interval | None:
    if context.tense is None:
        return None
    return _previous_weekday(number, context) if context.tense == "past" else _following_weekday(number, context)


def _previous_weekday(number: int, context: DateContext) -> Interval:
    return day_of(context.now - ((context.now.weekday() - number) % 7 or 7) * DAY)


def _following_weekday(number: int, context: DateContext) -> Interval:
    return day_of(context.now + ((number - context.now.weekday()) % 7 or 7) * DAY)


def _this_weekday(number: int, context: DateContext) -> Interval:
    if context.tense == "past":
        return day_of(context.now - (context.now.weekday() - number) % 7 * DAY)
    return day_of(context.now + (number - context.now.weekday()) % 7 * DAY)


def _weekday_of_week(match: Match, context: DateContext) -> Interval:
    monday = week_of(context.now).start + (direction(match["which"]) or 0) * WEEK
    return day_of(monday + weekday_number(match["weekday"]) * DAY)


def _this_time(match: Match, context: DateContext) -> Interval:
    """Resolve "this time last year": about the same date."""
    unit, step = match["unit"].lower(), direction(match["which"]) or 0
    middle = midnight(add_units(context.now, unit, step))
    if unit == "week":
        return day_of(middle)
    margin = 15 * DAY if unit == "year" else 3 * DAY
    precision = Precision.MONTH if unit == "year" else Precision.WEEK
    return Interval(middle - margin, middle + margin + DAY, precision)


_CALENDAR = r"(?P<unit>weekend|week|month|quarter|year)"
RULES: Final[tuple[DateRule, ...]] = (
    rule(
        "recurring",
        r"\b(?:every|each|most|any|some|per|twice\s+a|once\s+a|times\s+a|these|all)\s+(?:other\s+|single\s+|few\s+)?"
        rf"(?:{UNIT}s?|{WEEKDAY}s?|spring|summer|autumn|fall|winter|morning|evening|afternoon)\b(?!\s+ago)",
        ambiguous,
    ),
    rule("today unit", r"\b(?:the\s+)?day\s+(?:before\s+yesterday|after\s+tomorrow)\b", _named_day),
    rule("which-unit time", rf"\bthis\s+time\s+{WHICH}\s+(?P<unit>week|month|year)\b", _this_time),
    rule("unit half ago", rf"{ABOUT}\bhalf\s+a\s+year\s+(?:ago|back)\b", _half_a_year_ago),
    rule(
        "unit half ago",
        rf"{ABOUT}\b(?P<number>a|one|two|three)\s+years?\s+and\s+a\s+half\s+(?:ago|back)\b",
        _years_and_a_half_ago,
    ),
    rule(
        "counted ago today",
        rf"\b{NUMBER}\s+(?P<unit>day|week|month|year)s?\s+ago\s+(?P<day>today|yesterday)\b",
        _ago_today,
    ),
    rule("counted ago", rf"{ABOUT}\b{NUMBER}\s+{UNIT}s?(?:\s+or\s+so)?\s+(?:ago|back)\b", _ago),
    rule(
        "few-unit",
        r"\b(?:a\s+few|several|many|some|few|so\s+many)\s+(?:minute|hour|day|week|weekend|month|year)s\s+(?:ago|back|later)\b",
        ambiguous,
    ),
    rule(
        "sure-counted",
        rf"\b(?:in\s+)?{ABOUT}{NUMBER}\s+{UNIT}s?(?P<sure>\s+from\s+(?:now|today)\b|['’]s?\s+time\b)",
        _from_now,
    ),
    rule("in-counted", rf"\bin\s+(?P<core>{ABOUT}{NUMBER}\s+{UNIT}s?)\b(?!\s+of\b|\s+a\b)", _from_now),
    rule("which-few", rf"\b(?:the\s+)?(?:last|past|next|coming|previous)\s+{_FEW_OF}\b", ambiguous),
    rule("which-counted", rf"\b(?:the\s+)?{WHICH}\s+{NUMBER}\s+{UNIT}s?\b", _last_or_next_units),
    rule("for-counted", rf"\bfor\s+(?P<core>{ABOUT}{NUMBER}\s+{UNIT}s?\b(?P<now>\s+now\b)?)", _duration_until_now),
    rule("later", r"\b(?P<side>earlier|later)\s+(?P<unit>today|this\s+(?:week|month|year))\b", _earlier),
    rule(
        "edge-unit",
        r"\b(?:the\s+)?(?P<where>start|beginning|middle|end)\s+of\s+"
        rf"(?:{WHICH}|the)\s+(?P<unit>week|month|quarter|year)\b",
        _part_of_unit,
    ),
    rule("weekday which-unit", rf"\b{WEEKDAY}\s+(?:of\s+)?(?P<which>last|this|next)\s+week\b", _weekday_of_week),
    rule("weekday which-unit", rf"\b(?P<which>last|this|next)\s+week(?:,|\s+on)?\s+{WEEKDAY}", _weekday_of_week),
    rule("which-weekday-or-short", rf"\b(?:the\s+)?{WHICH}\s+{SHORT_WEEKDAY}(?!s\b)", _weekday),
    rule("night which", r"\b(?:the\s+)?night\s+before\s+last\b|\blast\s+night\b", _last_night),
    rule("which-part", rf"\bthis\s+{PART}", _this_part),
    rule("which-unit past", r"\b(?:the|this)\s+past\s+(?P<unit>week|month|year)\b", _past_unit),
    rule("which-unit", rf"\b(?:the\s+)?{WHICH}\s+{_CALENDAR}\b(?!s)", _unit),
    rule(
        "the-unit",
        r"\b(?:at|over|on|for|during|by)\s+(?P<core>the\s+weekend)\b(?!\s+(?:before|after|of)\b)",
        _the_weekend,
    ),
    rule("today", r"\b(?:today|tonight|yesterday|tomorrow)\b", _named_day),
    rule(
        "weekday",
        rf"\b(?:on|by|since|until|till|from|before|after|come|this)\s+(?P<core>{WEEKDAY})(?!s\b|\s+(?:before|after)\s)",
        _weekday,
    ),
    rule("weekday", rf"\b{WEEKDAY}(?!s\b|\s+(?:before|after)\s)", _weekday),
)

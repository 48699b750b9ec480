"""Rules for times told from the moment of speaking: yesterday, last Friday, two weeks ago. Pure."""

from __future__ import annotations

import re
from typing import Final

from memoranda.dates.base import (
    ABOUT,
    NUMBER,
    PART,
    SHORT_WEEKDAY,
    UNIT,
    WEEKDAY,
    WHICH,
    Match,
    count_of,
    direction,
    named,
    weekday_number,
)
from memoranda.dates.intervals import (
    DAY,
    WEEK,
    Interval,
    Precision,
    around,
    calendar_unit,
    day_of,
    midnight,
    part_of,
    shifted,
    shifted_months,
    week_of,
    weekend_of,
)
from memoranda.dates.rules import Reading, Rule, is_perfect, rule, unsure

_DAYS: Final = {"today": 0, "yesterday": -1, "tomorrow": 1, "tonight": 0}
_PRECISIONS: Final = {"fortnight": Precision.WEEK, "night": Precision.DAY}


def _named_day(match: Match, reading: Reading) -> Interval:
    words = match.group().lower()
    name = next(day for day in _DAYS if day in words)
    step = 0
    if re.match(r"(?:the\s+)?day\b", words):
        step = -1 if "before" in words else 1
    day = reading.now + (_DAYS[name] + step) * DAY
    return part_of(day, "night") if name == "tonight" else day_of(day)


def _last_night(match: Match, reading: Reading) -> Interval:
    back = 2 if "before" in match.group().lower() else 1
    return part_of(reading.now - back * DAY, "night")


def _this_part(match: Match, reading: Reading) -> Interval:
    return part_of(reading.now, match["part"].lower())


def _ago(match: Match, reading: Reading) -> Interval:
    unit, count = match["unit"].lower(), count_of(match)
    if unit == "weekend":
        return _last_weekend(reading).moved(-(count - 1) * WEEK)
    if unit == "fortnight":
        unit, count = "week", 2 * count
    return around(shifted(reading.now, unit, -count), unit)


def _half_a_year_ago(match: Match, reading: Reading) -> Interval:  # noqa: ARG001
    return around(shifted_months(reading.now, -6), "month")


def _years_and_a_half_ago(match: Match, reading: Reading) -> Interval:
    return around(shifted_months(reading.now, -12 * count_of(match) - 6), "month")


def _ago_today(match: Match, reading: Reading) -> Interval:
    """ "A week ago today" is one day, not a week."""
    back = 1 if match["day"].lower() == "yesterday" else 0
    return day_of(shifted(reading.now - back * DAY, match["unit"].lower(), -count_of(match)))


def _ahead(match: Match, reading: Reading) -> Interval | None:
    """In two weeks. "Done in two days" is how long it took, so the sentence must speak of the future."""
    sure = named(match, "sure") is not None or reading.tense == "future"
    if not sure or match["unit"].lower() == "night":
        return None
    unit, count = match["unit"].lower(), count_of(match)
    if unit == "fortnight":
        unit, count = "week", 2 * count
    return around(shifted(reading.now, unit, count), unit)


def _several(match: Match, reading: Reading) -> Interval | None:
    """The last three months, the next two weeks: up to now, or from now on."""
    unit, count = match["unit"].lower(), count_of(match)
    if unit == "weekend":
        return None
    precision = _PRECISIONS.get(unit) or Precision(unit)
    if direction(match["which"]) == 1:
        return Interval(reading.now, shifted(reading.now, unit, count), precision)
    start = shifted(reading.now, unit, -count)
    return Interval(start if unit in ("hour", "minute") else midnight(start), reading.now, precision)


def _for_so_long(match: Match, reading: Reading) -> Interval | None:
    """ "I have lived here for three years" reaches up to now; "I lived there for three years" could be any three."""
    goes_on = match["now"] is not None or is_perfect(match.string, match.start())
    unit = match["unit"].lower()
    if not goes_on or unit == "weekend":
        return None
    start = shifted(reading.now, unit, -count_of(match))
    precision = _PRECISIONS.get(unit) or Precision(unit)
    return Interval(start if unit in ("hour", "minute") else midnight(start), reading.now, precision)


def _unit(match: Match, reading: Reading) -> Interval | None:
    """Last week, this month, next year."""
    unit, step = match["unit"].lower(), direction(match["which"]) or 0
    if unit == "weekend":
        return _weekend(reading, step)
    current = calendar_unit(reading.now, unit)
    if step == 0:
        return current
    return calendar_unit(shifted(current.start, unit, step), unit)


def _past_unit(match: Match, reading: Reading) -> Interval:
    """The past month: up to now, not the calendar's month before."""
    unit = match["unit"].lower()
    return Interval(midnight(shifted(reading.now, unit, -1)), reading.now, Precision(unit))


def _weekend(reading: Reading, step: int) -> Interval:
    this = weekend_of(reading.now)
    if step < 0:
        return _last_weekend(reading)
    if step > 0:
        return this.moved(WEEK)
    # Said on Monday to Wednesday of what is over, "this weekend" is the one that just was.
    return this.moved(-WEEK) if reading.tense == "past" and reading.now.weekday() < 3 else this


def _last_weekend(reading: Reading) -> Interval:
    return weekend_of(reading.now).moved(-WEEK)


def _the_weekend(match: Match, reading: Reading) -> Interval | None:  # noqa: ARG001
    if reading.tense is None:
        return None
    if reading.tense == "future":
        return weekend_of(reading.now)
    return weekend_of(reading.now) if reading.now.weekday() >= 5 else _last_weekend(reading)


def _earlier(match: Match, reading: Reading) -> Interval:
    """Earlier this year, later this month, earlier today."""
    unit = match["unit"].lower()
    whole = day_of(reading.now) if unit == "today" else calendar_unit(reading.now, unit.split()[-1])
    if match["side"].lower() == "earlier":
        return Interval(
            whole.start, max(reading.now, whole.start + DAY) if unit != "today" else whole.end, whole.precision
        )
    return Interval(whole.start if unit == "today" else reading.now, whole.end, whole.precision)


def _end_of(match: Match, reading: Reading) -> Interval:
    """The end of the month, the beginning of next year: a third of it."""
    unit = match["unit"].lower()
    whole = calendar_unit(shifted(calendar_unit(reading.now, unit).start, unit, direction(match["which"]) or 0), unit)
    third = (whole.end - whole.start) / 3
    where = match["where"].lower()
    if where in ("start", "beginning"):
        return Interval(whole.start, midnight(whole.start + third), whole.precision)
    if where == "end":
        return Interval(midnight(whole.end - third), whole.end, whole.precision)
    return Interval(midnight(whole.start + third), midnight(whole.end - third), whole.precision)


def _weekday(match: Match, reading: Reading) -> Interval | None:
    number = weekday_number(match["weekday"])
    which = named(match, "which")
    if which is None:
        return _by_tense(number, reading)
    step = direction(which)
    if step == 0:
        return _this_weekday(number, reading)
    if step == -1:
        return day_of(reading.now - ((reading.now.weekday() - number) % 7 or 7) * DAY)
    if which.lower().split()[-1] == "coming":
        return day_of(reading.now + ((number - reading.now.weekday()) % 7 or 7) * DAY)
    return day_of(week_of(reading.now).start + WEEK + number * DAY)


def _by_tense(number: int, reading: Reading) -> Interval | None:
    if reading.tense is None:
        return None
    if reading.tense == "past":
        return day_of(reading.now - ((reading.now.weekday() - number) % 7 or 7) * DAY)
    return day_of(reading.now + ((number - reading.now.weekday()) % 7 or 7) * DAY)


def _this_weekday(number: int, reading: Reading) -> Interval:
    if reading.tense == "past":
        return day_of(reading.now - (reading.now.weekday() - number) % 7 * DAY)
    return day_of(reading.now + (number - reading.now.weekday()) % 7 * DAY)


def _weekday_of_week(match: Match, reading: Reading) -> Interval:
    monday = week_of(reading.now).start + (direction(match["which"]) or 0) * WEEK
    return day_of(monday + weekday_number(match["weekday"]) * DAY)


def _this_time(match: Match, reading: Reading) -> Interval:
    """This time last year: about the same date."""
    unit, step = match["unit"].lower(), direction(match["which"]) or 0
    middle = midnight(shifted(reading.now, unit, step))
    if unit == "week":
        return day_of(middle)
    reach = 15 * DAY if unit == "year" else 3 * DAY
    precision = Precision.MONTH if unit == "year" else Precision.WEEK
    return Interval(middle - reach, middle + reach + DAY, precision)


_CALENDAR = r"(?P<unit>weekend|week|month|quarter|year)"
RULES: Final[tuple[Rule, ...]] = (
    rule(
        "recurring",
        r"\b(?:every|each|most|any|some|per|twice\s+a|once\s+a|times\s+a|these|all)\s+(?:other\s+|single\s+|few\s+)?"
        rf"(?:{UNIT}s?|{WEEKDAY}s?|spring|summer|autumn|fall|winter|morning|evening|afternoon)\b(?!\s+ago)",
        unsure,
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
        unsure,
    ),
    rule(
        "sure-counted",
        rf"\b(?:in\s+)?{ABOUT}{NUMBER}\s+{UNIT}s?(?P<sure>\s+from\s+(?:now|today)\b|['’]s?\s+time\b)",
        _ahead,
    ),
    rule("in-counted", rf"\bin\s+(?P<core>{ABOUT}{NUMBER}\s+{UNIT}s?)\b(?!\s+of\b|\s+a\b)", _ahead),
    rule("which-few", r"\b(?:the\s+)?(?:last|past|next|coming|previous)\s+(?:few|several|many)\s+\w+", unsure),
    rule("which-counted", rf"\b(?:the\s+)?{WHICH}\s+{NUMBER}\s+{UNIT}s?\b", _several),
    rule("for-counted", rf"\bfor\s+(?P<core>{ABOUT}{NUMBER}\s+{UNIT}s?\b(?P<now>\s+now\b)?)", _for_so_long),
    rule("later", r"\b(?P<side>earlier|later)\s+(?P<unit>today|this\s+(?:week|month|year))\b", _earlier),
    rule(
        "edge-unit",
        r"\b(?:the\s+)?(?P<where>start|beginning|middle|end)\s+of\s+"
        rf"(?:{WHICH}|the)\s+(?P<unit>week|month|quarter|year)\b",
        _end_of,
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

"""How values look in a terminal, a log and a notebook: short reprs, text that reads like an answer, and small HTML.

Nothing of this package is imported: the values import this. Every text is cut, put on one line and, in HTML, escaped,
so that stored text is shown as text and never as markup.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import datetime
from enum import Enum
from html import escape
from typing import Any, Final

_SHORT: Final = 60
LONG: Final = 400
MANY: Final = 3
"""A container with more items is shown by their number."""
_LARGE_INTEGER: Final = 128
"""Bits of an integer whose digits tell nobody anything."""
_LINE: Final = 110
"""How long the fields in a repr may be together; the rest is left out."""
LISTED: Final = 20
"""How many items of a field are printed, a line each."""
_CELL_ITEMS: Final = 8
"""How many items of a field are in its cell."""
_ROWS: Final = 100
"""How many results of a list are in its table."""
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
CONTROLS_IN_LINES: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What would move the cursor or change the colours of the terminal that a text is printed on."""
_REASONS: Final = {
    "lexical": "its words",
    "dense": "its meaning",
    "neighbours": "the turns around it",
    "session": "its conversation",
    "speaker": "who said it",
    "time": "when it was said",
    "kind": "the kind of answer",
    "reranker": "reading it with the question",
}
# The colours of the page are used, so that it can be read on a light and on a dark one.
_CELL: Final = (
    "text-align:left;vertical-align:top;padding:2px 8px;border-top:1px solid rgba(128,128,128,.35);"
    "unicode-bidi:isolate;"
)
_WHOLE: Final = "white-space:nowrap"
_BROKEN: Final = "overflow-wrap:anywhere"
_NARROW: Final = 26
"""A cell of so many characters is not broken: an id, a number, a name, a time."""
_TABLE: Final = "border-collapse:collapse;background:transparent;color:inherit;font-size:90%"


class _ShortRepr(reprlib.Repr):
    """Cuts what is long or deep, and names the type of what cannot be shown."""

    def repr1(self, x: Any, level: int) -> str:
        try:
            return super().repr1(x, level)
        except Exception:  # noqa: BLE001 - of the object's own code; it would replace the error that names the object
            return f"<{type(x).__name__}>"

    def repr_int(self, x: int, level: int) -> str:
        # Python does not write an integer of thousands of digits.
        return (
            f"an integer of {x.bit_length():,} bits" if x.bit_length() > _LARGE_INTEGER else super().repr_int(x, level)
        )


_REPR: Final = _ShortRepr()
_REPR.maxstring = _REPR.maxother = 100


def shown(value: object) -> str:
    """Return a value as an error shows it: short, however long or deep it is, and whatever its own `repr` does."""
    return _REPR.repr(value)


def one_line(text: object, length: int = _SHORT) -> str:
    """Return a text on one line, without characters that control a terminal, cut when it is longer."""
    line = " ".join(_CONTROLS.sub(" ", str(text)[: 8 * length]).split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: "1 memory", "2 memories"."""
    return f"{count:,} {one if count == 1 else many or re.sub('(?<![aeou])y$', 'ie', one) + 's'}"


def day_of(moment: datetime | None) -> str:
    """Return the day of a time; an empty text when there is none."""
    return "" if moment is None else moment.date().isoformat()


def reasons(why: Iterable[Any], count: int = 2) -> str:
    """Return in plain words what counted most for a hit: "its words, its meaning"."""
    strongest = sorted((score for score in why if score.gain > 0), key=lambda score: -score.gain)
    return ", ".join(reason_name(score.arm) for score in strongest[:count])


def reason_name(arm: str) -> str:
    """Return in plain words what an arm of the search goes by."""
    return _REASONS.get(arm, arm)


def short_repr(value: Any) -> str:
    """Return the class of a dataclass and the fields that are not at their default, cut to one short line."""
    shown: list[str] = []
    for name, item in _set_fields(value):
        # A key is not cut: it is what other methods take.
        part = f"{name}={repr(item) if name == 'key' else _short(item)}"
        if name != "key" and shown and len(", ".join([*shown, part])) > _LINE:
            shown.append("…")
            break
        shown.append(part)
    return f"{type(value).__name__}({', '.join(shown)})"


def record_text(value: Any) -> str:
    """Return a dataclass as text: its name, then a line for each field; one line where nothing in it has lines."""
    name = _words(type(value).__name__).capitalize()
    parts = list(_set_fields(value))
    if len(parts) <= MANY and not any(map(_has_items, dict(parts).values())):
        return f"{name}: {_line_of_fields(parts) or 'nothing'}"
    return "\n".join([name, *(line for field, item in parts for line in _field_lines(_words(field), item))])


def _field_lines(name: str, item: Any) -> list[str]:
    if not _has_items(item):
        return [f"  {name}: {_line(item)}"]
    if all(isinstance(each, int) for each in item):
        return [f"  {name}: {one_line(', '.join(map(str, item)), LONG)}"]
    pairs = item.items() if isinstance(item, Mapping) else enumerate(item)
    keyed = isinstance(item, Mapping)
    lines = [f"    {one_line(key) + ': ' if keyed else ''}{_line(each)}" for key, each in list(pairs)[:LISTED]]
    return [f"  {name}:", *lines, *[f"    … and {len(item) - LISTED:,} more"] * (len(item) > LISTED)]


def _has_items(item: object) -> bool:
    return isinstance(item, list | tuple | Mapping) and not isinstance(item, Shown)


def _line_of_fields(parts: Iterable[tuple[str, object]]) -> str:
    return one_line(", ".join(f"{_words(name)} {_short_text(item)}" for name, item in parts), LONG)


def _line(item: Any) -> str:
    """Return a value on one line, without the names of classes."""
    if _has_own_fields(item):
        return _line_of_fields(_set_fields(item))
    return one_line(_short_text(item), LONG)


def _short_text(item: Any) -> str:
    if isinstance(item, bool):
        return "yes" if item else "no"
    if _has_items(item):
        return plural(len(item), "item")
    return _line(item) if _has_own_fields(item) else str(_plain(item))


def _has_own_fields(item: Any) -> bool:
    """Whether a value is printed by its fields, as its class has no text of its own."""
    printed: object = type(item).__str__
    return printed is Shown.__str__


def _words(name: str) -> str:
    """Return the name of a class or field as words: "upkeep report", "dry run"."""
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a small table for a notebook below its title, or the title alone; every cell is escaped."""
    # No caption: that is as narrow as the table below it.
    above = f'<div dir="auto" style="text-align:left;{_BROKEN}">{escape(one_line(title, LONG))}</div>'
    body = "".join(f"<tr>{''.join(_html_cell(cell) for cell in row)}</tr>" for row in rows)
    if not body:
        return above
    cells = "".join(f'<th style="{_CELL}{_WHOLE}">{escape(column)}</th>' for column in columns)
    head = f"<thead><tr>{cells}</tr></thead>" if any(columns) else ""
    return f'{above}<table style="{_TABLE}">{head}<tbody>{body}</tbody></table>'


def html_record(value: Any) -> str:
    """Return a dataclass for a notebook: a row for each field that is not at its default."""
    rows = [(_words(name), _html_text(item)) for name, item in _set_fields(value)]
    return html_table(_words(type(value).__name__).capitalize(), ("", ""), rows)


def _set_fields(value: Any) -> Iterable[tuple[str, object]]:
    for each in fields(value):
        item = getattr(value, each.name)
        default = each.default if each.default is not MISSING else None
        if each.default_factory is not MISSING:
            default = each.default_factory()
        if each.repr and item != default and item not in ((), {}, []):
            yield each.name, item


def _short(item: object) -> str:
    if isinstance(item, Shown):
        return repr(item) if len(repr(item)) <= _SHORT else f"<{_named(item)}>"
    if isinstance(item, str):
        return repr(one_line(item))
    if isinstance(item, Mapping):
        return repr(dict(item)) if len(item) <= MANY and len(repr(item)) <= _SHORT else _counted(item)
    if isinstance(item, list | tuple) and (len(item) > MANY or len(repr(item)) > _SHORT):
        return _counted(item)
    return repr(_plain(item))


def _counted(items: Any) -> str:
    return f"<{plural(len(items), 'item')}>"


def _named(item: object) -> str:
    number = getattr(item, "id", None)
    return type(item).__name__ + (f" #{number}" if isinstance(number, int) else "")


def _plain(item: object) -> object:
    if isinstance(item, datetime):
        return f"{item:%Y-%m-%d %H:%M} {item.tzname() or ''}".strip()
    if isinstance(item, float):
        return round(item, 3)
    return item.value if isinstance(item, Enum) else item


def _html_text(item: Any) -> str:
    """Return a value of a record as the text of a cell: of a mapping what is not nothing, of a record its fields."""
    if not _has_items(item):
        return _short_text(item) if isinstance(item, bool) else _line(item)
    texts = [f"{key} {_line(each)}" for key, each in item.items() if each] if isinstance(item, Mapping) else item
    shown = "; ".join(one_line(each if isinstance(each, str) else _line(each)) for each in texts[:_CELL_ITEMS])
    return shown + ("; …" if len(texts) > _CELL_ITEMS else "")


def _html_cell(cell: object) -> str:
    text = one_line(cell, LONG)
    return f'<td dir="auto" style="{_CELL}{_WHOLE if len(text) <= _NARROW else _BROKEN}">{escape(text)}</td>'


class Shown:
    """Gives a value a short repr, text to print, and a table in a notebook. A dataclass must not make its own repr."""

    __slots__ = ()

    def __repr__(self) -> str:
        return short_repr(self)

    def __str__(self) -> str:
        return record_text(self)

    def _repr_html_(self) -> str:
        return html_record(self)

    def _row(self) -> dict[str, object]:
        return {_words(name): _html_text(item) for name, item in _set_fields(self)}


def memory_repr(memory: Any) -> str:
    """Return the id and the beginning of a memory, and who said it when."""
    return f"Memory({_quoted(memory)}, {_origin(memory)})"


def hit_repr(hit: Any) -> str:
    """Return the score of a hit, and the beginning of its memory."""
    return f"Hit({hit.score:.2f}, {_quoted(hit.memory)}, {_origin(hit.memory)})"


def outcome_repr(outcome: Any) -> str:
    """Return how a write ended, and the beginning of what was stored, or why it was not."""
    why = f", {one_line(outcome.reason)!r}" if outcome.reason and outcome.memory is None else ""
    return f"Outcome({outcome.status!r}{why if outcome.memory is None else f', {_quoted(outcome.memory)}'})"


def recall_repr(recall: Any) -> str:
    """Return the question and the beginning of the best hits."""
    first = "; ".join(repr(one_line(hit.content, 30)) for hit in recall.hits[:2])
    more = "; …" if len(recall.hits) > 2 else ""
    return f"Recall({one_line(recall.query, 40)!r}, {_found(recall)}{': ' if first else ''}{first}{more})"


def _quoted(memory: Any) -> str:
    return f"#{memory.id} {one_line(memory.content)!r}"


def memory_text(memory: Any) -> str:
    """Return a memory in one line: what, who, when, and the id that other methods take."""
    return f"{one_line(memory.content, LONG)} ({_origin(memory)}, #{memory.id})"


def hit_text(hit: Any) -> str:
    """Return a hit in one line, its score first."""
    return f"{hit.score:.2f} {memory_text(hit.memory)}"


def recall_text(recall: Any) -> str:
    """Return what was found as numbered lines: text, who, when, score, and what was said since."""
    lines = [f"{one_line(recall.query, LONG)} ({_found(recall)})"]
    for rank, hit in enumerate(recall.hits, 1):
        lines.append(f"{rank:>2}. {one_line(hit.content, LONG)}")
        lines.append(f"    {_origin(hit.memory)}, score {hit.score:.2f}, #{hit.id}")
        lines += [f"    {note}" for note in hit_notes(hit)]
    lines += [f"without {step}" for step in recall.degraded]
    return "\n".join(lines)


def hit_notes(hit: Any) -> list[str]:
    """Return what was said later about the same thing as a hit, and what others say instead, one line each."""
    later = [f"→ later, on {day_of(each.valid_from)}: {one_line(each.content)} (#{each.id})" for each in hit.later[-1:]]
    against = (f"{who(each) or each.trust}: {one_line(each.content)} (#{each.id})" for each in hit.disputed)
    until = [f"(until {day_of(hit.memory.valid_to)})"] if hit.memory.valid_to else []
    return [*until, *later, *(f"→ disputed by {each}" for each in against)]


def recall_html(recall: Any) -> str:
    """Return what was found as a table for a notebook."""
    rows = [{"": n} | hit_row(hit) for n, hit in enumerate(recall.hits, 1)]
    return _rows_html(f"{recall.query} ({_found(recall)})", rows)


def outcomes_text(outcomes: Any) -> str:
    """Return how each write ended, one line each."""
    return "\n".join(map(str, outcomes)) or "nothing was written"


def outcome_text(outcome: Any) -> str:
    """Return how one write ended: what was stored, or why it was not."""
    what = "" if outcome.memory is None else f": {memory_text(outcome.memory)}"
    return f"{outcome.status}{what}{f' — {one_line(outcome.reason, LONG)}' if outcome.reason else ''}"


def outcomes_repr(outcomes: Any) -> str:
    """Return how many writes ended in which way."""
    return f"Outcomes({_count_statuses(outcomes)})"


def _count_statuses(outcomes: Any) -> str:
    statuses = [outcome.status for outcome in outcomes]
    return ", ".join(f"{statuses.count(each)} {each}" for each in dict.fromkeys(statuses))


def outcomes_html(outcomes: Any) -> str:
    """Return how each write ended as a table for a notebook."""
    rows = [
        {"status": each.status} | (memory_row(each.memory) if each.memory else _NO_MEMORY) | {"reason": each.reason}
        for each in outcomes
    ]
    return _rows_html(_count_statuses(outcomes) or "nothing was written", rows)


def list_repr(items: Any, noun: str) -> str:
    """Return how many results there are, and the first of them."""
    first = "; ".join(one_line(_line(each)) for each in items[:MANY])
    return f"<{plural(len(items), noun)}{': ' if first else ''}{first}{'; …' if len(items) > MANY else ''}>"


def list_text(items: Any, noun: str) -> str:
    """Return one line for each result, or that there are none."""
    return "\n".join(map(_line, items)) or f"no {plural(0, noun)[2:]}"


def list_html(items: Any, noun: str) -> str:
    """Return results as a table for a notebook: a row for each of the first ones."""
    left_out = f", the first {_ROWS} of them" if len(items) > _ROWS else ""
    return _rows_html(plural(len(items), noun) + left_out, [each._row() for each in items[:_ROWS]])


def _rows_html(title: str, rows: Sequence[Mapping[str, object]]) -> str:
    named = dict.fromkeys(column for row in rows for column in row)
    # What is empty everywhere says nothing, nor does a user who is the same everywhere.
    columns = [column for column in named if any(row.get(column) not in (None, "") for row in rows)]
    if len(rows) > 1 and len({row.get("user") for row in rows}) == 1 and "user" in columns:
        columns.remove("user")
    return html_table(title, columns, ([row.get(column, "") for column in columns] for row in rows))


def memory_row(memory: Any) -> dict[str, object]:
    """Return a memory as a row of a table of several."""
    said = {"id": memory.id, "memory": memory.content, "when": day_of(memory.valid_from)}
    return said | {"who": memory.speaker or memory.source or "", "user": memory.user or ""}


_NO_MEMORY: Final[dict[str, object]] = dict.fromkeys(("id", "memory", "when", "who", "user"), "")


def hit_row(hit: Any) -> dict[str, object]:
    """Return a hit as a row of a table of several."""
    notes = {"notes": "; ".join(hit_notes(hit))} if hit_notes(hit) else {}
    return {"score": f"{hit.score:.2f}"} | memory_row(hit.memory) | notes


def arm_text(arm: Any) -> str:
    """Return in plain words what one arm of the search or one boost did for a memory."""
    return f"{arm.gain:+.2f} {reason_name(arm.arm)} (rank {arm.rank:,}, score {arm.score:.2f})"


def arm_row(arm: Any) -> dict[str, object]:
    """Return what one arm or boost did as a row of a table of several."""
    return {"gain": f"{arm.gain:+.2f}", "by": reason_name(arm.arm), "rank": arm.rank, "score": f"{arm.score:.2f}"}


def value_text(value: Any) -> str:
    """Return the value of a fact, or that it does not hold."""
    return str(value.value) if value.holds else f"not {value.value}"


def said_by(value: Any, name_text: Callable[[str], str]) -> str:
    """Return the person who said a value of a fact; of other sources what they are, and their name.

    Args:
        value: The fact, or one of its values.
        name_text: Makes a name fit to be shown.
    """
    name = value.speaker or (None if value.trust == "user" else value.source)
    if name is None or name == value.trust:
        return str(value.trust)
    return name_text(name) if value.trust == "user" else f"{value.trust} {name_text(name)}"


def activity_text(activity: Any) -> str:
    """Return a user, agent, session or namespace in one line, with how much it has and since when nothing changed."""
    name, count = (getattr(activity, each.name) for each in fields(activity)[:2])
    shown = name if isinstance(name, str) else "/".join(name)
    what = plural(count, "item" if name is not shown else "memory")
    return f"{one_line(shown, LONG)}: {what}, last active {day_of(activity.last_active)}"


def report_html(report: Any) -> str:
    """Return a report as it prints, for a notebook."""
    return text_html(type(report).__name__, str(report))


def text_html(title: str, text: str) -> str:
    shown = escape(CONTROLS_IN_LINES.sub("\ufffd", text))
    return f'<div>{title}</div><pre style="white-space:pre-wrap;overflow-wrap:anywhere;color:inherit">{shown}</pre>'


def who(memory: Any) -> str:
    """Return who said a memory: the speaker, or else where it comes from."""
    return one_line(memory.speaker or memory.source or memory.user or "")


def _origin(memory: Any) -> str:
    return ", ".join(part for part in (who(memory), day_of(memory.valid_from)) if part)


def _found(recall: Any) -> str:
    count = plural(len(recall.hits), "hit") if recall.hits else "nothing found"
    return f"{count}, answerable {recall.answerable:.2f}"

"""How results print: facts, receipts, reports and contexts as text that reads like an answer."""

from __future__ import annotations

from typing import Any

from memoranda.display import LISTED, LONG, MANY, day_of, one_line, plural, reasons, text_html


def fact_repr(fact: Any) -> str:
    """Return the slot of a fact, its value and since when it holds."""
    return f"Fact({one_line(fact.slot)!r}, {one_line(_value(fact))!r}, since {day_of(fact.since)})"


def decision_text(decision: Any) -> str:
    """Return what upkeep does with a memory, and why."""
    which = "" if decision.id is None else f" #{decision.id}"
    into = "" if decision.into is None else f" into #{decision.into}"
    return f"{decision.action}{which}{into}: {one_line(decision.content)} — {one_line(decision.reason, LONG)}"


def store_text(store: Any, status: str | None = None) -> str:
    """Return what was erased from one place."""
    count = f" ({store.count:,})" if store.count else ""
    detail = f" — {one_line(store.detail, LONG)}" if store.detail else ""
    return f"{store.store}: {status or store.status}{count}{detail}"


def places(receipt: Any) -> list[tuple[Any, str]]:
    """Return each place that a receipt names and its status; in a preview, only those that hold something to erase."""
    if not receipt.dry_run:
        return [(each, each.status) for each in receipt.stores]
    held = [each for each in receipt.stores if each.count or (each.detail and each.status != "erased")]
    return [(each, "would be erased" if each.status in ("erased", "pending") else each.status) for each in held]


def receipt_text(receipt: Any) -> str:
    """Return how many memories were erased, or would be, and a line for each place that held something of them."""
    memories = plural(len(receipt.ids), "memory", "memories")
    state = "complete" if receipt.complete else "NOT complete"
    first = f"{memories} would be erased" if receipt.dry_run else f"{memories} erased, receipt {receipt.id}: {state}"
    return "\n".join([first, *(f"  {store_text(*place)}" for place in places(receipt))])


def check_text(report: Any) -> str:
    """Return whether everything agrees, or the problems."""
    checked = f"{plural(report.memories, 'memory', 'memories')} checked"
    found = plural(len(report.problems), "problem") if report.problems else "no problems"
    return "\n".join([f"{found}: {checked}", *(f"  {one_line(each, LONG)}" for each in report.problems)])


def upkeep_text(report: Any) -> str:
    """Return what upkeep did, or would do, a line for each memory."""
    count = len(report.decisions)
    what = plural(count, "change") if count else "nothing to do"
    mood = "would make " if report.dry_run and count else ""
    first = f"upkeep: {mood}{what}, {plural(report.examined, 'memory', 'memories')} examined"
    lines = [*map(str, report.decisions[:LISTED]), *[f"… and {count - LISTED:,} more"] * (count > LISTED)]
    notes = [*report.problems, *([report.skipped] if report.skipped else [])]
    return "\n".join([first, *(f"  {each}" for each in (*lines, *(one_line(note, LONG) for note in notes)))])


def why_not_text(found: Any) -> str:
    """Return in plain words why a memory is not an answer."""
    words = reasons(found.why)
    fits = f" (it fits by {words})" if words else ""
    return f"#{found.id}: {one_line(found.reason, LONG)}{fits}"


def replay_text(past: Any) -> str:
    """Return a past recall as it was answered, and what was erased since."""
    gone = [f"position {each.position}: #{each.id} was deleted since" for each in past.erased]
    return "\n".join([f"asked on {past.asked_at:%Y-%m-%d %H:%M}", str(past.recall), *gone])


def fact_text(fact: Any) -> str:
    """Return a fact in one line: the slot, its value, since when, what was before, and what was said later."""
    notes = [f"since {day_of(fact.since)}"]
    if before := ", ".join(f"{one_line(_value(each))} until {day_of(each.until)}" for each in fact.replaced[-MANY:]):
        notes.append(f"before: {before}")
    notes += [f"later said: {one_line(each.content)}" for each in fact.later[-1:]]
    return f"{fact.slot}: {one_line(_value(fact))} ({'; '.join(notes)})"


def fact_value_text(value: Any) -> str:
    """Return a value of a slot in one line, with when it held."""
    held = f"{day_of(value.since)} – {day_of(value.until)}" if value.until else f"since {day_of(value.since)}"
    return f"{one_line(_value(value))} ({held}, #{value.memory_id})"


def conflict_text(conflict: Any) -> str:
    """Return the values that sources disagree about, the most trusted one first."""
    return f"{conflict.slot}: " + " / ".join(f"{one_line(_value(each))} ({each.trust})" for each in conflict.values)


def fact_row(fact: Any) -> dict[str, object]:
    """Return a fact as a row of a table of several."""
    row = {"slot": fact.slot, "value": _value(fact), "since": day_of(fact.since)}
    row["from"] = fact.speaker or fact.source or fact.trust
    more = {"before": fact.replaced, "disputed by": fact.disputed_by}
    row |= {name: ", ".join(map(_value, values)) for name, values in more.items() if values}
    return row | ({"later said": one_line(fact.later[-1].content)} if fact.later else {})


def conflict_row(conflict: Any) -> dict[str, object]:
    """Return a conflict as a row of a table of several."""
    return {"slot": conflict.slot, "values": conflict_text(conflict).partition(": ")[2]}


def context_repr(context: Any) -> str:
    """Return the beginning of a text for a prompt, and what it holds."""
    return f"Context({one_line(context)!r}, {plural(len(context.hits), 'hit')}, {plural(context.tokens, 'token')})"


def context_html(context: Any) -> str:
    """Return a text for a prompt as it is, for a notebook."""
    title = f"{plural(len(context.hits), 'hit')}, {plural(context.tokens, 'token')}" if context.hits else "no hits"
    return text_html(title, str(context))


def _value(value: Any) -> str:
    return str(value.value) if value.holds else f"not {value.value}"

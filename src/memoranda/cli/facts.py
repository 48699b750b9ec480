"""`memoranda facts`, `conflicts` and `history`: what is known, what is disputed, and what was said before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from memoranda.cli.options import READ, CommandOptions, command
from memoranda.cli.output import View, cut, hint, message, print_result, safe_text, stack, table
from memoranda.cli.recall import AsOf, KnownAt, describe_scope, link_name
from memoranda.display import day_of, hit_notes, plural
from memoranda.types import ANY, Hit, Related

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memoranda.manager.manager import MemoryManager
    from memoranda.results.facts import Fact, FactConflict, FactValue
    from memoranda.results.maintenance import History

_CLAIM_LINKS: Final = ("supersedes", "contradicts", "follows")
_MAX_COLUMN: Final = 22
_MAX_SOURCE: Final = 32
_SHOWN: Final = 3
"""Former values of a fact that are shown; `history` shows all."""


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    for name, function in (("facts", facts), ("conflicts", conflicts), ("history", history)):
        command(app, name, shared=READ)(function)


def facts(options: CommandOptions, as_of: AsOf = None, known_at: KnownAt = None) -> None:
    """Show the facts that hold now, since when they hold, and what they replaced."""
    with options.open_manager() as manager:
        found = manager.facts(as_of=as_of, known_at=known_at, **options.read_scope)
        rows = [(fact.slot, _describe_fact(fact), fact.since.date(), fact.memory_id) for fact in found]
        view = _values_view(manager, options, ("slot", "value", "since", "id"), rows)
        others = describe_scope(manager, options)
    print_result(found, options.as_json, view if rows else message("no facts are known here", "yellow"))
    hint(others, options.as_json)


def conflicts(options: CommandOptions) -> None:
    """Show where sources disagree, the most trusted one first."""
    with options.open_manager() as manager:
        found = manager.conflicts(**options.read_scope)
        rows = [row for conflict in found for row in _conflict_rows(conflict)]
        view = _values_view(manager, options, ("slot", "value", "said on", "id"), rows)
        others = describe_scope(manager, options)
    print_result(found, options.as_json, view if rows else message("nothing is disputed"))
    hint(others, options.as_json)


def _values_view(
    manager: MemoryManager, options: CommandOptions, columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> View:
    """Return rows that end with the id of a memory; where they may be of several users, a table for each."""
    if not options.all_users or options.as_json:
        return lambda: _values_table(columns, rows)
    by_user: dict[str, list[Sequence[object]]] = defaultdict(list)
    for row in rows:
        by_user[manager.get(int(str(row[-1])), user=ANY).user or "of no user"].append(row)
    return lambda: stack(
        *(stack(safe_text(user, "bold cyan"), _values_table(columns, by_user[user])) for user in sorted(by_user)),
        gap=True,
    )


def _values_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> RenderableType:
    return table(columns, rows, wide="value", max_width=_MAX_COLUMN)


def history(
    options: CommandOptions,
    memory_or_slot: Annotated[
        str, typer.Argument(help="Id of a memory (12), or a slot as `facts` shows it (ana/city).")
    ],
) -> None:
    """Show earlier versions of a memory, or every value of a slot. Also shows what replaced them."""
    scope, wanted = options.read_scope, _parse_wanted(memory_or_slot)
    with options.open_manager() as manager:
        past = manager.history(wanted, **scope)
        related = manager.get_related_memories(past.memory.id, agent=scope["agent"], user=scope["user"])
    print_result(past, options.as_json, lambda: _history_view(past, related))


def _parse_wanted(text: str) -> int | str:
    """Return an id for a number, as in "12" and "#12", and else a slot, whose name always has a "/"."""
    number = text.strip().removeprefix("#")
    return int(number) if number.isascii() and number.isdigit() else text.strip()


def _describe_fact(fact: Fact) -> str:
    """Return the value, and below it who says so if not the person, what was before, and what others say."""
    lines = [_describe_value(fact)]
    if fact.trust != "user" or (fact.speaker or fact.subject).casefold() != fact.subject.casefold():
        lines.append(f"said by {_said_by(fact)}")
    if len(fact.replaced) > _SHOWN:
        lines.append(f"({plural(len(fact.replaced) - _SHOWN, 'earlier value')}: see history)")
    lines += [f"before: {cut(_describe_value(each))} (until {day_of(each.until)})" for each in fact.replaced[-_SHOWN:]]
    lines += [f"disputed by {_said_by(value)}: {cut(_describe_value(value))}" for value in fact.disputed_by]
    lines += [f"later said on {each.valid_from.date()}: {cut(each.content)} (#{each.id})" for each in fact.later[-1:]]
    return "\n".join(lines)


def _describe_value(value: Fact | FactValue) -> str:
    return value.value if value.holds else f"not {value.value}"


def _said_by(value: Fact | FactValue) -> str:
    """Return the person who said it; of other sources also what they are."""
    name = value.speaker or value.source
    if value.trust == "user":
        return cut(value.speaker or "user", _MAX_SOURCE)
    return value.trust if name in (None, value.trust) else f"{value.trust} {cut(str(name), _MAX_SOURCE)}"


def _conflict_rows(conflict: FactConflict) -> Iterator[tuple[object, ...]]:
    slot = f"{conflict.subject}/{conflict.attribute}"
    for number, value in enumerate(conflict.values):
        text = f"{_describe_value(value)}\n“{cut(value.content)}”\nsaid by {_said_by(value)}"
        yield "" if number else slot, text, value.said_at.date(), value.memory_id


def _history_view(past: History, related: Sequence[Related]) -> RenderableType:
    current, views = past.memory, []
    if past.values:
        rows = [
            (_describe_value(each), each.since.date(), each.until and each.until.date(), _said_by(each), each.memory_id)
            for each in past.values
        ]
        columns = ("value", "since", "until", "said by", "id")
        views.append(table(columns, rows, wide="value", max_width=_MAX_COLUMN))
    versions = [(version.version, version.changed_at, version.content) for version in past.versions]
    content = "\n".join([current.content, *hit_notes(Hit(current, 0.0, later=past.later))])
    rows_of_versions = [*versions, (current.version, "now", content)]
    title = f"content of memory {current.id}"
    views.append(table(("version", "until", title), rows_of_versions, wide=title, max_lines=None))
    if claims := [_claim_row(claim) for claim in current.notes.get("claims", ())]:
        views.append(table(("who", "what", "true from", "until"), claims, wide="what"))
    links = [
        (link_name(current, other), other.id, other.content)
        for other in related
        if other.relationship_type in _CLAIM_LINKS
    ]
    if links:
        views.append(table(("link", "id", "content"), links, wide="content"))
    return stack(*views, gap=True)


def _claim_row(claim: Mapping[str, Any]) -> tuple[str, str, str, str]:
    value = claim["value"] if claim["holds"] else f"not {claim['value']}"
    return claim["subject"], f"{claim['attribute']}: {value}", claim["valid_from"][:10], (claim["valid_to"] or "")[:10]

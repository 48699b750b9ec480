"""Commands that read memories.

`memoranda search`, `recall`, `context`, `why`, `replay`, `show`, `list`, `users`, `facts`, `conflicts`, `history`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from memoranda.cli.options import READ, CommandOptions, command, parse_end, parse_start
from memoranda.cli.output import (
    View,
    cut,
    fields_table,
    hint,
    hits_view,
    memories_table,
    message,
    print_result,
    record_table,
    safe_text,
    stack,
    table,
)
from memoranda.display import day_of, hit_notes, plural, reason_name, said_by, value_text
from memoranda.results.recall import Replay, WhyNot
from memoranda.types import ANY, ArmScore, Hit, Memory, Recall, Related

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memoranda.manager.manager import MemoryManager
    from memoranda.results.maintenance import History, UserActivity
    from memoranda.results.recall import Fact, FactConflict


def _check_question(text: str) -> str:
    if not text.strip():
        raise typer.BadParameter("the question is empty")
    return text


Query = Annotated[str, typer.Argument(help="The question, in plain words.", callback=_check_question)]
MemoryId = Annotated[int, typer.Argument(help="Id of the memory.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of results.")]
Offset = Annotated[int, typer.Option(help="How many results to leave out at the beginning.")]
Kinds = Annotated[
    list[str] | None, typer.Option("--type", "-t", metavar="TYPE", help="Only this memory type; can be repeated.")
]
TIME: Final = "TIME"
Now = Annotated[
    datetime | None,
    typer.Option(parser=parse_start, metavar=TIME, help='Time that "today" and "last week" refer to. Default: now.'),
]
Mode = Annotated[str | None, typer.Option(help="fast, default or best.")]
AsOf = Annotated[
    datetime | None,
    typer.Option(
        parser=parse_end,
        metavar=TIME,
        help='Answer with what was true then: 2026-03-08 (its end), 2026-03-08T12:00Z, yesterday, "last monday".',
    ),
]
KnownAt = Annotated[
    datetime | None,
    typer.Option(parser=parse_end, metavar=TIME, help="Answer with what was known then; written like --as-of."),
]
MinScore = Annotated[float | None, typer.Option(help="The lowest score of a result, from 0 to 1.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    for name, function in (("search", search), ("recall", recall), ("context", context), ("why", why)):
        command(app, name, shared=READ)(function)
    command(app, "replay", shared=READ)(replay)
    command(app, "show", shared=READ)(show_memory)
    command(app, "list", shared=READ)(list_memories)
    command(app, "users")(list_users)
    command(app, "facts", shared=READ)(facts)
    command(app, "conflicts", shared=READ)(conflicts)
    command(app, "history", shared=READ)(history)


def search(options: CommandOptions, query: Query, limit: Limit = 5, kinds: Kinds = None) -> None:
    """Search memories by meaning and by words."""
    with options.open_manager() as manager:
        hits = manager.search_memories(query, kinds or None, limit, **options.read_scope)
        others = describe_scope(manager, options)
    print_result(hits, options.as_json, lambda: hits_view(hits) if hits else safe_text("nothing found", "yellow"))
    hint(others, options.as_json)


def recall(
    options: CommandOptions,
    query: Query,
    limit: Limit = 10,
    kinds: Kinds = None,
    now: Now = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    min_score: MinScore = None,
    mode: Mode = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show how the question was interpreted.")] = False,
) -> None:
    """Find the memories that answer a question. Also shows how likely it is that memory holds an answer."""
    with options.open_manager() as manager:
        found = manager.recall(
            query,
            types=kinds or None,
            limit=limit,
            now=now,
            as_of=as_of,
            known_at=known_at,
            min_score=min_score,
            mode=mode,
            explain=explain,
            **options.read_scope,
        )
        others = describe_scope(manager, options)
    print_result(found, options.as_json, lambda: _recall_view(found))
    hint(others, options.as_json)


def context(
    options: CommandOptions,
    query: Query,
    budget: Annotated[int, typer.Option(help="Maximum number of tokens.")] = 1500,
    now: Now = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    min_score: Annotated[
        float | None,
        typer.Option(help="The lowest score of a result; 0 shows all. Default: leave out what is hardly related."),
    ] = None,
) -> None:
    """Print the memories for a question as text for a prompt."""
    with options.open_manager() as manager:
        text = manager.context(
            query,
            budget=budget,
            now=now,
            as_of=as_of,
            known_at=known_at,
            min_score=min_score,
            **options.read_scope,
        )
        others = describe_scope(manager, options)
    if options.as_json:
        print_result({"text": str(text), "tokens": text.tokens, "answerable": text.answerable}, True)
    elif text:
        typer.echo(str(text))
    else:
        hint("nothing found that fits the question; --min-score 0 shows what is hardly related", False)
    hint(others, options.as_json)


def why(
    options: CommandOptions,
    query: Query,
    memory_id: MemoryId,
    limit: Limit = 10,
    now: Now = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    min_score: MinScore = None,
) -> None:
    """Explain why a memory is or is not found for a question."""
    with options.open_manager() as manager:
        ask = partial(
            manager.recall, limit=limit, now=now, as_of=as_of, known_at=known_at, min_score=min_score, explain=True
        )
        found = ask(query, **options.read_scope)
        position = next((position for position, hit in enumerate(found, start=1) if hit.id == memory_id), None)
        if position is None:
            explain = partial(
                manager.why_not, limit=limit, now=now, as_of=as_of, known_at=known_at, min_score=min_score
            )
            reason = explain(query, memory_id, **options.read_scope)
            print_result(reason, options.as_json, lambda: _why_not_view(reason))
            return
    hit = found[position - 1]
    print_result({"position": position, "hit": hit}, options.as_json, lambda: _why_view(hit, position))


def replay(options: CommandOptions, recall_id: Annotated[str, typer.Argument(help="Id that `recall` showed.")]) -> None:
    """Show a past recall exactly as answered. Name the scope in which it was asked."""
    with options.open_manager() as manager:
        past = manager.replay(recall_id, **options.read_scope)
    print_result(past, options.as_json, lambda: _replay_view(past))


def show_memory(options: CommandOptions, memory_id: MemoryId) -> None:
    """Show one memory and its links to others."""
    scope = options.read_scope
    with options.open_manager() as manager:
        memory = manager.get(memory_id, **scope)
        related = manager.get_related_memories(memory_id, agent=scope["agent"], user=scope["user"])
    views = [lambda: record_table(memory)]
    if related:
        rows = [(link_name(memory, other), f"{other.strength:.2f}", other.id, other.content) for other in related]
        views.append(lambda: table(("link", "strength", "id", "content"), rows, wide="content"))
    print_result({"memory": memory, "related": related}, options.as_json, *views)


def list_memories(
    options: CommandOptions,
    limit: Limit = 20,
    after: Annotated[int, typer.Option(help="Start after this id: the last one of the previous page.")] = 0,
    offset: Offset = 0,
    kinds: Kinds = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    quarantined: Annotated[bool, typer.Option("--quarantined", help="Only memories in quarantine.")] = False,
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="Start with the memory stored first.")] = False,
) -> None:
    """List memories, most recently stored first."""
    with options.open_manager() as manager:
        memories = manager.list_memories(
            limit,
            after,
            types=kinds or None,
            as_of=as_of,
            known_at=known_at,
            quarantined=quarantined,
            newest_first=not oldest_first,
            offset=offset,
            **options.read_scope,
        )
        others = describe_scope(manager, options)
    none = message("nothing is in quarantine here" if quarantined else "no memories here", "yellow")
    view = (lambda: memories_table(memories, with_user=options.all_users)) if memories else none
    print_result(memories, options.as_json, view)
    if len(memories) == limit:
        hint(
            f"{plural(limit, 'memory', 'memories')} shown; for the next page add --after {memories[-1].id}",
            options.as_json,
        )
    hint(others, options.as_json)


def list_users(
    options: CommandOptions,
    limit: Limit = 100,
    offset: Offset = 0,
) -> None:
    """List the users that have memories, by name."""
    with options.open_manager() as manager:
        found = manager.users(limit, offset)
    rows = [(each.user, each.memories, each.last_active) for each in found]
    none = message("no user has memories here", "yellow")
    view = (lambda: table(("user", "memories", "last stored"), rows, wide="user")) if rows else none
    print_result(found, options.as_json, view)
    if len(found) == limit:
        hint(f"for the next page add --offset {offset + limit}", options.as_json)


_USERS_NAMED: Final = 8


def describe_scope(manager: MemoryManager, options: CommandOptions) -> str | None:
    """Return whose memories were left out because no user was named, or one without memories; None when none were."""
    if options.all_users or options.as_json:
        return None
    if options.user is not None and manager.list_memories(1, user=options.user):
        return None
    found = manager.users(_USERS_NAMED + 1)
    if options.user is None:
        start = "only memories that belong to no user were read. Users with memories:"
        return f"{start} {_name_users(found)}; choose with --user NAME or --all-users" if found else None
    users = f"users with memories: {_name_users(found)}" if found else "no user has any"
    return f"{options.user} has no memories here; {users}"


def _name_users(users: Sequence[UserActivity]) -> str:
    names = ", ".join(f"{each.user} ({each.memories:,})" for each in users[:_USERS_NAMED])
    return f"{names}, … (`memoranda users` lists all)" if len(users) > _USERS_NAMED else names


def link_name(memory: Memory, other: Related) -> str:
    """Name the link to another memory as seen from this one."""
    if other.relationship_type == "follows":
        is_later = (other.memory.valid_from, other.id) > (memory.valid_from, memory.id)
        return "followed by" if is_later else "follows"
    if other.relationship_type != "supersedes":
        return other.relationship_type
    ended_by = {claim.get("ended_by") for claim in memory.notes.get("claims", ())}
    return "superseded by" if other.id in {memory.superseded_by, *ended_by} else other.relationship_type


def _recall_view(found: Recall) -> RenderableType:
    explanation = [record_table(found.explanation)] if found.explanation else []
    hits = hits_view(found) if len(found) else safe_text("nothing found", "yellow")
    summary = f"{len(found)} found · answerable {found.answerable:.2f} · {found.elapsed_ms:.0f} ms · recall {found.id}"
    skipped = [safe_text(f"without {step}", "yellow") for step in found.degraded]
    return stack(*explanation, hits, safe_text(summary, "dim"), *skipped)


def _replay_view(past: Replay) -> RenderableType:
    from rich.console import Group

    asked = [("asked at", past.asked_at), ("question", past.recall.query), *past.parameters.items()]
    gone = [safe_text(f"position {hit.position}: memory {hit.id} was deleted since", "yellow") for hit in past.erased]
    return Group(fields_table(asked), _recall_view(past.recall), *gone)


def _why_view(hit: Hit, position: int) -> RenderableType:
    fields = fields_table([("position", position), ("score", f"{hit.score:.3f}"), ("content", hit.content)])
    return stack(fields, _signals(hit.why))


def _why_not_view(found: WhyNot) -> RenderableType:
    fields: list[tuple[str, object]] = [("id", found.id), ("reason", found.reason)]
    if found.rank is not None and found.score is not None:
        fields += [("rank", found.rank), ("score", f"{found.score:.3f}")]
    return stack(fields_table(fields), _signals(found.why)) if found.why else fields_table(fields)


def _signals(why: Sequence[ArmScore]) -> RenderableType:
    """Return what each arm and boost did for a memory, the strongest first."""
    total = sum(score.gain for score in why if score.gain > 0) or 1.0
    strongest = sorted(why, key=lambda score: -score.gain)
    rows = ((reason_name(each.arm), each.rank or "", *_share(each.gain / total)) for each in strongest)
    return table(("found by", "rank", "share", ""), rows)


def _share(share: float) -> tuple[str, str]:
    """Return how much a reason counted, as a number and as a bar; less than nothing speaks against the memory."""
    return f"{share:.0%}", "█" * round(share * 30) if share > 0 else "against it" if share < 0 else ""


_CLAIM_LINKS: Final = ("supersedes", "contradicts", "follows")
_MAX_COLUMN: Final = 22
_MAX_SOURCE: Final = 32
_SHOWN: Final = 3
"""Former values of a fact that are shown; `history` shows all."""


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
    """Show where sources disagree, the most trusted source first."""
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
    lines = [value_text(fact)]
    if fact.trust != "user" or (fact.speaker or fact.subject).casefold() != fact.subject.casefold():
        lines.append(f"said by {said_by(fact, _cut_name)}")
    if len(fact.replaced) > _SHOWN:
        lines.append(f"({plural(len(fact.replaced) - _SHOWN, 'earlier value')}: see history)")
    lines += [f"before: {cut(value_text(each))} (until {day_of(each.until)})" for each in fact.replaced[-_SHOWN:]]
    lines += [f"disputed by {said_by(value, _cut_name)}: {cut(value_text(value))}" for value in fact.disputed_by]
    lines += [f"later said on {each.valid_from.date()}: {cut(each.content)} (#{each.id})" for each in fact.later[-1:]]
    return "\n".join(lines)


def _cut_name(name: str) -> str:
    return cut(name, _MAX_SOURCE)


def _conflict_rows(conflict: FactConflict) -> Iterator[tuple[object, ...]]:
    slot = f"{conflict.subject}/{conflict.attribute}"
    for number, value in enumerate(conflict.values):
        text = f"{value_text(value)}\n“{cut(value.content)}”\nsaid by {said_by(value, _cut_name)}"
        yield "" if number else slot, text, value.said_at.date(), value.memory_id


def _history_view(past: History, related: Sequence[Related]) -> RenderableType:
    current, views = past.memory, []
    if past.values:
        rows = [
            (
                value_text(each),
                each.since.date(),
                each.until and each.until.date(),
                said_by(each, _cut_name),
                each.memory_id,
            )
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

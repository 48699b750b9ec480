"""`memoranda search`, `recall`, `context`, `why`, `show`, `list`: what is in memory, and why it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from memoranda.cli.calls import READ, Call, command
from memoranda.cli.output import hits_table, memories_table, pairs, record, said, show, table
from memoranda.types import Hit, Memory, Recall, Related

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memoranda.results import History

Query = Annotated[str, typer.Argument(help="The question, in plain words.")]
MemoryId = Annotated[int, typer.Argument(help="The memory's id.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="How many at most.")]
Kinds = Annotated[list[str] | None, typer.Option("--type", "-t", help="Only this type; may be repeated.")]
Now = Annotated[str | None, typer.Option(help='The moment that "last week" counts from.')]
Mode = Annotated[str | None, typer.Option(help="fast, default or best.")]

_ON_TRUTH: Final = ("supersedes", "contradicts")


def register(app: typer.Typer) -> None:
    """Adds these commands."""
    for name, function in (("search", search), ("recall", recall), ("context", context), ("why", why)):
        command(app, name, options=READ)(function)
    command(app, "show", options=READ)(show_memory)
    command(app, "history", options=READ)(history)
    command(app, "list", options=READ)(list_memories)


def search(call: Call, query: Query, limit: Limit = 5, kinds: Kinds = None) -> None:
    """Find memories by what they say."""
    with call.manager() as manager:
        hits = manager.search_memories(query, kinds or None, limit, **call.read_scope)
    show(hits, call.as_json, lambda: hits_table(hits) if hits else said("nothing found", "yellow")())


def recall(
    call: Call,
    query: Query,
    limit: Limit = 10,
    kinds: Kinds = None,
    now: Now = None,
    as_of: Annotated[str | None, typer.Option(help="Answer from what was known and true at this time.")] = None,
    mode: Mode = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show how the question was read.")] = False,
) -> None:
    """Answer a question from memory, with how sure it is."""
    with call.manager() as manager:
        found = manager.recall(
            query, types=kinds or None, limit=limit, now=now, as_of=as_of, mode=mode, explain=explain, **call.read_scope
        )
    show(found, call.as_json, lambda: _recall_view(found))


def context(
    call: Call,
    query: Query,
    budget: Annotated[int, typer.Option(help="Tokens at most.")] = 1500,
    now: Now = None,
) -> None:
    """What memory says on a question, as text for a prompt."""
    with call.manager() as manager:
        text = manager.context(query, budget=budget, now=now, **call.read_scope)
    if call.as_json:
        show({"text": str(text), "tokens": text.tokens, "answerable": text.answerable}, True, lambda: None)
    else:
        typer.echo(str(text))


def why(call: Call, query: Query, memory_id: MemoryId, limit: Limit = 10, now: Now = None) -> None:
    """Why a memory is found for a question, or why not."""
    with call.manager() as manager:
        found = manager.recall(query, limit=limit, now=now, explain=True, **call.read_scope)
        hit = next((hit for hit in found if hit.id == memory_id), None)
        if hit is None:
            missed = manager.why_not(query, memory_id, limit=limit, now=now, **call.read_scope)
            show(missed, call.as_json, lambda: record(missed))
            return
    place = list(found).index(hit) + 1
    show({"place": place, "hit": hit}, call.as_json, lambda: _why_view(hit, place))


def show_memory(call: Call, memory_id: MemoryId) -> None:
    """Everything about one memory, and what it is linked to."""
    scope = call.read_scope
    with call.manager() as manager:
        memory = manager.get(memory_id, **scope)
        related = manager.get_related_memories(memory_id, agent=scope["agent"], user=scope["user"])
    show({"memory": memory, "related": related}, call.as_json, lambda: record(memory))
    if related and not call.as_json:
        rows = ((_link(memory, each), f"{each.strength:.2f}", each.id, each.content) for each in related)
        show(None, False, lambda: table(("link", "strength", "id", "content"), rows, wide="content"))


def history(call: Call, memory_id: MemoryId) -> None:
    """What a memory was before, what of it still holds, and what took its place."""
    scope = call.read_scope
    with call.manager() as manager:
        past = manager.history(memory_id, **scope)
        related = manager.get_related_memories(memory_id, agent=scope["agent"], user=scope["user"])
    show(past, call.as_json, lambda: _past_view(past, related))


def list_memories(
    call: Call,
    limit: Limit = 20,
    after: Annotated[int, typer.Option(help="Go on after this id.")] = 0,
    kinds: Kinds = None,
) -> None:
    """List memories in the order of their ids."""
    with call.manager() as manager:
        memories = manager.list_memories(limit, after, types=kinds or None, **call.read_scope)
    show(memories, call.as_json, lambda: memories_table(memories) if memories else said("nothing here", "yellow")())


def _past_view(past: History, related: Sequence[Related]) -> RenderableType:
    from rich.console import Group

    now = past.memory
    versions = [(each.version, each.changed_at, each.content) for each in past.versions]
    rows = [*versions, (now.version, "now", now.content)]
    views = [table(("version", "until", "content"), rows, wide="content")]
    if claims := [_claim(claim) for claim in now.notes.get("claims", ())]:
        views.append(table(("who", "what", "true from", "until"), claims, wide="what"))
    links = [(_link(now, each), each.id, each.content) for each in related if each.relationship_type in _ON_TRUTH]
    if links:
        views.append(table(("link", "id", "content"), links, wide="content"))
    return Group(*views)


def _claim(claim: Mapping[str, Any]) -> tuple[str, str, str, str]:
    said = claim["value"] if claim["holds"] else f"not {claim['value']}"
    return claim["subject"], f"{claim['attribute']}: {said}", claim["valid_from"][:10], (claim["valid_to"] or "")[:10]


def _link(memory: Memory, other: Related) -> str:
    """A link as it reads from this memory."""
    if other.relationship_type != "supersedes":
        return other.relationship_type
    ended_by = {claim.get("ended_by") for claim in memory.notes.get("claims", ())}
    return "superseded by" if other.id in {memory.superseded_by, *ended_by} else other.relationship_type


def _recall_view(found: Recall) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    sure = f"{len(found)} found · answerable {found.answerable:.2f} · {found.elapsed_ms:.0f} ms"
    lines = [Text(sure, style="dim")] + [Text(f"without {each}", style="yellow") for each in found.degraded]
    answers = hits_table(found) if len(found) else Text("nothing found", style="yellow")
    return Group(*([record(found.explanation)] if found.explanation else []), answers, *lines)


def _why_view(hit: Hit, place: int) -> RenderableType:
    from rich.console import Group

    rows = ((each.arm, each.rank or "", f"{each.score:+.3f}", _bar(each.score)) for each in hit.why)
    about = pairs([("place", place), ("score", f"{hit.score:.3f}"), ("content", hit.content)])
    return Group(about, table(("arm", "rank", "score", ""), rows))


def _bar(score: float) -> str:
    return "█" * min(40, max(1, round(abs(score) * 10)))

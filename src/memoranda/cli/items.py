"""`memoranda items`: values under keys of namespaces. `memoranda agents`: who has memories."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from memoranda.cli.options import READ, WRITE, CommandOptions, command
from memoranda.cli.output import fields_table, hint, make_group, message, print_result, table
from memoranda.cli.recall import Limit, Offset, describe_scope
from memoranda.display import plural
from memoranda.errors import InvalidInput, NotFound
from memoranda.results.maintenance import NameActivity
from memoranda.types import JSON

items = make_group("Store, show and search JSON values by namespace and key.")

Namespace = Annotated[
    str,
    typer.Argument(help='Names of the namespace with slashes between them, users/ann, or as JSON: ["users", "a/b"].'),
]
Prefix = Annotated[str, typer.Argument(help="Beginning of the namespaces: users/ann, or as JSON. Default: all.")]
Key = Annotated[str, typer.Argument(help="The key.")]


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    command(app, "agents", shared=READ)(list_agents)
    command(app, "sessions", shared=READ)(list_session_names)


def put_item(
    options: CommandOptions,
    namespace: Namespace,
    key: Key,
    value: Annotated[str, typer.Argument(help="The value as JSON, or a text that does not look like JSON.")],
    ttl: Annotated[float | None, typer.Option(help="Seconds until it expires. Default: never.")] = None,
    index: Annotated[
        list[str] | None, typer.Option(metavar="FIELD", help="Search only this field; can be repeated.")
    ] = None,
    no_index: Annotated[bool, typer.Option("--no-index", help="Keep it out of searches and recall.")] = False,
) -> None:
    """Store a value. It replaces the one under the same key."""
    if index and no_index:
        raise InvalidInput("give --index or --no-index, not both")
    with options.open_manager(create=True) as manager:
        chosen = False if no_index else index or None
        item = manager.put(_names(namespace), key, _parse_value(value), ttl=ttl, index=chosen, **options.scope)
    print_result(item, options.as_json, message(f"{namespace} {key} stored"))


def show_item(options: CommandOptions, namespace: Namespace, key: Key) -> None:
    """Show an item."""
    with options.open_manager() as manager:
        item = manager.get_item(_names(namespace), key, **options.scope)
    if item is None:
        raise NotFound(
            f"no item {key!r} in {namespace}: `memoranda items list {namespace}` shows what is there{_whose(options)}"
        )
    print_result(item, options.as_json, lambda: fields_table([*item.items()]))


def delete_items(
    options: CommandOptions,
    namespace: Namespace,
    keys: Annotated[list[str], typer.Argument(help="The keys.")],
) -> None:
    """Delete items."""
    with options.open_manager() as manager:
        count = manager.delete_item(_names(namespace), keys, **options.scope)
    if not count:
        raise NotFound(
            f"no such item in {namespace}: `memoranda items list {namespace}` shows what is there{_whose(options)}"
        )
    print_result({"deleted": count}, options.as_json, message(f"{plural(count, 'item')} deleted"))


def _whose(options: CommandOptions) -> str:
    return "" if options.user else "; items of a user need --user NAME"


def list_items(
    options: CommandOptions,
    prefix: Prefix = "",
    query: Annotated[str | None, typer.Option("--query", "-q", help="What to look for, in plain words.")] = None,
    where: Annotated[
        str | None, typer.Option("--filter", "--where", help='Conditions on fields, as JSON: {"year": {"gte": 2024}}.')
    ] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List items, most recently stored first. With a query, the best match is first."""
    conditions = None if where is None else _parse_object(where)
    with options.open_manager() as manager:
        page = {"limit": limit, "offset": offset}
        found = manager.search_items(_names(prefix), query=query, filter=conditions, **page, **options.scope)  # type: ignore[arg-type]
    rows = [
        (_to_path(item.namespace), item.key, "" if item.score is None else f"{item.score:.2f}", _to_json(item.value))
        for item in found
    ]
    none = message(f"no items here{_whose(options)}", "yellow")
    view = (lambda: table(("namespace", "key", "score", "value"), rows, wide="value")) if rows else none
    print_result(found, options.as_json, view)
    if len(found) == limit:
        hint(f"for the next page add --offset {offset + limit}", options.as_json)


def list_namespaces(
    options: CommandOptions,
    prefix: Prefix = "",
    max_depth: Annotated[int | None, typer.Option(help="Show only this many names of each namespace.")] = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> None:
    """List the namespaces that have items, and how many."""
    with options.open_manager() as manager:
        found = manager.namespaces(_names(prefix), max_depth=max_depth, limit=limit, offset=offset, **options.scope)
    rows = [(_to_path(each.namespace), each.count, each.last_active) for each in found]
    none = message(f"no namespace has items here{_whose(options)}", "yellow")
    view = (lambda: table(("namespace", "items", "last stored"), rows, wide="namespace")) if rows else none
    print_result(found, options.as_json, view)
    if len(found) == limit:
        hint(f"for the next page add --offset {offset + limit}", options.as_json)


def list_agents(options: CommandOptions, limit: Limit = 100, offset: Offset = 0) -> None:
    """List the agents that have memories, by name."""
    with options.open_manager() as manager:
        found = manager.agents(limit, offset, user=options.read_scope["user"])
        others = describe_scope(manager, options)
    print_names(options, found, "agent", limit, offset)
    hint(others, options.as_json)


def list_session_names(options: CommandOptions, limit: Limit = 100, offset: Offset = 0) -> None:
    """List the sessions that have memories, by name."""
    with options.open_manager() as manager:
        scope = options.read_scope
        found = manager.sessions(limit, offset, agent=scope["agent"], user=scope["user"])
        others = describe_scope(manager, options)
    print_names(options, found, "session", limit, offset)
    hint(others, options.as_json)


def print_names(options: CommandOptions, found: list[NameActivity], what: str, limit: int, offset: int) -> None:
    """Print agents or sessions, and how to see more."""
    rows = [(each.name, each.memories, each.last_active) for each in found]
    none = message(f"no {what} has memories here", "yellow")
    view = (lambda: table((what, "memories", "last stored"), rows, wide=what)) if rows else none
    print_result(found, options.as_json, view)
    if len(found) == limit:
        hint(f"for the next page add --offset {offset + limit}", options.as_json)


def _names(path: str) -> tuple[str, ...]:
    names = _parse(path) if path.startswith("[") else None
    if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        return tuple(map(str, names))
    return tuple(path.split("/")) if path else ()


def _to_path(names: Sequence[str]) -> str:
    """Return a namespace as `_names` reads it."""
    path = "/".join(names)
    return path if _names(path) == tuple(names) else _to_json(list(names))


def _parse(value: str) -> JSON:
    try:
        parsed: JSON = json.loads(value)
        return parsed
    except ValueError:
        return value


def _parse_value(value: str) -> JSON:
    parsed = _parse(value)
    if isinstance(parsed, str) and value.lstrip()[:1] in ("{", "["):
        raise InvalidInput(f"the value is not JSON, though it begins like it: for a text, write {_to_json(value)}")
    return parsed


def _parse_object(value: str) -> dict[str, JSON]:
    parsed = _parse(value)
    if not isinstance(parsed, dict):
        raise InvalidInput('--filter must be a JSON object, such as {"color": "red"}')
    return parsed


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


command(items, "put", shared=WRITE)(put_item)
command(items, "show", shared=WRITE)(show_item)
command(items, "list", shared=WRITE)(list_items)
command(items, "delete", shared=WRITE)(delete_items)
command(items, "namespaces", shared=WRITE)(list_namespaces)

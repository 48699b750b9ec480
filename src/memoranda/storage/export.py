"""Everything of a tenant as lines of JSON: to read, to keep, to load into another store.

The first line names the format, the last one the counts, so that a file that was cut off is recognised. In between
stand messages, memories and what hangs on them, ended sessions and execution records, in this order; unknown fields
of a newer version are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, func, select

from memoranda.storage.records import LINKS, LOGS, TABLES, to_record
from memoranda.storage.rows import to_json, within
from memoranda.storage.schema import memories
from memoranda.types import ANY, JSON, Scope

FORMAT: Final = "memoranda"
VERSION: Final = 1
_BATCH: Final = 500


def export_lines(connection: Connection, scope: Scope, store_id: str) -> Iterator[str]:
    """Lines without their line ends, all as of one commit."""
    connection.exec_driver_sql("BEGIN")
    counts = dict.fromkeys([*TABLES, *LINKS, *LOGS], 0)
    yield to_json({"kind": "header", "format": FORMAT, "version": VERSION, "store": store_id})
    for record in _records(connection, scope):
        counts[str(record["kind"])] += 1
        yield to_json(record)
    yield to_json({"kind": "end", **counts})
    connection.exec_driver_sql("ROLLBACK")


def count_memories(connection: Connection, scope: Scope) -> int:
    return int(
        connection.execute(select(func.count()).select_from(memories).where(*within(memories, scope))).scalar_one()
    )


def _records(connection: Connection, scope: Scope) -> Iterator[dict[str, JSON]]:
    for kind, table in TABLES.items():
        key = next(iter(table.primary_key.columns))
        for row in _stream(connection, table, [*within(table, scope)], [key]):
            yield to_record(kind, row)
    mine = select(memories.c.id).where(*within(memories, scope))
    for kind, (table, ends) in LINKS.items():
        held = [table.c[end].in_(mine) for end in ends]
        for row in _stream(connection, table, held, list(table.primary_key.columns)):
            yield to_record(kind, row)
    yield from _logs(connection, scope)


def _logs(connection: Connection, scope: Scope) -> Iterator[dict[str, JSON]]:
    """Only of a whole tenant, or of one agent or session of it: no user can be told apart in them."""
    if scope.user is not ANY:
        return
    for kind, table in LOGS.items():
        named = {"agent": scope.agent, "id" if kind == "session" else "session": scope.session}
        given = {name: value for name, value in named.items() if value is not None}
        if all(name in table.columns for name in given):
            held = [table.c.tenant == scope.tenant, *(table.c[name] == value for name, value in given.items())]
            order = [table.c.ended_at, table.c.id] if kind == "session" else [table.c.number]
            for row in _stream(connection, table, held, order):
                yield to_record(kind, row)


def _stream(
    connection: Connection, table: Table, where: Sequence[ColumnElement[bool]], order: Sequence[ColumnElement[Any]]
) -> Iterator[dict[str, Any]]:
    wanted = select(table).where(*where).order_by(*order).execution_options(yield_per=_BATCH)
    yield from (dict(row) for row in connection.execute(wanted).mappings())

"""Many rows at once: in pieces that a statement takes, and past the statement builder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Connection

from memoranda.storage.connections import driver_connection

_T = TypeVar("_T")
_AT_ONCE = 500
_LAST_ID = "SELECT seq FROM sqlite_sequence WHERE name = ?"


def chunked(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """The values in pieces that fit one statement."""
    return (values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE))


def insert_rows(connection: Connection, table: str, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
    """Rows of one table, straight to the driver: SQLAlchemy would take longer than SQLite."""
    driver_connection(connection).executemany(_insert_statement(table, columns), rows)


@cache
def _insert_statement(table: str, columns: tuple[str, ...]) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"


def free_id(connection: Connection, table: str) -> int:
    """The number that the next row takes."""
    # Ids are never used again, so the counter of AUTOINCREMENT decides and not the largest id that is left.
    last = driver_connection(connection).execute(_LAST_ID, (table,)).fetchone()
    return 1 if last is None else int(last[0]) + 1

"""Arrays in the binary form that the server reads. The driver writes a list item by item in Python, which takes longer
than all other work of a client on a row."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format
from sqlalchemy import Table
from sqlalchemy.dialects import postgresql

_Writer: TypeAlias = Callable[[Any], bytes]
_NULL: Final = struct.pack(">i", -1)
_pack_length: Final = struct.Struct(">i").pack
_pack_integer: Final = struct.Struct(">iq").pack
_pack_float: Final = struct.Struct(">id").pack
_pack_head: Final = struct.Struct(">iiIii").pack


def _write_text(value: str) -> bytes:
    data = value.encode()
    return _pack_length(len(data)) + data


def _write_bytes(value: bytes | bytearray) -> bytes:
    return _pack_length(len(value)) + value


def _write_integer(value: int) -> bytes:
    return _pack_integer(8, value)


def _write_float(value: float) -> bytes:
    return _pack_float(8, value)


_TYPES: Final[dict[str, tuple[int, _Writer]]] = {
    "TEXT": (25, _write_text),
    "BYTEA": (17, _write_bytes),
    "BIGINT": (20, _write_integer),
    "DOUBLE PRECISION": (701, _write_float),
}
"""Each type of a column: its number in every PostgreSQL, and how a value of it is written."""


class _Array(bytes):
    """An array that is written already."""


class _ArrayDumper(Dumper):
    format = Format.BINARY
    oid = 0  # the statement says of which type it is

    def dump(self, obj: _Array) -> _Array:
        return obj


psycopg.adapters.register_dumper(_Array, _ArrayDumper)


def column_type(table: Table, column: str) -> str:
    """Return the type of a column as SQL has it."""
    compiled = table.c[column].type.compile(postgresql.dialect())  # type: ignore[no-untyped-call]
    return compiled.partition(" COLLATE")[0]


@cache
def _types_of(table: Table, columns: tuple[str, ...]) -> list[tuple[int, _Writer]]:
    return [_TYPES[column_type(table, column)] for column in columns]


def column_arrays(table: Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> list[bytes]:
    """Return the values of each column as one array."""
    return [
        _write_array(*of_type, values)
        for of_type, values in zip(_types_of(table, columns), zip(*rows, strict=True), strict=True)
    ]


def _write_array(type_number: int, write: _Writer, values: Sequence[Any]) -> _Array:
    head = _pack_head(1, 1, type_number, len(values), 1)  # one dimension, perhaps with NULL, from index 1
    try:
        return _Array(head + b"".join([_NULL if value is None else write(value) for value in values]))
    except (struct.error, AttributeError, TypeError) as error:
        raise psycopg.DataError(str(error)) from error

"""Expressions that SQLite and PostgreSQL write differently."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TEXT, Boolean


class by_dialect(FunctionElement[bool]):
    """A condition written for SQLite and for PostgreSQL. Both have the same parameters to the cache of statements."""

    type = Boolean()
    inherit_cache = True

    def __init__(self, sqlite: ColumnElement[bool], postgresql: ColumnElement[bool]) -> None:
        super().__init__(sqlite, postgresql)


@compiles(by_dialect)
def _compile_choice(element: by_dialect, compiler: SQLCompiler, **options: Any) -> str:
    sqlite, postgresql = element.clauses
    return f"({compiler.process(postgresql if compiler.dialect.name == 'postgresql' else sqlite, **options)})"


class json_items(FunctionElement[str]):
    """The items of a JSON array as rows with a column `value`."""

    name = "json_each"
    type = TEXT()
    inherit_cache = True


@compiles(json_items)
def _compile_items(element: json_items, compiler: SQLCompiler, **options: Any) -> str:
    argument = compiler.process(element.clauses, **options)
    if compiler.dialect.name == "postgresql":
        return f"json_array_elements_text(CAST({argument} AS json))"
    return f"json_each({argument})"

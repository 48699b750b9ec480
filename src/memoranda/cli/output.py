"""Output of commands: tables for people, JSON for programs, progress on standard error, errors and exit codes.

Rich is imported when something is printed as a table: `--help` and `--json` do without it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import typer
from typer.core import TyperGroup

from memoranda.errors import (
    Conflict,
    Denied,
    Incompatible,
    InvalidInput,
    MemorandaError,
    MissingExtra,
    NotFound,
    Unavailable,
)
from memoranda.types import JSON, Progress, Record

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from memoranda.types import Hit, Memory

View: TypeAlias = "Callable[[], RenderableType]"
"""Builds what is printed for people. A function, so that JSON output never builds it."""

# Stored text must not move the cursor or change the colours of the terminal it is printed on.
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def print_result(value: object, as_json: bool, *views: View) -> None:
    """Print the value as JSON, or print the views one below the other."""
    if as_json:
        typer.echo(json.dumps(to_json(value), ensure_ascii=False))
        return
    from rich.console import Console

    console = Console(soft_wrap=False, highlight=False, emoji=False)
    for view in views:
        console.print(view())


def to_json(value: object) -> JSON:
    """Convert a value object to plain JSON data."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str | PathLike):
        return str(value)
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    assert isinstance(value, Iterable), value
    return [to_json(item) for item in value]


def safe_text(value: object, style: str = "") -> Text:
    """Return the value as text, with control characters replaced and markup shown as it is."""
    from rich.text import Text

    return Text(_CONTROLS.sub("\ufffd", str(value)), style=style)


def message(text: str, style: str = "green") -> View:
    """Return a view of one line that says what was done."""
    return lambda: safe_text(text, style)


def problem_list(problems: Sequence[str]) -> View:
    """Return a view of the problems, one per line, in red."""
    return message("\n".join(f"✗ {problem}" for problem in problems), "red")


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, wide: str | None = None, max_width: int | None = None
) -> RenderableType:
    """Return a table.

    Args:
        columns: The titles of the columns.
        rows: The cells of each row.
        wide: The column that takes the remaining width.
        max_width: The largest width of the others, in characters.
    """
    from rich.table import Table

    result = Table(header_style="bold", border_style="dim", expand=wide is not None)
    for column in columns:
        if column == wide:
            result.add_column(column, ratio=1, overflow="fold")
        else:
            result.add_column(column, max_width=max_width, overflow="fold")
    for row in rows:
        result.add_row(*(safe_text(_cell(value)) for value in row))
    return result


def _cell(value: object) -> object:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    if isinstance(value, list | tuple | dict):
        return ", ".join(map(str, value))
    return "" if value is None else value


def stack(*views: RenderableType) -> RenderableType:
    """Return the views as one, below each other."""
    from rich.console import Group

    return Group(*views)


def fields_table(fields: Iterable[tuple[str, object]]) -> RenderableType:
    """Return names and values, one line each."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, value in fields:
        grid.add_row(name, safe_text("" if value is None else value))
    return grid


def record_table(record: Record) -> RenderableType:
    """Return one line for each field of a value object that is set."""
    return fields_table([(name, record[name]) for name in list(record.keys()) if record[name] not in (None, {}, ())])


def memories_table(memories: Iterable[Memory]) -> RenderableType:
    rows = ((m.id, m.type.value, f"{m.importance:.2f}", m.valid_from.date(), _describe_memory(m)) for m in memories)
    return table(("id", "type", "importance", "from", "content"), rows, wide="content")


def _describe_memory(memory: Memory) -> str:
    return memory.content if memory.valid_to is None else f"{memory.content}\n(until {memory.valid_to.date()})"


def hits_table(hits: Iterable[Hit]) -> RenderableType:
    rows = ((f"{hit.score:.3f}", hit.id, hit.memory.valid_from.date(), _describe_hit(hit), _arms(hit)) for hit in hits)
    columns = ("score", "id", "from", "content", "found by, rank")
    return table(columns, rows, wide="content", max_width=16)


def _describe_hit(hit: Hit) -> str:
    return "\n".join([_describe_memory(hit.memory), *describe_later(hit)])


def describe_later(hit: Hit) -> Iterator[str]:
    """Yield what was said later about the same thing as a hit, and what others say instead, one line each."""
    if hit.later:
        last = hit.later[-1]
        yield f"→ later said on {last.valid_from.date()}: {cut(last.content)} (#{last.id})"
    for other in hit.disputed:
        yield f"→ disputed by {cut(other.source or other.trust)}: {cut(other.content)} (#{other.id})"


def cut(text: str, length: int = 80) -> str:
    """Return a text on one line, cut when it is longer."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


def _arms(hit: Hit) -> str:
    return ", ".join(f"{score.arm} {score.rank}" for score in hit.why if score.rank)


@contextmanager
def progress_bar(title: str, as_json: bool) -> Iterator[Progress | None]:
    """Show a progress bar on a terminal; yield None for JSON output and when standard error is redirected."""
    from rich.console import Console

    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None)

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield report


DAMAGED: Final = 6
EXIT_CODES: Final[dict[int, str]] = {
    0: "Success.",
    1: "Any other error.",
    2: "The command or one of its arguments is wrong: change it.",
    3: "Something that was named does not exist in this scope.",
    4: "The database or a model is unavailable: the same command may work later.",
    5: "Conflict: it exists already, or another program changed it.",
    DAMAGED: "The data is damaged or does not fit: run `check`, `repair` or `restore`.",
    7: "An optional dependency is missing: the message says what to install.",
    8: "Not allowed: use another key or address.",
}


_CODES: Final[tuple[tuple[type[MemorandaError], int], ...]] = (
    (InvalidInput, 2),
    (NotFound, 3),
    (Unavailable, 4),
    (Conflict, 5),
    (Incompatible, DAMAGED),
    (MissingExtra, 7),
    (Denied, 8),
)


class CommandGroup(TyperGroup):
    """A group of commands that prints each of our errors as one line and exits with its code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except MemorandaError as error:
            typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
            typer.echo(" ".join(str(error).split()), err=True)
            code = next((code for kind, code in _CODES if isinstance(error, kind)), 1)
            raise typer.Exit(code) from error


def make_group(help_text: str) -> typer.Typer:
    """Return an empty group of commands that handles errors like all others."""
    return typer.Typer(
        help=help_text, no_args_is_help=True, cls=CommandGroup, pretty_exceptions_enable=False, rich_markup_mode=None
    )

"""Output of commands: tables for people, JSON for programs, progress on standard error, errors and exit codes.

Rich is imported when something is printed as a table: `--help` and `--json` do without it.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from os import PathLike
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import typer
from typer.core import TyperGroup

from memoranda.display import CONTROLS_IN_LINES, day_of, hit_notes, one_line, reasons, who
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
from memoranda.records import Record
from memoranda.text.checks import escape_surrogates
from memoranda.types import JSON, Progress, utc_now

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

    from memoranda.types import Hit, Memory

View: TypeAlias = "Callable[[], RenderableType]"
"""Builds what is printed for people. A function, so that JSON output never builds it."""


MAX_LINES: Final = 4
"""How many lines of a text are shown in a table; `show` has all of it."""


def print_result(value: object, as_json: bool, *views: View) -> None:
    """Print the value as JSON, or print the views one below the other."""
    if as_json:
        typer.echo(escape_surrogates(json.dumps(to_json(value), ensure_ascii=False)))
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
    # Some are dicts too, which hold only a part of their fields.
    if dataclasses.is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    assert isinstance(value, Iterable), value
    return [to_json(item) for item in value]


def safe_text(value: object, style: str = "") -> Text:
    """Return the value as text, with control characters replaced and markup shown as it is."""
    from rich.text import Text

    return Text(CONTROLS_IN_LINES.sub("\ufffd", str(value)), style=style)


def message(text: str, style: str = "green") -> View:
    """Return a view of one line that says what was done."""
    return lambda: safe_text(text, style)


def hint(text: str | None, as_json: bool) -> None:
    """Print a hint on standard error, for people only."""
    if text is None or as_json:
        return
    from rich.console import Console

    Console(stderr=True, highlight=False, emoji=False).print(safe_text(text, "yellow"))


def problem_list(problems: Sequence[str]) -> View:
    """Return a view of the problems, one per line, in red."""
    return message("\n".join(f"✗ {problem}" for problem in problems), "red")


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    wide: str | None = None,
    max_width: int | None = None,
    max_lines: int | None = MAX_LINES,
) -> RenderableType:
    """Return a table; where the terminal is too narrow for it, the same rows as fields below each other.

    Args:
        columns: The titles of the columns.
        rows: The cells of each row.
        wide: The column that takes the remaining width; the others are never wrapped, so that an id can be copied.
        max_width: The width from which another column is wrapped all the same, at spaces.
        max_lines: How many lines of each paragraph in the wide column are shown; None shows all.
    """
    # A tab is as wide as its position makes it: cells are measured without one.
    cells = [[safe_text(str(_cell(value)).expandtabs()) for value in row] for row in rows]
    return FittedTable(columns, cells, wide, max_width, max_lines)


@dataclasses.dataclass(frozen=True, slots=True)
class FittedTable:
    """A table that is laid out when the width of the terminal is known."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Text]]
    wide: str | None
    max_width: int | None
    max_lines: int | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.text import Text

        widths = [self._width(position) for position in range(len(self.columns))]
        spare = options.max_width - sum(widths) - _COLUMN_GAP * (len(widths) - 1)
        if spare >= 0:
            yield self._make_table(widths, spare, console)
            return
        width = options.max_width - max(map(len, self.columns)) - _FIELD_GAP
        for number, row in enumerate(self.rows):
            if number:
                yield Text()
            yield fields_table(zip(self.columns, self._cut_row(row, width, console), strict=True))

    def _width(self, position: int) -> int:
        """Return how many characters a column needs at least."""
        title = self.columns[position]
        longest = self._longest(position)
        if title == self.wide:
            return max(len(title), min(_LEAST_WIDE, longest))
        if self.max_width is not None and longest > self.max_width:
            longest = max(self.max_width, *(_longest_word(row[position]) for row in self.rows))
        return max(len(title), longest)

    def _longest(self, position: int) -> int:
        return max([_longest_line(row[position]) for row in self.rows], default=0)

    def _make_table(self, widths: Sequence[int], spare: int, console: Console) -> RenderableType:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        result = Table(box=SIMPLE_HEAD, header_style="bold", border_style="dim", show_edge=False, pad_edge=False)
        wide = 0
        for position, (column, width) in enumerate(zip(self.columns, widths, strict=True)):
            if column == self.wide:
                wide = width = max(width, min(width + spare, self._longest(position)))
            # Rich narrows a column that has no width of its own, and cuts its cells.
            result.add_column(column, width=width, overflow="fold")
        for row in self.rows:
            result.add_row(*self._cut_row(row, wide, console))
        return result

    def _cut_row(self, row: Sequence[Text], width: int, console: Console) -> Iterator[Text]:
        for column, cell in zip(self.columns, row, strict=True):
            limited = column == self.wide and self.max_lines is not None
            yield _cut_paragraphs(cell, width, self.max_lines or 0, console) if limited else cell


def _cut_paragraphs(text: Text, width: int, lines: int, console: Console) -> Text:
    """Return a text with so many lines of this width in each paragraph at most."""
    from rich.text import Text

    shown: list[Text] = []
    for paragraph in text.split(allow_blank=True):
        wrapped = paragraph.wrap(console, width, overflow="fold")
        shown += wrapped[:lines]
        if len(wrapped) > lines:
            last = shown[-1]
            last.rstrip()
            last.truncate(width - 1)
            last.append("…")
    return Text("\n").join(shown)


_COLUMN_GAP: Final = 3
"""Rich draws a space, a line and a space between two columns."""

_FIELD_GAP: Final = 2

_LEAST_WIDE: Final = 28
"""How many characters of a text fit on a line of a table at least; where they do not, there is no table."""


def _longest_line(text: Text) -> int:
    return max((line.cell_len for line in text.split(allow_blank=True)), default=0)


def _longest_word(text: Text) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.plain.split()), default=0)


def _cell(value: object) -> object:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    if isinstance(value, dict) and not any(isinstance(item, list | tuple | dict) for item in value.values()):
        return ", ".join(f"{key}: {item}" for key, item in value.items())
    if isinstance(value, list | tuple | dict):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else value


def stack(*views: RenderableType, gap: bool = False) -> RenderableType:
    """Return the views as one, below each other, with an empty line between them if there is to be a gap."""
    from rich.console import Group

    return Group(*([part for view in views for part in ("", view)][1:] if gap else views))


def fields_table(fields: Iterable[tuple[str, object]]) -> RenderableType:
    """Return names and values, one line each; a value that is a text keeps its style."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, _FIELD_GAP))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in fields:
        grid.add_row(name, value if isinstance(value, Text) else safe_text(_cell(value)))
    return grid


def record_table(record: Record) -> RenderableType:
    """Return one line for each field of a value object that is set; its notes are for the package itself."""
    names = (name for name in list(record.keys()) if name != "notes" and record[name] not in (None, {}, ()))
    return fields_table([(name, record[name]) for name in names])


def memories_table(memories: Sequence[Memory], *, with_user: bool = False) -> RenderableType:
    """Return memories as a table; with the user they belong to where there may be several."""
    columns = ("id", "from", *(["user"] if with_user else []), "type", "content")
    rows = (
        (m.id, m.valid_from.date(), *([_describe_user(m)] if with_user else []), m.type.value, _describe_memory(m))
        for m in memories
    )
    return table(columns, rows, wide="content", max_width=20)


def _describe_user(memory: Memory) -> str:
    """Return the user of a memory, on several lines where the name is long: one such name must not break the table."""
    return "\n".join(wrap(memory.user, _MAX_USER)) if memory.user else "–"


def _describe_memory(memory: Memory) -> str:
    content, notes = cut(memory.content, _MAX_CONTENT), list(_states_of(memory))
    return f"{content}\n({', '.join(notes)})" if notes else content


def _states_of(memory: Memory) -> Iterator[str]:
    """Name what keeps a memory out of recall, or protects it."""
    if memory.valid_to is not None:
        yield f"until {memory.valid_to.date()}"
    if memory.quarantined_at is not None:
        yield "in quarantine"
    if memory.superseded_by is not None:
        yield f"replaced by {memory.superseded_by}"
    if memory.archived_at is not None:
        yield "archived"
    if memory.has_expired(utc_now()):
        yield "expired"
    if memory.pinned:
        yield "pinned"


_MAX_USER: Final = 20
_MAX_CONTENT: Final = 600
"""A longer text is cut in a list; `show` has all of it."""


def hits_view(hits: Sequence[Hit]) -> RenderableType:
    """Return hits as numbered texts, and below each who said it, when, its score, its id and why it was found."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for rank, hit in enumerate(hits, start=1):
        grid.add_row(f"{rank}.", safe_text(_cut_content(hit)))
        notes = [*hit_notes(hit), " · ".join(_facts_of_hit(hit))]
        grid.add_row("", Text("\n").join(safe_text(note, "dim") for note in notes))
    return grid


def _cut_content(hit: Hit) -> str:
    return cut(hit.content, _MAX_CONTENT) if len(hit.content) > _MAX_CONTENT else hit.content


def _facts_of_hit(hit: Hit) -> Iterator[str]:
    if name := who(hit.memory):
        yield name
    yield day_of(hit.memory.valid_from)
    yield f"score {hit.score:.2f}"
    yield f"id {hit.id}"
    if found_by := reasons(hit.why):
        yield f"found by {found_by}"


def cut(text: str, length: int = 80) -> str:
    """Return a text on one line, cut when it is longer."""
    return one_line(text, length)


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
    4: "The database, a model or the port is unavailable: the same command may work later.",
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


_PLAIN_ERRORS: Final = {
    "Input should be a valid integer": "it must be a whole number, such as 12",
    "Input should be a valid number": "it must be a number, such as 0.5",
}
"""What the parser of arguments says in the words of programmers, by how it begins."""


_LIBRARY_NAMES: Final = {"remember": "add", "get": "show"}
"""Commands by the name of the method that does the same in the library."""


class CommandGroup(TyperGroup):
    """A group of commands that prints each of our errors as one line and exits with its code."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, _LIBRARY_NAMES.get(cmd_name, cmd_name))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except MemorandaError as error:
            typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
            typer.echo(_fit_error(str(error), after="error: "), err=True)
            code = next((code for kind, code in _CODES if isinstance(error, kind)), 1)
            raise typer.Exit(code) from error
        except typer.BadParameter as error:
            before = error.format_message().removesuffix(error.message)
            # typer takes the text of a wrong choice from pydantic.
            said = error.message.removeprefix("Value error, ")
            plain = next((text for start, text in _PLAIN_ERRORS.items() if said.startswith(start)), said)
            error.message = _fit_error(plain, after=f"Error: {before}")
            raise


def _fit_error(text: str, *, after: str) -> str:
    """Return the text of an error: one line, but on a terminal as many as it needs, broken between words."""
    shown = CONTROLS_IN_LINES.sub("\ufffd", " ".join(text.split()))
    if not sys.stderr.isatty():
        return shown
    width = get_terminal_size().columns
    lines = wrap(shown, width, initial_indent=" " * len(after), break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).lstrip()


def make_group(help_text: str, kind: type[CommandGroup] = CommandGroup) -> typer.Typer:
    """Return an empty group of commands that handles errors like all others."""
    return typer.Typer(
        help=help_text, no_args_is_help=True, cls=kind, pretty_exceptions_enable=False, rich_markup_mode=None
    )

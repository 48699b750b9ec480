"""Answers: tables for people, JSON for programs, progress on stderr."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

import typer

from memoranda.types import JSON, Progress, Record

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from memoranda.types import Hit, Memory

# A stored text must not move the cursor or recolour the terminal of whoever reads it.
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def console() -> Console:
    from rich.console import Console

    return Console(soft_wrap=False, highlight=False, emoji=False)


def safe(value: object) -> Text:
    """A stored text as it is, without markup and control characters."""
    from rich.text import Text

    return Text(_CONTROLS.sub("\ufffd", str(value)))


def plain(value: object) -> JSON:
    """A value object as JSON."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str | PathLike):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    assert isinstance(value, Iterable), value
    return [plain(item) for item in value]


def show(value: object, as_json: bool, view: Callable[[], RenderableType | None]) -> None:
    """The value as JSON, or what a person reads of it."""
    if as_json:
        typer.echo(json.dumps(plain(value), ensure_ascii=False))
        return
    seen = view()
    if seen is not None:
        console().print(seen)


def said(text: str, style: str = "green") -> Callable[[], Text]:
    """One line that says what was done."""
    from rich.text import Text

    return lambda: Text(_CONTROLS.sub("\ufffd", text), style=style)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, wide: str | None = None) -> RenderableType:
    """A table; the column named `wide` takes the room that is left."""
    from rich.table import Table

    made = Table(header_style="bold", border_style="dim", expand=wide is not None)
    for column in columns:
        made.add_column(column, ratio=1 if column == wide else None, overflow="fold")
    for row in rows:
        made.add_row(*(safe(_cell(cell)) for cell in row))
    return made


def _cell(value: object) -> object:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    return "" if value is None else value


def pairs(values: Iterable[tuple[str, object]]) -> RenderableType:
    """Names and values, one line each."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, value in values:
        grid.add_row(name, safe("" if value is None else value))
    return grid


def memories_table(memories: Iterable[Memory]) -> RenderableType:
    rows = ((m.id, m.type.value, f"{m.importance:.2f}", day(m.valid_from), m.content) for m in memories)
    return table(("id", "type", "importance", "from", "content"), rows, wide="content")


def hits_table(hits: Iterable[Hit]) -> RenderableType:
    rows = ((f"{hit.score:.3f}", hit.id, day(hit.memory.valid_from), hit.content, _arms(hit)) for hit in hits)
    return table(("score", "id", "from", "content", "found by, rank"), rows, wide="content")


def record(value: Record) -> RenderableType:
    """A value object, one line for each field that is set."""
    return pairs([(name, value[name]) for name in list(value.keys()) if value[name] not in (None, {}, ())])


def day(moment: datetime) -> str:
    return moment.date().isoformat()


def _arms(hit: Hit) -> str:
    return ", ".join(f"{said.arm} {said.rank}" for said in hit.why if said.rank)


@contextmanager
def progress_bar(what: str, as_json: bool) -> Iterator[Progress | None]:
    """A bar on stderr for people who watch; None for programs."""
    from rich.console import Console

    errors = Console(stderr=True)
    if as_json or not errors.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield report


def said_problems(problems: Sequence[str]) -> Any:
    """Problems one under the other, in red."""
    from rich.text import Text

    return Text("\n".join(f"✗ {_CONTROLS.sub('', problem)}" for problem in problems), style="red")

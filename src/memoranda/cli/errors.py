"""Errors on the command line: exit codes and messages."""

from __future__ import annotations

from typing import Any, Final

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

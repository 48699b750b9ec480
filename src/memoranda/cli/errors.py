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

EXIT_CODES: Final[dict[int, str]] = {
    0: "It worked.",
    1: "It failed in another way.",
    2: "The command was wrong: change it.",
    3: "What was named does not exist in this scope.",
    4: "The store or a model cannot answer now: the same command may work later.",
    5: "Something is there already, or was changed meanwhile.",
    6: "The data is damaged or does not fit: `check`, `repair` or `restore` it.",
    7: "An optional part is not installed: the message is the install line.",
    8: "It is not allowed: use another key or address.",
}


DAMAGED: Final = 6


_CODES: Final[tuple[tuple[type[MemorandaError], int], ...]] = (
    (InvalidInput, 2),
    (NotFound, 3),
    (Unavailable, 4),
    (Conflict, 5),
    (Incompatible, DAMAGED),
    (MissingExtra, 7),
    (Denied, 8),
)


def exit_code(error: MemorandaError) -> int:
    """What the program ends with after this error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), 1)


class Commands(TyperGroup):
    """A group of commands whose errors are told in one line."""

    def invoke(self, ctx: Any) -> Any:
        """Runs the command; an error of ours becomes a line and an exit code."""
        try:
            return super().invoke(ctx)
        except MemorandaError as error:
            typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
            typer.echo(" ".join(str(error).split()), err=True)
            raise typer.Exit(exit_code(error)) from error


def group(about: str) -> typer.Typer:
    """A group of commands that tells its errors as all others do."""
    return typer.Typer(
        help=about, no_args_is_help=True, cls=Commands, pretty_exceptions_enable=False, rich_markup_mode=None
    )

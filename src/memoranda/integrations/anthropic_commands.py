"""How a command of Anthropic's memory tool is run: its fields are checked, and errors are for the model."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, TypeVar

from memoranda.errors import Conflict, InvalidInput, MemorandaError, MissingExtra
from memoranda.pydantic_errors import describe_mistakes

try:
    from anthropic.lib.tools import ToolError
    from pydantic import ValidationError
except ModuleNotFoundError as error:
    raise MissingExtra("Anthropic's memory tool", "anthropic") from error

C = TypeVar("C")
_ATTEMPTS: Final = 20


def command_of_tool(method: Callable[[Any, C], str]) -> Callable[[Any, C], str]:
    """Run a command again when another program has changed the file since it was read, so that no edit is lost.

    An error of Memoranda becomes one that the model reads.
    """

    @functools.wraps(method)
    def run(self: Any, command: C) -> str:
        try:
            checked = _check_fields(command)
            with self._lock, self.synchronized():  # the threads of one tool need no second attempt
                for _ in range(_ATTEMPTS - 1):
                    try:
                        return method(self, checked)
                    except Conflict:
                        continue
                return method(self, checked)
        except MemorandaError as error:
            raise ToolError(error.public_message()) from error

    return run


def _check_fields(command: Any) -> Any:
    """Return the command with checked fields: the SDK takes whatever the model writes, and None for what is missing."""
    try:
        return type(command).model_validate(dict(command))
    except ValidationError as error:
        problems = "; ".join(f"{name} {what}" for name, what in describe_mistakes(error.errors()).items())
        raise InvalidInput(f"The command {command.command} is incomplete or wrong. {problems}") from error

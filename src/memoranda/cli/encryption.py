"""`memoranda encrypt`, `decrypt`, `rekey`: change whether and with which key the database is encrypted.

No option takes a key itself: other users of the machine could read it in the list of processes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.options import DATABASE, CommandOptions, command
from memoranda.cli.output import message, print_result, progress_bar
from memoranda.display import plural
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.security.encryption import EncryptionKey

KeyFile = Annotated[Path | None, typer.Option("--key-file", help="File with a key other than the one in the settings.")]
KeyVariable = Annotated[str | None, typer.Option("--key-env", help="Environment variable with that key.")]
KeyCommand = Annotated[str | None, typer.Option("--key-command", help="Command that prints that key.")]
NewKeyFile = Annotated[Path | None, typer.Option("--new-key-file", help="File with the new key.")]
NewKeyVariable = Annotated[str | None, typer.Option("--new-key-env", help="Environment variable with the new key.")]
NewKeyCommand = Annotated[str | None, typer.Option("--new-key-command", help="Command that prints the new key.")]
_REMAINING = "Not changed, delete or move them: {}"


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    for name, function in (("encrypt", encrypt), ("decrypt", decrypt), ("rekey", rekey)):
        command(app, name, shared=DATABASE)(function)


def encrypt(options: CommandOptions) -> None:
    """Encrypt the database. The key is the one in the settings, or is asked for. No process may have it open.

    After an interruption, run it again: the database is complete at all times.
    """
    options.require_database()
    key = _configured_key(options) or _make_key(ask_key("the database"))
    _convert(options, None, key, "Encrypting")


def decrypt(options: CommandOptions) -> None:
    """Decrypt the database with the key in the settings. No process may have it open.

    After an interruption, run it again: the database is complete at all times.
    """
    options.require_database()
    _convert(options, _required_key(options), None, "Decrypting")


def rekey(
    options: CommandOptions,
    new_key_file: NewKeyFile = None,
    new_key_variable: NewKeyVariable = None,
    new_key_command: NewKeyCommand = None,
) -> None:
    """Replace the key of the database, which is the one in the settings. No process may have it open.

    Without an option for the new key, it is asked for. After an interruption, run it again with the same two keys.
    """
    options.require_database()
    current = _required_key(options)
    new = find_key(new_key_file, new_key_variable, new_key_command) or ask_key("the database, the new one")
    _convert(options, current, _make_key(new), "Encrypting")


def find_key(file: Path | None, variable: str | None, command: str | None) -> str | None:
    """Return the key that the options of a command name; None when they name none."""
    from memoranda.security.encryption import read_key

    text = None if variable is None else os.environ.get(variable, "")
    if text == "":
        raise InvalidInput(f"the environment variable {variable} is not set: put the key into it")
    key = read_key(text, None if file is None else str(file), command)
    return None if key is None else key.reveal()


def ask_key(purpose: str) -> str:
    """Ask for a key on a terminal, twice."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"no key for {purpose}: set MEMORY_ENCRYPTION_KEY, or name a key by an option")
    key: str = typer.prompt(f"Key of {purpose}", hide_input=True, confirmation_prompt=True, err=True)
    return key


def _configured_key(options: CommandOptions) -> EncryptionKey | None:
    from memoranda.settings import encryption_key

    return encryption_key(options.config)


def _required_key(options: CommandOptions) -> EncryptionKey:
    key = _configured_key(options)
    if key is None:
        raise InvalidInput("the present key of the database is not set: set MEMORY_ENCRYPTION_KEY")
    return key


def _make_key(text: str) -> EncryptionKey:
    from memoranda.security.encryption import EncryptionKey

    return EncryptionKey(text)


def _convert(options: CommandOptions, current: EncryptionKey | None, new: EncryptionKey | None, title: str) -> None:
    from memoranda.transfer.export import change_key

    with progress_bar(title, options.as_json) as progress:
        done = change_key(options.config, current, new, progress)
    state = ("encrypted" if done.encrypted else "not encrypted") + ("" if done.changed else " already")
    summary = f"{done.path} is {state}: {plural(done.memories, 'memory', 'memories')}"
    notes = [message(_REMAINING.format(", ".join(done.remaining)), "yellow")] if done.remaining else []
    print_result(done, options.as_json, message(summary), *notes)

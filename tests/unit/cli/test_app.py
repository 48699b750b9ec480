from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import typer
from typer.testing import CliRunner

from memoranda.cli.app import app
from tests.unit.cli.conftest import Memoranda


def test_version_option_prints_version() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.output.split()[0]) == (0, "memoranda")


def test_help_lists_commands() -> None:
    assert "models" in CliRunner().invoke(app, ["--help"]).output


def test_usage_line_has_the_name_of_the_command_however_it_is_started() -> None:
    command = [sys.executable, "-m", "memoranda", "recall", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Usage: memoranda recall " in done.stdout
    assert "python -m" not in done.stdout


def test_no_two_commands_say_that_they_do_the_same() -> None:
    def helps(group: Any) -> Iterator[str]:
        for command in group.commands.values():
            yield from helps(command) if hasattr(command, "commands") else [command.help]

    counted = Counter(helps(typer.main.get_command(app)))
    assert [text for text, count in counted.items() if count > 1] == []


def test_names_of_the_library_are_commands_too(memoranda: Memoranda) -> None:
    memoranda.json("remember", "Ana lives in Oslo", "-u", "ana")
    assert "Ana lives in Oslo" in memoranda("get", "1", "-u", "ana").output


def test_errors_name_options_of_the_command(memoranda: Memoranda) -> None:
    memoranda.add_facts()
    for arguments, said in (
        (("edit", "1", "-u", "ann"), "--content, --type, --source, --importance or --metadata"),
        (("list", "-u", "ann", "--all-users"), "give --user, or --all-users, not both"),
        (("items", "show", "a", "b"), "--user NAME"),
        (("discard", "1", "-u", "ann"), "use forget to remove it"),
    ):
        done = memoranda(*arguments)
        assert done.exit_code in (2, 3)
        assert said in done.stderr

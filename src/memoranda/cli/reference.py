"""The command-line reference as Markdown. `python -m memoranda.cli.reference docs/cli.md` updates the page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from typer.main import get_command

from memoranda.cli.app import app
from memoranda.cli.output import EXIT_CODES

START: Final = "<!-- generated: python -m memoranda.cli.reference docs/cli.md -->"
END: Final = "<!-- end of the generated part -->"


def update_page(page: str) -> str:
    """Return the page with a fresh reference between the two markers."""
    before, _, rest = page.partition(START)
    after = rest.partition(END)[2]
    codes = "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    parts = ["## Exit codes", f"| code | meaning |\n|---|---|\n{codes}", "## Commands", *_sections()]
    return "\n\n".join([f"{before}{START}", *parts, f"{END}{after}"])


def _sections() -> Iterator[str]:
    for name, command in _find_commands(get_command(app), "memoranda"):
        rows = "\n".join(_row(parameter) for parameter in command.params if parameter.name != "help")
        yield f"### {name}\n\n{command.help}\n\n| argument or option | meaning |\n|---|---|\n{rows}"


def _find_commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if getattr(command, "invoke_without_command", True):  # a command, or a group that is one too
        yield name, command
    for child_name, child in getattr(command, "commands", {}).items():
        yield from _find_commands(child, f"{name} {child_name}")


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        names = f"`{parameter.name.upper()}{'…' if parameter.nargs == -1 else ''}`"
    else:
        names = ", ".join(f"`{name}`" for name in sorted(parameter.opts, key=len, reverse=True))
        names += "".join(f" / `{name}`" for name in parameter.secondary_opts)
    default = parameter.default
    shown = f" Default: {default}." if isinstance(default, int | float | str) and default not in (False, "") else ""
    return f"| {names} | {parameter.help or ''}{shown} |"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(update_page(path.read_text("utf-8")), "utf-8")

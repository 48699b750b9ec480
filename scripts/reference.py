"""Write the pages that are made from the code: docs/reference.md and the commands in docs/cli.md.

python scripts/reference.py
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from typer.main import get_command

import memoranda
from memoranda.cli.app import app
from memoranda.cli.output import EXIT_CODES

DOCS: Final = Path(__file__).parents[1] / "docs"
START: Final = "<!-- generated: python scripts/reference.py -->"
END: Final = "<!-- end of the generated part -->"
INTRODUCTION = """\
# What can I import?

Every name is importable from `memoranda`; nothing is loaded before it is used. `memoranda.aio` has the asynchronous
versions of the classes, with the same names. This page is written by `python scripts/reference.py`.
"""
COMMON_HELPS: Final = {
    "--db": {"Database file or URL. Default: MEMORY_DB_URL."},
    "--tenant": {"Tenant that owns the data."},
    "--user": {
        "User the memories belong to. Without it, they belong to no user.",
        "Memories of this user. Without it, memories that belong to no user.",
    },
    "--agent": {"Agent the memories belong to.", "Only memories of this agent."},
    "--session": {"Session the memories belong to.", "Only memories of this session."},
    "--all-users": {"Include the memories of all users."},
    "--json": {"Print the result as JSON."},
}
"""The help texts that "Common options" explains. An option with another text is explained at its command."""
COMMON_OPTIONS: Final = """\
Most commands take some of these options. Each command names the ones that it takes.

| option | meaning |
|---|---|
| `--db` | Database file or URL. Default: MEMORY_DB_URL. |
| `--tenant` | Tenant that owns the data. Default: default. |
| `--user`, `-u` | User the memories belong to. Without it, memories that belong to no user. |
| `--agent`, `-a` | Agent the memories belong to. Commands that read use only the memories of this agent. |
| `--session`, `-s` | Session the memories belong to. Commands that read use only the memories of this session. |
| `--all-users` | Include the memories of all users. |
| `--json` | Print the result as JSON. |"""


def main() -> None:
    (DOCS / "reference.md").write_text(make_reference_page(), "utf-8")
    page = DOCS / "cli.md"
    page.write_text(update_cli_page(page.read_text("utf-8")), "utf-8")


def make_reference_page() -> str:
    """Return docs/reference.md: every name that `memoranda` exports, with the first line of its documentation."""
    groups: dict[str, list[str]] = {"Classes": [], "Functions": [], "Errors": [], "Types and constants": []}
    for name in memoranda.__all__:
        if name != "__version__":
            groups[_group(name)].append(f"| `{name}` | {_summary(name)} |")
    tables = ("\n".join([f"## {title}\n\n| name | what it is |\n|---|---|", *rows]) for title, rows in groups.items())
    return "\n\n".join([INTRODUCTION.rstrip(), *tables]) + "\n"


def _group(name: str) -> str:
    value = getattr(memoranda, name)
    if inspect.isclass(value) and value is not object:
        return "Errors" if issubclass(value, Exception) else "Classes"
    return "Functions" if inspect.isfunction(value) else "Types and constants"


def _summary(name: str) -> str:
    value = getattr(memoranda, name)
    if (inspect.isclass(value) and value is not object) or inspect.isfunction(value):
        return (inspect.getdoc(value) or "").partition("\n")[0].replace("|", "\\|")
    return _alias_summary(name)


def _alias_summary(name: str) -> str:
    """Return the text that follows an assignment in its module, or the assigned expression."""
    module = import_module(memoranda.home_of(name))
    body = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                return " ".join(str(following.value.value).split()).replace("|", "\\|")
            return f"`{ast.unparse(node.value)}`".replace("|", "\\|") if getattr(node, "value", None) else ""
    return ""


def update_cli_page(page: str) -> str:
    """Return docs/cli.md with a fresh reference between the two markers."""
    before, _, rest = page.partition(START)
    after = rest.partition(END)[2]
    codes = "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    parts = ["## Exit codes", f"| code | meaning |\n|---|---|\n{codes}", "## Common options", COMMON_OPTIONS]
    parts += ["## Commands", *_command_sections()]
    return "\n\n".join([f"{before}{START}", *parts, f"{END}{after}"])


def _command_sections() -> Iterator[str]:
    for name, command in _find_commands(get_command(app), "memoranda"):
        parameters = [parameter for parameter in command.params if parameter.name != "help"]
        rows = [_parameter_row(parameter) for parameter in parameters if not _is_common(parameter)]
        common = ", ".join(f"`{_long_name(parameter)}`" for parameter in parameters if _is_common(parameter))
        parts = [f"### {name}", command.help]
        parts += ["\n".join(["| argument or option | meaning |\n|---|---|", *rows])] if rows else []
        parts += [f"Common options: {common}."] if common else []
        yield "\n\n".join(parts)


def _find_commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if getattr(command, "invoke_without_command", True):  # a command, or a group that is one too
        yield name, command
    for child_name, child in getattr(command, "commands", {}).items():
        yield from _find_commands(child, f"{name} {child_name}")


def _is_common(parameter: Any) -> bool:
    return parameter.param_type_name == "option" and parameter.help in COMMON_HELPS.get(_long_name(parameter), ())


def _long_name(option: Any) -> str:
    return max(option.opts, key=len)


def _parameter_row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        names = f"`{parameter.name.upper()}{'…' if parameter.nargs == -1 else ''}`"
    else:
        names = ", ".join(f"`{name}`" for name in sorted(parameter.opts, key=len, reverse=True))
        names += "".join(f" / `{name}`" for name in parameter.secondary_opts)
    default = parameter.default
    shown = f" Default: {default}." if isinstance(default, int | float | str) and default not in (False, "") else ""
    return f"| {names} | {parameter.help or ''}{shown} |"


if __name__ == "__main__":
    main()

"""Write docs/reference.md: every name that `memoranda` exports, with the first line of its documentation.

python scripts/reference.py > docs/reference.md
"""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import memoranda

INTRODUCTION = """\
# What can I import?

Every name is importable from `memoranda`; nothing is loaded before it is used. `memoranda.aio` has the asynchronous
versions of the classes, with the same names. This page is written by `python scripts/reference.py`.
"""


def main() -> None:
    groups: dict[str, list[str]] = {"Classes": [], "Functions": [], "Errors": [], "Types and constants": []}
    for name in memoranda.__all__:
        if name == "__version__":
            continue
        groups[_group(name)].append(f"| `{name}` | {_summary(name)} |")
    print(INTRODUCTION)
    for title, rows in groups.items():
        print(f"## {title}\n\n| name | what it is |\n|---|---|")
        print("\n".join(rows) + "\n")


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


if __name__ == "__main__":
    main()

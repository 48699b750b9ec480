from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import memoranda
from memoranda import aio

MADE_BY_US = {"SessionContext"}
"""Classes that users get from a method and never construct: their constructors are internal."""
INTERNAL = {"Snapshot", "SupportsTools"}
"""Types of methods that only the package itself calls."""
ROOT = Path(str(memoranda.__file__)).parent


@pytest.mark.parametrize("package", [memoranda, aio], ids=["memoranda", "aio"])
def test_every_type_in_a_public_signature_is_exported(package: ModuleType) -> None:
    missing = {
        f"{name} in {where}"
        for exported in package.__all__
        for where, name in _types_of(getattr(package, exported))
        if name not in memoranda.__all__ and name not in INTERNAL
    }
    assert sorted(missing) == []


@pytest.mark.parametrize("name", [name for name in memoranda.__all__ if name != "__version__"])
def test_every_exported_name_is_documented(name: str) -> None:
    pages = [page.read_text(encoding="utf-8") for page in (ROOT.parents[1] / "docs").glob("*.md")]
    assert any(f"`{name}" in page for page in pages)


@pytest.mark.parametrize("name", [name for name in memoranda.__all__ if name not in MADE_BY_US])
def test_public_functions_with_more_than_three_parameters_describe_them(name: str) -> None:
    exported = getattr(memoranda, name)
    functions = {name: (exported, exported.__doc__)} if inspect.isfunction(exported) else {}
    if inspect.isclass(exported):
        public = inspect.getmembers(exported, inspect.isfunction)
        functions = {key: (each, each.__doc__) for key, each in public if not key.startswith("_")}
        if inspect.isfunction(vars(exported).get("__init__")) and "__dataclass_fields__" not in vars(exported):
            functions["__init__"] = (exported.__init__, f"{exported.__doc__}{exported.__init__.__doc__}")
    undescribed = [
        key
        for key, (function, text) in functions.items()
        if function.__module__.startswith("memoranda") and "Args:" not in (text or "")
    ]
    assert [key for key in undescribed if len({*inspect.signature(functions[key][0]).parameters} - {"self"}) > 3] == []


def _types_of(exported: object) -> Iterator[tuple[str, str]]:
    """Yield (where, name) for each type of ours in the signatures of a class or function."""
    if inspect.isclass(exported):
        for owner in exported.__mro__:
            if owner.__module__.startswith("memoranda."):
                yield from _types_of_class(owner, exported.__name__)
    elif inspect.isfunction(exported):
        tree, names = _module(exported.__module__)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == exported.__name__:
                yield from ((node.name, name) for name in _ours(node, names))


def _types_of_class(owner: type, exported: str) -> Iterator[tuple[str, str]]:
    tree, names = _module(owner.__module__)
    definition = next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == owner.__name__)
    for node in definition.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        public = not node.name.startswith("_") or (node.name == "__init__" and exported not in MADE_BY_US)
        if public:
            yield from ((f"{exported}.{node.name}", name) for name in _ours(node, names))


def _ours(function: ast.FunctionDef | ast.AsyncFunctionDef, names: dict[str, str]) -> Iterator[str]:
    """Yield the names of our own types in the annotations of a function."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    annotations = [argument.annotation for argument in arguments] + [function.returns]
    for annotation in annotations:
        for node in ast.walk(annotation) if annotation is not None else ():
            if isinstance(node, ast.Name) and node.id in names and node.id[0].isupper():
                yield names[node.id]


@cache
def _module(name: str) -> tuple[ast.Module, dict[str, str]]:
    """Return the tree of a module, and the types of ours that it names, with their own names."""
    module = import_module(name)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memoranda"):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            names[node.name] = node.name
    aliases = [node for node in tree.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
    for alias in aliases:
        if isinstance(alias.annotation, ast.Name) and alias.annotation.id == "TypeAlias":
            assert isinstance(alias.target, ast.Name)
            names[alias.target.id] = alias.target.id
    return tree, names

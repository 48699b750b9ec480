"""Every transaction says whose rows it may see: a store that isolates tenants shows nothing otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import memoranda

SOURCE = Path(memoranda.__file__).parent
# Work on `meta` and generations, which belong to no tenant, and works that name their own tenant.
_NO_TENANT = (
    "set_meta",
    "delete_meta",
    "take_lease",
    "renew_lease",
    "release_lease",
    "start_generation",
    "MemoryWrite",
)
_STORES = ("storage/sqlite", "storage/postgres", "testing")


def find_calls(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = ast.unparse(node.func.value)
            if node.func.attr in ("read", "write", "stream") and owner.endswith(("store", "store()")):
                yield node


def test_every_transaction_names_its_tenant() -> None:
    missing = []
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        if name.startswith(_STORES):
            continue
        for call in find_calls(ast.parse(file.read_text(encoding="utf-8"))):
            text = ast.unparse(call)
            named = any(keyword.arg == "tenant" for keyword in call.keywords)
            if not named and not any(f"{word}(" in text for word in _NO_TENANT):
                missing.append(f"{name}:{call.lineno}: {text}")
    assert missing == []

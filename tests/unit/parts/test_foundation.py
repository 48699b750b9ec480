from __future__ import annotations

import ast
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from memoranda import Closed, InvalidInput, MemoryManager, parts

_TOO_HEAVY = (
    "alembic",
    "asyncio",
    "concurrent.futures",
    "dotenv",
    "email",
    "faiss",
    "http",
    "logging",
    "numpy",
    "onnxruntime",
    "pysqlite3",
    "memoranda_models",
    "redis",
    "socket",
    "sqlalchemy",
    "sqlite3",
    "ssl",
)


def loaded_by(program: str) -> set[str]:
    """The modules of a fresh interpreter that has run this."""
    code = f"{program}\nimport sys\nnames = list(sys.modules)\nimport json\nprint(json.dumps(names))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_the_front_door_loads_nothing_that_a_verb_may_never_need() -> None:
    loaded = loaded_by("from memoranda import MemoryManager")
    assert loaded.isdisjoint(_TOO_HEAVY)
    stages = {name.split(".")[1] for name in loaded if name.startswith("memoranda.")}
    assert stages == {
        "arguments",
        "conversation",  # its retention policies alone
        "errors",
        "jsonvalue",
        "manager",
        "parts",
        "settings",
        "text",
        "types",
        "verbs",
    }
    assert {name for name in loaded if name.startswith("memoranda.parts.")} == {"memoranda.parts.foundation"}


def test_a_verb_loads_its_own_part_and_no_other(tmp_path: Path) -> None:
    loaded = loaded_by(f"""
from memoranda import MemoryManager
with MemoryManager("sqlite:///{tmp_path}/a.db") as manager:
    manager.list_memories()
""")
    assert "memoranda.parts.memories" in loaded
    assert loaded.isdisjoint({f"memoranda.parts.{name}" for name in ("conversations", "executions", "knowledge")})
    assert loaded.isdisjoint({"faiss", "onnxruntime"})


def test_a_part_is_made_once_whoever_asks_first(tmp_path: Path) -> None:
    manager, start = MemoryManager(f"sqlite:///{tmp_path}/a.db"), Barrier(8)

    def ask(_: int) -> object:
        start.wait()
        return manager.get_memory("a")

    with manager, ThreadPoolExecutor(8) as pool:
        assert len({id(conversation) for conversation in pool.map(ask, range(8))}) == 1


def test_a_part_first_asked_for_after_the_end_is_closed_too(tmp_path: Path) -> None:
    manager = MemoryManager(f"sqlite:///{tmp_path}/a.db")
    manager.close()
    with pytest.raises(Closed):
        manager.get_memory("a")


@pytest.mark.parametrize("wrong", [{"retention_policy": "weekly"}, {"max_messages_per_agent": 0}])
def test_wrong_arguments_are_found_before_their_part_is_made(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        MemoryManager(**wrong)  # type: ignore[arg-type]


def test_type_checkers_know_the_modules_that_are_loaded_when_named() -> None:
    known = {
        alias.name
        for node in ast.walk(ast.parse(Path(str(parts.__file__)).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "memoranda.parts"
        for alias in node.names
    }
    for name in known:
        assert getattr(parts, name).__name__ == f"memoranda.parts.{name}"
    with pytest.raises(AttributeError, match="parcels"):
        parts.parcels  # noqa: B018

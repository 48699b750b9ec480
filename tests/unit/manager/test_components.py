from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from memoranda import Closed, InvalidInput, MemoryManager

_HEAVY_MODULES = (
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


def modules_loaded_by(program: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after running the program."""
    code = f"{program}\nimport sys\nnames = list(sys.modules)\nimport json\nprint(json.dumps(names))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_the_manager_loads_no_heavy_module() -> None:
    loaded = modules_loaded_by("from memoranda import MemoryManager")
    assert loaded.isdisjoint(_HEAVY_MODULES)
    own = {name.removeprefix("memoranda.") for name in loaded if name.startswith("memoranda.")}
    values = {
        "display",
        "errors",
        "items",
        "items.base",
        "records",
        "results",
        "results.recall",
        "security",
        "security.encryption",
        "settings",
        "text",
        "text.checks",
        "types",
        "validation",
    }
    assert own <= values | {name for name in own if name.split(".")[0] == "manager"}


def test_reading_memories_loads_no_index_engine_and_no_model(tmp_path: Path) -> None:
    loaded = modules_loaded_by(f"""
from memoranda import MemoryManager
with MemoryManager("sqlite:///{tmp_path}/a.db") as manager:
    manager.list_memories()
""")
    assert "memoranda.remember.memories" in loaded
    assert loaded.isdisjoint({"faiss", "onnxruntime", "memoranda.knowledge", "memoranda.maintenance.upkeep"})


def test_conversation_is_the_same_object_for_all_threads(tmp_path: Path) -> None:
    manager, start = MemoryManager(f"sqlite:///{tmp_path}/a.db"), Barrier(8)

    def ask(_: int) -> object:
        start.wait()
        return manager.get_memory("a")

    with manager, ThreadPoolExecutor(8) as pool:
        assert len({id(conversation) for conversation in pool.map(ask, range(8))}) == 1


def test_get_memory_after_close_raises_closed(tmp_path: Path) -> None:
    manager = MemoryManager(f"sqlite:///{tmp_path}/a.db")
    manager.close()
    with pytest.raises(Closed):
        manager.get_memory("a")


@pytest.mark.parametrize("wrong", [{"retention_policy": "weekly"}, {"max_messages_per_agent": 0}])
def test_invalid_arguments_are_rejected_at_construction(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        MemoryManager(**wrong)  # type: ignore[arg-type]

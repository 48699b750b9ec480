"""The page and the example of a framework run in an empty folder and print what is expected."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from inspect import isawaitable
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.errors import Closed

REPOSITORY = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
DOG = "My dog Rex is allergic to chicken and eats only fish."
EXPECTED = {
    "agent_framework": ("agent-framework.md", "My dog Rex eats only fish.", "agent_framework_memory.py", DOG),
    "autogen": (
        "autogen.md",
        "My sister Eva lives in Porto.",
        "autogen_memory.py",
        "recalled: I am allergic to peanuts.",
    ),
    "crewai": ("crewai.md", "Rex the dog eats only fish.", "crewai_memory.py", "memoranda recalls: The harbour"),
    "google_adk": ("google-adk.md", "user My dog Rex eats only fish.", "google_adk_memory.py", DOG),
    "haystack": ("haystack.md", "fish. {'about': 'pets'}\n1", "haystack_documents.py", "a filter: The harbour"),
    "llama_index": ("llama-index.md", "My dog Rex eats only fish.", "llama_index_memory.py", DOG),
    "pydantic_ai": ("pydantic-ai.md", "\nRex the dog eats only fish.", "pydantic_ai_memory.py", "Ann's dog Rex is"),
    "strands": ("strands.md", "memoranda My dog Rex eats only fish.", "strands_memory.py", DOG),
}
ADAPTERS = {
    "agent_framework": ("MemorandaContextProvider",),
    "autogen": ("MemorandaMemory",),
    "crewai": ("MemorandaStorage",),
    "google_adk": ("MemorandaMemoryService",),
    "haystack": ("MemorandaDocumentStore",),
    "llama_index": ("MemorandaMemoryBlock", "MemorandaChatStore"),
    "pydantic_ai": ("MemorandaStore",),
    "strands": ("MemorandaStore",),
}
SUITE = os.environ["MEMORANDA_SUITE"].partition("-")[0]
PAGE, ON_PAGE, EXAMPLE, BY_EXAMPLE = EXPECTED[SUITE]


@pytest.mark.timeout(300)
def test_python_blocks_of_the_page_run(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "integrations" / PAGE).read_text("utf-8")
    assert ON_PAGE in run("\n".join(BLOCK.findall(page)), tmp_path)


@pytest.mark.timeout(300)
def test_example_runs(tmp_path: Path) -> None:
    assert BY_EXAMPLE in run((REPOSITORY / "examples" / EXAMPLE).read_text("utf-8"), tmp_path)


async def test_database_that_an_adapter_opened_is_closed_with_it(tmp_path: Path) -> None:
    module = import_module(f"memoranda.integrations.{SUITE}")
    for name in ADAPTERS[SUITE]:
        adapter = getattr(module, name)(tmp_path / "own.db")
        for _ in range(2):
            await wait_for(adapter.close())
        with pytest.raises(Closed):
            await wait_for(adapter.memory.users())
        with MemoryManager(tmp_path / "shared.db") as manager:
            await wait_for(getattr(module, name)(manager).close())
            assert manager.users() == []


async def wait_for(answer: object) -> None:
    if isawaitable(answer):
        await answer


def run(program: str, folder: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MEMORY_", "EMBEDDING_"))}
    variables = {"PYTHONPATH": str(REPOSITORY / "src"), "HAYSTACK_TELEMETRY_ENABLED": "False"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment | variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

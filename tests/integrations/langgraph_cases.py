"""LangGraph's conformance suite of checkpointers, every capability; our page and our example."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from deepagents.backends import StoreBackend
from documentation import run_example, run_page
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

from memoranda import MemoryManager
from memoranda.integrations.langgraph import MemorandaSaver, MemorandaStore


@checkpointer_test(name="MemorandaSaver")
async def saver() -> AsyncIterator[MemorandaSaver]:
    with MemoryManager("sqlite://") as memory:
        yield MemorandaSaver(memory)


@pytest.mark.parametrize("capability", [each.value for each in Capability])
async def test_checkpointer_has_capability(capability: str) -> None:
    report = await validate(saver, capabilities={capability})
    result = report.results[capability]
    assert result.passed, result.failures
    assert result.tests_passed > 0


def test_deepagents_keeps_its_files_in_the_store() -> None:
    with MemoryManager("sqlite://") as memory:
        files = StoreBackend(namespace=lambda _: ("users", "ann", "files"), store=MemorandaStore(memory))
        files.write("/notes.md", "green tea\nblack coffee\n")
        assert files.edit("/notes.md", "black", "white").occurrences == 1
        assert files.read("/notes.md").file_data["content"] == "green tea\nwhite coffee\n"
        assert files.grep("coffee").matches == [{"path": "/notes.md", "line": 2, "text": "white coffee"}]
        assert [entry["path"] for entry in files.glob("*.md").matches] == ["/notes.md"]
        assert "white coffee" in memory.recall("Which coffee?")[0].content
        assert files.delete("/notes.md").error is None
        assert files.ls("/").entries == []


def test_page_runs(tmp_path: Path) -> None:
    run_page("langgraph.md", tmp_path)


def test_graph_of_the_example_remembers_across_threads(tmp_path: Path) -> None:
    printed = run_example("langgraph_agent.py", tmp_path)
    assert printed.splitlines()[:2] == ["You said: I play the cello.", "turns on Monday: 2"]

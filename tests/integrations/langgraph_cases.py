"""LangGraph's conformance suite of checkpointers, every capability; our page and our example."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import StoreBackend
from documentation import run_example, run_page
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability
from langgraph.prebuilt import create_react_agent
from langmem import create_manage_memory_tool, create_search_memory_tool

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


class ScriptedModel(BaseChatModel):
    """Says what it is given, one reply after the other."""

    replies: list[AIMessage]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> ScriptedModel:
        return self

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.replies.pop(0))])


def _call(name: str, **arguments: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"id": name, "name": name, "args": arguments}])


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_tools_of_langmem_keep_memories_in_the_store() -> None:
    said = "Ann is allergic to peanuts."
    replies = [_call("manage_memory", content=said, action="create"), _call("search_memory", query="peanuts?")]
    tools = [create(namespace=("memories",)) for create in (create_manage_memory_tool, create_search_memory_tool)]
    with MemoryManager("sqlite://") as memory:
        model = ScriptedModel(replies=[*replies, AIMessage("No peanuts.")])
        agent = create_react_agent(model, tools, store=MemorandaStore(memory, user="ann"))
        messages = agent.invoke({"messages": [("user", "I am allergic to peanuts.")]})["messages"]
        assert [said in message.content for message in messages if message.type == "tool"] == [False, True]
        assert said in memory.recall("What is Ann allergic to?", user="ann")[0].content


def test_page_runs(tmp_path: Path) -> None:
    run_page("langgraph.md", tmp_path)


def test_graph_of_the_example_remembers_across_threads(tmp_path: Path) -> None:
    printed = run_example("langgraph_agent.py", tmp_path)
    assert printed.splitlines()[:2] == ["You said: I play the cello.", "turns on Monday: 2"]

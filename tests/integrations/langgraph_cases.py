"""LangGraph's conformance suite of checkpointers: every capability."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

from memoranda import MemoryManager
from memoranda.integrations.langgraph import MemorandaSaver


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

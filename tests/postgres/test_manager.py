"""The tests of the manager that take a fixture named `manager`, on PostgreSQL."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib import import_module
from inspect import isfunction, signature
from typing import Any

import pytest

from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import Clock
from tests.fake_clock import FakeClock
from tests.unit.conftest import TickingClock

_FILES = frozenset(("path", "tmp_path"))
"""Fixtures of tests that look at files."""
AUDIT_KEY = "a key for the tests of PostgreSQL"
_MODULES = (
    "manager.test_manager",
    "manager.test_lists",
    "items.test_items",
    "storage.test_claim_resolution",
    "storage.test_isolation",
    "remember.test_pipeline",
    "remember.test_updates",
    "remember.test_quarantine",
    "remember.test_recheck",
    "recall.test_facts",
    "recall.test_later",
    "recall.test_ledger",
    "maintenance.test_upkeep",
    "maintenance.test_receipts",
    "maintenance.test_forget",
    "maintenance.test_health",
    "sessions.test_context",
    "knowledge.test_knowledge",
    "executions.test_executions",
    "conversation.test_conversations",
    "transfer.test_importing",
)


@pytest.fixture
def clock(request: pytest.FixtureRequest) -> Clock:
    """The clock that the module of the test uses for its own manager."""
    module = sys.modules[request.function.__module__]
    start = getattr(module, "START", None)
    if hasattr(module, "SAID"):
        start = module.SAID + timedelta(days=99)
    return TickingClock() if start is None else FakeClock(start)


@pytest.fixture
def manager(url: str, clock: Clock) -> Iterator[MemoryManager]:
    config = MemoryConfig(db_url=url, audit_key=AUDIT_KEY)
    with MemoryManager(config, embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


def _tests(name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    module = import_module(f"tests.unit.{name}")
    for test, function in vars(module).items():
        if not (test.startswith("test_") and isfunction(function)):
            continue
        parameters = signature(function).parameters.keys()
        if "manager" in parameters and not parameters & _FILES:
            yield f"{test}__{name.replace('.', '_')}", function


for _name in _MODULES:
    globals().update(_tests(_name))

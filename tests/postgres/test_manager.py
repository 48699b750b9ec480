"""The tests of the manager that take a fixture named `manager`, on PostgreSQL."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from importlib import import_module
from inspect import isfunction, signature

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
    "test_seed_projects",
    "unit.manager.test_manager",
    "unit.storage.test_claim_resolution",
    "unit.storage.test_isolation",
    "unit.remember.test_pipeline",
    "unit.remember.test_updates",
    "unit.remember.test_quarantine",
    "unit.remember.test_recheck",
    "unit.recall.test_facts",
    "unit.recall.test_later",
    "unit.recall.test_ledger",
    "unit.maintenance.test_upkeep",
    "unit.maintenance.test_receipts",
    "unit.maintenance.test_forget",
    "unit.maintenance.test_health",
    "unit.sessions.test_context",
    "unit.knowledge.test_knowledge",
    "unit.executions.test_executions",
    "unit.conversation.test_conversations",
    "unit.transfer.test_importing",
    "unit.items.test_items",
    "unit.manager.test_lists",
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


def _needs_manager(function: object) -> bool:
    if not isfunction(function) or not function.__name__.startswith("test_"):
        return False
    parameters = signature(function).parameters.keys()
    return "manager" in parameters and not parameters & _FILES


def _tests(name: str) -> Iterator[tuple[str, object]]:
    """Yield the tests of a module, and its classes of tests with those that need a manager."""
    suffix = name.replace(".", "_")
    for key, value in vars(import_module(f"tests.{name}")).items():
        if _needs_manager(value):
            yield f"{key}__{suffix}", value
        elif isinstance(value, type) and key.startswith("Test"):
            methods = {each: function for each, function in vars(value).items() if _needs_manager(function)}
            if methods:
                yield f"{key}_{suffix}", type(f"{key}_{suffix}", (), {**methods, "__module__": __name__})


for _name in _MODULES:
    globals().update(_tests(_name))

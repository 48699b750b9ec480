"""The tests of the manager that take a fixture named `manager`, on PostgreSQL."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from inspect import isfunction, signature, unwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.types import Clock
from tests.unit import conftest as unit_conftest
from tests.unit.conftest import TickingClock

_FILES = frozenset(("path", "tmp_path"))
"""Fixtures of tests that look at files."""
AUDIT_KEY = "a key for the tests of PostgreSQL"
_MODULES = [
    "test_seed_projects",
    "unit.manager.test_lists",
    "unit.manager.test_manager",
    "unit.storage.test_isolation",
    "unit.recall.test_facts",
    "unit.recall.test_ledger",
    "unit.maintenance.test_receipts",
    "unit.maintenance.test_forget",
    "unit.maintenance.test_health",
    "unit.sessions.test_context",
    "unit.test_knowledge",
    "unit.executions.test_executions",
    "unit.conversation.test_conversations",
    "unit.transfer.test_importing",
    "unit.items.test_items",
]
if os.environ.get("MEMORANDA_POSTGRES") == "all":  # `make postgres`: minutes more
    _MODULES += [
        "unit.storage.test_claim_resolution",
        "unit.remember.test_pipeline",
        "unit.remember.test_updates",
        "unit.remember.test_quarantine",
        "unit.remember.test_recheck",
        "unit.recall.test_later",
        "unit.maintenance.test_upkeep",
    ]


@pytest.fixture
def clock(request: pytest.FixtureRequest) -> Clock:
    """The clock of the module that the test is from, or of its folder."""
    origin = _origin(request)
    name = f"{origin.__package__}.conftest"
    conftest = import_module(name) if find_spec(name) else unit_conftest
    make: Callable[[], Clock] = unwrap(getattr(origin, "clock", getattr(conftest, "clock", TickingClock)))
    return make()


@pytest.fixture
def manager(request: pytest.FixtureRequest, url: str) -> Iterator[MemoryManager]:
    """The manager that the module of the test makes for itself, on PostgreSQL."""
    module = _origin(request)
    module = module if hasattr(module, "manager") else unit_conftest

    def open_on_postgres(_database: object = None, **options: Any) -> MemoryManager:
        return MemoryManager(MemoryConfig(db_url=url, audit_key=AUDIT_KEY), **options)

    make = unwrap(module.manager)
    arguments = {name: request.getfixturevalue(name) for name in signature(make).parameters}
    with pytest.MonkeyPatch.context() as patch:
        for each in _opening(module):
            patch.setattr(each, "MemoryManager", open_on_postgres)
        opened = make(**arguments)
        manager = next(opened)
    assert url.rpartition("/")[2] in repr(manager), "this test has to run on PostgreSQL"
    yield manager
    next(opened, None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


def _opening(module: ModuleType) -> Iterator[ModuleType]:
    """Yield the modules of tests that open the manager of a module: itself, and those whose functions it uses."""
    used = {value.__module__ for value in vars(module).values() if isfunction(value)}
    for name in {module.__name__, *(name for name in used if name.startswith("tests."))}:
        if hasattr(sys.modules[name], "MemoryManager"):
            yield sys.modules[name]


def _origin(request: pytest.FixtureRequest) -> Any:
    return sys.modules[request.function.__module__]


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
        elif isinstance(value, type) and key.startswith("Test") and any(map(_needs_manager, vars(value).values())):
            # With its fixtures and marks, and without the tests that need no manager.
            kept = {each: of for each, of in vars(value).items() if not each.startswith(("test_", "__"))}
            kept |= {each: of for each, of in vars(value).items() if _needs_manager(of)}
            yield f"{key}_{suffix}", type(f"{key}_{suffix}", (), {**kept, "__module__": __name__})


for _name in _MODULES:
    globals().update(_tests(_name))

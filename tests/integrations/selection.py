"""A pytest plugin: leave out the tests that a suite leaves out, and expect the failures that it expects."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    suite = _suites()[os.environ["MEMORANDA_SUITE"]]
    _refuse_stale(items, {**suite.left_out, **suite.failing})
    left_out = [item for item in items if _reason(item, suite.left_out)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    for item in items:
        if reason := _reason(item, suite.failing):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def _suites() -> Mapping[str, object]:
    """Load the runner by its file: the package `tests` is the framework's here."""
    spec = importlib.util.spec_from_file_location("integrations_run", Path(__file__).with_name("run.py"))
    assert spec is not None
    assert spec.loader is not None
    runner = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    suites: Mapping[str, object] = runner.SUITES
    return suites


def _refuse_stale(items: list[pytest.Item], reasons: Mapping[str, str]) -> None:
    stale = [pattern for pattern in reasons if not any(re.search(pattern, item.nodeid) for item in items)]
    if stale:
        raise pytest.UsageError(f"no test matches {', '.join(stale)}: remove it from the suite")


def _reason(item: pytest.Item, reasons: Mapping[str, str]) -> str | None:
    return next((reason for pattern, reason in reasons.items() if re.search(pattern, item.nodeid)), None)

"""A pytest plugin: leave out the tests that a suite leaves out, and expect the failures that it expects."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import pytest
from suites import SUITES  # not from `tests`: that package is the framework's here


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    suite = SUITES[os.environ["MEMORANDA_SUITE"]]
    _refuse_stale(items, {**suite.left_out, **suite.failing})
    left_out = [item for item in items if _reason(item, suite.left_out)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    for item in items:
        if reason := _reason(item, suite.failing):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def _refuse_stale(items: list[pytest.Item], reasons: Mapping[str, str]) -> None:
    stale = [pattern for pattern in reasons if not any(re.search(pattern, item.nodeid) for item in items)]
    if stale:
        raise pytest.UsageError(f"no test matches {', '.join(stale)}: remove it from the suite")


def _reason(item: pytest.Item, reasons: Mapping[str, str]) -> str | None:
    return next((reason for pattern, reason in reasons.items() if re.search(pattern, item.nodeid)), None)

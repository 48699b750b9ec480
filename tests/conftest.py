"""What holds for all tests. An unexpected skip fails the run: a skipped test protects nothing."""

from __future__ import annotations

import gc

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes depends on what else the machine does, so no test fails by it.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

EXPECTED_SKIPS = (
    "sentence-transformers is not installed",  # a gigabyte of torch for one adapter
    "sentence-transformers is installed",  # then the one test that needs it absent
)

_unexpected: list[str] = []


def pytest_collection_finish() -> None:
    """Let no garbage collection look through what stays to the end: the modules and ten thousand tests."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(expected in reason for expected in EXPECTED_SKIPS):
            _unexpected.append(f"{report.nodeid}: {reason}")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _unexpected.append(f"{report.nodeid}: {report.longrepr}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _unexpected and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for skip in _unexpected:
        terminalreporter.write_line(f"UNEXPECTED SKIP {skip}", red=True)

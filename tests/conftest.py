"""Fail the run on an unexpected skip: a skipped test protects nothing."""

from __future__ import annotations

import pytest

EXPECTED_SKIPS = (
    "sentence-transformers is not installed",  # a gigabyte of torch for one adapter
    "sentence-transformers is installed",  # then the one test that needs it absent
)

_unexpected: list[str] = []


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

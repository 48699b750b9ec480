from __future__ import annotations

import logging

import pytest

from memoranda.errors import InvalidInput
from memoranda.storage.sqlite import connections


@pytest.mark.parametrize(
    ("version", "buggy"),
    [
        ("3.6.23", False),
        ("3.7.0", True),
        ("3.40.1", True),
        ("3.44.5", True),
        ("3.44.6", False),
        ("3.45.0", True),
        ("3.50.6", True),
        ("3.50.7", False),
        ("3.51.2", True),
        ("3.51.3", False),
        ("3.53.4", False),
    ],
)
def test_wal_reset_bug_is_recognised_by_version(version: str, buggy: bool) -> None:
    assert connections.has_wal_reset_bug(version) is buggy


def test_pysqlite3_is_preferred() -> None:
    module, chosen = connections.load_driver()
    assert chosen.name == "pysqlite3"
    assert chosen.version == module.sqlite_version


def test_standard_library_can_be_chosen_and_warns_once_when_old(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_warned_versions", set())
    with caplog.at_level(logging.WARNING, logger="memoranda"):
        connections.load_driver("sqlite3")
        _, chosen = connections.load_driver("sqlite3")
    assert chosen.name == "sqlite3"
    assert len(caplog.records) == (1 if chosen.wal_reset_bug else 0)


def test_unknown_driver_is_refused() -> None:
    with pytest.raises(InvalidInput, match="use one of pysqlite3, sqlite3"):
        connections.load_driver("duckdb")

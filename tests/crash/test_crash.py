"""The short version of `python -m tests.crash.run`, in a process of its own since it forks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.model import Ledger, Operation

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(280)
def test_two_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.crash.run", "--kills", "200", "--lanes", "1", "--keep", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "findings                         0" in done.stdout


class TestTheLedgerItself:
    """An oracle that cannot fail proves nothing: each kind of loss must be told."""

    def ledger(self) -> Ledger:
        ledger = Ledger()
        ledger.begin(Operation("bulk", {"a": "note a", "b": "note b"}))
        ledger.done()
        return ledger

    def test_what_was_acknowledged_is_right(self) -> None:
        assert self.ledger().reopened([("a", "note a"), ("b", "note b")]) == []

    def test_a_lost_row_is_told(self) -> None:
        assert self.ledger().reopened([("a", "note a")]) == ["1 lost: b"]

    def test_a_phantom_is_told(self) -> None:
        rows = [("a", "note a"), ("b", "note b"), ("c", "note c")]
        assert self.ledger().reopened(rows) == ["1 phantom: c"]

    def test_a_row_twice_is_told(self) -> None:
        rows = [("a", "note a"), ("a", "note a"), ("b", "note b")]
        assert self.ledger().reopened(rows) == ["1 rows twice"]

    def test_a_lost_update_is_told(self) -> None:
        ledger = self.ledger()
        ledger.begin(Operation("update", {"a": "note a again"}))
        ledger.done()
        assert ledger.reopened([("a", "note a"), ("b", "note b")]) == ["1 with foreign text: a"]

    def test_a_batch_by_halves_is_told(self) -> None:
        ledger = self.ledger()
        ledger.begin(Operation("bulk", {"c": "note c", "d": "note d"}))
        ledger.killed()
        rows = [("a", "note a"), ("b", "note b"), ("c", "note c")]
        assert ledger.reopened(rows) == ["an operation was written by halves"]

    def test_a_struck_operation_may_come_late_but_not_go_again(self) -> None:
        ledger = self.ledger()
        ledger.begin(Operation("add", {"c": "note c"}))
        ledger.killed()
        before, after = [("a", "note a"), ("b", "note b")], [("a", "note a"), ("b", "note b"), ("c", "note c")]
        assert ledger.reopened(before) == []
        assert ledger.reopened(after) == []
        assert ledger.late == 1
        assert ledger.reopened(before) == ["1 lost: c"]

    def test_an_overtaken_operation_must_never_come(self) -> None:
        ledger = self.ledger()
        ledger.begin(Operation("add", {"c": "note c"}))
        ledger.killed()
        assert ledger.reopened([("a", "note a"), ("b", "note b")]) == []
        ledger.begin(Operation("delete", drop=("b",)))
        ledger.done()
        assert ledger.undone == {"note c"}
        assert ledger.reopened([("a", "note a"), ("c", "note c")]) == ["1 phantom: c"]

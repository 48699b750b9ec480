"""A short `python -m tests.crash.run`, in a separate process because it forks."""

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


class TestLedger:
    """A check that cannot fail proves nothing: the ledger must find each kind of loss."""

    def ledger(self) -> Ledger:
        ledger = Ledger()
        ledger.begin(Operation("bulk", {"a": "note a", "b": "note b"}))
        ledger.acknowledge()
        return ledger

    def test_acknowledged_rows_are_correct(self) -> None:
        assert self.ledger().check([("a", "note a"), ("b", "note b")]) == []

    def test_lost_row_is_found(self) -> None:
        assert self.ledger().check([("a", "note a")]) == ["1 lost: b"]

    def test_phantom_row_is_found(self) -> None:
        rows = [("a", "note a"), ("b", "note b"), ("c", "note c")]
        assert self.ledger().check(rows) == ["1 phantom: c"]

    def test_duplicate_row_is_found(self) -> None:
        rows = [("a", "note a"), ("a", "note a"), ("b", "note b")]
        assert self.ledger().check(rows) == ["1 duplicate rows"]

    def test_lost_update_is_found(self) -> None:
        ledger = self.ledger()
        ledger.begin(Operation("update", {"a": "note a again"}))
        ledger.acknowledge()
        assert ledger.check([("a", "note a"), ("b", "note b")]) == ["1 with wrong content: a"]

    def test_batch_written_in_part_is_found(self) -> None:
        ledger = self.ledger()
        ledger.begin(Operation("bulk", {"c": "note c", "d": "note d"}))
        ledger.interrupt()
        rows = [("a", "note a"), ("b", "note b"), ("c", "note c")]
        assert ledger.check(rows) == ["an operation was written in part"]

    def test_interrupted_operation_may_appear_late_but_not_vanish(self) -> None:
        ledger = self.ledger()
        ledger.begin(Operation("add", {"c": "note c"}))
        ledger.interrupt()
        before, after = [("a", "note a"), ("b", "note b")], [("a", "note a"), ("b", "note b"), ("c", "note c")]
        assert ledger.check(before) == []
        assert ledger.check(after) == []
        assert ledger.late == 1
        assert ledger.check(before) == ["1 lost: c"]

    def test_interrupted_operation_must_not_appear_after_a_later_one(self) -> None:
        ledger = self.ledger()
        ledger.begin(Operation("add", {"c": "note c"}))
        ledger.interrupt()
        assert ledger.check([("a", "note a"), ("b", "note b")]) == []
        ledger.begin(Operation("delete", drop=("b",)))
        ledger.acknowledge()
        assert ledger.undone == {"note c"}
        assert ledger.check([("a", "note a"), ("c", "note c")]) == ["1 phantom: c"]

"""The ledger of a crash test: which states a store may have after its writer was killed."""

from __future__ import annotations

from tests.prove.ledger import Ledger, Operation


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

    def test_operation_that_is_not_atomic_may_be_found_in_part_but_not_acknowledged_in_part(self) -> None:
        upkeep = Operation("upkeep", {"a": "note a merged", "b": "note b merged"}, atomic=False)
        half = [("a", "note a merged"), ("b", "note b")]
        ledger = self.ledger()
        ledger.begin(upkeep)
        ledger.interrupt()
        assert ledger.check(half) == []
        ledger = self.ledger()
        ledger.begin(upkeep)
        ledger.acknowledge()
        assert ledger.check(half) == ["1 with wrong content: b"]

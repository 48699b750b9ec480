from __future__ import annotations

from pathlib import Path

from tests.unit.cli.conftest import Memoranda


def test_bench_measures_and_leaves_no_files(memoranda: Memoranda, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    figures = memoranda.json("bench", "--memories", "20")
    assert all(figure["value"] > 0 for figure in figures)
    assert set(tmp_path.iterdir()) == before

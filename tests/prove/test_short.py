"""The short version of every regime. Each also has tests of its own oracle, that show that it can fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.prove.regime import Plan, result
from tests.prove.run import REGIMES, run_short, save, table


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", list(REGIMES))
def test_short_version_finds_no_violation(name: str) -> None:
    found = run_short(name)
    assert found.violations == ()
    assert found.runs >= REGIMES[name].short, "the time was too short for the short version"


def test_the_same_seed_makes_the_same_random_numbers_whatever_ran_before() -> None:
    assert Plan(1, seed=7).rng("kill", 3).random() == Plan(9, seed=7).rng("kill", 3).random()
    assert Plan(1, seed=7).rng("kill", 3).random() != Plan(1, seed=8).rng("kill", 3).random()


def test_plan_ends_after_its_runs_or_its_seconds() -> None:
    assert Plan(2).goes_on(1)
    assert not Plan(2).goes_on(2)
    assert not Plan(2, seconds=0.0).goes_on(1)


def test_table_adds_up_the_parts_of_a_regime(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    if not REGIMES:
        pytest.skip("no regime yet")
    name = next(iter(REGIMES))
    save(result(name, Plan(5, seed=1), 5, []), file)
    save(result(name, Plan(5, seed=2), 7, []), file)
    assert "| 12 |" in table(file)
    assert "| 1, 2 |" in table(file)
    save(result(name, Plan(1, seed=3), 1, ["a lost write"]), file)
    assert "| 13 |" in table(file)
    assert "| 1 | – |" in table(file)
    assert [json.loads(line)["runs"] for line in file.read_text().splitlines()] == [5, 7, 1]

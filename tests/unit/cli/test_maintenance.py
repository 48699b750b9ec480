from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memoranda import MemoryManager
from memoranda.cli.maintenance import models
from memoranda.testing.fakes import HashEmbedder
from tests.driver import sqlite3
from tests.unit.cli.conftest import Memoranda
from tests.unit.embedding.tiny_bert import make_weights, write_folder


def test_stats_counts_memories(memoranda: Memoranda) -> None:
    memoranda.add_facts()
    assert memoranda.json("stats")["stats"]["long_term_entries"] == 3
    assert "3" in memoranda("stats").stdout


def test_check_finds_and_repair_restores_missing_vector(memoranda: Memoranda) -> None:
    memoranda.add_facts()
    assert memoranda("check").stdout.startswith("no problems: 3 memories")
    connection = sqlite3.connect(memoranda.database)
    connection.execute("DELETE FROM vectors WHERE memory_id = 2")
    connection.commit()
    connection.close()
    wrong = memoranda("check")
    assert (wrong.exit_code, "1 memories without a vector: 2" in wrong.stdout) == (6, True)
    assert memoranda("check", "--json").exit_code == 6
    assert "1 vectors rebuilt" in memoranda("repair").stdout
    assert memoranda("check").exit_code == 0
    assert memoranda("repair").stdout == "nothing to repair\n"


def test_repair_reports_damage_it_cannot_fix(memoranda: Memoranda) -> None:
    memoranda.add_facts()
    connection = sqlite3.connect(memoranda.database)
    connection.execute("UPDATE memories SET content = 'a lie' WHERE id = 2")
    connection.commit()
    connection.close()
    done = memoranda("repair")
    assert (done.exit_code, "memory 2 is damaged" in done.stdout) == (6, True)


def test_upkeep_dry_run_changes_nothing_and_run_archives(memoranda: Memoranda) -> None:
    old = "2001-01-01T00:00:00+00:00"
    with MemoryManager(f"sqlite:///{memoranda.database}", clock=lambda: datetime.fromisoformat(old)) as manager:
        manager.add_memory("Haha, so cool", importance=0.05, user="ann")
        manager.add_memory("of great use", importance=0.9, user="ann")
    dry = memoranda.json("upkeep", "--dry-run", "--policy", "fade")
    assert [(each["action"], each["content"]) for each in dry["decisions"]] == [("archived", "Haha, so cool")]
    assert "1 change to do" in memoranda("upkeep", "--dry-run", "--policy", "fade").stdout
    assert "1 change done" in memoranda("upkeep", "--policy", "fade").stdout
    assert memoranda.json("search", "little use", "-u", "ann")[0]["memory"]["content"] == "of great use"
    assert memoranda("upkeep", "--policy", "nonsense").exit_code == 2


def test_reembed_switches_to_configured_model(memoranda: Memoranda) -> None:
    with MemoryManager(f"sqlite:///{memoranda.database}", embedder=HashEmbedder(32)) as manager:
        manager.add_memory("tea")
    refused = memoranda("search", "tea")
    assert (refused.exit_code, "reembed" in refused.stderr) == (6, True)
    assert memoranda.json("reembed") == {"embedded": 1}
    assert len(memoranda.json("search", "tea")) == 1


def test_bench_measures_and_leaves_no_files(memoranda: Memoranda, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    figures = memoranda.json("bench", "--memories", "20")
    assert all(figure["value"] > 0 for figure in figures)
    assert set(tmp_path.iterdir()) == before


@pytest.fixture(autouse=True)
def _empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORANDA_HOME", str(tmp_path / "home"))


def _model_names() -> list[str]:
    return [row["name"] for row in json.loads(CliRunner().invoke(models, ["list", "--json"]).stdout)]


def test_model_is_added_listed_and_removed(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny-bert", make_weights())
    added = CliRunner().invoke(models, ["add", str(folder), "--name", "tiny"])
    assert added.exit_code == 0
    assert "tiny (32 dimensions)" in added.stdout
    assert _model_names() == ["e5-dialogue", "fast", "tiny"]
    assert "tiny" in CliRunner().invoke(models, ["list"]).stdout
    assert CliRunner().invoke(models, ["remove", "tiny"]).exit_code == 0
    assert _model_names() == ["e5-dialogue", "fast"]


@pytest.mark.parametrize("command", [["remove", "nope"], ["add", "/nowhere/at-all"]])
def test_model_error_is_one_line_with_exit_code(command: list[str]) -> None:
    done = CliRunner().invoke(models, command)
    assert done.exit_code == 3
    assert "error: no " in done.stderr
    assert "Traceback" not in done.output


def test_migrate_says_that_the_file_is_missing(memoranda: Memoranda) -> None:
    done = memoranda("migrate", "--db", "missing.db")
    assert done.exit_code == 3
    assert "no database" in done.stderr
    assert not memoranda.database.with_name("missing.db").exists()
    memoranda.add_facts()
    assert "up to date" in memoranda("migrate").output

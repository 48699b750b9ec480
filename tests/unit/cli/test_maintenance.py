from __future__ import annotations

import sqlite3
from datetime import datetime

from memoranda import MemoryManager
from memoranda.testing.fakes import HashEmbedder
from tests.unit.cli.conftest import Memoranda


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
    assert "1 to do" in memoranda("upkeep", "--dry-run", "--policy", "fade").stdout
    assert "1 done" in memoranda("upkeep", "--policy", "fade").stdout
    assert memoranda.json("search", "little use", "-u", "ann")[0]["memory"]["content"] == "of great use"
    assert memoranda("upkeep", "--policy", "nonsense").exit_code == 2


def test_reembed_switches_to_configured_model(memoranda: Memoranda) -> None:
    with MemoryManager(f"sqlite:///{memoranda.database}", embedder=HashEmbedder(32)) as manager:
        manager.add_memory("tea")
    refused = memoranda("search", "tea")
    assert (refused.exit_code, "reembed" in refused.stderr) == (6, True)
    assert memoranda.json("reembed") == {"embedded": 1}
    assert len(memoranda.json("search", "tea")) == 1

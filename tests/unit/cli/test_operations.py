from __future__ import annotations

import sqlite3
from datetime import datetime
from pathlib import Path

from memoranda import MemoryManager
from memoranda.testing.fakes import HashEmbedder
from tests.unit.cli.conftest import Memoranda


def _add_facts(memoranda: Memoranda, count: int = 3) -> None:
    memoranda.json("add", *(f"fact number {n}" for n in range(count)), "-u", "ann")


def test_init_creates_database_and_shows_status(memoranda: Memoranda) -> None:
    health = memoranda.json("init")
    assert (health["status"], health["database"]) == ("ok", str(memoranda.database))
    assert memoranda.database.exists()
    assert "static" in memoranda("init").stdout


def test_db_option_is_relative_to_current_folder(memoranda: Memoranda, tmp_path: Path) -> None:
    assert memoranda.json("init", "--db", "other.db")["database"] == str(tmp_path / "other.db")


def test_stats_counts_memories(memoranda: Memoranda) -> None:
    _add_facts(memoranda)
    assert memoranda.json("stats")["stats"]["long_term_entries"] == 3
    assert "3" in memoranda("stats").stdout


def test_backup_and_restore_refuse_overwriting_and_damage(memoranda: Memoranda, tmp_path: Path) -> None:
    _add_facts(memoranda)
    assert memoranda.json("backup", "b.db")["memories"] == 3
    assert memoranda("backup", "b.db").exit_code == 5
    assert memoranda("backup", "b.db", "--force").exit_code == 0
    assert memoranda("restore", "b.db").exit_code == 5
    assert memoranda("restore", "b.db", "--db", "new.db").stdout == "3 memories restored\n"
    assert len(memoranda.json("list", "--db", "new.db", "-u", "ann")) == 3
    (tmp_path / "b.db").write_bytes((tmp_path / "b.db").read_bytes()[:-1] + b"x")
    assert memoranda("restore", "b.db", "--db", "newer.db").exit_code == 6
    assert not (tmp_path / "newer.db").exists()


def test_importing_export_twice_adds_nothing(memoranda: Memoranda) -> None:
    _add_facts(memoranda)
    assert memoranda.json("export", "all.jsonl")["memories"] == 3
    assert memoranda.json("export", "bob.jsonl", "-u", "bob")["memories"] == 0
    assert memoranda.json("import", "all.jsonl", "--db", "new.db")["memories"] == 3
    again = memoranda("import", "all.jsonl", "--db", "new.db")
    assert again.stdout == "0 memories imported, 3 existed already\n"


def test_files_format_exports_and_imports_values_and_records(memoranda: Memoranda) -> None:
    with MemoryManager(f"sqlite:///{memoranda.database}") as manager:
        manager.save("writer", "plan", {"steps": 2}, "long_term")
        manager.save_execution_record("writer", {"status": "success"})
    out = memoranda.json("export", "folder", "--as", "files")
    assert (out["values"], out["executions"]) == (1, 1)
    back = memoranda.json("import", "folder", "--from", "files", "--db", "new.db")
    assert (back["values"], back["executions"]) == (1, 1)
    assert memoranda("export", "x", "--as", "mem0").exit_code == 2
    assert memoranda("import", "nowhere", "--from", "mem0").exit_code in (2, 3)


def test_check_finds_and_repair_restores_missing_vector(memoranda: Memoranda) -> None:
    _add_facts(memoranda)
    assert memoranda("check").stdout.startswith("no problems: 3 memories")
    connection = sqlite3.connect(memoranda.database)
    connection.execute("DELETE FROM vectors WHERE memory_id = 2")
    connection.commit()
    connection.close()
    wrong = memoranda("check")
    assert (wrong.exit_code, "1 memories without a vector: 2" in wrong.stdout) == (6, True)
    assert memoranda("check", "--json").exit_code == 6
    assert "1 vectors made again" in memoranda("repair").stdout
    assert memoranda("check").exit_code == 0
    assert memoranda("repair").stdout == "nothing to repair\n"


def test_repair_reports_damage_it_cannot_fix(memoranda: Memoranda) -> None:
    _add_facts(memoranda)
    connection = sqlite3.connect(memoranda.database)
    connection.execute("UPDATE memories SET content = 'a lie' WHERE id = 2")
    connection.commit()
    connection.close()
    done = memoranda("repair")
    assert (done.exit_code, "memory 2 is damaged" in done.stdout) == (6, True)


def test_upkeep_dry_run_changes_nothing_and_run_archives(memoranda: Memoranda) -> None:
    old = "2001-01-01T00:00:00+00:00"
    with MemoryManager(f"sqlite:///{memoranda.database}", clock=lambda: datetime.fromisoformat(old)) as manager:
        manager.add_memory("of little use", importance=0.05, user="ann")
        manager.add_memory("of great use", importance=0.9, user="ann")
    dry = memoranda.json("upkeep", "--dry-run", "--policy", "fade")
    assert [(each["action"], each["content"]) for each in dry["decisions"]] == [("archived", "of little use")]
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


def test_executions_are_listed_counted_and_verified(memoranda: Memoranda) -> None:
    with MemoryManager(f"sqlite:///{memoranda.database}") as manager:
        manager.save_execution_record("writer", {"status": "success", "workflow_id": "w", "duration_ms": 5})
        manager.save_execution_record("editor", {"status": "failed", "workflow_id": "w"})
    assert [each["agent_id"] for each in memoranda.json("executions", "list")["records"]] == ["editor", "writer"]
    assert len(memoranda.json("executions", "list", "-a", "writer", "--status", "success")["records"]) == 1
    assert memoranda.json("executions", "stats")["by_status"] == {"success": 1, "failed": 1}
    assert memoranda("executions", "verify").exit_code == 0
    connection = sqlite3.connect(memoranda.database)
    connection.execute("UPDATE executions SET status = 'success'")
    connection.commit()
    connection.close()
    assert memoranda("executions", "verify").exit_code == 6
    for command in (["list"], ["stats"]):
        assert memoranda("executions", *command).exit_code == 0


def test_ended_sessions_are_listed(memoranda: Memoranda) -> None:
    from memoranda.manager.manager import create_session

    with (
        MemoryManager(f"sqlite:///{memoranda.database}") as manager,
        create_session("plan", manager) as session,
    ):
        session.add_conversation_message("writer", "assistant", "done")
    assert [each["workflow_id"] for each in memoranda.json("session", "list")] == ["plan"]
    assert "plan" in memoranda("session", "list", "-w", "plan").stdout
    assert memoranda.json("session", "show", "plan") == []


def test_keys_are_created_listed_without_secret_rotated_and_revoked(memoranda: Memoranda) -> None:
    made = memoranda.json("keys", "create", "ci", "--scopes", "read", "--days", "1")
    secret = made["key"].rpartition(".")[2]
    listed = memoranda("keys", "list", "--json").stdout
    assert (made["info"]["id"] in listed, secret in listed) == (True, False)
    assert secret.encode() not in memoranda.database.read_bytes()
    rotated = memoranda("keys", "rotate", made["info"]["id"]).stdout
    assert rotated.splitlines()[-1].startswith("mmr.")
    assert memoranda("keys", "revoke", made["info"]["id"]).exit_code == 0
    assert memoranda("keys", "revoke", "nobody").exit_code == 3
    assert memoranda("keys", "create", "x", "--scopes", "everything").exit_code == 2


def test_bench_measures_and_leaves_no_files(memoranda: Memoranda, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    figures = memoranda.json("bench", "--memories", "20")
    assert all(figure["value"] > 0 for figure in figures)
    assert set(tmp_path.iterdir()) == before

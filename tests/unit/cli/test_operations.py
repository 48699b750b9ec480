from __future__ import annotations

import sqlite3
from datetime import datetime
from pathlib import Path

from recollect import MemoryManager
from recollect.testing.hash_embedder import HashEmbedder
from tests.unit.cli.conftest import Recollect


def _fill(recollect: Recollect, count: int = 3) -> None:
    recollect.json("add", *(f"fact number {n}" for n in range(count)), "-u", "ann")


def test_init_makes_the_database_and_says_what_it_runs_on(recollect: Recollect) -> None:
    health = recollect.json("init")
    assert (health["status"], health["database"]) == ("ok", str(recollect.database))
    assert recollect.database.exists()
    assert "static" in recollect("init").stdout


def test_a_path_on_the_command_line_starts_where_one_stands(recollect: Recollect, tmp_path: Path) -> None:
    assert recollect.json("init", "--db", "other.db")["database"] == str(tmp_path / "other.db")


def test_stats_count(recollect: Recollect) -> None:
    _fill(recollect)
    assert recollect.json("stats")["stats"]["long_term_entries"] == 3
    assert "3" in recollect("stats").stdout


def test_backup_and_restore(recollect: Recollect, tmp_path: Path) -> None:
    _fill(recollect)
    assert recollect.json("backup", "b.db")["memories"] == 3
    assert recollect("backup", "b.db").exit_code == 5
    assert recollect("backup", "b.db", "--force").exit_code == 0
    assert recollect("restore", "b.db").exit_code == 5
    assert recollect("restore", "b.db", "--db", "new.db").stdout == "3 memories restored\n"
    assert len(recollect.json("list", "--db", "new.db", "-u", "ann")) == 3
    (tmp_path / "b.db").write_bytes((tmp_path / "b.db").read_bytes()[:-1] + b"x")
    assert recollect("restore", "b.db", "--db", "newer.db").exit_code == 6
    assert not (tmp_path / "newer.db").exists()


def test_export_and_import(recollect: Recollect) -> None:
    _fill(recollect)
    assert recollect.json("export", "all.jsonl")["memories"] == 3
    assert recollect.json("export", "bob.jsonl", "-u", "bob")["memories"] == 0
    assert recollect.json("import", "all.jsonl", "--db", "new.db")["memories"] == 3
    again = recollect("import", "all.jsonl", "--db", "new.db")
    assert again.stdout == "0 memories imported, 3 were there already\n"


def test_values_and_records_go_out_as_plain_files_and_come_back(recollect: Recollect) -> None:
    with MemoryManager(f"sqlite:///{recollect.database}") as manager:
        manager.save("writer", "plan", {"steps": 2}, "long_term")
        manager.save_execution_record("writer", {"status": "success"})
    out = recollect.json("export", "folder", "--as", "files")
    assert (out["values"], out["executions"]) == (1, 1)
    back = recollect.json("import", "folder", "--from", "files", "--db", "new.db")
    assert (back["values"], back["executions"]) == (1, 1)
    assert recollect("export", "x", "--as", "mem0").exit_code == 2
    assert recollect("import", "nowhere", "--from", "mem0").exit_code in (2, 3)


def test_check_finds_and_repair_mends(recollect: Recollect) -> None:
    _fill(recollect)
    assert recollect("check").stdout.startswith("sound: 3 memories")
    connection = sqlite3.connect(recollect.database)
    connection.execute("DELETE FROM vectors WHERE memory_id = 2")
    connection.commit()
    connection.close()
    wrong = recollect("check")
    assert (wrong.exit_code, "1 memories without a vector: 2" in wrong.stdout) == (6, True)
    assert recollect("check", "--json").exit_code == 6
    assert "1 vectors made again" in recollect("repair").stdout
    assert recollect("check").exit_code == 0
    assert recollect("repair").stdout == "nothing to repair\n"


def test_what_cannot_be_mended_is_told(recollect: Recollect) -> None:
    _fill(recollect)
    connection = sqlite3.connect(recollect.database)
    connection.execute("UPDATE memories SET content = 'a lie' WHERE id = 2")
    connection.commit()
    connection.close()
    done = recollect("repair")
    assert (done.exit_code, "memory 2 is damaged" in done.stdout) == (6, True)


def test_upkeep_dry_and_for_real(recollect: Recollect) -> None:
    old = "2001-01-01T00:00:00+00:00"
    with MemoryManager(f"sqlite:///{recollect.database}", clock=lambda: datetime.fromisoformat(old)) as manager:
        manager.add_memory("of little use", importance=0.05, user="ann")
        manager.add_memory("of great use", importance=0.9, user="ann")
    dry = recollect.json("upkeep", "--dry-run", "--policy", "fade")
    assert [(each["action"], each["content"]) for each in dry["decisions"]] == [("archived", "of little use")]
    assert "1 to do" in recollect("upkeep", "--dry-run", "--policy", "fade").stdout
    assert "1 done" in recollect("upkeep", "--policy", "fade").stdout
    assert recollect.json("search", "little use", "-u", "ann")[0]["memory"]["content"] == "of great use"
    assert recollect("upkeep", "--policy", "nonsense").exit_code == 2


def test_reembed_moves_to_the_model_that_is_set(recollect: Recollect) -> None:
    with MemoryManager(f"sqlite:///{recollect.database}", embedder=HashEmbedder(32)) as manager:
        manager.add_memory("tea")
    refused = recollect("search", "tea")
    assert (refused.exit_code, "reembed" in refused.stderr) == (6, True)
    assert recollect.json("reembed") == {"embedded": 1}
    assert len(recollect.json("search", "tea")) == 1


def test_executions_are_listed_counted_and_verified(recollect: Recollect) -> None:
    with MemoryManager(f"sqlite:///{recollect.database}") as manager:
        manager.save_execution_record("writer", {"status": "success", "workflow_id": "w", "duration_ms": 5})
        manager.save_execution_record("editor", {"status": "failed", "workflow_id": "w"})
    assert [each["agent_id"] for each in recollect.json("executions", "list")["records"]] == ["editor", "writer"]
    assert len(recollect.json("executions", "list", "-a", "writer", "--status", "success")["records"]) == 1
    assert recollect.json("executions", "stats")["by_status"] == {"success": 1, "failed": 1}
    assert recollect("executions", "verify").exit_code == 0
    connection = sqlite3.connect(recollect.database)
    connection.execute("UPDATE executions SET status = 'success'")
    connection.commit()
    connection.close()
    assert recollect("executions", "verify").exit_code == 6
    for command in (["list"], ["stats"]):
        assert recollect("executions", *command).exit_code == 0


def test_sessions_that_ended_are_listed(recollect: Recollect) -> None:
    from recollect.manager import create_session

    with (
        MemoryManager(f"sqlite:///{recollect.database}") as manager,
        create_session("plan", manager) as session,
    ):
        session.add_conversation_message("writer", "assistant", "done")
    assert [each["workflow_id"] for each in recollect.json("session", "list")] == ["plan"]
    assert "plan" in recollect("session", "list", "-w", "plan").stdout
    assert recollect.json("session", "show", "plan") == []


def test_keys_are_made_once_listed_without_their_secret_rotated_and_revoked(recollect: Recollect) -> None:
    made = recollect.json("keys", "create", "ci", "--scopes", "read", "--days", "1")
    secret = made["key"].rpartition(".")[2]
    listed = recollect("keys", "list", "--json").stdout
    assert (made["info"]["id"] in listed, secret in listed) == (True, False)
    assert secret.encode() not in recollect.database.read_bytes()
    rotated = recollect("keys", "rotate", made["info"]["id"]).stdout
    assert rotated.splitlines()[-1].startswith("rcl.")
    assert recollect("keys", "revoke", made["info"]["id"]).exit_code == 0
    assert recollect("keys", "revoke", "nobody").exit_code == 3
    assert recollect("keys", "create", "x", "--scopes", "everything").exit_code == 2


def test_bench_measures_and_leaves_nothing(recollect: Recollect, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    figures = recollect.json("bench", "--memories", "20")
    assert all(figure["value"] > 0 for figure in figures)
    assert set(tmp_path.iterdir()) == before

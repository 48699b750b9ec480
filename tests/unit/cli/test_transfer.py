from __future__ import annotations

import json
from pathlib import Path

from memoranda import MemoryManager
from tests.unit.cli.conftest import Memoranda


def test_backup_and_restore_refuse_overwriting_and_damage(memoranda: Memoranda, tmp_path: Path) -> None:
    memoranda.add_facts()
    assert memoranda.json("backup", "b.db")["memories"] == 3
    assert memoranda("backup", "b.db").exit_code == 5
    assert memoranda("backup", "b.db", "--force").exit_code == 0
    assert memoranda("restore", "b.db").exit_code == 5
    assert memoranda("restore", "b.db", "--db", "new.db").stdout == "3 memories restored\n"
    assert len(memoranda.json("list", "--db", "new.db", "-u", "ann")) == 3
    (tmp_path / "b.db").write_bytes((tmp_path / "b.db").read_bytes()[:-1] + b"x")
    assert memoranda("restore", "b.db", "--db", "newer.db").exit_code == 6
    assert not (tmp_path / "newer.db").exists()


def test_restore_brings_back_what_archive_removed(memoranda: Memoranda) -> None:
    memoranda.add_facts()
    before = memoranda.json("list", "-u", "ann")
    assert memoranda("archive", "old.db", "--remove").exit_code != 0
    assert memoranda.json("archive", "new.zst", "--older-than", "1", "--remove")["removed"] == 0
    assert ", 3 removed from the database" in memoranda("archive", "old.zst", "-u", "ann", "--remove").stdout
    assert memoranda.json("list", "-u", "ann") == []
    assert memoranda("restore", "old.zst").stdout == "3 memories restored, 0 existed already\n"
    assert memoranda.json("list", "-u", "ann") == before
    assert memoranda.json("backup", "b.db.zst")["memories"] == 3
    assert memoranda("restore", "b.db.zst", "--db", "new.db").stdout == "3 memories restored\n"


def test_importing_export_twice_adds_nothing(memoranda: Memoranda) -> None:
    memoranda.add_facts()
    assert memoranda.json("export", "all.jsonl")["memories"] == 3
    assert memoranda.json("export", "bob.jsonl", "-u", "bob")["memories"] == 0
    assert memoranda.json("import", "all.jsonl", "--db", "new.db")["memories"] == 3
    again = memoranda("import", "all.jsonl", "--db", "new.db")
    assert again.stdout == "0 memories imported, 3 existed already\n"


def test_import_skips_what_was_forgotten_unless_included(memoranda: Memoranda) -> None:
    memoranda.add_facts()
    memoranda.json("export", "all.jsonl")
    memoranda.json("forget", "-u", "ann", "--yes")
    assert ", 3 skipped: forgotten here since" in memoranda("import", "all.jsonl").stdout
    assert memoranda.json("import", "all.jsonl", "--include-forgotten")["memories"] == 3


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


def test_importing_claude_export_twice_stores_messages_once(memoranda: Memoranda, tmp_path: Path) -> None:
    turns = [
        {"uuid": "1", "sender": "human", "text": "I moved to Oslo", "created_at": "2026-01-01T10:00:00Z"},
        {"uuid": "2", "sender": "assistant", "text": "Oslo is cold in January", "created_at": "2026-01-01T10:00:05Z"},
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"uuid": "c1", "name": "Moving", "chat_messages": turns}]))
    assert memoranda.json("chat", "import", str(path), "-u", "ann")["stored"] == 2
    again = memoranda.json("chat", "import", str(path), "-u", "ann", "--from", "claude")
    assert again == {"conversations": 1, "messages": 2, "stored": 0, "forgotten": 0}
    assert memoranda.json("list", "-u", "ann", "-s", "c1")[-1]["content"] == "I moved to Oslo"

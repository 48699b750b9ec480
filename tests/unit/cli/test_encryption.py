from __future__ import annotations

import sys
from pathlib import Path

import pytest

from memoranda.security.encryption import is_encrypted_file
from tests.unit.cli.conftest import Memoranda

KEY, OTHER = "0123456789abcdef" * 4, "fedcba9876543210" * 4
CANARY = b"fact number"


@pytest.fixture
def encrypted(memoranda: Memoranda, monkeypatch: pytest.MonkeyPatch) -> Memoranda:
    memoranda.add_facts()
    monkeypatch.setenv("MEMORY_ENCRYPTION_KEY", KEY)
    report = memoranda.json("encrypt")
    assert (report["encrypted"], report["changed"], report["memories"]) == (True, True, 3)
    return memoranda


def test_encrypt_then_use_then_decrypt(encrypted: Memoranda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert CANARY not in encrypted.database.read_bytes()
    assert len(encrypted.json("list", "-u", "ann")) == 3
    assert "encrypted  yes" in " ".join(encrypted("stats").stdout.split(" " * 4)).replace("   ", "  ")
    assert encrypted.json("stats")["health"]["encrypted"] is True
    assert "already" in encrypted("encrypt").stdout
    assert encrypted.json("decrypt")["encrypted"] is False
    monkeypatch.delenv("MEMORY_ENCRYPTION_KEY")
    assert len(encrypted.json("list", "-u", "ann")) == 3
    assert encrypted.json("stats")["health"]["encrypted"] is False


def test_missing_and_wrong_keys_are_one_line_without_the_key(
    encrypted: Memoranda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_ENCRYPTION_KEY", OTHER)
    done = encrypted("list")
    assert (done.exit_code, done.stderr.count("\n")) == (6, 1)
    assert OTHER not in done.stderr
    monkeypatch.delenv("MEMORY_ENCRYPTION_KEY")
    assert "MEMORY_ENCRYPTION_KEY" in encrypted("list").stderr
    for command in ("encrypt", "decrypt", "rekey"):
        assert encrypted(command).exit_code == 2


def test_plain_database_with_a_key_says_what_to_run(memoranda: Memoranda, monkeypatch: pytest.MonkeyPatch) -> None:
    memoranda.add_facts()
    monkeypatch.setenv("MEMORY_ENCRYPTION_KEY", KEY)
    assert "memoranda encrypt" in memoranda("list").stderr
    assert memoranda("rekey", "--new-key-command", f"echo {OTHER}").exit_code == 6


@pytest.mark.parametrize("source", ["file", "env", "command"])
def test_rekey_takes_the_new_key_from_anywhere_but_the_command_line(
    source: str, encrypted: Memoranda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new").write_text(OTHER)
    monkeypatch.setenv("NEW", OTHER)
    command = f'{sys.executable} -c "import os; print(os.environ[chr(78) + chr(69) + chr(87)])"'
    option = {"file": str(tmp_path / "new"), "env": "NEW", "command": command}[source]
    assert encrypted.json("rekey", f"--new-key-{source}", option)["changed"] is True
    assert encrypted("list").exit_code == 6
    assert encrypted.json("rekey", f"--new-key-{source}", option)["changed"] is False  # run again after an interruption
    monkeypatch.setenv("MEMORY_ENCRYPTION_KEY", OTHER)
    assert len(encrypted.json("list", "-u", "ann")) == 3


def test_backup_export_import_and_restore_take_another_key(
    encrypted: Memoranda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER", OTHER)
    assert encrypted.json("backup", "b.db", "--key-env", "OTHER")["memories"] == 3
    assert encrypted.json("export", "e.jsonl", "--encrypt", "--key-env", "OTHER")["encrypted"] is True
    assert encrypted.json("export", "d.jsonl")["encrypted"] is True
    assert encrypted.json("export", "p.jsonl", "--plain")["encrypted"] is False
    assert [path.name for path in tmp_path.iterdir() if path.is_file() and CANARY in path.read_bytes()] == ["p.jsonl"]
    assert encrypted("restore", "b.db", "--db", "r.db").exit_code == 6
    assert encrypted.json("restore", "b.db", "--db", "r.db", "--key-env", "OTHER")["memories"] == 3
    assert len(encrypted.json("list", "--db", "r.db", "-u", "ann")) == 3
    assert encrypted("import", "e.jsonl", "--db", "i.db").exit_code == 6
    assert encrypted.json("import", "e.jsonl", "--db", "i.db", "--key-env", "OTHER")["memories"] == 3
    assert encrypted("export", "files", "--as", "files").exit_code == 2
    assert encrypted("export", "files", "--as", "files", "--plain").exit_code == 0


def test_plain_database_can_be_exported_and_backed_up_encrypted(memoranda: Memoranda, tmp_path: Path) -> None:
    memoranda.add_facts()
    (tmp_path / "key").write_text(KEY)
    assert memoranda.json("export", "e.jsonl", "--encrypt", "--key-file", "key")["encrypted"] is True
    assert is_encrypted_file(tmp_path / "e.jsonl")
    assert memoranda.json("backup", "b.db", "--key-file", "key")["memories"] == 3
    assert CANARY not in (tmp_path / "b.db").read_bytes()
    assert memoranda("export", "x.jsonl", "--encrypt").exit_code == 2  # no key, and nobody to ask
    assert memoranda("export", "x.jsonl", "--key-env", "UNSET").exit_code == 2
    assert not (tmp_path / "x.jsonl").exists()


def test_database_in_use_is_not_converted(encrypted: Memoranda) -> None:
    from memoranda import MemoryManager

    with MemoryManager(encrypted.database, encryption_key=KEY):
        done = encrypted("decrypt")
    assert (done.exit_code, "in use" in done.stderr) == (4, True)

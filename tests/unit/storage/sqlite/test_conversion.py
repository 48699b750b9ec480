from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest

from memoranda import EncryptionKeyError, Incompatible, MemoryManager, NotFound, Unavailable
from memoranda.security.encryption import EncryptionKey, is_encrypted_file
from memoranda.storage.sqlite import conversion
from memoranda.storage.sqlite.conversion import convert
from memoranda.testing.fakes import HashEmbedder

OLD, NEW = "0123456789abcdef" * 4, "fedcba9876543210" * 4
CANARY = b"zanzibarquokka"


def open_manager(folder: Path, key: str | None) -> MemoryManager:
    return MemoryManager(folder / "m.db", embedder=HashEmbedder(32), encryption_key=key)


def make_database(folder: Path, key: str | None, count: int = 60) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with open_manager(folder, key) as manager:
        manager.add_memories([f"note {number} about a zanzibarquokka" for number in range(count)])
        manager.delete(manager.add_memory("deleted: its id must not be used again").id)
        manager.save_execution_record("agent", {"status": "success"})
    return folder / "m.db"


def key_of(text: str | None) -> EncryptionKey | None:
    return None if text is None else EncryptionKey(text)


@pytest.mark.parametrize(
    ("current", "new"), [(None, NEW), (OLD, NEW), (OLD, None)], ids=["encrypt", "rekey", "decrypt"]
)
def test_killed_at_any_step_the_database_is_whole_and_a_second_run_finishes(
    current: str | None, new: str | None, tmp_path: Path
) -> None:
    make_database(tmp_path / "pristine", current)
    script = Path(__file__).with_name("kill_conversion.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), current or "", new or "", "4"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["killed"] >= 10
    assert min(result["old"], result["new"]) >= 1


def test_encrypting_keeps_everything_and_leaves_no_plain_byte(tmp_path: Path) -> None:
    database = make_database(tmp_path, None)
    with open_manager(tmp_path, None) as manager:
        before = manager.list_memories(1000)
    report = convert(database, None, EncryptionKey(NEW))
    assert (report.encrypted, report.changed, report.memories) == (True, True, len(before))
    assert [path.name for path in tmp_path.iterdir() if CANARY in path.read_bytes()] == []
    assert is_encrypted_file(tmp_path / "m.db.key")
    with open_manager(tmp_path, NEW) as manager:
        assert manager.list_memories(1000) == before
        assert manager.add_memory("a new one").id == len(before) + 2
        assert manager.verify_executions().ok
        assert manager.check().problems == ()
    again = convert(database, None, EncryptionKey(NEW))
    assert (again.changed, again.memories) == (False, len(before) + 1)


def test_rekey_makes_the_old_key_useless_for_every_file(tmp_path: Path) -> None:
    database = make_database(tmp_path, OLD)
    key_before = (tmp_path / "m.db.key").read_bytes()
    convert(database, EncryptionKey(OLD), EncryptionKey(NEW))
    with pytest.raises(EncryptionKeyError), open_manager(tmp_path, OLD):
        pass
    assert (tmp_path / "m.db.key").read_bytes() != key_before
    with open_manager(tmp_path, NEW) as manager:
        assert manager.verify_executions().ok
        assert len(manager._components.open().store.file_keys()) == 1  # type: ignore[attr-defined]


def test_decrypting_returns_a_plain_database_and_key_file(tmp_path: Path) -> None:
    database = make_database(tmp_path, OLD)
    convert(database, EncryptionKey(OLD), None)
    assert not is_encrypted_file(tmp_path / "m.db.key")
    with open_manager(tmp_path, None) as manager:
        assert manager.verify_executions().ok
        assert manager._components.open().store.file_keys() == ()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("has", "current", "new"), [(OLD, NEW, None), (OLD, None, NEW), (OLD, NEW, NEW), (None, OLD, NEW)]
)
def test_wrong_key_changes_nothing(has: str | None, current: str | None, new: str | None, tmp_path: Path) -> None:
    database = make_database(tmp_path, has, 5)
    before = database.read_bytes()
    with pytest.raises(EncryptionKeyError):
        convert(database, key_of(current), key_of(new))
    assert database.read_bytes() == before


def test_database_in_use_is_refused_and_stays_usable(tmp_path: Path) -> None:
    database = make_database(tmp_path, OLD, 5)
    with open_manager(tmp_path, OLD) as manager:
        with pytest.raises(Unavailable, match="in use"):
            convert(database, EncryptionKey(OLD), EncryptionKey(NEW))
        manager.add_memory("after the refusal")
    with open_manager(tmp_path, OLD) as manager:
        assert manager.check().problems == ()
        assert len(manager.list_memories(100)) == 6


def test_program_that_opens_it_meanwhile_gets_a_typed_error_or_the_whole_database(tmp_path: Path) -> None:
    database = make_database(tmp_path, OLD, 5)
    program = (
        "import sys; from memoranda import MemoryManager, MemorandaError\n"
        "from memoranda.testing.fakes import HashEmbedder\n"
        "try:\n"
        "    with MemoryManager(sys.argv[1], embedder=HashEmbedder(32), encryption_key=sys.argv[2]) as memory:\n"
        "        memory.add_memory('from another program'); print('added')\n"
        "except MemorandaError as error: print(type(error).__name__)"
    )
    others: list[subprocess.Popen[str]] = []

    def start_others(done: int, total: int) -> None:
        if not others:
            for key in (OLD, NEW):
                command = [sys.executable, "-c", program, str(database), key]
                others.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            time.sleep(3)  # long enough for them to come to the database

    convert(database, EncryptionKey(OLD), EncryptionKey(NEW), start_others)
    answers = [other.communicate(timeout=120)[0].strip() for other in others]
    assert [other.returncode for other in others] == [0, 0]
    assert answers[0] in ("Unavailable", "EncryptionKeyError")
    assert answers[1] in ("Unavailable", "EncryptionKeyError", "added")
    with open_manager(tmp_path, NEW) as manager:
        assert len(manager.list_memories(100)) == 5 + answers.count("added")
        assert manager.check().problems == ()


def test_failure_while_copying_leaves_the_old_database_alone(tmp_path: Path) -> None:
    database = make_database(tmp_path, OLD, 5)

    def fail(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(database, EncryptionKey(OLD), None, fail)
    assert {path.name for path in tmp_path.iterdir()} == {"m.db", "m.db.key", "m.db.lock"}
    with open_manager(tmp_path, OLD) as manager:
        assert len(manager.list_memories(100)) == 5


@pytest.mark.parametrize(("has", "new"), [(None, NEW), (OLD, NEW), (OLD, None)])
def test_damaged_database_is_a_typed_error_and_stays_as_it_is(has: str | None, new: str | None, tmp_path: Path) -> None:
    database = make_database(tmp_path, has, 300)
    whole = bytearray(database.read_bytes())
    for page in range(8, len(whole) // 8192):
        whole[page * 8192 + 100 : page * 8192 + 900] = os.urandom(800)
    database.write_bytes(whole)
    with pytest.raises(Incompatible):
        convert(database, key_of(has), key_of(new))
    with pytest.raises(Incompatible), open_manager(tmp_path, has) as manager:
        manager.backup(tmp_path / "b.db", encryption_key=NEW)
    assert not (tmp_path / "b.db").exists()
    assert not (tmp_path / "m.db.converting").exists()


def test_full_disk_is_a_typed_error_and_leaves_the_old_database_alone(tmp_path: Path) -> None:
    database = make_database(tmp_path, None, 300)
    program = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from memoranda.security.encryption import EncryptionKey; from memoranda.errors import Unavailable\n"
        "from memoranda.storage.sqlite.conversion import convert\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "try: convert(Path(sys.argv[1]), None, EncryptionKey(sys.argv[2]))\n"
        "except Unavailable as error: print('typed')"
    )
    command = [sys.executable, "-c", program, str(database), NEW]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("typed\n", "")
    assert {path.name for path in tmp_path.iterdir()} == {"m.db", "m.db.key", "m.db.lock"}
    with open_manager(tmp_path, None) as manager:
        assert len(manager.list_memories(1000)) == 300


def test_without_space_nothing_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = make_database(tmp_path, None, 5)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(conversion.shutil, "disk_usage", lambda _: usage(10, 10, 1000))
    with pytest.raises(Unavailable, match="free some space"):
        convert(database, None, EncryptionKey(NEW))
    with open_manager(tmp_path, None) as manager:
        assert len(manager.list_memories(100)) == 5


def test_old_file_is_overwritten_before_it_is_deleted(tmp_path: Path) -> None:
    database = make_database(tmp_path, None)
    os.link(database, tmp_path / "same blocks")
    assert CANARY in (tmp_path / "same blocks").read_bytes()
    convert(database, None, EncryptionKey(NEW))
    assert set((tmp_path / "same blocks").read_bytes()) == {0}


def test_copies_that_restore_kept_are_named(tmp_path: Path) -> None:
    database = make_database(tmp_path, None, 5)
    shutil.copyfile(database, tmp_path / "m.db.before-restore")
    assert convert(database, None, EncryptionKey(NEW)).remaining == (str(tmp_path / "m.db.before-restore"),)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        convert(tmp_path / "missing.db", None, EncryptionKey(NEW))
    (tmp_path / "m.db").write_bytes(b"SQLite format 3\0" + bytes(200))
    with pytest.raises(Incompatible):
        convert(tmp_path / "m.db", None, EncryptionKey(NEW))
    assert not (tmp_path / "m.db.converting").exists()

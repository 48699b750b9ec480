"""A log that holds what its database does not: whatever is done, its bytes stay, and no other file gets them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.errors import Conflict, MemorandaError
from memoranda.files import refuse_database
from memoranda.security.encryption import EncryptionKey
from memoranda.storage.sqlite.backup import restore
from memoranda.storage.sqlite.conversion import convert
from memoranda.testing.fakes import HashEmbedder

KEY, OTHER = "3f" * 32, "44" * 32
STATES: dict[str, bytes | None] = {"missing": None, "empty": b"", "foreign": b"junk" * 3000}
JOURNAL = bytes.fromhex("d9d505f920a163d7") + bytes(4) + b"seed" + (7).to_bytes(4, "big") + b"page" * 2000


def _manager(file: Path, key: str | None) -> MemoryManager:
    return MemoryManager(str(file), embedder=HashEmbedder(32), encryption_key=key)


@pytest.fixture(scope="module", params=[None, KEY], ids=["plain", "encrypted"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str | None]:
    """A folder with `m.db`, its log with newer memories, its key file, and an older backup."""
    key, folder = request.param, tmp_path_factory.mktemp("files")
    with _manager(folder / "live.db", key) as memory:
        memory.add_memories([f"old fact {n}" for n in range(20)])
        memory.save_execution_record("writer", {"status": "done"})
        memory.backup(folder / "backup.db")
        memory.add_memories([f"newer fact {n}" for n in range(60)])
        for file in list(folder.glob("live.db*")):
            shutil.copyfile(file, folder / file.name.replace("live", "m"))
    for file in list(folder.glob("live.db*")):
        file.unlink()
    return folder, key


def _open(file: Path, _backup: Path, key: str | None) -> None:
    with _manager(file, key) as memory:
        memory.add_memory("one more")


def _check(file: Path, _backup: Path, key: str | None) -> None:
    with _manager(file, key) as memory:
        memory.check()


def _back_up(file: Path, _backup: Path, key: str | None) -> None:
    with _manager(file, key) as memory:
        memory.backup(file.with_name("second.db"))


def _restore(file: Path, backup: Path, key: str | None) -> None:
    restore(backup, file, force=True, key=None if key is None else EncryptionKey(key))


def _converted(new: str | None) -> Callable[[Path, Path, str | None], None]:
    def run(file: Path, _backup: Path, key: str | None) -> None:
        convert(file, None if key is None else EncryptionKey(key), None if new is None else EncryptionKey(new))

    return run


OPERATIONS = {
    "open": _open,
    "check": _check,
    "backup": _back_up,
    "restore": _restore,
    "encrypt": _converted(KEY),
    "rekey": _converted(OTHER),
    "decrypt": _converted(None),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
@pytest.mark.parametrize("with_key_file", [True, False], ids=["key", "no key"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_log_of_a_lost_database_is_kept(
    made: tuple[Path, str | None], tmp_path: Path, state: str, suffix: str, with_key_file: bool, operation: str
) -> None:
    folder, key = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    file, content = tmp_path / "m.db", STATES[state]
    log = (tmp_path / "m.db-wal").read_bytes() if suffix == "-wal" else JOURNAL
    assert log
    for beside in ("m.db-wal", "m.db-shm", "m.db", *([] if with_key_file else ["m.db.key"])):
        (tmp_path / beside).unlink()
    (tmp_path / f"m.db{suffix}").write_bytes(log)
    if content is not None:
        file.write_bytes(content)
    with suppress(MemorandaError) if operation != "restore" else nullcontext():
        OPERATIONS[operation](file, tmp_path / "backup.db", key)
    kept = [path for path in tmp_path.glob(f"m.db*{suffix}") if path.read_bytes() == log]
    assert len(kept) == 1
    assert (kept[0].name == f"m.db{suffix}") == (operation != "restore")
    if operation == "restore":
        with _manager(file, key) as memory:
            assert {each.content for each in memory.list_memories(limit=200)} == {f"old fact {n}" for n in range(20)}
            assert memory.check().ok
    else:
        assert (file.read_bytes() if file.exists() else None) == content


def test_missing_database_beside_a_log_is_restored_without_force(made: tuple[Path, str | None], tmp_path: Path) -> None:
    folder, key = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "m.db").unlink()
    log = (tmp_path / "m.db-wal").read_bytes()
    restore(tmp_path / "backup.db", tmp_path / "m.db", key=None if key is None else EncryptionKey(key))
    assert (tmp_path / "m.db.before-restore-wal").read_bytes() == log
    with _manager(tmp_path / "m.db", key) as memory:
        assert memory.check().ok


def test_second_restore_keeps_the_log_of_the_first(made: tuple[Path, str | None], tmp_path: Path) -> None:
    folder, key = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    for _ in range(2):
        (tmp_path / "m.db").unlink()
        shutil.copyfile(folder / "m.db-wal", tmp_path / "m.db-wal")
        _restore(tmp_path / "m.db", tmp_path / "backup.db", key)
    assert len(list(tmp_path.glob("m.db.before-restore*-wal"))) == 2


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_no_backup_takes_the_name_of_a_database_with_a_log(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"copy.db{suffix}").write_bytes(b"pages")
    with pytest.raises(MemorandaError), _manager(tmp_path / "m.db", None) as memory:
        memory.backup(tmp_path / "copy.db", force=True)
    with pytest.raises(MemorandaError):
        refuse_database(tmp_path / "copy.db", backups=False)
    assert not (tmp_path / "copy.db").exists()


def test_a_database_that_is_whole_is_not_replaced_without_force(made: tuple[Path, str | None], tmp_path: Path) -> None:
    folder, key = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(Conflict):
        restore(tmp_path / "backup.db", tmp_path / "m.db", key=None if key is None else EncryptionKey(key))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before

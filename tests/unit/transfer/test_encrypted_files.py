from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda import EncryptionKeyError, Incompatible, InvalidInput, MemoryConfig, MemoryManager, aio
from memoranda.security.encryption import EncryptionKey, random_key
from memoranda.storage.sqlite.backup import inspect
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.export import restore

KEY, OTHER = "0123456789abcdef" * 4, "another passphrase, long enough"
CANARY = b"zanzibarquokka"


def open_manager(path: Path, key: str | None) -> MemoryManager:
    return MemoryManager(path, embedder=HashEmbedder(32), encryption_key=key)


def config(path: Path, key: str | None) -> MemoryConfig:
    return MemoryConfig(db_url=f"sqlite:///{path}", encryption_key=key)


def fill(manager: MemoryManager) -> None:
    manager.add_memories([f"note {number} about a zanzibarquokka" for number in range(30)])
    manager.save_execution_record("agent", {"status": "success"})


@pytest.fixture(params=[KEY, None], ids=["encrypted", "plain"])
def key(request: pytest.FixtureRequest) -> str | None:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def manager(tmp_path: Path, key: str | None) -> Iterator[MemoryManager]:
    with open_manager(tmp_path / "m.db", key) as opened:
        fill(opened)
        yield opened


def read_back(path: Path, key: str | None) -> int:
    with open_manager(path, key) as opened:
        assert opened.check().problems == ()
        assert opened.verify_executions().ok
        assert opened.health().problems == ()
        return len(opened.list_memories(1000))


def test_backup_of_encrypted_database_has_its_key_by_default(tmp_path: Path) -> None:
    with open_manager(tmp_path / "m.db", KEY) as manager:
        fill(manager)
        manager.backup(tmp_path / "b.db")
    assert CANARY not in (tmp_path / "b.db").read_bytes()
    with pytest.raises(EncryptionKeyError):
        inspect(tmp_path / "b.db")
    assert inspect(tmp_path / "b.db", EncryptionKey(KEY)).memories == 30
    restore(tmp_path / "b.db", config(tmp_path / "r.db", KEY))
    assert read_back(tmp_path / "r.db", KEY) == 30


def test_backup_with_another_key_opens_with_that_one_only(
    manager: MemoryManager, key: str | None, tmp_path: Path
) -> None:
    made = manager.backup(tmp_path / "b.db", encryption_key=OTHER)
    assert made.memories == 30
    for path in (tmp_path / "b.db", tmp_path / "b.db.key"):
        assert CANARY not in path.read_bytes()
        assert (tmp_path / "m.db.key").read_bytes() not in path.read_bytes()
    with pytest.raises(EncryptionKeyError):
        restore(made.path, config(tmp_path / "r.db", key or KEY))
    assert not (tmp_path / "r.db").exists()
    restore(made.path, config(tmp_path / "r.db", KEY), backup_key=EncryptionKey(OTHER))
    assert read_back(tmp_path / "r.db", KEY) == 30
    assert subprocess.run(["sha256sum", "-c", "b.db.sha256"], cwd=tmp_path, check=False).returncode == 0


def test_restore_without_a_key_in_the_settings_keeps_that_of_the_backup(tmp_path: Path) -> None:
    with open_manager(tmp_path / "m.db", KEY) as manager:
        fill(manager)
        manager.backup(tmp_path / "b.db")
    restore(tmp_path / "b.db", config(tmp_path / "r.db", None), backup_key=EncryptionKey(KEY))
    assert CANARY not in (tmp_path / "r.db").read_bytes()
    assert read_back(tmp_path / "r.db", KEY) == 30


def test_plain_backup_is_encrypted_when_the_settings_name_a_key(tmp_path: Path) -> None:
    with open_manager(tmp_path / "m.db", None) as manager:
        fill(manager)
        manager.backup(tmp_path / "b.db")
    restore(tmp_path / "b.db", config(tmp_path / "r.db", KEY))
    assert CANARY not in (tmp_path / "r.db").read_bytes()
    assert read_back(tmp_path / "r.db", KEY) == 30


def test_restore_over_an_encrypted_database_keeps_it_and_its_audit_key(tmp_path: Path) -> None:
    with open_manager(tmp_path / "m.db", KEY) as manager:
        manager.add_memory("before the first signature")
        manager.backup(tmp_path / "b.db")
        manager.save_execution_record("agent", {"status": "success"})
    restore(tmp_path / "b.db", config(tmp_path / "m.db", KEY), force=True)
    assert read_back(tmp_path / "m.db", KEY) == 1
    assert CANARY not in (tmp_path / "m.db.before-restore").read_bytes()
    with open_manager(tmp_path / "m.db.before-restore", KEY) as old:
        assert old.verify_executions().ok


def test_export_is_as_secret_as_the_database_and_loads_elsewhere(
    manager: MemoryManager, key: str | None, tmp_path: Path
) -> None:
    report = manager.export_jsonl(tmp_path / "e.jsonl")
    assert (report.encrypted, report.memories) == (key is not None, 30)
    assert (CANARY in (tmp_path / "e.jsonl").read_bytes()) == (key is None)
    with open_manager(tmp_path / "n.db", key) as new:
        assert new.import_jsonl(tmp_path / "e.jsonl").memories == 30


def test_export_with_another_key_needs_that_key(manager: MemoryManager, tmp_path: Path) -> None:
    manager.export_jsonl(tmp_path / "e.jsonl", encryption_key=OTHER)
    assert CANARY not in (tmp_path / "e.jsonl").read_bytes()
    for target in (KEY, None):
        with open_manager(tmp_path / f"n{target}.db", target) as new:
            with pytest.raises(EncryptionKeyError):
                new.import_jsonl(tmp_path / "e.jsonl")
            assert new.list_memories() == []
            assert new.import_jsonl(tmp_path / "e.jsonl", encryption_key=OTHER).memories == 30


def test_plain_export_of_an_encrypted_database_must_be_said(tmp_path: Path) -> None:
    with open_manager(tmp_path / "m.db", KEY) as manager:
        fill(manager)
        assert manager.export_jsonl(tmp_path / "e.jsonl", plain=True).encrypted is False
        with pytest.raises(InvalidInput, match="not both"):
            manager.export_jsonl(tmp_path / "f.jsonl", plain=True, encryption_key=OTHER)
    assert CANARY in (tmp_path / "e.jsonl").read_bytes()
    assert not (tmp_path / "f.jsonl").exists()


def test_damaged_encrypted_export_imports_nothing(manager: MemoryManager, tmp_path: Path) -> None:
    manager.export_jsonl(tmp_path / "e.jsonl", encryption_key=OTHER)
    whole = (tmp_path / "e.jsonl").read_bytes()
    for damaged in (whole[:-1], whole[:60] + b"x" + whole[61:], whole[:200]):
        (tmp_path / "e.jsonl").write_bytes(damaged)
        with open_manager(tmp_path / "n.db", None) as new:
            with pytest.raises(Incompatible):
                new.import_jsonl(tmp_path / "e.jsonl", encryption_key=OTHER)
            assert new.list_memories() == []


def test_each_user_can_be_exported_with_a_key_of_their_own(tmp_path: Path) -> None:
    keys = {"ana": random_key(), "ben": random_key()}
    with open_manager(tmp_path / "m.db", KEY) as manager:
        for user, user_key in keys.items():
            manager.add_memory(f"a secret of {user}", user=user)
            manager.export_jsonl(tmp_path / f"{user}.enc", user=user, encryption_key=user_key)
    with open_manager(tmp_path / "n.db", KEY) as new:
        new.import_jsonl(tmp_path / "ana.enc", encryption_key=keys["ana"])
        with pytest.raises(EncryptionKeyError):  # as if the key of ben had been destroyed
            new.import_jsonl(tmp_path / "ben.enc", encryption_key=keys["ana"])
        assert [memory.content for memory in new.list_memories(user="ana")] == ["a secret of ana"]


async def test_async_manager_takes_keys_in_the_same_places(tmp_path: Path) -> None:
    async with aio.MemoryManager(tmp_path / "m.db", embedder=HashEmbedder(32), encryption_key=KEY) as manager:
        await manager.add_memory("about a zanzibarquokka")
        await manager.backup(tmp_path / "b.db", encryption_key=OTHER)
        await manager.export_jsonl(tmp_path / "e.jsonl", encryption_key=OTHER)
        assert (await manager.import_jsonl(tmp_path / "e.jsonl", encryption_key=OTHER)).known == 1
        assert (await manager.health()).encrypted
    assert all(CANARY not in path.read_bytes() for path in tmp_path.iterdir())

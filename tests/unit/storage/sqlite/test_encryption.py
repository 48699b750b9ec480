from __future__ import annotations

import importlib
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memoranda import EncryptionKeyError, Incompatible, InvalidInput, MemoryConfig, MemoryManager, MissingExtra
from memoranda.maintenance.forget import is_erasure_pending
from memoranda.security.encryption import EncryptionKey, random_key
from memoranda.storage.base import encryption_key
from memoranda.storage.sqlite import compaction, connections
from memoranda.storage.sqlite import store as sqlite_store
from memoranda.storage.sqlite.connections import load_driver
from memoranda.storage.sqlite.store import open_sqlite
from memoranda.testing.fakes import HashEmbedder

KEY = "0123456789abcdef" * 4
PASSPHRASE = "correct horse battery staple"
CANARIES = ("zanzibarquokka", "halibutvortex", "pumpernickelyak", "obsidianwalrus")


def open_manager(folder: Path, key: str | None = KEY, **options: Any) -> MemoryManager:
    return MemoryManager(folder / "m.db", embedder=HashEmbedder(64), encryption_key=key, **options)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with open_manager(tmp_path) as opened:
        yield opened


def files_with(folder: Path, *needles: bytes) -> list[str]:
    """Return the files of a folder, in any depth, that hold any of these bytes."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in files if any(needle in path.read_bytes() for needle in needles)]


def fill(manager: MemoryManager, count: int = 200) -> list[bytes]:
    """Write canaries to every table that holds text; return them and known vectors as bytes."""
    first, second, third, fourth = CANARIES
    texts = [f"note {number} about the {first}" for number in range(count)]
    manager.add_memories(texts, user=second)
    manager.remember({"role": "user", "content": f"I moved to {third}."}, user=second)
    manager.save("agent", "plan", {"steps": fourth}, "long_term")
    manager.save_execution_record("agent", {"status": "success", "text": first})
    manager.recall(f"what about the {first}?", user=second)
    vectors = HashEmbedder(64).embed(texts[:20], kind="passage")
    return [*(word.encode() for word in CANARIES), *(np.asarray(vector, "<f4").tobytes() for vector in vectors)]


def test_no_file_holds_a_word_or_a_vector_while_open_or_closed(tmp_path: Path) -> None:
    with open_manager(tmp_path) as manager:
        manager._components.open().partitions._graph_from = 50  # so that there is an index file
        needles = fill(manager)
        opened = manager._components.open()
        opened.partitions.wait_for_graphs()
        assert (tmp_path / "m.db-wal").stat().st_size > 0
        manager.backup(tmp_path / "backup.db")
        manager.export_jsonl(tmp_path / "export.enc")
        assert files_with(tmp_path, *needles) == []
    assert {path.name for path in tmp_path.iterdir()} == {
        "m.db", "m.db.key", "m.db.lock", "m.faiss", "backup.db", "backup.db.key", "backup.db.sha256", "export.enc",
    }  # fmt: skip
    assert files_with(tmp_path, *needles, b"SQLite format 3", b"CREATE TABLE") == []
    key = bytes.fromhex(KEY)
    assert files_with(tmp_path, key, KEY.encode()) == []


def test_plain_database_does_hold_what_the_scan_looks_for(tmp_path: Path) -> None:
    with open_manager(tmp_path, key=None) as manager:
        manager._components.open().partitions._graph_from = 50
        needles = fill(manager)
        manager._components.open().partitions.wait_for_graphs()
    for needle in needles:
        assert files_with(tmp_path, needle) != []
    assert str(tmp_path / "m.faiss") in files_with(tmp_path, *needles)


def test_everything_is_found_again_after_a_reopen(tmp_path: Path) -> None:
    for opening in range(2):
        with open_manager(tmp_path) as manager:
            partitions = manager._components.open().partitions
            partitions._graph_from = 50
            if not opening:
                fill(manager)
            found = manager.recall("note 7 about the zanzibarquokka", user=CANARIES[1])
            assert found[0].content == "note 7 about the zanzibarquokka"
            partitions.wait_for_graphs()
            assert manager.retrieve("agent", "plan", "long_term") == {"steps": CANARIES[3]}
            assert manager.verify_executions().ok
            assert manager.check().problems == ()
            health = manager.health()
            assert (health.status, health.encrypted, health.database_library) == ("ok", True, "sqlcipher3")


def test_bundled_sqlite_has_no_wal_reset_bug() -> None:
    module, driver = load_driver(encrypted=True)
    assert driver.wal_reset_bug is False
    assert module.sqlite_version == driver.version


@pytest.mark.parametrize("key", [KEY, PASSPHRASE])
def test_wrong_or_missing_key_is_a_typed_error_that_changes_nothing(key: str, tmp_path: Path) -> None:
    with open_manager(tmp_path, key) as manager:
        manager.add_memory("the river")
    before = (tmp_path / "m.db").read_bytes()
    for wrong, advice in ((random_key(), "right key"), ("another good passphrase", "right key"), (None, "MEMORY_ENCR")):
        with pytest.raises(EncryptionKeyError, match=advice) as caught, open_manager(tmp_path, wrong):
            pass
        assert key not in str(caught.value)
        assert wrong is None or wrong not in str(caught.value)
    assert (tmp_path / "m.db").read_bytes() == before
    with open_manager(tmp_path, key) as manager:
        assert manager.get(1).content == "the river"


def test_key_for_a_plain_database_names_the_command(tmp_path: Path) -> None:
    with open_manager(tmp_path, None) as manager:
        manager.add_memory("the river")
    with pytest.raises(EncryptionKeyError, match="memoranda encrypt"), open_manager(tmp_path):
        pass
    with open_manager(tmp_path, None) as manager:
        assert (manager.health().encrypted, manager.get(1).content) == (False, "the river")


def test_missing_wheel_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def without_wheel(name: str) -> Any:
        if name.startswith("sqlcipher3"):
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr(connections.importlib, "import_module", without_wheel)
    with pytest.raises(MissingExtra, match=r"memoranda\[encryption\]"), open_manager(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("start", [b"x", b"not a database at all", bytes(100)])
def test_file_that_is_no_database_is_incompatible_with_and_without_a_key(start: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.db").write_bytes(start)
    for key in (KEY, None):
        with pytest.raises(Incompatible), open_manager(tmp_path, key):
            pass
    assert (tmp_path / "m.db").read_bytes() == start


def test_damage_anywhere_is_a_typed_error_or_the_right_answer(tmp_path: Path) -> None:
    with open_manager(tmp_path) as manager:
        fill(manager, 100)
        expected = {memory.id: memory.content for memory in manager.list_memories(1000, user=CANARIES[1])}
    whole = (tmp_path / "m.db").read_bytes()
    rng = np.random.default_rng(3)
    for place in rng.integers(0, len(whole), 25):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "m.db").write_bytes(damaged)
        try:
            with open_manager(tmp_path) as manager:
                found = {memory.id: memory.content for memory in manager.list_memories(1000, user=CANARIES[1])}
                assert found == expected
        except Incompatible:
            pass


def test_key_is_in_no_repr_log_error_or_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    derived = EncryptionKey(PASSPHRASE)
    with caplog.at_level(logging.DEBUG), open_manager(tmp_path, PASSPHRASE) as manager:
        manager.add_memory("the river")
        config = manager._components.config
        store = manager._components.open().store
        shown = f"{config!r} {store!r} {encryption_key(store)!r} {manager.health()!r} {manager._components!r}"
        cipher = manager._components.open().store._connections.cipher  # type: ignore[attr-defined]
        shown += repr(cipher)
    wrong = random_key()
    with pytest.raises(EncryptionKeyError) as caught, open_manager(tmp_path, wrong):
        pass
    import traceback

    text = "".join(traceback.format_exception(caught.value))
    salt = (tmp_path / "m.db").read_bytes()[:16]
    printed = capfd.readouterr()
    for secret in (PASSPHRASE, wrong, derived.derive(salt).hex()):
        assert secret not in shown + caplog.text + text + printed.out + printed.err
    assert printed.err == ""  # SQLCipher writes its errors there unless it is told not to


def test_many_processes_can_create_the_same_database_at_once(tmp_path: Path) -> None:
    program = (
        "import sys; from memoranda.security.encryption import EncryptionKey\n"
        "from memoranda.storage import open_store\n"
        "store = open_store(sys.argv[1], key=EncryptionKey(sys.argv[2])); print(store.id); store.close()"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "m.db"), PASSPHRASE]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    ids = {child.communicate(timeout=120)[0] for child in children}
    assert [child.returncode for child in children] == [0] * 4
    assert len(ids) == 1


def test_threads_and_a_forked_child_share_the_file(tmp_path: Path) -> None:
    with open_manager(tmp_path) as manager:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(manager.add_memory, (f"note {number}" for number in range(40))))
        child = os.fork()
        if not child:
            try:
                manager.add_memory("a note of the child")
                manager.close()
            finally:
                os._exit(0 if manager._components._closed else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(manager.list_memories(100)) == 41
        assert manager.check().problems == ()


def test_no_acknowledged_write_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys; from memoranda import MemoryManager; from memoranda.testing.fakes import HashEmbedder\n"
        "memory = MemoryManager(sys.argv[1], embedder=HashEmbedder(16), encryption_key=sys.argv[2])\n"
        "for number in range(10**6): print(memory.add_memory(f'{sys.argv[3]} {number}').id, flush=True)"
    )
    acknowledged = 0
    for turn in range(4):
        command = [sys.executable, "-c", program, str(tmp_path / "m.db"), KEY, str(turn)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for _ in range(5 + 3 * turn):
                acknowledged = int(child.stdout.readline())
            child.kill()
            acknowledged = max([acknowledged, *(int(line) for line in child.stdout if line.endswith("\n"))])
        with open_manager(tmp_path) as manager:
            ids = [memory.id for memory in manager.list_memories(1000)]
            assert set(range(1, acknowledged + 1)) <= set(ids)
            assert manager.check().problems == ()


def test_forget_leaves_nothing_that_the_key_would_show(tmp_path: Path) -> None:
    with open_manager(tmp_path) as manager:
        needles = [word.encode() for word in CANARIES]
        fill(manager, 50)
        assert manager.forget(user=CANARIES[1]).complete in (True, False)
        manager.add_memory("what stays")
    with open_manager(tmp_path) as manager:
        manager._components.open().finish_erasures()
        store = manager._components.open().store
        assert store.get_meta("erasure:pending") is None
        # Decrypt every page, the unused ones too.
        pages = _plain_pages(tmp_path / "m.db")
    assert needles[2] not in pages
    assert b"what stays" in pages


def _plain_pages(database: Path) -> bytes:
    """Return the decrypted pages of a file: AES-256-CBC, with the vector in the last 80 bytes of each page."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    data, plain = database.read_bytes(), b""
    for start in range(0, len(data), 8192):
        page, offset = data[start : start + 8192], 16 if start == 0 else 0
        decryptor = Cipher(algorithms.AES(bytes.fromhex(KEY)), modes.CBC(page[-80:-64])).decryptor()
        plain += decryptor.update(page[offset:-80])
    return plain


def test_key_changed_by_another_process_is_a_typed_error_for_the_old_one(tmp_path: Path) -> None:
    from memoranda.storage.sqlite.conversion import convert

    with open_manager(tmp_path) as manager:
        manager.add_memory("the river")
    stale = open_sqlite(tmp_path / "m.db", key=EncryptionKey(KEY))
    stale._connections.before_fork()  # closes every handle, as a process does that is about to fork
    convert(tmp_path / "m.db", EncryptionKey(KEY), EncryptionKey(PASSPHRASE))
    stale._connections.after_fork(in_child=False)
    with pytest.raises(EncryptionKeyError, match="another one"):
        stale.head()
    with pytest.raises(Exception, match=r"replaced|another one"):
        stale.write(lambda tx: None)
    stale.close()
    with open_manager(tmp_path, PASSPHRASE) as manager:
        assert manager.get(1).content == "the river"


def test_what_would_write_plain_copies_is_refused(tmp_path: Path) -> None:
    from memoranda.index.qdrant_edge import QdrantEdge

    config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/m.db", execution_records_dir=str(tmp_path), encryption_key=KEY)
    with pytest.raises(InvalidInput, match="MEMORY_EXECUTION_RECORDS_DIR"):
        MemoryManager(config)
    with pytest.raises(InvalidInput, match="vector index"):
        open_manager(tmp_path, index=QdrantEdge(tmp_path / "qdrant"))
    with open_manager(tmp_path) as manager:
        manager.save("agent", "plan", 1, "long_term")
        with pytest.raises(InvalidInput, match="plain"):
            manager.export_files(tmp_path / "files")
        assert not (tmp_path / "files").exists()
        assert manager.export_files(tmp_path / "files", plain=True).values == 1


def test_private_database_of_a_manager_with_a_key_is_encrypted_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), encryption_key=KEY) as manager:
        needles = fill(manager, 30)
        assert files_with(tmp_path, *needles) == []
        assert any(tmp_path.rglob("memory.db"))


def test_writers_see_no_error_while_backups_are_made(manager: MemoryManager, tmp_path: Path) -> None:
    stop, errors = threading.Event(), list[Exception]()

    def write() -> None:
        number = 0
        while not stop.is_set():
            try:
                manager.add_memory(f"note {number}")
            except Exception as error:  # noqa: BLE001 - looked at below
                errors.append(error)
            number += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(3):
            assert manager.backup(tmp_path / f"{number}.db").memories >= 0
    finally:
        stop.set()
        thread.join()
    assert errors == []


def test_large_encrypted_file_is_written_anew_only_when_nobody_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "_VACUUM_BYTES", 0)
    monkeypatch.setattr(compaction, "_QUIET_SECONDS", 0.4)
    monkeypatch.setattr(sqlite_store, "_COMPACT_SECONDS", 0.2)
    with open_manager(tmp_path) as manager, open_manager(tmp_path) as other:
        fill(manager)
        store = manager._components.open().store
        stopped = threading.Event()
        writer = threading.Thread(target=_write_until, args=(other, stopped))
        writer.start()
        try:
            receipt = manager.forget(user=CANARIES[1])
            assert {entry.store: entry.status for entry in receipt.stores}["database file"] == "pending"
            time.sleep(1.0)
            assert is_erasure_pending(store)
        finally:
            stopped.set()
            writer.join()
        deadline = time.monotonic() + 20
        while is_erasure_pending(store):
            assert time.monotonic() < deadline, store.status().problems
            time.sleep(0.05)
        assert manager.check().problems == ()


def test_large_encrypted_file_is_written_anew_in_the_end_although_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "_VACUUM_BYTES", 0)
    monkeypatch.setattr(compaction, "_LONGEST_DELAY", 0.5)
    with open_manager(tmp_path) as manager, open_manager(tmp_path) as other:
        fill(manager)
        stopped = threading.Event()
        writer = threading.Thread(target=_write_until, args=(other, stopped))
        writer.start()
        try:
            assert manager.forget(user=CANARIES[1]).complete
        finally:
            stopped.set()
            writer.join()


def _write_until(manager: MemoryManager, stopped: threading.Event) -> None:
    number = 0
    while not stopped.wait(0.02):
        manager.add_memory(f"written meanwhile {number}", user="cleo")
        number += 1

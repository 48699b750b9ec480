from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from memoranda.errors import Incompatible, InvalidInput
from memoranda.executions.log import ExecutionLog, ExecutionQuery, ExecutionRow
from memoranda.storage.sqlite.store import SQLiteStore, open_sqlite

TENANT = "default"


def row(number: int, agent: str = "writer", status: str | None = "success", took: float | None = None) -> ExecutionRow:
    return ExecutionRow(f"id {number}", agent, "w", "s", status, took, f'{{"n":{number}}}', 1_000_000 * number)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = open_sqlite(tmp_path / "a.db")
    yield store
    store.close()


@pytest.fixture
def log(store: SQLiteStore) -> ExecutionLog:
    log = ExecutionLog(store)
    log.append(TENANT, [row(number) for number in range(1, 7)])
    return log


def run(store: SQLiteStore, *statements: str) -> None:
    def work(tx):  # type: ignore[no-untyped-def]
        for statement in statements:
            tx.execute(text(statement))

    store.write(work)


def test_verify_accepts_unchanged_records(log: ExecutionLog) -> None:
    report = log.verify(TENANT)
    assert (report.ok, report.checked, report.problem) == (True, 6, None)
    assert ExecutionLog(log._store).verify(TENANT) == report


def test_verify_accepts_an_empty_log(store: SQLiteStore) -> None:
    assert ExecutionLog(store).verify(TENANT).ok


COPY = "number, id, agent, workflow, session, status, duration_ms, record, recorded_at, digest"
ATTACKS = {
    "record edited": (["UPDATE executions SET record = '{}' WHERE number = 3"], 3),
    "agent edited": (["UPDATE executions SET agent = 'other' WHERE number = 2"], 2),
    "status edited": (["UPDATE executions SET status = 'failed' WHERE number = 1"], 1),
    "time edited": (["UPDATE executions SET recorded_at = recorded_at + 1 WHERE number = 6"], 6),
    "session edited": (["UPDATE executions SET session = NULL WHERE number = 4"], 4),
    "duration edited": (["UPDATE executions SET duration_ms = 1 WHERE number = 5"], 5),
    "digest edited": (["UPDATE executions SET digest = x'00' WHERE number = 2"], 2),
    "removed": (["DELETE FROM executions WHERE number = 3"], 3),
    "first removed": (["DELETE FROM executions WHERE number = 1"], 1),
    "removed and renumbered": (
        ["DELETE FROM executions WHERE number = 3", "UPDATE executions SET number = number - 1 WHERE number > 3"],
        3,
    ),
    "tail cut": (["DELETE FROM executions WHERE number > 4"], 5),
    "all removed": (["DELETE FROM executions"], 1),
    "all removed with the head": (
        ["DELETE FROM executions WHERE number > 0", "UPDATE execution_heads SET records = 0"],
        1,
    ),
    "tail cut and head count reset": (
        ["DELETE FROM executions WHERE number > 4", "UPDATE execution_heads SET records = 4"],
        5,
    ),
    "tail cut and head copied": (
        [
            "DELETE FROM executions WHERE number > 4",
            "UPDATE execution_heads SET records = 4, digest = (SELECT digest FROM executions WHERE number = 4)",
        ],
        5,
    ),
    "head removed": (["DELETE FROM execution_heads"], 7),
    "reordered": (
        [
            "UPDATE executions SET number = 99 WHERE number = 2",
            "UPDATE executions SET number = 2 WHERE number = 3",
            "UPDATE executions SET number = 3 WHERE number = 99",
        ],
        2,
    ),
    "inserted": (
        [
            "UPDATE executions SET number = -number WHERE number > 2",
            "UPDATE executions SET number = 1 - number WHERE number < 0",
            f"INSERT INTO executions (tenant, {COPY}) SELECT tenant, 3, 'new', agent, workflow, session, status, "
            "duration_ms, record, recorded_at, digest FROM executions WHERE number = 2",
        ],
        3,
    ),
    "appended": (
        [
            f"INSERT INTO executions (tenant, {COPY}) SELECT tenant, 7, 'new', agent, workflow, session, status, "
            "duration_ms, record, recorded_at, digest FROM executions WHERE number = 6",
            "UPDATE execution_heads SET records = 7",
        ],
        7,
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_verify_finds_every_attack_and_names_the_first_bad_record(
    store: SQLiteStore, log: ExecutionLog, attack: str
) -> None:
    statements, first_bad = ATTACKS[attack]
    run(store, *statements)
    found = log.verify(TENANT)
    assert not found.ok
    assert found.first_bad == first_bad
    assert found.problem


def test_verify_with_a_known_head_finds_an_older_copy(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    store = open_sqlite(path)
    ExecutionLog(store, "0123456789abcdef").append(TENANT, [row(number) for number in range(1, 5)])
    store.close()
    copy.write_bytes(path.read_bytes())
    later = open_sqlite(path)
    log = ExecutionLog(later, "0123456789abcdef")
    four = log.verify(TENANT).head
    log.append(TENANT, [row(5)])
    five = log.verify(TENANT).head
    assert log.verify(TENANT, four).ok
    later.close()
    old = open_sqlite(copy)
    assert ExecutionLog(old, "0123456789abcdef").verify(TENANT).ok
    found = ExecutionLog(old, "0123456789abcdef").verify(TENANT, five)
    assert not found.ok
    assert "older copy" in (found.problem or "")
    old.close()


def test_each_tenant_has_its_own_chain(store: SQLiteStore, log: ExecutionLog) -> None:
    log.append("other", [row(1), row(2)])
    assert [found.number for found in log.find("other", ExecutionQuery(), limit=9)] == [2, 1]
    run(store, "DELETE FROM executions WHERE tenant = 'other' AND number = 2")
    assert log.verify(TENANT).ok
    assert not log.verify("other").ok


def test_key_file_is_created_once_and_readable_by_its_owner_only(
    tmp_path: Path, store: SQLiteStore, log: ExecutionLog
) -> None:
    key = tmp_path / "a.db.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    ExecutionLog(store).append(TENANT, [row(7)])
    assert key.read_bytes() == before
    assert before not in (tmp_path / "a.db").read_bytes()
    assert sorted(path.name for path in tmp_path.glob("*.key*")) == ["a.db.key"]


def test_append_with_another_key_is_rejected_with_advice(store: SQLiteStore, log: ExecutionLog) -> None:
    other = ExecutionLog(store, "another key, long enough")
    with pytest.raises(Incompatible, match="MEMORY_AUDIT_KEY"):
        other.append(TENANT, [row(7)])
    assert not other.verify(TENANT).ok
    assert log.verify(TENANT).checked == 6


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 64, b"zz" * 32])
def test_damaged_key_file_is_rejected(tmp_path: Path, content: bytes) -> None:
    store = open_sqlite(tmp_path / "b.db")
    (tmp_path / "b.db.key").write_bytes(content)
    with pytest.raises(Incompatible, match="audit key"):
        ExecutionLog(store).append(TENANT, [row(1)])
    store.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("kind", ["pipe", "huge", "folder"])
def test_key_that_is_no_small_file_is_an_error_at_once(tmp_path: Path, kind: str) -> None:
    store, path = open_sqlite(tmp_path / "b.db"), tmp_path / "b.db.key"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.truncate(3_000_000_000)
    with pytest.raises(Incompatible, match="audit key"):
        ExecutionLog(store).append(TENANT, [row(1)])
    store.close()


@pytest.mark.parametrize("damage", ["missing", "exchanged"])
def test_lost_key_file_is_an_error_and_is_not_replaced(
    tmp_path: Path, store: SQLiteStore, log: ExecutionLog, damage: str
) -> None:
    key = tmp_path / "a.db.key"
    lost = key.read_bytes()
    key.unlink() if damage == "missing" else key.write_text("ab" * 32)
    reopened = ExecutionLog(store)
    for call in (lambda: reopened.append(TENANT, [row(7)]), lambda: reopened.verify(TENANT)):
        with pytest.raises(Incompatible, match=r"a\.db\.key .* restore that file"):
            call()
    assert key.exists() is (damage == "exchanged")
    assert "restore that file" in (reopened.key_problem() or "")
    key.write_bytes(lost)
    assert reopened.key_problem() is None
    assert reopened.verify(TENANT).ok


def test_lost_key_file_is_noticed_before_its_fingerprint_was_recorded(tmp_path: Path, store: SQLiteStore) -> None:
    ExecutionLog(store).append(TENANT, [row(1)])
    run(store, "DELETE FROM meta WHERE key = 'key_fingerprint'")
    (tmp_path / "a.db.key").unlink()
    with pytest.raises(Incompatible, match="restore that file"):
        ExecutionLog(store).append(TENANT, [row(2)])


def test_key_file_is_not_needed_for_records_signed_with_a_text(tmp_path: Path, store: SQLiteStore) -> None:
    signed = ExecutionLog(store, "0123456789abcdef")
    signed.append("other", [row(1)])
    assert signed.key_problem() is None
    assert not (tmp_path / "a.db.key").exists()


def test_name_of_a_new_key_file_is_synced_before_anything_is_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[Path, bool]] = []
    monkeypatch.setattr(
        "memoranda.storage.database_key.fsync_folder",
        lambda folder: synced.append((folder, (folder / "c.db.key").exists())),
    )
    store = open_sqlite(tmp_path / "c.db")
    ExecutionLog(store).append(TENANT, [row(1)])
    store.close()
    assert synced == [(tmp_path, True)]


def test_short_key_is_rejected(store: SQLiteStore) -> None:
    with pytest.raises(InvalidInput, match="audit key"):
        ExecutionLog(store, "secret")


def test_append_skips_a_known_id(log: ExecutionLog) -> None:
    assert [found.id for found in log.append(TENANT, [row(3), row(8), row(8)])] == ["id 8"]
    assert log.verify(TENANT).checked == 7


def test_many_threads_append_to_one_valid_chain(store: SQLiteStore) -> None:
    log = ExecutionLog(store)
    names = [f"agent {number}" for number in range(8)]

    def work(name: str) -> None:
        for number in range(10):
            log.append(TENANT, [replace(row(number, name), id=f"{name} {number}")])

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log.verify(TENANT).checked == 80
    for name in names:
        records = [found.record for found in log.find(TENANT, ExecutionQuery(agent=name), limit=20)]
        assert records == [f'{{"n":{number}}}' for number in reversed(range(10))]


def test_several_stores_on_one_file_append_to_one_valid_chain(tmp_path: Path) -> None:
    stores = [open_sqlite(tmp_path / "b.db") for _ in range(3)]

    def work(number: int) -> None:
        log = ExecutionLog(stores[number])
        for step in range(8):
            log.append(TENANT, [replace(row(step), id=f"{number} {step}")])

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert [ExecutionLog(store).verify(TENANT).checked for store in stores] == [24] * 3
    for store in stores:
        store.close()


def test_durations_are_summarized_over_records_that_have_one(store: SQLiteStore) -> None:
    log = ExecutionLog(store)
    empty = log.summarize_durations(TENANT, ExecutionQuery())
    assert (empty.timed, empty.total, empty.median, empty.maximum) == (0, 0, None, None)
    log.append(TENANT, [row(number, took=float(number)) for number in range(1, 101)])
    log.append(TENANT, [row(200), row(201, "other", took=1000.0)])
    took = log.summarize_durations(TENANT, ExecutionQuery(agent="writer"))
    assert (took.timed, took.total, took.mean) == (100, 5050, 50.5)
    assert (took.minimum, took.median, took.p95, took.maximum) == (1, 50, 95, 100)

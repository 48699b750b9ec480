"""A disk that fails at the n-th write or sync: every error says what is so, and nothing acknowledged is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memoranda.errors import MemorandaError, OutcomeUnknown, Unavailable
from memoranda.storage.meta import get_meta, set_meta
from memoranda.storage.sqlite.store import SQLiteStore, open_sqlite
from tests.prove.faulty_disk import FULL, IO_ERROR_SYNC, IO_ERROR_WRITE, FaultyDisk, can_inject_faults

pytestmark = pytest.mark.skipif(not can_inject_faults(), reason="SQLite is linked into Python itself")


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    with FaultyDisk().installed() as disk:
        yield disk


@pytest.fixture
def store(disk: FaultyDisk, tmp_path: Path) -> Iterator[SQLiteStore]:
    store = open_sqlite(tmp_path / "a.db", driver="sqlite3")
    write(store, "kept", "1")
    yield store
    disk.fails = lambda _operation, _file: 0
    store.close()


def write(store: SQLiteStore, key: str, value: str) -> None:
    store.write(lambda tx: set_meta(tx, key, value))


def crash_image(path: Path, folder: Path) -> Path:
    """Return a copy of the files as a crash now would leave them, without the shared memory."""
    folder.mkdir()
    for suffix in ("", "-wal"):
        if (file := path.with_name(path.name + suffix)).exists():
            shutil.copy(file, folder / file.name)
    return folder / path.name


def read_key(path: Path, key: str) -> str | None:
    store = open_sqlite(path)
    try:
        return store.read(lambda tx: get_meta(tx, key))
    finally:
        store.close()


def fail_nth(number: int, code: int, operation: str, *, until: int = 10**9) -> Callable[[str, str], int]:
    """Fail the calls of an operation on the WAL from the n-th on, up to another."""
    seen = 0

    def fails(called: str, file: str) -> int:
        nonlocal seen
        if (called, file) != (operation, "-wal"):
            return 0
        seen += 1
        return code if number <= seen < until else 0

    return fails


def test_write_whose_sync_failed_once_never_comes_back(disk: FaultyDisk, store: SQLiteStore, tmp_path: Path) -> None:
    disk.fails = fail_nth(1, IO_ERROR_SYNC, "sync", until=2)
    with pytest.raises(Unavailable) as raised:
        write(store, "lost", "1")
    assert not isinstance(raised.value, OutcomeUnknown)
    assert read_key(crash_image(store.path, tmp_path / "crash"), "lost") is None
    assert store.get_meta("lost") is None
    write(store, "later", "1")
    image = crash_image(store.path, tmp_path / "later")
    assert [read_key(image, key) for key in ("kept", "lost", "later")] == ["1", None, "1"]


def test_write_whose_sync_fails_for_good_has_an_unknown_outcome(
    disk: FaultyDisk, store: SQLiteStore, tmp_path: Path
) -> None:
    disk.fails = fail_nth(1, IO_ERROR_SYNC, "sync")
    with pytest.raises(OutcomeUnknown, match="read before you repeat"):
        write(store, "unknown", "1")
    assert read_key(crash_image(store.path, tmp_path / "crash"), "kept") == "1"
    disk.fails = lambda _operation, _file: 0
    write(store, "later", "1")
    known = store.get_meta("unknown")
    image = crash_image(store.path, tmp_path / "later")
    assert [read_key(image, key) for key in ("kept", "later", "unknown")] == ["1", "1", known]


@pytest.mark.parametrize("code", [FULL, IO_ERROR_WRITE])
@pytest.mark.parametrize("number", range(1, 6))
def test_failed_write_is_not_there_and_the_next_one_is(
    disk: FaultyDisk, store: SQLiteStore, tmp_path: Path, number: int, code: int
) -> None:
    disk.fails = fail_nth(number, code, "write")
    refused = attempt(store, "refused")
    disk.fails = lambda _operation, _file: 0
    image = crash_image(store.path, tmp_path / "crash")
    if refused is None:
        assert read_key(image, "refused") == "1"
    elif not isinstance(refused, OutcomeUnknown):
        assert read_key(image, "refused") is None
    write(store, "later", "1")
    assert [store.get_meta(key) for key in ("kept", "later")] == ["1", "1"]
    assert store.check() == []


def attempt(store: SQLiteStore, key: str) -> MemorandaError | None:
    try:
        write(store, key, "1")
    except MemorandaError as error:
        return error
    return None


def test_nth_fault_never_makes_an_error_lie(disk: FaultyDisk, store: SQLiteStore, tmp_path: Path) -> None:
    """Over many writes with a fault at the n-th call: acknowledged is there, "nothing was written" is not."""
    acknowledged, refused = ["kept"], []
    for number in range(60):
        operation, code = (("sync", IO_ERROR_SYNC), ("write", FULL), ("write", IO_ERROR_WRITE))[number % 3]
        disk.fails = fail_nth(1 + number % 5, code, operation, until=2 + number % 5 + number % 4)
        for part in range(3):
            key = f"{number}.{part}"
            error = attempt(store, key)
            if error is None:
                acknowledged.append(key)
            elif not isinstance(error, OutcomeUnknown):
                refused.append(key)
        image = open_sqlite(crash_image(store.path, tmp_path / f"crash-{number}"))
        assert [key for key in acknowledged if image.get_meta(key) is None] == []
        assert [key for key in refused if image.get_meta(key) is not None] == []
        image.close()
        shutil.rmtree(tmp_path / f"crash-{number}")
    assert len(acknowledged) > 50
    assert len(refused) > 20

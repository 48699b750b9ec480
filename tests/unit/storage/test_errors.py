"""What a caller or the system does wrong is an error of ours that says what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, text

from memoranda import InvalidInput, InvalidType, MemoryManager, Unavailable
from memoranda.storage.base import Transaction
from memoranda.storage.errors import called_by_sqlite
from memoranda.storage.meta import set_meta
from memoranda.storage.schema import meta
from memoranda.storage.sqlite.store import SQLiteStore, open_sqlite
from memoranda.testing.fakes import HashEmbedder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = open_sqlite(tmp_path / "a.db")
    yield store
    store.close()


def out_of_memory(_: Transaction) -> None:
    raise MemoryError


def write_value(value: object) -> Callable[[Transaction], object]:
    return lambda tx: tx.execute(insert(meta), [{"key": "k", "value": value}])


def write_row(value: object) -> Callable[[Transaction], object]:
    return lambda tx: tx.insert_rows(meta, ("key", "value"), [("k", value)])


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (out_of_memory, Unavailable, "not enough memory"),
        (write_value(2**70), InvalidInput, "too large"),
        (write_row(2**70), InvalidInput, "too large"),
        (write_value(object()), InvalidInput, "cannot be stored"),
        (write_row(object()), InvalidInput, "cannot be stored"),
        ("no function", InvalidType, "a function of a transaction"),
    ],
)
@pytest.mark.parametrize("driver", ["sqlite3", "pysqlite3"])
def test_bad_write_raises_typed_error_and_changes_nothing(
    tmp_path: Path, driver: str, work: Any, error: type[Exception], message: str
) -> None:
    store = open_sqlite(tmp_path / "a.db", driver=driver)
    with pytest.raises(error, match=message):
        store.write(work)
    assert store.get_meta("k") is None
    store.write(lambda tx: set_meta(tx, "k", "v"))
    assert store.get_meta("k") == "v"
    store.close()


def test_operating_system_error_in_a_read_is_typed(store: SQLiteStore) -> None:
    def fail(_: object) -> None:
        raise OSError(5, "Input/output error")

    with pytest.raises(Unavailable, match="Input/output error"):
        store.read(fail)


@pytest.mark.parametrize(
    ("clock", "error", "message"),
    [
        (lambda: datetime(2026, 5, 1), InvalidInput, "no time zone"),
        (lambda: 12.5, InvalidType, "must return a datetime, not float"),
        (12, InvalidType, "clock must be a function"),
    ],
)
def test_wrong_clock_is_refused(tmp_path: Path, clock: Any, error: type[Exception], message: str) -> None:
    with (
        pytest.raises(error, match=message),
        MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(16), clock=clock) as manager,
    ):
        manager.add_memory("tea")
    with pytest.raises(error, match=message):
        open_sqlite(tmp_path / "b.db", clock=clock).write(lambda tx: set_meta(tx, "k", "v"))


@pytest.mark.parametrize("name", ["embedder", "index", "llm", "short_term"])
@pytest.mark.parametrize("value", [12, object(), HashEmbedder])
def test_wrong_component_is_refused(tmp_path: Path, name: str, value: object) -> None:
    with pytest.raises(InvalidType, match=f"{name} must be an object with"):
        MemoryManager(f"sqlite:///{tmp_path}/m.db", **{name: value})  # type: ignore[arg-type]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_second_store_in_the_process_leaves_the_locks_of_the_first(store: SQLiteStore) -> None:
    def locks() -> list[str]:
        inode = f":{store.path.stat().st_ino} "
        return [line for line in Path("/proc/locks").read_text().splitlines() if inode in line]

    store.head()
    assert locks()
    second = open_sqlite(store.path)
    second.compact()
    second.close()
    assert locks()


@pytest.mark.parametrize(("raised", "expected"), [(KeyboardInterrupt, KeyboardInterrupt), (ValueError, Unavailable)])
def test_ctrl_c_in_a_function_that_sqlite_calls_comes_out_as_such(
    store: SQLiteStore, raised: type[BaseException], expected: type[BaseException]
) -> None:
    def fail() -> None:
        raise raised

    def work(tx: Any) -> None:
        tx.driver.create_function("fail", 0, called_by_sqlite(fail))
        tx.execute(text("SELECT fail()"))

    for _ in range(2):
        with pytest.raises(expected):
            store.read(work)
    assert store.read(lambda tx: tx.execute(text("SELECT 1")).scalar()) == 1

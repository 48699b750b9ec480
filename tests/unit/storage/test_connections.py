from __future__ import annotations

import gc
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy.engine import base, default

from memoranda import Closed, MemorandaError, Unavailable
from memoranda.embedding.vectors import start_generation
from memoranda.storage.sqlite import connections
from memoranda.storage.sqlite.connections import Connections, FileLock
from memoranda.storage.sqlite.store import open_sqlite
from memoranda.testing.fakes import HashEmbedder
from tests.unit.storage.interrupts import interrupted_at


def test_a_write_interrupted_at_any_moment_leaves_the_next_one_free(tmp_path: Path) -> None:
    moment = 0
    (tmp_path / "a.db").touch()
    while interrupted_at(
        moment, write, opened := Connections(tmp_path / "a.db"), "one", inside=[connections, base, default]
    ):
        write(opened, "two")
        opened.close()
        assert rows(tmp_path / "a.db")[-1] == "two", f"after an interrupt at moment {moment}"
        moment += 1
    assert moment > 10


def test_one_that_is_let_go_of_without_closing_leaves_no_handle_open(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    opened = Connections(tmp_path / "a.db")
    write(opened, "one")
    opened.fetch("SELECT text FROM notes")
    last = weakref.ref(opened)
    del opened
    for _ in range(3):  # SQLAlchemy's pool is a circle of its own, behind ours
        gc.collect()
    assert last() is None
    assert not (tmp_path / "a.db-wal").exists()  # SQLite removes it with the last handle


@pytest.mark.parametrize("become", ["removed", "replaced"])
def test_what_would_be_written_into_a_file_that_is_gone_is_refused(tmp_path: Path, become: str) -> None:
    store = open_sqlite(tmp_path / "a.db")
    store.write(lambda tx: start_generation(tx, HashEmbedder(4).identity, activate=True))
    assert store.status().problems == ()
    (tmp_path / "a.db").rename(tmp_path / "elsewhere.db")
    if become == "replaced":
        open_sqlite(tmp_path / "b.db").close()
        (tmp_path / "b.db").rename(tmp_path / "a.db")
    with pytest.raises(Unavailable, match=f"{become} while it was open: close this, then open it again"):
        store.write(lambda tx: start_generation(tx, HashEmbedder(8).identity, activate=False))
    assert store.status().problems != ()
    store.close()


def write(opened: Connections, text: str) -> None:
    with opened.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS notes (text)")
        connection.exec_driver_sql("INSERT INTO notes VALUES (?)", (text,))


def rows(path: Path) -> list[str]:
    opened = Connections(path)
    try:
        return [text for (text,) in opened.fetch("SELECT text FROM notes ORDER BY rowid")]
    finally:
        opened.close()


@pytest.fixture
def opened(tmp_path: Path) -> Connections:
    (tmp_path / "a.db").touch()
    return Connections(tmp_path / "a.db")


def test_a_new_file_is_turned_to_write_ahead_logging_behind_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.touch()
    with ThreadPoolExecutor(1) as pool:
        with FileLock(tmp_path / "a.db.lock")():
            opening = pool.submit(Connections, path)
            with pytest.raises(TimeoutError):
                opening.result(timeout=0.2)
            assert path.stat().st_size == 0
        opening.result().close()
    assert path.read_bytes()[18:20] == b"\x02\x02"


def test_reads_one_after_the_other_share_a_connection(opened: Connections) -> None:
    assert [opened.fetch("SELECT ?", (n,)) for n in range(3)] == [[(0,)], [(1,)], [(2,)]]
    assert len(opened._raw.idle) == 1
    opened.close()


def test_a_read_that_fails_is_an_error_of_ours_and_keeps_nothing(opened: Connections) -> None:
    with pytest.raises(MemorandaError):
        opened.fetch("SELECT nothing FROM nowhere")
    assert not opened._raw.idle
    assert not opened._raw.in_use
    assert opened.fetch("SELECT 1") == [(1,)]
    opened.close()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_closing_while_others_read_leaves_no_handle_open(opened: Connections) -> None:
    started = threading.Barrier(9)

    def read() -> None:
        started.wait()
        try:
            while True:
                opened.fetch("SELECT count(*) FROM sqlite_schema")
        except Closed:
            return

    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read) for _ in range(8)]
        started.wait()
        opened.close()
        for reader in readers:
            reader.result()
    assert [target for target in _open_files() if target.startswith(str(opened.path))] == []


def _open_files() -> list[str]:
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(entry.readlink()))
        except FileNotFoundError:
            continue
    return found

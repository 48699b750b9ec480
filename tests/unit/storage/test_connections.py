from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
from sqlalchemy.engine import base, default

from recollect import Unavailable
from recollect.storage import connections
from recollect.storage.connections import Connections
from recollect.storage.sqlite import SQLiteStore
from recollect.testing.hash_embedder import HashEmbedder
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
    store = SQLiteStore.open(tmp_path / "a.db")
    store.start_generation(HashEmbedder(4).identity, activate=True)
    assert store.problem() is None
    (tmp_path / "a.db").rename(tmp_path / "elsewhere.db")
    if become == "replaced":
        SQLiteStore.open(tmp_path / "b.db").close()
        (tmp_path / "b.db").rename(tmp_path / "a.db")
    with pytest.raises(Unavailable, match=f"{become} while it was open: close this, then open it again"):
        store.start_generation(HashEmbedder(8).identity, activate=False)
    assert store.problem() is not None
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

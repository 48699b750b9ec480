from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import base, default

from recollect.storage import connections
from recollect.storage.connections import Connections
from tests.unit.storage.interrupts import interrupted_at


def test_a_write_interrupted_at_any_moment_leaves_the_next_one_free(tmp_path: Path) -> None:
    moment = 0
    while interrupted_at(
        moment, write, opened := Connections(tmp_path / "a.db"), "one", inside=[connections, base, default]
    ):
        write(opened, "two")
        opened.close()
        assert rows(tmp_path / "a.db")[-1] == "two", f"after an interrupt at moment {moment}"
        moment += 1
    assert moment > 10


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

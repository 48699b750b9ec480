"""Unused bytes are cleared, and nothing else is touched."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from memoranda.errors import Incompatible
from memoranda.storage.sqlite import scrub as handles
from memoranda.storage.sqlite.scrub import RawFile, free_pages, open_pages, scrub_page

TABLES = ("notes", "keyed", "links")


def make_file(path: Path, page_size: int, seed: int) -> set[bytes]:
    """Write a file with rows of all sizes, changed and deleted; return the words of what was deleted."""
    rng, words, live = random.Random(seed), set[bytes](), dict[int, str]()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in (
            f"PRAGMA page_size={page_size}",
            "PRAGMA secure_delete=OFF",
            "PRAGMA synchronous=OFF",
            "PRAGMA journal_mode=MEMORY",
            "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, number REAL)",
            "CREATE INDEX by_text ON notes (text)",
            "CREATE TABLE keyed (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
            "CREATE TABLE links (one INTEGER, other INTEGER)",
            "CREATE UNIQUE INDEX by_link ON links (one, other)",
        ):
            db.execute(statement)
        for number in range(400):
            word = f"w{rng.getrandbits(60):015x}"
            live[number] = word
            text = f"{word} " * rng.choice([1, 1, 2, 5, 40, 400])
            db.execute("INSERT INTO notes VALUES (?, ?, ?)", (number, text, rng.random()))
            db.execute("INSERT INTO keyed VALUES (?, ?)", (word, text))
            db.execute("INSERT INTO links VALUES (?, ?)", (number, rng.randrange(10**9)))
            if number % 2:
                words |= remove(db, live, rng.choice(list(live)))
        for number in rng.sample(sorted(live), len(live) // 3):
            words |= remove(db, live, number)
    return words


def remove(db: sqlite3.Connection, live: dict[int, str], number: int) -> set[bytes]:
    word = live.pop(number)
    db.execute("DELETE FROM notes WHERE id = ?", (number,))
    db.execute("DELETE FROM keyed WHERE key = ?", (word,))
    db.execute("DELETE FROM links WHERE one = ?", (number,))
    return {word.encode()}


def dump(path: Path) -> list[object]:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES]


def scrub(path: Path) -> int:
    """Clear all pages; return how many had to be."""
    fd = os.open(path, os.O_RDWR)
    try:
        pages = open_pages(fd)
        assert pages is not None
        free = free_pages(pages)
        return sum(scrub_page(pages, number, free) for number in range(1, pages.count + 1))
    finally:
        os.close(fd)


@pytest.mark.parametrize("page_size", [512, 1024, 4096, 8192, 65_536])
@pytest.mark.parametrize("seed", range(4))
def test_deleted_words_are_gone_and_every_row_is_as_it_was(tmp_path: Path, page_size: int, seed: int) -> None:
    path = tmp_path / "a.db"
    words = make_file(path, page_size, seed)
    before = dump(path)
    assert any(word in path.read_bytes() for word in words)
    assert scrub(path) > 0
    left = path.read_bytes()
    assert [word for word in words if word in left] == []
    assert dump(path) == before
    assert scrub(path) == 0
    with closing(sqlite3.connect(path, isolation_level=None)) as db:  # the file still takes rows of all sizes
        db.execute("PRAGMA synchronous=OFF")
        for number in range(1000, 1200):
            db.execute("INSERT INTO notes VALUES (?, ?, 0)", (number, "again " * (number % 300)))
    assert len(dump(path)[0]) == len(before[0]) + 200  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(40))
def test_damaged_page_is_refused_or_its_rows_are_as_they_were(tmp_path: Path, seed: int) -> None:
    path, rng = tmp_path / "a.db", random.Random(seed)
    make_file(path, 1024, 0)
    data = bytearray(path.read_bytes())
    for _ in range(5):
        data[rng.randrange(1024, len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    before = read_leniently(path)
    try:
        scrub(path)
    except Incompatible as error:
        assert "run check" in str(error)  # noqa: PT017
    assert read_leniently(path) == before


def read_leniently(path: Path) -> list[object]:
    found: list[object] = []
    with closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        for table in TABLES:
            try:
                found.append(db.execute(f"SELECT * FROM {table} NOT INDEXED").fetchall())
            except sqlite3.DatabaseError:
                found.append(None)
    return found


def test_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(os.urandom(8192))
    file = RawFile(tmp_path / "a.db")
    assert file.open_pages() is None
    file.close()


def test_handle_is_shared_and_closed_with_its_last_user(tmp_path: Path) -> None:
    make_file(tmp_path / "a.db", 512, 0)
    one, two = RawFile(tmp_path / "a.db"), RawFile(tmp_path / "a.db")
    pages, others = one.open_pages(), two.open_pages()
    assert pages is not None
    assert others is not None
    assert pages.fd == others.fd
    one.close()
    one.close()
    assert os.fstat(others.fd).st_size == others.count * 512
    two.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(others.fd)


def test_store_finalized_while_another_opens_the_file_leaves_its_handle_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"SQLite")
    left = handles.RawFile(path)
    assert left.read_start(6) == b"SQLite"

    def finalize_another() -> object:
        left.close()  # as the garbage collector does, in the thread that holds the lock
        return make_handle()

    make_handle = handles._SharedHandle
    monkeypatch.setattr(handles, "_SharedHandle", finalize_another)
    opened: list[handles.RawFile] = []
    thread = threading.Thread(target=lambda: opened.append(handles.RawFile(path)), daemon=True)
    thread.start()
    thread.join(10)
    assert opened, "the thread waits for a lock that it holds itself"
    assert opened[0].read_start(6) == b"SQLite"
    opened[0].close()
    assert not handles._handles

from __future__ import annotations

import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memoranda import Incompatible, MemoryManager
from memoranda.storage import open_store, schema
from memoranda.storage.meta import get_values, put_values
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.copying import copy_store

LONG = " ".join(f"The boat number {number} is blue, and nobody knows why." for number in range(60))
COLUMNS = {
    "memories": ("content", "value"),
    "messages": ("content", "payload"),
    "revisions": ("content",),
    "executions": ("record",),
    "short_lived": ("value",),
    "recalled_memories": ("state",),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


def _open(path: Path) -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(16))


@pytest.fixture
def memory(path: Path) -> Iterator[MemoryManager]:
    with _open(path) as manager:
        yield manager


def _fill(memory: MemoryManager, text: str = LONG) -> int:
    said = memory.add_memory(text, user="ann")
    memory.update(said.id, f"{text} Or so.", user="ann")
    memory.put(("notes",), "long", {"text": text}, user="ann")
    memory.remember([{"role": "user", "content": f"My notes: {text}"}], user="ann", keep_all=True)
    memory.save_execution_record("writer", {"status": "ok", "output": text})
    memory._components.open().store.write(lambda tx: put_values(tx, "default", {"name": text}, tx.at + 10**12))
    memory.recall("boat number 7", user="ann")
    return said.id


def _kinds(path: Path, table: str, column: str) -> set[str]:
    with closing(sqlite3.connect(path)) as raw:
        return {row[0] for row in raw.execute(f"SELECT DISTINCT typeof({column}) FROM {table}")}


def test_long_texts_are_compressed_in_the_file_and_read_as_they_were(memory: MemoryManager, path: Path) -> None:
    memory_id = _fill(memory)
    memory.close()
    for table, columns in COLUMNS.items():
        for column in columns:
            assert "blob" in _kinds(path, table, column), (table, column)
    assert b"The boat number 41 is blue" not in path.read_bytes()
    with _open(path) as again:
        assert again.get(memory_id, user="ann").content == f"{LONG} Or so."
        assert again.history(memory_id, user="ann").versions[0].content == LONG
        item = again.get_item(("notes",), "long", user="ann")
        assert item is not None
        assert item.value == {"text": LONG}
        assert again.get_execution_records()[0].record["output"] == LONG
        assert again.verify_executions().ok
        store = again._components.open().store
        assert store.read(lambda tx: get_values(tx, "default", ["name"], 0)) == {"name": LONG}
        assert again.recall("boat number 41", user="ann")[0].content
        assert again.check().problems == ()


def test_short_texts_stay_texts(memory: MemoryManager, path: Path) -> None:
    memory.add_memory("x" * (schema.LEAST - 1), user="ann")
    memory.close()
    assert _kinds(path, "memories", "content") == {"text"}


def test_rows_of_before_are_read_edited_and_checked(
    memory: MemoryManager, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(schema, "LEAST", 10**9)
        memory_id = _fill(memory)
    memory.close()
    assert _kinds(path, "memories", "content") == {"text"}
    with _open(path) as again:
        assert again.get(memory_id, user="ann").content == f"{LONG} Or so."
        again.update(memory_id, importance=0.9, user="ann")
        assert again.check().problems == ()
        assert again.history(memory_id, user="ann").versions[0].content == LONG


def test_forgotten_long_texts_leave_no_compressed_bytes(memory: MemoryManager, path: Path) -> None:
    memory_id = memory.add_memory(LONG, user="ann").id
    piece = zlib.compress(LONG.encode())[40:120]
    memory.close()
    assert piece in path.read_bytes()
    with _open(path) as again:
        assert again.forget(memory_id, user="ann").complete
    assert not any(piece in file.read_bytes() for file in path.parent.iterdir() if file.is_file())


def test_backup_export_and_copy_have_the_same_texts(memory: MemoryManager, path: Path) -> None:
    memory_id = _fill(memory)
    folder = path.parent
    memory.export_jsonl(folder / "all.jsonl")
    assert LONG in (folder / "all.jsonl").read_text("utf-8")
    memory.backup(folder / "b.db")
    memory.close()
    with closing(open_store(f"sqlite:///{path}")) as source, closing(open_store(f"sqlite:///{folder}/c.db")) as target:
        copy_store(source, target)
    shutil.copy(f"{path}.key", folder / "c.db.key")
    for name in ("b.db", "c.db"):
        with _open(folder / name) as other:
            assert other.get(memory_id, user="ann").content == f"{LONG} Or so."
            assert other.check().problems == ()


def test_damaged_compressed_text_is_named(memory: MemoryManager, path: Path) -> None:
    memory_id = memory.add_memory(LONG, user="ann").id
    memory.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("UPDATE memories SET content = substr(content, 1, 50)")
    with _open(path) as again:
        with pytest.raises(Incompatible, match="is not what was written"):
            again.get(memory_id, user="ann")
        assert any(str(memory_id) in problem for problem in again.check().problems)


def test_long_text_without_words_is_no_problem(memory: MemoryManager) -> None:
    memory.add_memory("!?" * 2_000, user="ann")
    assert memory.check().problems == ()

"""A row is given to its owner only when its hash says so: indexes, rows and pages may be damaged."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memoranda import MemoryManager, Message
from memoranda.conversation.memory import ConversationMemory
from memoranda.errors import Incompatible
from memoranda.testing.fakes import HashEmbedder
from tests.driver import sqlite3

Read = Callable[[MemoryManager, str, int, Path], object]


def conversation(memory: MemoryManager, user: str) -> ConversationMemory:
    memory.set_retention_policy("helper", "persistent")
    return memory.get_memory("helper", user=user)


def export(memory: MemoryManager, user: str, _: int, folder: Path) -> str:
    memory.export_jsonl(folder / f"{user}.jsonl", user=user, plain=True)
    return (folder / f"{user}.jsonl").read_text()


def archive(memory: MemoryManager, user: str, _: int, folder: Path) -> object:
    return memory.archive_to(folder / f"{user}.jsonl.zst", user=user)


READS: dict[str, Read] = {
    "recall": lambda memory, user, _, __: memory.recall("note", user=user, limit=50),
    "list": lambda memory, user, _, __: memory.list_memories(50, user=user),
    "get": lambda memory, user, number, _: memory.get(number, user=user),
    "update": lambda memory, user, number, _: memory.update(number, "other words", user=user),
    "history": lambda memory, user, number, _: memory.history(number, user=user),
    "conversation": lambda memory, user, _, __: conversation(memory, user).get_messages(),
    "value": lambda memory, user, _, __: memory.get_item(("notes",), "key", user=user),
    "export": export,
    "archive": archive,
}


def open_manager(path: Path) -> MemoryManager:
    return MemoryManager(path, embedder=HashEmbedder(16))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """A store with the same rows for two users, and the first memory of each."""
    path, first = tmp_path_factory.mktemp("store") / "memories.db", dict[str, int]()
    with open_manager(path) as memory:
        memory.add_memory("note of somebody", user="dan")  # an index has no byte for the number 1
        for user in ("ana", "ben"):
            first[user] = memory.add_memory(f"note of {user}", user=user).id
            memory.update(first[user], f"new note of {user}", user=user)
            conversation(memory, user).add(Message("user", f"words of {user}"))
            memory.put(("notes",), "key", {"of": user}, user=user)
    return path, first


def damage(store: Path, folder: Path, *statements: str) -> Path:
    """Return a copy of the file in which another program changed rows."""
    copy = shutil.copy(store, folder / "copy.db")
    with closing(sqlite3.connect(copy)) as raw:
        for statement in statements:
            raw.execute(statement)
        raw.commit()
    return Path(copy)


CHANGES = {
    "row of a memory": "UPDATE memories SET {columns} WHERE user = 'ana' AND key IS NULL",
    "row of a value": "UPDATE memories SET {columns} WHERE user = 'ana' AND key IS NOT NULL",
    "row of a message": "UPDATE messages SET {columns} WHERE user = 'ana'",
}
FOUND_BY = {
    "row of a memory": ("recall", "list", "get", "update", "history", "export", "archive"),
    "row of a value": ("value", "export"),
    "row of a message": ("conversation", "export"),
}


@pytest.mark.parametrize("changed", list(CHANGES))
def test_row_whose_owner_was_changed_is_given_to_nobody(
    store: tuple[Path, dict[str, int]], tmp_path: Path, changed: str
) -> None:
    path = damage(store[0], tmp_path, CHANGES[changed].format(columns="user = 'cleo'"))
    for name in FOUND_BY[changed]:
        with open_manager(path) as memory, pytest.raises(Incompatible, match="its owner"):
            READS[name](memory, "cleo", store[1]["ana"], tmp_path)


def test_former_version_of_another_memory_is_not_shown(store: tuple[Path, dict[str, int]], tmp_path: Path) -> None:
    ana, ben = store[1]["ana"], store[1]["ben"]
    path = damage(
        store[0],
        tmp_path,
        f"DELETE FROM revisions WHERE memory_id = {ana}",
        f"UPDATE revisions SET memory_id = {ana} WHERE memory_id = {ben}",
    )
    with open_manager(path) as memory:
        for read in (READS["history"], READS["export"]):
            with pytest.raises(Incompatible, match="its owner"):
                read(memory, "ana", ana, tmp_path)


def test_row_that_an_index_gives_to_another_owner_is_not_shown(
    store: tuple[Path, dict[str, int]], tmp_path: Path
) -> None:
    """SQLite reads the owner from the index: only the hash is read from the row itself."""
    path, first = Path(shutil.copy(store[0], tmp_path / "copy.db")), store[1]
    data = bytearray(path.read_bytes())
    entry = b"defaultana" + bytes([first["ana"]]) * 2  # the id as a column, then as the number of the row
    at = data.find(entry)
    assert at >= 0, "the entry of ana is in the index by tenant, user and id"
    while at >= 0:
        data[at + len(entry) - 1] = first["ben"]
        at = data.find(entry)
    path.write_bytes(data)
    with open_manager(path) as memory:
        with pytest.raises(Incompatible, match="run repair"):
            memory.list_memories(user="ana")
        memory.repair()
        assert memory.list_memories(user="ana")[0].content == "new note of ana"
        assert memory.check().ok


def test_check_names_rows_of_another_owner(store: tuple[Path, dict[str, int]], tmp_path: Path) -> None:
    path = damage(store[0], tmp_path, CHANGES["row of a memory"].format(columns="user = 'cleo'"))
    with open_manager(path) as memory:
        assert any("its owner" in problem for problem in memory.check().problems)


def test_repair_accepts_an_edit_but_no_other_owner(store: tuple[Path, dict[str, int]], tmp_path: Path) -> None:
    edit = "UPDATE memories SET metadata = '{\"edited\":true}'"
    path = damage(store[0], tmp_path, edit, CHANGES["row of a memory"].format(columns="user = 'cleo'"))
    with open_manager(path) as memory:
        memory.repair()
        report = memory.repair()
        assert memory.list_memories(user="ben")[0].metadata == {"edited": True}
        assert any("its owner" in problem for problem in report.remaining)
        with pytest.raises(Incompatible, match="its owner"):
            memory.list_memories(user="cleo")


@pytest.mark.parametrize("column", ["notes", "metadata"])
def test_damaged_json_that_can_still_be_read_is_a_typed_error(tmp_path: Path, column: str) -> None:
    with open_manager(tmp_path / "memories.db") as memory:
        memory.remember("I live in Lyon.", user="ana")
        memory.add_memory("I live in Lyon with Max.", user="ana", metadata={"subject": 1})
    change = f"UPDATE memories SET {column} = replace({column}, '\"subject\"', '\"sub_ect\"')"
    path = damage(tmp_path / "memories.db", tmp_path, change)
    with open_manager(path) as memory:
        assert any("is damaged" in problem for problem in memory.check().problems)
        with pytest.raises(Incompatible, match="not what was written"):
            memory.list_memories(user="ana")


def test_rows_written_before_they_had_hashes_are_hashed_unless_they_are_damaged(tmp_path: Path) -> None:
    path = Path(shutil.copy(Path(__file__).parents[3] / "data" / "schema-0008.db", tmp_path / "old.db"))
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("UPDATE memories SET content = 'The river is warm in May' WHERE content LIKE 'The river%'")
        raw.commit()
    with open_manager(path) as memory:
        assert [each.content for each in memory.list_memories(user="tom")] == ["Tea at six"]
        assert [each.content for each in memory.history(4, user="tom").versions] == ["Tea at five"]
        memory.export_jsonl(tmp_path / "nora.jsonl", user="nora", session="s1", plain=True)
        assert (tmp_path / "nora.jsonl").read_text().count('"kind":"message"') == 2
        with pytest.raises(Incompatible, match="its text or its owner"):
            memory.list_memories(user="nora")

"""SQLite trusts its indexes: a row that a damaged one gives to another owner must not be shown."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.errors import Incompatible
from memoranda.testing.fakes import HashEmbedder
from tests.driver import sqlite3

USERS = ("ana", "ben", "cleo")
Read = Callable[[MemoryManager, str, Path], str]
READS: dict[str, Read] = {
    "recall": lambda memory, user, _: str([hit.content for hit in memory.recall("river stone", user=user, limit=50)]),
    "list": lambda memory, user, _: str([each.content for each in memory.list_memories(50, user=user)]),
    "facts": lambda memory, user, _: str(memory.facts(user=user)),
    "export": lambda memory, user, path: _export(memory, user, path),
}


def _export(memory: MemoryManager, user: str, path: Path) -> str:
    target = path / f"{user}.jsonl"
    memory.export_jsonl(target, user=user, plain=True)
    return target.read_text()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "memories.db"
    with MemoryManager(path, embedder=HashEmbedder(16)) as memory:
        for user in USERS:
            memory.add_memories([f"note {number} of {user}: river stone" for number in range(12)], user=user)
            memory.remember(f"My name is {user.title()}.", user=user)
    return path


def _entries(path: Path) -> list[int]:
    """Return where in the file each entry of the index has the name of its tenant."""
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        (root,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memories_scope'").fetchone()
        (size,) = raw.execute("PRAGMA page_size").fetchone()
    page = path.read_bytes()[(root - 1) * size : root * size]
    assert page[0] == 10, "the index must be one leaf"
    found, at = [], page.find(b"default")
    while at >= 0:
        found.append((root - 1) * size + at)
        at = page.find(b"default", at + 1)
    return found


def test_row_that_a_damaged_index_gives_to_another_owner_is_not_shown(file: Path, tmp_path: Path) -> None:
    intact, refused = file.read_bytes(), 0
    for position in _entries(file)[::5]:
        damaged = bytearray(intact)
        damaged[position + 5] ^= 2  # "defaunt"
        for side in file.parent.glob("memories.db-*"):
            side.unlink()
        file.write_bytes(damaged)
        with MemoryManager(file, embedder=HashEmbedder(16)) as memory:
            for name, read in READS.items():
                for user in USERS:
                    try:
                        shown = read(memory, user, tmp_path)
                    except Incompatible:
                        refused += 1
                        continue
                    others = [other for other in USERS if other != user and other in shown.lower()]
                    assert not others, f"{name} shows {user} what is of {others}"
    assert refused

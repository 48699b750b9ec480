"""Write a file with the newest schema and a few rows, to be kept when that schema is released:

python -m tests.unit.storage.make_schema_file     writes tests/data/schema-<version>.db
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from memoranda import MemoryManager, Message
from memoranda.storage.schema import HEAD
from memoranda.testing.fakes import HashEmbedder

TARGET = Path(__file__).parents[2] / "data" / f"schema-{HEAD}.db"


def fill(url: str) -> None:
    with MemoryManager(url, embedder=HashEmbedder(16), clock=lambda: datetime.now(UTC)) as manager:
        for text in ("My name is Nora and I live in Lyon.", "I moved to Turin last week."):
            manager.remember(Message("user", text), user="nora", agent="helper", session="s1")
        manager.add_memory("The river is cold in May", user="nora", metadata={"tag": "x"})
        manager.add_memory_association(1, 2, "before", 0.5, user="nora")
        tea = manager.add_memory("Tea at five", user="tom")
        manager.update(tea.id, content="Tea at six", user="tom")
        manager.delete(manager.add_memory("to be deleted", user="tom").id, user="tom")
        manager.add_knowledge("The office opens at nine.", source="handbook")
        manager.get_memory("helper", user="nora").add(Message("user", "hello there"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        fill(f"sqlite:///{path}")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in ("PRAGMA journal_mode=DELETE", "PRAGMA page_size=512", "VACUUM"):  # as small as possible
                connection.execute(statement)
        TARGET.write_bytes(path.read_bytes())


if __name__ == "__main__":
    main()

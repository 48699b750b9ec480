from __future__ import annotations

from pathlib import Path

import psycopg

from memoranda import ANY, MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder
from tests.postgres.server import PostgresServer
from tests.postgres.test_manager import AUDIT_KEY

LONG = " ".join(f"The boat number {number} is blue, and nobody knows why." for number in range(60))


def _open(url: str) -> MemoryManager:
    return MemoryManager(MemoryConfig(db_url=url, audit_key=AUDIT_KEY), embedder=HashEmbedder(16))


def test_server_compresses_long_texts_and_values(server: PostgresServer, url: str) -> None:
    with _open(url) as memory:
        memory.add_memory(LONG, user="ann")
        memory.put(("notes",), "long", {"text": LONG}, user="ann")
        memory.save_execution_record("writer", {"output": LONG})
        assert LONG in {hit.content for hit in memory.recall("boat number 7", user="ann")}
    with psycopg.connect(server.url(url.rpartition("/")[2].partition("?")[0], "postgres")) as raw:
        for table, column in (("memories", "content"), ("memories", "value"), ("executions", "record")):
            used = f"SELECT DISTINCT pg_column_compression({column}) FROM {table} WHERE length({column}) > 2500"
            assert raw.execute(used).fetchall() in ([("lz4",)], [("pglz",)])


def test_archived_memories_come_back_under_their_ids_and_tenants_keep_theirs(url: str, tmp_path: Path) -> None:
    with _open(url) as memory:
        other = memory.for_tenant("other")
        old = memory.add_memory("Ann drinks tea", user="ann")
        cup = memory.add_memory("The cup is green", user="ann")
        memory.add_memory_association(cup.id, old.id, "holds", 0.7, user="ann")
        memory.archive(old.id, user="ann")
        before = [dict(each) for each in memory.list_memories(user=ANY)]
        assert memory.archive_to(tmp_path / "a.zst", archived=True, remove=True).removed == 1
        memory.archive_to(tmp_path / "b.zst")
        assert other.restore_from(tmp_path / "b.zst").memories == 1  # under another id: that one is taken
        assert memory.restore_from(tmp_path / "a.zst").memories == 1
        assert [dict(each) for each in memory.list_memories(user=ANY)] == before
        assert [each.memory.id for each in memory.get_related_memories(cup.id, user="ann")] == [old.id]
        assert memory.add_memory("Later", user="ann").id > max(each["id"] for each in before)

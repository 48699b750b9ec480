"""Check and repair a SQLite file. Each finding is one sentence; none means that the file is sound."""

from __future__ import annotations

from typing import Final

from sqlalchemy import text

from memoranda.display import plural
from memoranda.storage.integrity import add_terms, damaged_memories, describe_claims, restore_claims
from memoranda.storage.long_text import unpack
from memoranda.storage.sqlite.transaction import SQLiteTransaction

_CHECKS: Final = {
    "memories without terms": "SELECT id FROM memories WHERE terms = '' AND plain_text(content) GLOB '*[a-zA-Z0-9]*'",
    "memories without a vector": """
        SELECT id FROM memories WHERE EXISTS (SELECT 1 FROM generations WHERE active) AND id NOT IN
        (SELECT memory_id FROM vectors JOIN generations ON generations.id = generation WHERE active)""",
    "vectors of the wrong size": """
        SELECT memory_id FROM vectors JOIN generations ON generations.id = generation
        WHERE length(data) != 4 * dimension OR length(sentences) % dimension != 0""",
    "memories missing from the change log": """
        SELECT id FROM memories WHERE id NOT IN (SELECT memory_id FROM changes WHERE op = 'add')""",
    "numbers missing from the change log, by the last one before them": """
        SELECT seq FROM changes WHERE seq < (SELECT max(seq) FROM changes) AND seq + 1 NOT IN (SELECT seq FROM changes)
        UNION ALL SELECT 0 WHERE (SELECT min(seq) FROM changes) > 1
        UNION ALL SELECT last FROM (SELECT coalesce(max(seq), 0) AS last FROM changes)
        WHERE last < (SELECT seq FROM sqlite_sequence WHERE name = 'changes')""",
    "entries of the change log with another owner than their memory": """
        SELECT changes.seq FROM changes JOIN memories ON memories.id = changes.memory_id
        WHERE changes.tenant != memories.tenant OR changes.user != memories.user""",
    "generations of vectors, and not one of them in use": """
        SELECT id FROM generations WHERE (SELECT sum(active != 0) FROM generations) != 1""",
    "memory types with a wrong count": """
        SELECT name FROM counters WHERE kind = 'type' AND entries !=
        (SELECT count(*) FROM memories WHERE memories.tenant = counters.tenant AND type = name)""",
    "memory types that are not counted": """
        SELECT DISTINCT type FROM memories WHERE NOT EXISTS (SELECT 1 FROM counters
        WHERE counters.tenant = memories.tenant AND kind = 'type' AND name = type)""",
    "memories whose message is gone": """
        SELECT id FROM memories WHERE message_seq IS NOT NULL AND message_seq NOT IN (SELECT seq FROM messages)""",
    "conversations with a gap, by their first message": """
        SELECT min(seq) FROM messages WHERE position IS NOT NULL GROUP BY tenant, agent, user, session
        HAVING max(position) - min(position) + 1 != count(*) OR count(DISTINCT position) != count(*)""",
}
_REPAIRS: Final = {
    "vectors without a memory removed": "DELETE FROM vectors WHERE memory_id NOT IN (SELECT id FROM memories)",
    "vectors of the wrong size removed, to be made again": """
        DELETE FROM vectors WHERE EXISTS (SELECT 1 FROM generations WHERE generations.id = vectors.generation
        AND (length(data) != 4 * dimension OR length(sentences) % dimension != 0))""",
    "memories detached from a message that is gone": """
        UPDATE memories SET message_seq = NULL
        WHERE message_seq IS NOT NULL AND message_seq NOT IN (SELECT seq FROM messages)""",
    "memories entered in the change log": """
        INSERT INTO changes (op, memory_id, tenant, user, at) SELECT 'add', id, tenant, user, recorded_at
        FROM memories WHERE id NOT IN (SELECT memory_id FROM changes WHERE op = 'add')""",
    "entries of the change log given the owner of their memory": """
        UPDATE changes SET (tenant, user) = (SELECT tenant, user FROM memories WHERE memories.id = changes.memory_id)
        WHERE EXISTS (SELECT 1 FROM memories WHERE memories.id = changes.memory_id
        AND (changes.tenant != memories.tenant OR changes.user != memories.user))""",
    "counts corrected": """
        UPDATE counters SET entries =
        (SELECT count(*) FROM memories WHERE memories.tenant = counters.tenant AND type = name)
        WHERE kind = 'type' AND entries !=
        (SELECT count(*) FROM memories WHERE memories.tenant = counters.tenant AND type = name)""",
    "counts added": """
        INSERT INTO counters (tenant, kind, name, entries, last_at)
        SELECT tenant, 'type', type, count(*), max(recorded_at) FROM memories WHERE NOT EXISTS (SELECT 1 FROM counters
        WHERE counters.tenant = memories.tenant AND kind = 'type' AND name = type) GROUP BY tenant, type""",
    "positions in conversations renumbered": """
        WITH numbered AS (
          SELECT seq, row_number() OVER (PARTITION BY tenant, agent, user, session ORDER BY position, seq) AS n
          FROM messages WHERE position IS NOT NULL),
        uneven AS (
          SELECT tenant, agent, user, session FROM messages WHERE position IS NOT NULL
          GROUP BY tenant, agent, user, session
          HAVING max(position) - min(position) + 1 != count(*) OR count(DISTINCT position) != count(*))
        UPDATE messages SET position = (SELECT n FROM numbered WHERE numbered.seq = messages.seq)
        WHERE position IS NOT NULL AND (tenant, agent, user, session) IN uneven""",
}


def find_problems(tx: SQLiteTransaction) -> list[str]:
    """Return what SQLite's own checks and ours find, damaged rows included."""
    found = [str(row[0]) for row in tx.execute(text("PRAGMA integrity_check")) if row[0] != "ok"]
    for row in tx.execute(text("PRAGMA foreign_key_check")):
        found.append(f"{row[0]} row {row[1]} points to a missing row of {row[2]}")
    tx.driver.create_function("plain_text", 1, unpack, deterministic=True)
    for what, query in _CHECKS.items():
        ids = [str(row[0]) for row in tx.execute(text(query))]
        if ids:
            found.append(f"{len(ids)} {what}: {', '.join(ids[:5])}{'…' if len(ids) > 5 else ''}")
    return [*found, *damaged_memories(tx), *describe_claims(tx)]


def repair_rows(tx: SQLiteTransaction) -> list[str]:
    """Rebuild every index and what derives from the rows; return what was done, one sentence each."""
    tx.driver_sql("REINDEX")
    done = ["indexes rebuilt", *_fill_change_log(tx)]
    for what, statement in _REPAIRS.items():
        if count := tx.execute(text(statement)).rowcount:
            done.append(f"{count} {what}")
    if count := add_terms(tx):
        done.append(f"{plural(count, 'memory')} given their terms again")
    if count := restore_claims(tx):
        done.append(f"{plural(count, 'memory')} given their claims again")
    return done


_GAPS: Final = """
    SELECT former + 1, seq - former - 1 FROM (SELECT seq, lag(seq, 1, 0) OVER (ORDER BY seq) AS former FROM changes)
    WHERE seq > former + 1"""
_MAX_FILLED: Final = 100_000


def _fill_change_log(tx: SQLiteTransaction) -> list[str]:
    """Give missing numbers an empty entry, and enter every memory as edited: nobody knows which change was lost.

    An index that has yet to catch up then reads all memories again.
    """
    gaps = [(int(row[0]), int(row[1])) for row in tx.execute(text(_GAPS))]
    missing = sum(length for _, length in gaps)
    if not 0 < missing <= _MAX_FILLED:  # more were never written: `check` still names them
        return []
    entry = text("INSERT INTO changes VALUES (:seq, 'edit', 0, '', '', :at)")
    tx.execute(entry, [{"seq": seq, "at": tx.at} for first, length in gaps for seq in range(first, first + length)])
    edited = "INSERT INTO changes (op, memory_id, tenant, user, at) SELECT 'edit', id, tenant, user, :at FROM memories"
    tx.execute(text(edited), {"at": tx.at})
    return [f"{missing} numbers of the change log filled, and all memories entered in it again"]

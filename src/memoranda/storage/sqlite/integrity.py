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
    done = ["indexes rebuilt"]
    for what, statement in _REPAIRS.items():
        if count := tx.execute(text(statement)).rowcount:
            done.append(f"{count} {what}")
    if count := add_terms(tx):
        done.append(f"{plural(count, 'memory')} given their terms again")
    if count := restore_claims(tx):
        done.append(f"{plural(count, 'memory')} given their claims again")
    return done

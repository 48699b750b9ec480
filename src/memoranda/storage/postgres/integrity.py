"""Check and repair the rows of a PostgreSQL database. Its pages are the server's to check: data checksums, amcheck."""

from __future__ import annotations

from typing import Final

from sqlalchemy import text

from memoranda.storage.base import ReadTransaction, Transaction
from memoranda.storage.integrity import run_checks, run_repairs

_UNEVEN: Final = """
  SELECT tenant, agent, "user", session, min(seq) AS first FROM messages WHERE position IS NOT NULL
  GROUP BY tenant, agent, "user", session
  HAVING max(position) - min(position) + 1 <> count(*) OR count(DISTINCT position) <> count(*)"""
_WRONG_COUNTS: Final = """
  SELECT tenant, type AS name, stored.entries - coalesce(counted.entries, 0) AS missing, stored.last_at
  FROM (SELECT tenant, type, count(*) AS entries, max(recorded_at) AS last_at FROM memories GROUP BY tenant, type)
    AS stored
  FULL JOIN (SELECT tenant, name AS type, entries FROM counters WHERE kind = 'type') AS counted USING (tenant, type)
  WHERE coalesce(stored.entries, 0) <> coalesce(counted.entries, 0)"""
_CHECKS: Final = {
    "memories without terms": "SELECT id FROM memories WHERE terms = '' AND content ~ '[a-zA-Z0-9]'",
    "memories without a vector": """
        SELECT id FROM memories WHERE content <> '' AND EXISTS (SELECT 1 FROM generations WHERE active = 1)
        AND NOT EXISTS
        (SELECT 1 FROM vectors JOIN generations ON generations.id = generation
         WHERE active = 1 AND memory_id = memories.id)""",
    "vectors of the wrong size": """
        SELECT memory_id FROM vectors JOIN generations ON generations.id = generation
        WHERE length(data) <> 4 * dimension OR length(sentences) % dimension <> 0""",
    "memories missing from the change log": """
        SELECT id FROM memories WHERE NOT EXISTS
        (SELECT 1 FROM changes WHERE op = 'add' AND memory_id = memories.id)""",
    "memory types with a wrong count": f"SELECT name FROM ({_WRONG_COUNTS}) AS wrong",
    "owners whose latest change is not noted": """
        SELECT c."user" FROM (SELECT tenant, "user", max(seq) AS head FROM changes GROUP BY tenant, "user") AS c
        LEFT JOIN owners AS o ON o.tenant = c.tenant AND o."user" = c."user"
        WHERE o.head IS DISTINCT FROM c.head AND EXISTS
        (SELECT 1 FROM memories AS m WHERE m.tenant = c.tenant AND m."user" = c."user")""",
    "conversations with a gap, by their first message": f"SELECT first FROM ({_UNEVEN}) AS uneven",
}
_NOTE_HEADS: Final = """
    INSERT INTO owners AS o (tenant, "user", head)
    SELECT tenant, "user", max(seq) FROM changes GROUP BY tenant, "user"
    ON CONFLICT (tenant, "user") DO UPDATE SET head = excluded.head WHERE o.head <> excluded.head"""
_REMOVE_EMPTY: Final = """
    DELETE FROM {} AS o WHERE NOT EXISTS
    (SELECT 1 FROM changes AS c WHERE c.tenant = o.tenant AND c."user" = o."user")"""
_REPAIRS: Final = {
    "vectors of the wrong size removed, to be made again": """
        DELETE FROM vectors USING generations
        WHERE generations.id = vectors.generation
        AND (length(data) <> 4 * dimension OR length(sentences) % dimension <> 0)""",
    "memories entered in the change log": """
        INSERT INTO changes (op, memory_id, tenant, "user", at) SELECT 'add', id, tenant, "user", recorded_at
        FROM memories WHERE NOT EXISTS (SELECT 1 FROM changes WHERE op = 'add' AND memory_id = memories.id)""",
    "latest changes noted": _NOTE_HEADS,
    "counts corrected": f"""
        INSERT INTO counter_parts AS known (tenant, kind, name, entries, last_at)
        SELECT tenant, 'type', name, coalesce(missing, 0), coalesce(last_at, 0) FROM ({_WRONG_COUNTS}) AS wrong
        ON CONFLICT (tenant, kind, name, part) DO UPDATE SET entries = known.entries + excluded.entries""",
    "positions in conversations renumbered": f"""
        UPDATE messages SET position = n FROM (
          SELECT seq, row_number() OVER (PARTITION BY tenant, agent, "user", session ORDER BY position, seq) AS n
          FROM messages JOIN ({_UNEVEN}) AS uneven USING (tenant, agent, "user", session)
          WHERE position IS NOT NULL) AS numbered
        WHERE numbered.seq = messages.seq""",
}


def find_problems(tx: ReadTransaction) -> list[str]:
    """Return what our own questions find, damaged rows included."""
    return run_checks(tx, _CHECKS)


def note_heads(tx: Transaction) -> None:
    """Note the latest change of each owner, after changes were written past the usual way."""
    tx.execute(text(_NOTE_HEADS))


def renew_searches(tx: Transaction) -> None:
    """Let the next search of each large owner write its words and vectors anew, after they were made anew."""
    tx.execute(text("UPDATE search_owners SET built_to = 0"))


def remove_empty_owners(tx: Transaction) -> None:
    """Remove the names of owners of whom nothing is left."""
    for table in ("owners", "search_owners"):
        tx.execute(text(_REMOVE_EMPTY.format(table)))


def repair_rows(tx: Transaction) -> list[str]:
    """Rebuild what derives from the rows; return what was done, one sentence each."""
    renew_searches(tx)
    return run_repairs(tx, _REPAIRS)

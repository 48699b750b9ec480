"""Does the store hold together? Each finding is one sentence; none means it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection, insert, select, text

from memoranda.errors import Incompatible
from memoranda.memories.rows import SELECT_MEMORY, memory_from_row
from memoranda.storage.schema import memories, memory_text
from memoranda.text import lexical_keys

_QUESTIONS = {
    "memories without full text": "SELECT id FROM memories WHERE id NOT IN (SELECT rowid FROM memory_text)",
    "full text without memory": "SELECT rowid FROM memory_text WHERE rowid NOT IN (SELECT id FROM memories)",
    "memories without a vector": """
        SELECT id FROM memories WHERE EXISTS (SELECT 1 FROM generations WHERE active) AND id NOT IN
        (SELECT memory_id FROM vectors JOIN generations ON generations.id = generation WHERE active)""",
    "vectors of the wrong size": """
        SELECT memory_id FROM vectors JOIN generations ON generations.id = generation
        WHERE length(data) != 4 * dimension""",
    "memories missing from the change log": """
        SELECT id FROM memories WHERE id NOT IN (SELECT memory_id FROM changes WHERE op = 'add')""",
    "memory types with a wrong count": """
        SELECT name FROM tallies WHERE kind = 'type' AND entries !=
        (SELECT count(*) FROM memories WHERE memories.tenant = tallies.tenant AND type = name)""",
    "memories whose message is gone": """
        SELECT id FROM memories WHERE message_seq IS NOT NULL AND message_seq NOT IN (SELECT seq FROM messages)""",
    "conversations with a gap, by their first message": """
        SELECT min(seq) FROM messages WHERE place IS NOT NULL GROUP BY tenant, agent, user, session
        HAVING max(place) - min(place) + 1 != count(*) OR count(DISTINCT place) != count(*)""",
}


def problems(connection: Connection) -> list[str]:
    """What SQLite's own checks and ours find."""
    # FTS5's own check goes by a word list that the connection keeps and only a query brings up to date: without
    # the query, or with another process's commit between the two, a sound file is called damaged.
    connection.exec_driver_sql("BEGIN")
    connection.execute(text("SELECT rowid FROM memory_text WHERE memory_text MATCH 'x' LIMIT 1")).all()
    found = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check")) if row[0] != "ok"]
    for row in connection.execute(text("PRAGMA foreign_key_check")):
        found.append(f"{row[0]} row {row[1]} points to a missing row of {row[2]}")
    for what, question in _QUESTIONS.items():
        ids = [str(row[0]) for row in connection.execute(text(question))]
        if ids:
            found.append(f"{len(ids)} {what}: {', '.join(ids[:5])}{'…' if len(ids) > 5 else ''}")
    return found


_BATCH: Final = 500
_TAKE_OUT: Final = {
    "full-text entries without a memory taken out": """
        DELETE FROM memory_text WHERE rowid NOT IN (SELECT id FROM memories)""",
    "vectors without a memory taken out": "DELETE FROM vectors WHERE memory_id NOT IN (SELECT id FROM memories)",
    "vectors of the wrong size taken out, to be made again": """
        DELETE FROM vectors WHERE length(data) !=
        (SELECT 4 * dimension FROM generations WHERE generations.id = vectors.generation)""",
}
_PUT_RIGHT: Final = {
    "memories let go of a message that is gone": """
        UPDATE memories SET message_seq = NULL
        WHERE message_seq IS NOT NULL AND message_seq NOT IN (SELECT seq FROM messages)""",
    "memories entered in the change log": """
        INSERT INTO changes (op, memory_id, tenant, user, at) SELECT 'add', id, tenant, user, recorded_at
        FROM memories WHERE id NOT IN (SELECT memory_id FROM changes WHERE op = 'add')""",
    "counts corrected": """
        UPDATE tallies SET entries =
        (SELECT count(*) FROM memories WHERE memories.tenant = tallies.tenant AND type = name)
        WHERE kind = 'type' AND entries !=
        (SELECT count(*) FROM memories WHERE memories.tenant = tallies.tenant AND type = name)""",
    "places of conversations closed up": """
        WITH numbered AS (
          SELECT seq, row_number() OVER (PARTITION BY tenant, agent, user, session ORDER BY place, seq) AS n
          FROM messages WHERE place IS NOT NULL),
        uneven AS (
          SELECT tenant, agent, user, session FROM messages WHERE place IS NOT NULL
          GROUP BY tenant, agent, user, session
          HAVING max(place) - min(place) + 1 != count(*) OR count(DISTINCT place) != count(*))
        UPDATE messages SET place = (SELECT n FROM numbered WHERE numbered.seq = messages.seq)
        WHERE place IS NOT NULL AND (tenant, agent, user, session) IN uneven""",
}
_REBUILD: Final = (
    # Both derive from tables that stay as they are: B-tree indexes from their rows, the word lists from their texts.
    "REINDEX",
    "INSERT INTO memory_text(memory_text) VALUES ('rebuild')",
)


def repair_rows(connection: Connection, rebuild: bool) -> list[str]:
    """What was done, one sentence each. `rebuild` makes every index of the file anew."""
    done: list[str] = []
    for statement in _REBUILD if rebuild else ():
        connection.exec_driver_sql(statement)
    if rebuild:
        done.append("indexes and word lists rebuilt")
    steps: list[tuple[str, Callable[[], int]]] = [
        (what, lambda sql=sql: connection.execute(text(sql)).rowcount)  # type: ignore[misc]
        for what, sql in (_TAKE_OUT | _PUT_RIGHT).items()
    ]
    for what, step in [*steps, ("full-text entries made again", lambda: _add_text(connection))]:
        if count := step():
            done.append(f"{count} {what}")
    return done


def damaged_memories(connection: Connection) -> list[str]:
    """Memories whose row is not what was written, one sentence each."""
    found: list[str] = []
    for row in connection.execute(SELECT_MEMORY.order_by(memories.c.id).execution_options(yield_per=_BATCH)):
        try:
            memory_from_row(row)
        except Incompatible as error:
            found.append(str(error))
    return found


def _add_text(connection: Connection) -> int:
    have = select(memory_text.c.rowid)
    lacking = select(memories.c.id, memories.c.content).where(memories.c.id.not_in(have))
    rows = [{"rowid": row[0], "terms": lexical_keys(row[1])} for row in connection.execute(lacking)]
    if rows:
        connection.execute(insert(memory_text), rows)
    return len(rows)

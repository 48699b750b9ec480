"""Does the store hold together? Each finding is one sentence; none means it does."""

from __future__ import annotations

from sqlalchemy import Connection, text

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

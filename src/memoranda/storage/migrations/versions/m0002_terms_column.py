"""Keep a memory's terms in its row, drop what nothing asks for, and give tables and columns plain names."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

_STATEMENTS = (
    "ALTER TABLE memories ADD COLUMN terms TEXT NOT NULL DEFAULT ''",
    "UPDATE memories SET terms = coalesce((SELECT terms FROM memory_text WHERE rowid = memories.id), '')",
    # The full-text table was never asked for a ranking: the index ranks inside a scope.
    "DROP TABLE memory_text",
    "ALTER TABLE memories DROP COLUMN quarantined_at",
    "ALTER TABLE messages RENAME COLUMN place TO position",
    "ALTER TABLE claims RENAME COLUMN place TO position",
    "ALTER TABLE claims RENAME COLUMN question TO slot",
    "ALTER TABLE tallies RENAME TO counters",
    "DROP INDEX messages_place",
    "CREATE INDEX messages_position ON messages (tenant, agent, user, session, position) WHERE position IS NOT NULL",
    "DROP INDEX claims_question",
    "CREATE INDEX claims_slot ON claims (slot)",
)


def upgrade() -> None:
    for statement in _STATEMENTS:
        op.execute(statement)

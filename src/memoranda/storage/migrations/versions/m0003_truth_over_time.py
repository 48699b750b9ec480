"""Add quarantine, and when the store learnt that a memory had ended."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"

_MEMORIES = (
    "ALTER TABLE memories ADD COLUMN quarantined_at BIGINT",
    "ALTER TABLE memories ADD COLUMN superseded_at BIGINT",
    # What was ended before this version was known to have ended when the memory that ended it was stored.
    "UPDATE memories SET superseded_at = coalesce((SELECT other.recorded_at FROM memories AS other"
    " WHERE other.id = memories.superseded_by), valid_to) WHERE superseded_by IS NOT NULL",
)

_HASHES_BY_TENANT = (
    # Looking up a text must not take longer because another tenant has it.
    "DROP INDEX memories_hash",
    "CREATE INDEX memories_hash ON memories (tenant, content_hash)",
)


def upgrade() -> None:
    for statement in (*_MEMORIES, *_HASHES_BY_TENANT):
        op.execute(statement)

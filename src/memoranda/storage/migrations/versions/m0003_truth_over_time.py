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


def upgrade() -> None:
    for statement in _MEMORIES:
        op.execute(statement)

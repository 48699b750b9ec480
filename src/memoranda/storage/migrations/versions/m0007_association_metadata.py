"""Add the metadata of associations."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.execute("ALTER TABLE associations ADD COLUMN metadata TEXT")

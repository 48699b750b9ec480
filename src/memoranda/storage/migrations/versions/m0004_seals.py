"""Add seals: a digest of each row, by which a check finds what another program changed."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute(
        "CREATE TABLE seals (kind TEXT NOT NULL, row_key TEXT NOT NULL, seal BLOB NOT NULL,"
        " PRIMARY KEY (kind, row_key)) WITHOUT ROWID"
    )

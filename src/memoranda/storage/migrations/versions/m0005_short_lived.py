"""Add values that expire, which the processes of a server share."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.execute(
        "CREATE TABLE short_lived (tenant TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,"
        " expires_at BIGINT NOT NULL, PRIMARY KEY (tenant, name)) WITHOUT ROWID"
    )
    op.execute("CREATE INDEX short_lived_expiry ON short_lived (expires_at)")

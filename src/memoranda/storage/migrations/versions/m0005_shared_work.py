"""Add values that expire, which the processes of a server share, and jobs, which they divide among them."""

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
    op.execute(
        "CREATE TABLE jobs (id TEXT NOT NULL, batch TEXT NOT NULL, stage INTEGER DEFAULT '0' NOT NULL,"
        " kind TEXT NOT NULL, payload TEXT NOT NULL, state TEXT DEFAULT 'waiting' NOT NULL,"
        " holder TEXT DEFAULT '' NOT NULL, claimed_until BIGINT DEFAULT '0' NOT NULL,"
        " tries INTEGER DEFAULT '0' NOT NULL, note TEXT DEFAULT '' NOT NULL, added_at BIGINT NOT NULL,"
        " ended_at BIGINT, PRIMARY KEY (id)) WITHOUT ROWID"
    )
    op.execute("CREATE INDEX jobs_order ON jobs (state, added_at, id)")

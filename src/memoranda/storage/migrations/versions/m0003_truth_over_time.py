"""Add quarantine, when the store learnt that a memory had ended, and the ledger of recalls."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"

_MEMORIES = (
    "ALTER TABLE memories ADD COLUMN quarantined_at BIGINT",
    "ALTER TABLE memories ADD COLUMN true_from BIGINT",
    "ALTER TABLE memories ADD COLUMN superseded_at BIGINT",
    # What was ended before this version was known to have ended when the memory that ended it was stored.
    "UPDATE memories SET superseded_at = coalesce((SELECT other.recorded_at FROM memories AS other"
    " WHERE other.id = memories.superseded_by), valid_to) WHERE superseded_by IS NOT NULL",
)

_LEDGER = (
    "ALTER TABLE memories ADD COLUMN archive_reason TEXT",
    "CREATE TABLE recalls (number INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, id TEXT NOT NULL, tenant TEXT NOT NULL,"
    " agent TEXT DEFAULT '' NOT NULL, user TEXT DEFAULT '' NOT NULL, session TEXT DEFAULT '' NOT NULL,"
    " all_users INTEGER DEFAULT '0' NOT NULL, asked_at BIGINT NOT NULL, query TEXT NOT NULL, parameters TEXT NOT NULL,"
    " head INTEGER NOT NULL, answer BLOB NOT NULL, states TEXT NOT NULL)",
    "CREATE UNIQUE INDEX recalls_id ON recalls (id)",
    "CREATE INDEX recalls_asked ON recalls (asked_at)",
    "CREATE TABLE recalled_memories (memory_id INTEGER NOT NULL, digest TEXT NOT NULL, state TEXT NOT NULL,"
    " used_at BIGINT NOT NULL, PRIMARY KEY (memory_id, digest),"
    " FOREIGN KEY(memory_id) REFERENCES memories (id) ON DELETE CASCADE)",
)
_HASHES_BY_TENANT = (
    # Looking up a text must not take longer because another tenant has it.
    "DROP INDEX memories_hash",
    "CREATE INDEX memories_hash ON memories (tenant, content_hash)",
)


def upgrade() -> None:
    for statement in (*_MEMORIES, *_HASHES_BY_TENANT):
        op.execute(statement)
    _add_ledger()
    _add_waits_of_unread_messages()


def _add_ledger() -> None:
    for statement in _LEDGER:
        op.execute(statement)


def _add_waits_of_unread_messages() -> None:
    op.execute("ALTER TABLE unread ADD COLUMN attempts INTEGER DEFAULT '0' NOT NULL")
    op.execute("ALTER TABLE unread ADD COLUMN retry_at BIGINT DEFAULT '0' NOT NULL")

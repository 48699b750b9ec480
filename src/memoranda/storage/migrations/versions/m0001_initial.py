"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("op", sa.TEXT(), nullable=False),
        sa.Column("memory_id", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.TEXT(), nullable=False),
        sa.Column("user", sa.TEXT(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    op.create_index("changes_scope", "changes", ["tenant", "user", "seq"], unique=False)
    op.create_table(
        "api_keys",
        sa.Column("id", sa.TEXT(), nullable=False),
        sa.Column("tenant", sa.TEXT(), nullable=False),
        sa.Column("name", sa.TEXT(), nullable=False),
        sa.Column("digest", sa.BLOB(), nullable=False),
        sa.Column("scopes", sa.TEXT(), nullable=False),
        sa.Column("rate", sa.REAL(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "executions",
        sa.Column("tenant", sa.TEXT(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.TEXT(), nullable=False),
        sa.Column("agent", sa.TEXT(), nullable=False),
        sa.Column("workflow", sa.TEXT(), nullable=True),
        sa.Column("session", sa.TEXT(), nullable=True),
        sa.Column("status", sa.TEXT(), nullable=True),
        sa.Column("duration_ms", sa.REAL(), nullable=True),
        sa.Column("record", sa.TEXT(), nullable=False),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.BLOB(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "number"),
        sa.UniqueConstraint("tenant", "id", name="executions_once"),
    )
    op.create_index("executions_agent", "executions", ["tenant", "agent", "number"], unique=False)
    op.create_index("executions_workflow", "executions", ["tenant", "workflow", "number"], unique=False)
    op.create_table(
        "execution_heads",
        sa.Column("tenant", sa.TEXT(), nullable=False),
        sa.Column("records", sa.Integer(), nullable=False),
        sa.Column("digest", sa.BLOB(), nullable=False),
        sa.Column("seal", sa.BLOB(), nullable=False),
        sa.PrimaryKeyConstraint("tenant"),
    )
    op.create_table(
        "tallies",
        sa.Column("tenant", sa.TEXT(), nullable=False),
        sa.Column("kind", sa.TEXT(), nullable=False),
        sa.Column("name", sa.TEXT(), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "kind", "name"),
    )
    op.create_table(
        "generations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("provider", sa.TEXT(), nullable=False),
        sa.Column("model", sa.TEXT(), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.TEXT(), nullable=False),
        sa.Column("active", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "messages",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.TEXT(), nullable=False),
        sa.Column("tenant", sa.TEXT(), nullable=False),
        sa.Column("agent", sa.TEXT(), server_default="", nullable=False),
        sa.Column("user", sa.TEXT(), server_default="", nullable=False),
        sa.Column("session", sa.TEXT(), server_default="", nullable=False),
        sa.Column("role", sa.TEXT(), nullable=False),
        sa.Column("speaker", sa.TEXT(), nullable=True),
        sa.Column("content", sa.TEXT(), nullable=True),
        sa.Column("payload", sa.TEXT(), nullable=False),
        sa.Column("said_at", sa.BigInteger(), nullable=False),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    op.create_index("messages_in_order", "messages", ["tenant", "user", "session", "seq"], unique=False)
    op.create_index(
        "messages_known",
        "messages",
        ["tenant", "agent", "user", "session", "message_id"],
        unique=False,
        sqlite_where=sa.text("place IS NOT NULL"),
    )
    op.create_index(
        "messages_once",
        "messages",
        ["message_id", "tenant", "agent", "user", "session"],
        unique=True,
        sqlite_where=sa.text("place IS NULL"),
    )
    op.create_index(
        "messages_place",
        "messages",
        ["tenant", "agent", "user", "session", "place"],
        unique=False,
        sqlite_where=sa.text("place IS NOT NULL"),
    )
    op.create_table(
        "meta",
        sa.Column("key", sa.TEXT(), nullable=False),
        sa.Column("value", sa.TEXT(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.TEXT(), nullable=False),
        sa.Column("tenant", sa.TEXT(), nullable=False),
        sa.Column("workflow", sa.TEXT(), nullable=False),
        sa.Column("metadata", sa.TEXT(), server_default="{}", nullable=False),
        sa.Column("agents", sa.TEXT(), server_default="{}", nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("sessions_ended", "sessions", ["tenant", "ended_at"], unique=False)
    op.create_index("sessions_workflow", "sessions", ["tenant", "workflow", "ended_at"], unique=False)
    op.create_table(
        "memories",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.TEXT(), nullable=False),
        sa.Column("agent", sa.TEXT(), server_default="", nullable=False),
        sa.Column("user", sa.TEXT(), server_default="", nullable=False),
        sa.Column("session", sa.TEXT(), server_default="", nullable=False),
        sa.Column("content", sa.TEXT(), nullable=False),
        sa.Column("type", sa.TEXT(), nullable=False),
        sa.Column("key", sa.TEXT(), nullable=True),
        sa.Column("value", sa.TEXT(), nullable=True),
        sa.Column("metadata", sa.TEXT(), server_default="{}", nullable=False),
        sa.Column("source", sa.TEXT(), nullable=True),
        sa.Column("trust", sa.TEXT(), server_default="user", nullable=False),
        sa.Column("importance", sa.REAL(), nullable=False),
        sa.Column("message_seq", sa.Integer(), nullable=True),
        sa.Column("message_id", sa.TEXT(), nullable=True),
        sa.Column("speaker", sa.TEXT(), nullable=True),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("valid_from", sa.BigInteger(), nullable=False),
        sa.Column("valid_to", sa.BigInteger(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("superseded_by", sa.Integer(), nullable=True),
        sa.Column("archived_at", sa.BigInteger(), nullable=True),
        sa.Column("quarantined_at", sa.BigInteger(), nullable=True),
        sa.Column("access_count", sa.Integer(), server_default="0", nullable=False),
        sa.Column("accessed_at", sa.BigInteger(), nullable=True),
        sa.Column("content_hash", sa.BLOB(), nullable=False),
        sa.Column("idempotency_key", sa.TEXT(), nullable=True),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("pinned", sa.Integer(), server_default="0", nullable=False),
        sa.Column("notes", sa.TEXT(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(
            ["message_seq"],
            ["messages.seq"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("memories_hash", "memories", ["content_hash"], unique=False)
    op.create_index(
        "memories_key",
        "memories",
        ["tenant", "agent", "user", "session", "key"],
        unique=True,
        sqlite_where=sa.text("key IS NOT NULL"),
    )
    op.create_index(
        "memories_message", "memories", ["message_seq"], unique=False, sqlite_where=sa.text("message_seq IS NOT NULL")
    )
    op.create_index(
        "memories_spoken", "memories", ["message_id"], unique=False, sqlite_where=sa.text("message_id IS NOT NULL")
    )
    op.create_index(
        "memories_once",
        "memories",
        ["idempotency_key"],
        unique=False,
        sqlite_where=sa.text("idempotency_key IS NOT NULL"),
    )
    op.create_index(
        "memories_superseded",
        "memories",
        ["superseded_by"],
        unique=False,
        sqlite_where=sa.text("superseded_by IS NOT NULL"),
    )
    op.create_index("memories_scope", "memories", ["tenant", "user", "id"], unique=False)
    op.create_table(
        "associations",
        sa.Column("memory_id", sa.Integer(), nullable=False),
        sa.Column("related_memory_id", sa.Integer(), nullable=False),
        sa.Column("relationship_type", sa.TEXT(), nullable=False),
        sa.Column("strength", sa.REAL(), nullable=False),
        sa.ForeignKeyConstraint(["memory_id"], ["memories.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["related_memory_id"], ["memories.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("memory_id", "related_memory_id", "relationship_type"),
    )
    op.create_index("associations_back", "associations", ["related_memory_id"], unique=False)
    op.create_table(
        "lineage",
        sa.Column("derived_id", sa.Integer(), nullable=False),
        sa.Column("source_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.TEXT(), nullable=False),
        sa.ForeignKeyConstraint(["derived_id"], ["memories.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("derived_id", "source_id", "kind"),
    )
    op.create_index("lineage_back", "lineage", ["source_id"], unique=False)
    op.create_table(
        "revisions",
        sa.Column("memory_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.TEXT(), nullable=False),
        sa.Column("type", sa.TEXT(), nullable=False),
        sa.Column("importance", sa.REAL(), nullable=False),
        sa.Column("source", sa.TEXT(), nullable=True),
        sa.Column("metadata", sa.TEXT(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["memory_id"], ["memories.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("memory_id", "version"),
    )
    op.create_table(
        "vectors",
        sa.Column("memory_id", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("data", sa.BLOB(), nullable=False),
        sa.ForeignKeyConstraint(
            ["generation"],
            ["generations.id"],
        ),
        sa.ForeignKeyConstraint(["memory_id"], ["memories.id"], ondelete="CASCADE"),
    )
    op.create_index("vectors_once", "vectors", ["memory_id", "generation"], unique=True)
    op.create_table(
        "claims",
        sa.Column("memory_id", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("question", sa.BLOB(), nullable=False),
        sa.ForeignKeyConstraint(["memory_id"], ["memories.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("memory_id", "place"),
    )
    op.create_index("claims_question", "claims", ["question"], unique=False)
    op.create_table(
        "unread",
        sa.Column("message_seq", sa.Integer(), nullable=False),
        sa.Column("reason", sa.TEXT(), nullable=False),
        sa.Column("failed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["message_seq"], ["messages.seq"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("message_seq"),
    )
    op.execute(
        """
CREATE VIRTUAL TABLE memory_text USING fts5(
  terms, tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'", detail = none, columnsize = 0
)
"""
    )
    op.execute("INSERT INTO memory_text(memory_text, rank) VALUES ('automerge', 16)")
    op.execute(
        """
CREATE TRIGGER memories_removed AFTER DELETE ON memories BEGIN
  UPDATE tallies SET entries = entries - 1 WHERE tenant = OLD.tenant AND kind = 'type' AND name = OLD.type;
  UPDATE tallies SET entries = entries - 1 WHERE tenant = OLD.tenant AND kind = 'agent' AND name = OLD.agent;
END
"""
    )
    op.execute(
        """
CREATE TRIGGER memories_moved AFTER UPDATE OF tenant, type, agent ON memories
WHEN OLD.tenant != NEW.tenant OR OLD.type != NEW.type OR OLD.agent != NEW.agent
BEGIN
  UPDATE tallies SET entries = entries - 1 WHERE tenant = OLD.tenant AND kind = 'type' AND name = OLD.type;
  UPDATE tallies SET entries = entries - 1 WHERE tenant = OLD.tenant AND kind = 'agent' AND name = OLD.agent;
  INSERT INTO tallies VALUES (NEW.tenant, 'type', NEW.type, 1, NEW.recorded_at)
  ON CONFLICT DO UPDATE SET entries = entries + 1, last_at = max(last_at, excluded.last_at);
  INSERT INTO tallies VALUES (NEW.tenant, 'agent', NEW.agent, 1, NEW.recorded_at)
  ON CONFLICT DO UPDATE SET entries = entries + 1, last_at = max(last_at, excluded.last_at);
END
"""
    )
    op.execute(
        """
CREATE TRIGGER executions_added AFTER INSERT ON executions BEGIN
  INSERT INTO tallies VALUES (NEW.tenant, 'execution', NEW.agent, 1, NEW.recorded_at)
  ON CONFLICT DO UPDATE SET entries = entries + 1, last_at = max(last_at, excluded.last_at);
END
"""
    )

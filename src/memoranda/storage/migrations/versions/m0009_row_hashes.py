"""Add a hash to each row with a text, which proves whose it is (`row_hash.py`), and make those of the rows there are.

A memory whose text is not what was written gets none, and stays damaged.
"""

from __future__ import annotations

from alembic import op

from memoranda.storage.row_hash import add_functions

revision = "0009"
down_revision = "0008"

_OWNER = "memories.tenant, memories.agent, memories.user, memories.session"
_STATEMENTS = (
    "ALTER TABLE messages ADD COLUMN row_hash BLOB",
    "ALTER TABLE memories ADD COLUMN row_hash BLOB",
    "ALTER TABLE revisions ADD COLUMN row_hash BLOB",
    "UPDATE messages SET row_hash ="
    " memoranda_row_hash(0, tenant, agent, user, session, message_id, content, payload, NULL, NULL)",
    f"UPDATE memories SET row_hash = memoranda_row_hash(id, {_OWNER}, key, content, value, metadata, notes)"
    " WHERE memoranda_content_hash(content) = content_hash",
    "UPDATE revisions SET row_hash ="
    f" memoranda_row_hash(id, {_OWNER}, NULL, revisions.content, NULL, revisions.metadata, NULL)"
    " FROM memories WHERE memories.id = memory_id",
)


def upgrade() -> None:
    add_functions(op.get_bind().connection.driver_connection)
    for statement in _STATEMENTS:
        op.execute(statement)

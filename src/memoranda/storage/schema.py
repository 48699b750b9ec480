"""The tables. Times are microseconds since 1970 UTC; a scope name that is not set is the empty string.

A SQLite file has long texts compressed; PostgreSQL compresses by itself (TOAST). Only columns in which no statement
searches: words are found in `memories.terms`, and `metadata` and `notes` are searched as JSON. Hashes of texts,
signatures and exports are of the plain text; a seal is of the row as it is stored.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import BigInteger, Column, Dialect, ForeignKey, Index, MetaData, Table, UniqueConstraint, text, types

LEAST: Final = 1_024
"""Characters of the shortest text that is compressed. It becomes half as long, and takes 7 microseconds to read."""


def pack(text: str | None) -> str | bytes | None:
    """Return a text as a file holds it: compressed, when it is long. UTF-8 is never all noise: it gets shorter."""
    return text if text is None or len(text) < LEAST else zlib.compress(text.encode())


def unpack(stored: str | bytes | None) -> str | None:
    """Return the text that was packed; for damaged bytes another one, as which its hash or signature shows it."""
    if not isinstance(stored, bytes):
        return stored
    try:
        return zlib.decompress(stored).decode()
    except (zlib.error, UnicodeDecodeError):
        return stored.decode(errors="replace")


class LongText(types.TEXT):
    """A text that a SQLite file may hold compressed."""

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any] | None:
        return pack if dialect.name == "sqlite" else None

    def result_processor(self, dialect: Dialect, _coltype: object) -> Callable[[Any], Any] | None:
        return unpack if dialect.name == "sqlite" else None


HEAD = "0009"
"""The newest migration; a store at this version opens without loading Alembic."""

metadata = MetaData()

# On PostgreSQL: numbers of 64 bits, as in SQLite, and names that compare byte by byte.
TEXT = types.TEXT().with_variant(types.TEXT(collation="C"), "postgresql")
LONG_TEXT = LongText().with_variant(types.TEXT(collation="C"), "postgresql")
Integer = types.Integer().with_variant(BigInteger(), "postgresql")
REAL: types.REAL[float] = types.REAL().with_variant(types.Double(), "postgresql")
BLOB = types.BLOB().with_variant(types.LargeBinary(), "postgresql")

_SCOPE = ("tenant", "agent", "user", "session")


def _scope_columns() -> list[Column[str]]:
    optional = [Column(name, TEXT, nullable=False, server_default="") for name in _SCOPE[1:]]
    return [Column("tenant", TEXT, nullable=False), *optional]


meta = Table("meta", metadata, Column("key", TEXT, primary_key=True), Column("value", TEXT, nullable=False))

messages = Table(
    "messages",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("message_id", TEXT, nullable=False),
    *_scope_columns(),
    Column("role", TEXT, nullable=False),
    Column("speaker", TEXT),
    Column("content", LONG_TEXT),
    Column("payload", LONG_TEXT, nullable=False),
    Column("said_at", BigInteger, nullable=False),
    Column("recorded_at", BigInteger, nullable=False),
    # The position in the conversation of exactly this scope, without gaps; NULL for the source message of a memory.
    Column("position", Integer),
    Column("row_hash", BLOB),
    Index("messages_once", "message_id", *_SCOPE, unique=True, sqlite_where=text("position IS NULL")),
    Index("messages_in_order", "tenant", "user", "session", "seq"),
    Index("messages_position", *_SCOPE, "position", sqlite_where=text("position IS NOT NULL")),
    Index("messages_known", *_SCOPE, "message_id", sqlite_where=text("position IS NOT NULL")),
    sqlite_autoincrement=True,
)

memories = Table(
    "memories",
    metadata,
    Column("id", Integer, primary_key=True),
    *_scope_columns(),
    Column("content", LONG_TEXT, nullable=False),
    Column("type", TEXT, nullable=False),
    Column("key", TEXT),
    Column("value", LONG_TEXT),
    Column("metadata", TEXT, nullable=False, server_default="{}"),
    Column("source", TEXT),
    Column("trust", TEXT, nullable=False, server_default="user"),
    Column("importance", REAL, nullable=False),
    Column("message_seq", Integer, ForeignKey("messages.seq")),
    Column("message_id", TEXT),
    Column("speaker", TEXT),
    Column("recorded_at", BigInteger, nullable=False),
    Column("valid_from", BigInteger, nullable=False),
    Column("valid_to", BigInteger),
    Column("expires_at", BigInteger),
    Column("superseded_by", Integer),
    Column("archived_at", BigInteger),
    Column("access_count", Integer, nullable=False, server_default="0"),
    Column("accessed_at", BigInteger),
    Column("content_hash", BLOB, nullable=False),
    Column("idempotency_key", TEXT),
    Column("version", Integer, nullable=False, server_default="1"),
    Column("pinned", Integer, nullable=False, server_default="0"),
    Column("notes", TEXT, nullable=False, server_default="{}"),
    # The lexical keys of the content, separated by spaces.
    Column("terms", TEXT, nullable=False, server_default=""),
    # Since when a suspicious memory is kept out of recall, until somebody releases or discards it.
    Column("quarantined_at", BigInteger),
    # When what it says became true, where it says so and that is before `valid_from`: "I moved last week".
    Column("true_from", BigInteger),
    # When the store learnt that another memory replaced it; `valid_to` is when it stopped being true.
    Column("superseded_at", BigInteger),
    # Which policy of upkeep archived it and why; NULL when a person did.
    Column("archive_reason", TEXT),
    # Of the id, the owner and what was written, see `row_hash.py`.
    Column("row_hash", BLOB),
    Index("memories_scope", "tenant", "user", "id"),
    Index("memories_hash", "tenant", "content_hash"),
    Index("memories_message", "message_seq", sqlite_where=text("message_seq IS NOT NULL")),
    Index("memories_spoken", "message_id", sqlite_where=text("message_id IS NOT NULL")),
    Index("memories_key", *_SCOPE, "key", unique=True, sqlite_where=text("key IS NOT NULL")),
    Index("memories_superseded", "superseded_by", sqlite_where=text("superseded_by IS NOT NULL")),
    Index("memories_once", "idempotency_key", sqlite_where=text("idempotency_key IS NOT NULL")),
    sqlite_autoincrement=True,
)

# Where to find the claims that the notes of memories hold, by slot.
claims = Table(
    "claims",
    metadata,
    Column("memory_id", Integer, ForeignKey("memories.id", ondelete="CASCADE"), primary_key=True),
    # The position among the claims of the memory.
    Column("position", Integer, primary_key=True),
    # Owner, subject and attribute as one hash.
    Column("slot", BLOB, nullable=False),
    Index("claims_slot", "slot"),
)

# Messages that a model has yet to read, because it failed.
unread = Table(
    "unread",
    metadata,
    Column("message_seq", Integer, ForeignKey("messages.seq", ondelete="CASCADE"), primary_key=True),
    Column("reason", TEXT, nullable=False),
    Column("failed_at", BigInteger, nullable=False),
    # How often the model was asked, and when it may be asked again.
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("retry_at", BigInteger, nullable=False, server_default="0"),
)

generations = Table(
    "generations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("provider", TEXT, nullable=False),
    Column("model", TEXT, nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("fingerprint", TEXT, nullable=False),
    Column("active", Integer, nullable=False),
)

vectors = Table(
    "vectors",
    metadata,
    Column("memory_id", Integer, ForeignKey("memories.id", ondelete="CASCADE"), nullable=False),
    Column("generation", Integer, ForeignKey("generations.id"), nullable=False),
    Column("data", BLOB, nullable=False),
    Column("sentences", BLOB),
    Index("vectors_once", "memory_id", "generation", unique=True),
)

associations = Table(
    "associations",
    metadata,
    Column("memory_id", Integer, ForeignKey("memories.id", ondelete="CASCADE"), primary_key=True),
    Column("related_memory_id", Integer, ForeignKey("memories.id", ondelete="CASCADE"), primary_key=True),
    Column("relationship_type", TEXT, primary_key=True),
    Column("strength", REAL, nullable=False),
    Column("metadata", TEXT),
    Index("associations_back", "related_memory_id"),
)

# Which memories a memory was derived from. The id of a deleted source is kept.
lineage = Table(
    "lineage",
    metadata,
    Column("derived_id", Integer, ForeignKey("memories.id", ondelete="CASCADE"), primary_key=True),
    Column("source_id", Integer, primary_key=True),
    Column("kind", TEXT, primary_key=True),
    Index("lineage_back", "source_id"),
)

# Former versions of a memory, one for each edit.
revisions = Table(
    "revisions",
    metadata,
    Column("memory_id", Integer, ForeignKey("memories.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("content", LONG_TEXT, nullable=False),
    Column("type", TEXT, nullable=False),
    Column("importance", REAL, nullable=False),
    Column("source", TEXT),
    Column("metadata", TEXT, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("row_hash", BLOB),
)

# One row for each ended session, kept after the session's data is deleted.
sessions = Table(
    "sessions",
    metadata,
    Column("id", TEXT, primary_key=True),
    Column("tenant", TEXT, nullable=False),
    Column("workflow", TEXT, nullable=False),
    Column("metadata", TEXT, nullable=False, server_default="{}"),
    Column("agents", TEXT, nullable=False, server_default="{}"),
    Column("opened_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger, nullable=False),
    Index("sessions_ended", "tenant", "ended_at"),
    Index("sessions_workflow", "tenant", "workflow", "ended_at"),
)

executions = Table(
    "executions",
    metadata,
    Column("tenant", TEXT, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("id", TEXT, nullable=False),
    Column("agent", TEXT, nullable=False),
    Column("workflow", TEXT),
    Column("session", TEXT),
    Column("status", TEXT),
    Column("duration_ms", REAL),
    Column("record", LONG_TEXT, nullable=False),
    Column("recorded_at", BigInteger, nullable=False),
    Column("digest", BLOB, nullable=False),
    UniqueConstraint("tenant", "id", name="executions_once"),
    Index("executions_agent", "tenant", "agent", "number"),
    Index("executions_workflow", "tenant", "workflow", "number"),
)

execution_heads = Table(
    "execution_heads",
    metadata,
    Column("tenant", TEXT, primary_key=True),
    Column("records", Integer, nullable=False),
    Column("digest", BLOB, nullable=False),
    Column("seal", BLOB, nullable=False),
)

# Counts, and the time of the newest row: memories by type and by agent, executions by agent. `add` counts new
# memories, triggers of the first migration count everything else, in the transaction that changes the rows.
counters = Table(
    "counters",
    metadata,
    Column("tenant", TEXT, primary_key=True),
    Column("kind", TEXT, primary_key=True),
    Column("name", TEXT, primary_key=True),
    Column("entries", Integer, nullable=False),
    Column("last_at", BigInteger, nullable=False),
)

# Keys to the server; of each secret only a keyed hash is stored.
api_keys = Table(
    "api_keys",
    metadata,
    Column("id", TEXT, primary_key=True),
    Column("tenant", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Column("digest", BLOB, nullable=False),
    Column("scopes", TEXT, nullable=False),
    Column("rate", REAL),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("used_at", BigInteger),
)

changes = Table(
    "changes",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("op", TEXT, nullable=False),
    Column("memory_id", Integer, nullable=False),
    Column("tenant", TEXT, nullable=False),
    Column("user", TEXT, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("changes_scope", "tenant", "user", "seq"),
    sqlite_autoincrement=True,
)

# The ledger of recalls: what was asked, and what was answered.
recalls = Table(
    "recalls",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", TEXT, nullable=False),
    *_scope_columns(),
    # 1 for a recall across all users; then `user` is empty.
    Column("all_users", Integer, nullable=False, server_default="0"),
    Column("asked_at", BigInteger, nullable=False),
    Column("query", TEXT, nullable=False),
    Column("parameters", TEXT, nullable=False),
    # The number of the latest change that the answer saw.
    Column("head", Integer, nullable=False),
    # Everything about the answer except its memories, as compressed JSON.
    Column("answer", BLOB, nullable=False),
    # The id and the digest of the state of each memory of the answer, as JSON. Ids of deleted memories are kept.
    Column("states", TEXT, nullable=False),
    Index("recalls_id", "id", unique=True),
    Index("recalls_asked", "asked_at"),
    sqlite_autoincrement=True,
)

# Memories as they were when they were recalled: one row for each state, however often it was recalled.
recalled_memories = Table(
    "recalled_memories",
    metadata,
    Column("memory_id", Integer, ForeignKey("memories.id", ondelete="CASCADE"), primary_key=True),
    Column("digest", TEXT, primary_key=True),
    Column("state", LONG_TEXT, nullable=False),
    # When it was last recalled, at most an hour too early.
    Column("used_at", BigInteger, nullable=False),
)

# What was forgotten, signed; names are pseudonyms. `finished` is 0 while erased bytes may still be in the file.
receipts = Table(
    "receipts",
    metadata,
    Column("id", TEXT, primary_key=True),
    Column("tenant", TEXT, nullable=False),
    Column("user", TEXT, nullable=False, server_default=""),
    Column("at", BigInteger, nullable=False),
    Column("receipt", TEXT, nullable=False),
    Column("signature", BLOB, nullable=False),
    Column("finished", Integer, nullable=False, server_default="1"),
    Index("receipts_user", "tenant", "user", "at"),
)

# Keyed hashes of texts and message ids that were forgotten, so that an import does not bring them back.
tombstones = Table(
    "tombstones",
    metadata,
    Column("tenant", TEXT, primary_key=True),
    Column("digest", BLOB, primary_key=True),
    Column("receipt", TEXT, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("tombstones_receipt", "receipt"),
    sqlite_with_rowid=False,
)

# A digest of each row that somebody relies on, see `sqlite/seals.py`.
seals = Table(
    "seals",
    metadata,
    Column("kind", TEXT, primary_key=True),
    Column("row_key", TEXT, primary_key=True),
    Column("seal", BLOB, nullable=False),
    sqlite_with_rowid=False,
)

# Values that expire, shared by all processes: those of sessions, and what a server must know of its other processes.
short_lived = Table(
    "short_lived",
    metadata,
    Column("tenant", TEXT, primary_key=True),
    Column("name", TEXT, primary_key=True),
    Column("value", LONG_TEXT, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("short_lived_expiry", "expires_at"),
    sqlite_with_rowid=False,
)

# Work that was ordered, in pieces that any process may do. It is the operator's, of no tenant.
jobs = Table(
    "jobs",
    metadata,
    Column("id", TEXT, primary_key=True),
    # The pieces of one order; those of a later stage begin when all of the earlier ones are done.
    Column("batch", TEXT, nullable=False),
    Column("stage", Integer, nullable=False, server_default="0"),
    Column("kind", TEXT, nullable=False),
    Column("payload", TEXT, nullable=False),
    # waiting, done or failed; a piece that is being done is waiting, and claimed.
    Column("state", TEXT, nullable=False, server_default="waiting"),
    Column("holder", TEXT, nullable=False, server_default=""),
    Column("claimed_until", BigInteger, nullable=False, server_default="0"),
    Column("tries", Integer, nullable=False, server_default="0"),
    Column("note", TEXT, nullable=False, server_default=""),
    Column("added_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Index("jobs_order", "state", "added_at", "id"),
    sqlite_with_rowid=False,
)

ERASURE_PENDING = "erasure:pending"
"""The key in `meta` that is set while erased bytes may still be in the file."""
LAST_ERASURE = "erasure:last"
"""The key in `meta` for the number of the newest change that erased data."""

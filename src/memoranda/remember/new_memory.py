"""Build new memories from what a caller passes: checked, timed, scoped, with their lexical keys. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from memoranda.messages.message import Message
from memoranda.storage.changes import NewMemory, StoredMessage
from memoranda.text import clean_text, content_hash, lexical_keys
from memoranda.types import JSON, MemoryType, Scope
from memoranda.validation import check_datetime, check_fraction, check_name, check_writable_type, copy_json_object

DEFAULT_IMPORTANCE: Final = 0.5
"""The importance of a text that was passed in to be kept; what is extracted from it can only add to it."""
EXPIRING: Final = (MemoryType.SHORT_TERM, MemoryType.WORKING)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of one call: they hold for each memory it writes."""

    scope: Scope
    now: datetime
    type: MemoryType | None
    source: str | None
    importance: float | None
    metadata: dict[str, JSON]
    at: datetime | None
    short_term_ttl: timedelta
    keep_all: bool = False
    """Whether every message becomes a memory, whatever the gate says."""


def check_options(
    scope: Scope,
    now: datetime,
    short_term_ttl: timedelta,
    *,
    type: object = None,
    source: object = None,
    importance: object = None,
    metadata: object = None,
    at: object = None,
) -> WriteOptions:
    """Check the arguments of one call. The importance may also be given in the metadata."""
    extra = copy_json_object(metadata, "metadata")
    if importance is None:
        importance = extra.get("importance")
    return WriteOptions(
        scope=scope,
        now=now,
        type=None if type is None else check_writable_type(type),
        source=check_name(source, "source"),
        importance=None if importance is None else check_fraction(importance, "importance"),
        metadata=extra,
        at=None if at is None else check_datetime(at, "at"),
        short_term_ttl=short_term_ttl,
    )


def from_text(
    text: object, options: WriteOptions, *, key: str | None = None, value: JSON = None, importance: float | None = None
) -> NewMemory:
    """Return a new memory from a plain text."""
    content = clean_text(text)
    kind = options.type or MemoryType.SEMANTIC
    return NewMemory(
        content=content,
        type=kind,
        scope=options.scope,
        importance=options.importance if options.importance is not None else importance or DEFAULT_IMPORTANCE,
        recorded_at=options.now,
        valid_from=options.at or options.now,
        content_hash=content_hash(content),
        terms=lexical_keys(content),
        source=options.source,
        metadata=options.metadata,
        key=key,
        value=value,
        expires_at=_expiry(kind, options),
    )


def from_message(text: str, message: Message, options: WriteOptions, type: MemoryType) -> NewMemory:
    """Return a new memory from words of a message, or from those of a model that read it."""
    kind = options.type or type
    return NewMemory(
        content=text,
        type=kind,
        scope=options.scope,
        importance=DEFAULT_IMPORTANCE if options.importance is None else options.importance,
        recorded_at=options.now,
        valid_from=message.timestamp,
        content_hash=content_hash(text),
        terms=lexical_keys(text),
        source=options.source or "conversation",
        trust=message.role,
        metadata={**message.metadata, **options.metadata},
        message=to_stored_message(message),
        expires_at=_expiry(kind, options),
    )


def to_stored_message(message: Message) -> StoredMessage:
    """Return a message as the log keeps it."""
    speaker = message.name or message.role
    text = spoken_text(message)
    return StoredMessage(message.message_id, message.role, text, message.timestamp, speaker, message.to_dict())


def spoken_text(message: Message) -> str | None:
    """Return the words of a message; None when it has none (only calls, only pictures)."""
    content = message.content
    if isinstance(content, str):
        return content if content.strip() else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(part for part in parts if isinstance(part, str)).strip() or None
    return None


def _expiry(kind: MemoryType, options: WriteOptions) -> datetime | None:
    return options.now + options.short_term_ttl if kind in EXPIRING else None

"""What a caller gives → drafts: checked, timed, scoped, with their lexical keys. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from memoranda.arguments import check_moment, check_name, check_own_type, check_unit
from memoranda.errors import InvalidType
from memoranda.extraction.gate import masked
from memoranda.jsonvalue import copy_json_object
from memoranda.messages.message import Message, as_message
from memoranda.storage.base import Draft, StoredMessage
from memoranda.text import clean_text, content_hash, lexical_keys
from memoranda.types import JSON, MemoryType, Scope

Content: TypeAlias = str | Message | Mapping[str, Any]
DEFAULT_IMPORTANCE = 0.5
"""Of a text that somebody handed in to be kept; what is found in it can only add to it."""
PASSING = (MemoryType.SHORT_TERM, MemoryType.WORKING)


@dataclass(frozen=True, slots=True)
class Common:
    """What holds for every memory of one call."""

    scope: Scope
    now: datetime
    type: MemoryType | None
    source: str | None
    importance: float | None
    metadata: dict[str, JSON]
    at: datetime | None
    short_term_ttl: timedelta
    keep_all: bool = False
    """Whether every message is kept, worth it or not."""


def common(
    scope: Scope,
    now: datetime,
    short_term_ttl: timedelta,
    *,
    type: object = None,
    source: object = None,
    importance: object = None,
    metadata: object = None,
    at: object = None,
) -> Common:
    """The arguments of one call, checked."""
    extra = copy_json_object(metadata, "metadata")
    if importance is None:
        importance = extra.get("importance")
    return Common(
        scope=scope,
        now=now,
        type=None if type is None else check_own_type(type),
        source=check_name(source, "source"),
        importance=None if importance is None else check_unit(importance, "importance"),
        metadata=extra,
        at=None if at is None else check_moment(at, "at"),
        short_term_ttl=short_term_ttl,
    )


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that a call hands in: a text, or a message."""

    text: str | None
    """Its words; None for a message that has none (only calls, only pictures)."""
    message: Message | None = None
    once: str | None = None
    """The idempotency key."""


def told(content: Content, once: str | None = None) -> Told:
    """What was handed in, checked."""
    if isinstance(content, str):
        return Told(clean_text(content), None, once)
    message = as_message(content)
    text = spoken_text(message)
    return Told(None if text is None else clean_text(text), message, once)


def listed(content: Content | Sequence[Content]) -> list[Content]:
    """One content or several, as a list."""
    given: object = content
    if isinstance(content, str | Message | Mapping):
        return [content]
    if isinstance(given, bytes | bytearray) or not isinstance(content, Sequence):
        raise InvalidType(f"content must be a text, a message or a list of them, not {type(content).__name__}")
    return list(content)


def text_draft(
    text: object, call: Common, *, key: str | None = None, value: JSON = None, importance: float | None = None
) -> Draft:
    """A draft from a plain text, kept whatever is there already."""
    content = clean_text(text)
    kind = call.type or MemoryType.SEMANTIC
    return Draft(
        content=content,
        type=kind,
        scope=call.scope,
        importance=call.importance if call.importance is not None else importance or DEFAULT_IMPORTANCE,
        recorded_at=call.now,
        valid_from=call.at or call.now,
        content_hash=content_hash(content),
        terms=lexical_keys(content),
        source=call.source,
        metadata=call.metadata,
        key=key,
        value=value,
        expires_at=_expiry(kind, call),
    )


def message_draft(text: str, message: Message, call: Common, type: MemoryType) -> Draft:
    """A draft from words of a message, or of a model that read it."""
    kind = call.type or type
    return Draft(
        content=text,
        type=kind,
        scope=call.scope,
        importance=DEFAULT_IMPORTANCE if call.importance is None else call.importance,
        recorded_at=call.now,
        valid_from=message.timestamp,
        content_hash=content_hash(text),
        terms=lexical_keys(text),
        source=call.source or "conversation",
        trust=message.role,
        metadata={**message.metadata, **call.metadata},
        message=stored_message(message),
        expires_at=_expiry(kind, call),
    )


def stored_message(message: Message) -> StoredMessage:
    """A message as the ledger keeps it."""
    return StoredMessage(
        message.message_id,
        message.role,
        spoken_text(message),
        message.timestamp,
        message.name or message.role,
        message.to_dict(),
    )


def without_secrets(message: Message) -> Message:
    """The message with its secrets blotted out, everything else where it stood; itself when it has none."""
    content = message.content
    if isinstance(content, str):
        return _with_content(message, masked(content))
    if isinstance(content, list):
        return _with_content(message, [_masked_part(part) for part in content])
    return message


def _masked_part(part: Any) -> Any:
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return {**part, "text": masked(part["text"])}
    return part


def _with_content(message: Message, content: Any) -> Message:
    return message if content == message.content else Message.from_dict({**message.to_dict(), "content": content})


def spoken_text(message: Message) -> str | None:
    """The words of a message; None when it has none (only calls, only pictures)."""
    content = message.content
    if isinstance(content, str):
        return content if content.strip() else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(part for part in parts if isinstance(part, str)).strip() or None
    return None


def _expiry(kind: MemoryType, call: Common) -> datetime | None:
    return call.now + call.short_term_ttl if kind in PASSING else None

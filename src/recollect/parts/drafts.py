"""What a caller gives → drafts: checked, timed, scoped, with their lexical keys. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from recollect.arguments import check_moment, check_name, check_own_type, check_unit
from recollect.errors import InvalidType
from recollect.jsonvalue import copy_json_object
from recollect.messages.message import Message, as_message
from recollect.storage.base import Draft, StoredMessage
from recollect.text import clean_text, content_hash, lexical_keys
from recollect.types import JSON, MemoryType, Outcome, Scope

Content: TypeAlias = str | Message | Mapping[str, Any]
DEFAULT_IMPORTANCE = 0.5
_PASSING = (MemoryType.SHORT_TERM, MemoryType.WORKING)
_TRUST = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"}


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


def listed(content: Content | Sequence[Content]) -> list[Content]:
    """One content or several, as a list."""
    given: object = content
    if isinstance(content, str | Message | Mapping):
        return [content]
    if isinstance(given, bytes | bytearray) or not isinstance(content, Sequence):
        raise InvalidType(f"content must be a text, a message or a list of them, not {type(content).__name__}")
    return list(content)


def draft_or_rejection(content: Content, call: Common, once: str | None = None) -> Draft | Outcome:
    """A draft; or the outcome for a message that says nothing in words."""
    if isinstance(content, str):
        return text_draft(content, call, once=once, deduplicate=True)
    message = as_message(content)
    text = spoken_text(message)
    if text is None:
        return Outcome("rejected", None, f"the {message.role} message {message.message_id} has no text")
    return _message_draft(message, text, call, once)


def text_draft(
    text: object,
    call: Common,
    *,
    once: str | None = None,
    deduplicate: bool = False,
    key: str | None = None,
    value: JSON = None,
) -> Draft:
    """A draft from a plain text."""
    content = clean_text(text)
    kind = call.type or MemoryType.SEMANTIC
    return Draft(
        content=content,
        type=kind,
        scope=call.scope,
        importance=DEFAULT_IMPORTANCE if call.importance is None else call.importance,
        recorded_at=call.now,
        valid_from=call.at or call.now,
        content_hash=content_hash(content),
        terms=lexical_keys(content),
        source=call.source,
        metadata=call.metadata,
        key=key,
        value=value,
        expires_at=_expiry(kind, call),
        idempotency_key=once,
        deduplicate=deduplicate,
    )


def spoken_text(message: Message) -> str | None:
    """The words of a message; None when it has none (only calls, only pictures)."""
    content = message.content
    if isinstance(content, str):
        return content if content.strip() else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(part for part in parts if isinstance(part, str)).strip() or None
    return None


def _message_draft(message: Message, text: str, call: Common, once: str | None) -> Draft:
    content, kind = clean_text(text), call.type or MemoryType.EPISODIC
    return Draft(
        content=content,
        type=kind,
        scope=call.scope,
        importance=DEFAULT_IMPORTANCE if call.importance is None else call.importance,
        recorded_at=call.now,
        valid_from=message.timestamp,
        content_hash=content_hash(content),
        terms=lexical_keys(content),
        source=call.source or "conversation",
        trust=_TRUST[message.role],
        metadata={**message.metadata, **call.metadata},
        message=StoredMessage(
            message.message_id,
            message.role,
            content,
            message.timestamp,
            message.name or message.role,
            message.to_dict(),
        ),
        expires_at=_expiry(kind, call),
        idempotency_key=once,
    )


def _expiry(kind: MemoryType, call: Common) -> datetime | None:
    return call.now + call.short_term_ttl if kind in _PASSING else None

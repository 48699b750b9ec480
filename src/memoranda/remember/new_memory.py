"""Build new memories from the arguments of a call and from texts and messages. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from memoranda.messages.message import Message
from memoranda.remember.base import Utterance
from memoranda.remember.sources import trust_of_source
from memoranda.security.redaction import redact_metadata
from memoranda.storage.changes import NewMemory, StoredMessage, StoredTurn
from memoranda.text.checks import replace_unstorable, storable_text
from memoranda.text.terms import content_hash, lexical_keys
from memoranda.types import JSON, Memory, MemoryType, Scope, trust_rank
from memoranda.validation import (
    check_datetime,
    check_fraction,
    check_name,
    check_ttl,
    check_writable_type,
    copy_metadata,
)

DEFAULT_IMPORTANCE: Final = 0.5
"""The least importance of a text that a caller stores; what the rules find in it can only raise it."""
# Not any number of blanks: from each of ten thousand line ends the rest of them would be read again.
_CLAUSE_START: Final = r"(?:^|[.!?:;,\n]|\b(?:that|seems)\b)[\s*•-]{0,20}(?:the\s+)?"
_USER: Final = re.compile(rf"{_CLAUSE_START}user(?:['’]s)?\s", re.I)
_CLIENT: Final = re.compile(rf"{_CLAUSE_START}(?:customer|client|patient)(?:['’]s)?\s", re.I)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|me|my|mine|we|our)\b", re.I)
EXPIRING: Final = (MemoryType.SHORT_TERM, MemoryType.WORKING)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The checked options of one call, for every memory that it writes."""

    scope: Scope
    now: datetime
    type: MemoryType | None
    source: str | None
    importance: float | None
    metadata: dict[str, JSON]
    at: datetime | None
    short_term_ttl: timedelta
    trust: str = "user"
    """Whose word a text is: the user's, an agent's own note, or a document's. A message counts no more than that."""
    keep_all: bool = False
    """Whether every message becomes a memory, without the gate."""
    ttl: timedelta | None = None
    """After what time the memories expire; None for what their type says."""

    @property
    def lasts(self) -> bool:
        """Whether the memories of the call do not expire."""
        return self.ttl is None and self.type not in EXPIRING

    def may_repeat(self, known: Memory) -> bool:
        """Return whether a text may be a duplicate of a known one: what lasts does not repeat what expires."""
        return known.expires_at is None or not self.lasts


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
    trust: object = None,
    ttl: object = None,
) -> WriteOptions:
    """Check the arguments of one call. The importance and the source may also be in the metadata.

    What has a source is the word of that source, unless the source is the user or the conversation itself.
    """
    extra = redact_metadata(copy_metadata(metadata))
    named = extra.get("source") if source is None else source
    # In the metadata it is the caller's own field, which may be blank or anything else.
    is_named = source is not None or (isinstance(named, str) and named.strip() != "")
    origin = check_name(named, "source") if is_named else None
    if importance is None:
        importance = extra.get("importance")
    return WriteOptions(
        scope=scope,
        now=now,
        type=None if type is None else check_writable_type(type),
        source=origin,
        importance=None if importance is None else check_fraction(importance, "importance"),
        metadata=extra,
        at=None if at is None else check_datetime(at, "at"),
        short_term_ttl=short_term_ttl,
        trust=trust if isinstance(trust, str) else trust_of_source(origin, scope.session),
        ttl=None if ttl is None else timedelta(seconds=check_ttl(ttl)),
    )


def trust_of_message(message: Message, options: WriteOptions) -> str:
    """Return how far a message is trusted: no more than who speaks, and no more than the source it is taken from."""
    return message.role if message.role == "system" else min(message.role, options.trust, key=trust_rank)


def trust_of_text(text: str, options: WriteOptions) -> str:
    """Return how far a plain text is trusted: without a source, one about "the user" is an agent's note."""
    if options.source is not None or options.trust != "user":
        return options.trust
    noted = _USER.search(text) or (_CLIENT.search(text) and not _FIRST_PERSON.search(text))
    return "assistant" if noted else "user"


def from_text(
    text: object, options: WriteOptions, *, key: str | None = None, value: JSON = None, importance: float | None = None
) -> NewMemory:
    """Return a new memory from a plain text."""
    content = storable_text(text)
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
        trust=options.trust,
        metadata=options.metadata,
        key=key,
        value=value,
        expires_at=_expiry(kind, options),
    )


def from_message(text: str, message: Message, options: WriteOptions, type: MemoryType) -> NewMemory:
    """Return a new memory from a text of a message, or from a model's text about it."""
    kind = options.type or type
    expires_at, stored = _expiry(kind, options), to_stored_message(message)
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
        trust=trust_of_message(message, options),
        metadata={**copy_metadata(message.metadata), **options.metadata},
        message=stored,
        expires_at=expires_at,
    )


def to_stored_message(message: Message) -> StoredMessage:
    """Return a message as the message log stores it."""
    speaker = message.name or message.role
    spoken = spoken_text(message)
    text = None if spoken is None else replace_unstorable(spoken)
    return StoredMessage(message.message_id, message.role, text, message.timestamp, speaker, message.to_dict())


def speaker_name(name: str | None, role: str, scope: Scope) -> str:
    """Return who speaks: by name, else the user of the scope where a user speaks, else the role."""
    if name:
        return name
    return scope.user if role == "user" and isinstance(scope.user, str) else role


def utterance_of_turn(turn: StoredTurn) -> Utterance:
    """Return a stored message as an utterance."""
    scope, message = turn
    name = None if message.speaker == message.role else message.speaker
    text, speaker = message.content or "", speaker_name(name, message.role, scope)
    return Utterance(message.message_id, message.role, speaker, message.said_at, text, (0, len(text)))


def spoken_text(message: Message) -> str | None:
    """Return the text of a message; None when it has none (only calls, only images)."""
    content = message.content
    if isinstance(content, str):
        return content if content.strip() else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(part for part in parts if isinstance(part, str)).strip() or None
    return None


def _expiry(kind: MemoryType, options: WriteOptions) -> datetime | None:
    ttl = options.short_term_ttl if options.ttl is None and kind in EXPIRING else options.ttl
    return None if ttl is None else options.now + ttl


def value_to_text(key: str, value: JSON) -> str:
    """Return a value as words, so that a search finds it by its content."""
    return f"{key.replace('_', ' ')}: {value_to_words(value)}"


def value_to_words(value: JSON) -> str:
    """Return a value as words, with the names of its fields."""
    if isinstance(value, dict):
        return "; ".join(value_to_text(key, item) for key, item in value.items()) or "nothing"
    if isinstance(value, list):
        return ", ".join(value_to_words(item) for item in value) or "nothing"
    return str(value)

"""Read the arguments of `record`, `retrieve` and the tools. Pure functions."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from memoranda.errors import InvalidInput, InvalidType
from memoranda.fence import remove_recalled
from memoranda.messages.message import Message, as_message
from memoranda.persistent.base import AnyMessage, QueryInput
from memoranda.remember.new_memory import spoken_text
from memoranda.text import check_unicode, clean_text
from memoranda.types import JSON, Outcome, Outcomes

MAX_QUERY_LENGTH = 2_000
"""Characters at the end of a conversation that are used as the query: what came before is not what is asked now."""
_RECORDED_ROLES = ("user", "assistant")


def prepare_messages(messages: AnyMessage | Iterable[AnyMessage | None] | None) -> list[Message | Outcome]:
    """Return, in order, each message to store, or the outcome of one that is not stored."""
    several: object = [messages] if messages is None or isinstance(messages, Message | Mapping) else messages
    if isinstance(several, str) or not isinstance(several, Iterable):
        raise InvalidType(f"messages must be a message or a list of messages, not {type(several).__name__}")
    return [_prepare_message(message) for message in several if message is not None]


def merge_outcomes(prepared: Sequence[Message | Outcome], stored: Outcomes) -> Outcomes:
    """Return all outcomes in the order of the messages; outcomes that belong to no message come last."""
    by_message: dict[str | None, list[Outcome]] = defaultdict(list)
    for outcome in stored:
        by_message[outcome.message_id].append(outcome)
    merged: list[Outcome] = []
    for item in prepared:
        merged += [item] if isinstance(item, Outcome) else by_message.pop(item.message_id, [])
    for remaining in by_message.values():
        merged += remaining
    return Outcomes(merged, stored.usage, stored.failure)


def to_query_text(query: QueryInput) -> str:
    """Return the text of a query; raise `InvalidInput` if it has none."""
    if isinstance(query, str):
        return clean_text(query, "query")
    several = [query] if isinstance(query, Message | Mapping) else query
    if not isinstance(several, Sequence):
        raise InvalidType(f"query must be a text, a message or a list of messages, not {type(query).__name__}")
    messages = [message for message in map(as_message, several) if message.role in _RECORDED_ROLES]
    texts = [remove_recalled(spoken_text(message) or "").strip() for message in messages]
    return clean_text("\n".join(text for text in texts if text)[-MAX_QUERY_LENGTH:], "the text of the query messages")


def check_texts(value: str | Sequence[str], name: str) -> list[str]:
    """Return one text or several as a list of cleaned texts; raise `InvalidInput` if one is empty."""
    several: object = [value] if isinstance(value, str) else value
    if not isinstance(several, Sequence) or isinstance(several, bytes):
        raise InvalidType(f"{name} must be a list of texts, not {type(value).__name__}")
    if not several:
        raise InvalidInput(f"{name} is empty: give at least one text")
    return [clean_text(text, f"each item of {name}") for text in several]


def _prepare_message(value: AnyMessage) -> Message | Outcome:
    message = as_message(value)
    if message.role not in _RECORDED_ROLES:
        return _reject(message, "system", f"{message.role} messages are not stored")
    text = spoken_text(message)
    if text is None:
        return _reject(message, "empty", f"the {message.role} message has no text")
    new_text = remove_recalled(text)
    if not new_text.strip():
        return _reject(message, "echo", "the message only repeats recalled text")
    changes: dict[str, JSON] = {}
    if new_text != text:
        changes["content"] = new_text
    if not isinstance(value, Message) and not (value.get("message_id") or value.get("id")):
        changes["message_id"] = _derive_id(message, new_text, str(value.get("timestamp") or ""))
    return Message.from_dict({**message.to_dict(), **changes}) if changes else message


def _reject(message: Message, rule: str, reason: str) -> Outcome:
    return Outcome("rejected", None, reason, message.message_id, rule)


def _derive_id(message: Message, text: str, timestamp: str) -> str:
    """Derive an id from the text, so that recording a whole history after each turn adds only what is new."""
    parts = (message.role, message.name or "", timestamp, check_unicode(text, "content"))
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=12)
    return f"said-{digest.hexdigest()}"

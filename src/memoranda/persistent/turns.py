"""Messages as `record` and `retrieve` read them. Pure."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from memoranda.errors import InvalidInput, InvalidType
from memoranda.fence import remove_recalled
from memoranda.memories.new_memory import spoken_text
from memoranda.messages.message import Message, as_message
from memoranda.persistent.base import AnyMessage, Question
from memoranda.text import check_unicode, clean_text
from memoranda.types import JSON, Outcome, Outcomes

LONGEST_QUESTION = 2_000
"""Characters of a conversation's end that are looked up; what came before is not what is being asked."""
_REMEMBERED_ROLES = ("user", "assistant")


def spoken(messages: AnyMessage | Iterable[AnyMessage | None] | None) -> list[Message | Outcome]:
    """What is to be remembered, in order, and the outcome of what is not."""
    several: object = [messages] if messages is None or isinstance(messages, Message | Mapping) else messages
    if isinstance(several, str) or not isinstance(several, Iterable):
        raise InvalidType(f"messages must be a message or a list of them, not {type(several).__name__}")
    return [_judged(message) for message in several if message is not None]


def in_order(judged: Sequence[Message | Outcome], ended: Outcomes) -> Outcomes:
    """The outcomes as the messages came, those that were never handed on among them; a model's own come last."""
    of_message: dict[str | None, list[Outcome]] = defaultdict(list)
    for end in ended:
        of_message[end.message_id].append(end)
    first = [[each] if isinstance(each, Outcome) else of_message.pop(each.message_id, []) for each in judged]
    rest = [end for ends in of_message.values() for end in ends]
    return Outcomes([*(end for ends in first for end in ends), *rest], ended.usage)


def asked(query: Question) -> str:
    """The words of a question; `InvalidInput` when there are none."""
    if isinstance(query, str):
        return clean_text(query, "query")
    several = [query] if isinstance(query, Message | Mapping) else query
    if not isinstance(several, Sequence):
        raise InvalidType(f"query must be a text, a message or a list of messages, not {type(query).__name__}")
    turns = [turn for turn in map(as_message, several) if turn.role in _REMEMBERED_ROLES]
    texts = [remove_recalled(spoken_text(turn) or "").strip() for turn in turns]
    words = "\n".join(text for text in texts if text)[-LONGEST_QUESTION:]
    return clean_text(words, "the text of the messages asked about")


def _judged(given: AnyMessage) -> Message | Outcome:
    message = as_message(given)
    if message.role not in _REMEMBERED_ROLES:
        return _refused(message, "system", f"a {message.role} message is not something said to remember")
    text = spoken_text(message)
    if text is None:
        return _refused(message, "empty", f"the {message.role} message has no text")
    named = isinstance(given, Message) or bool(given.get("message_id") or given.get("id"))
    return _news(message, text, None if named else str(given.get("timestamp") or ""))


def _news(message: Message, text: str, said_at: str | None) -> Message | Outcome:
    """The message as it is remembered; `said_at` is given where it came without an id of its own."""
    fresh = remove_recalled(text)
    if not fresh.strip():
        return _refused(message, "echo", "only what was recalled, coming back")
    changes: dict[str, JSON] = {}
    if fresh != text:
        changes["content"] = fresh
    if said_at is not None:
        changes["message_id"] = _own_id(message, fresh, said_at)
    return Message.from_dict({**message.to_dict(), **changes}) if changes else message


def _refused(message: Message, rule: str, reason: str) -> Outcome:
    return Outcome("rejected", None, reason, message.message_id, rule)


def _own_id(message: Message, text: str, said_at: str) -> str:
    """An id made of the words: a history that is recorded again after each turn adds only what is new."""
    parts = (message.role, message.name or "", said_at, check_unicode(text, "content"))
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=12)
    return f"said-{digest.hexdigest()}"


def check_input_texts(given: str | Sequence[str], what: str) -> list[str]:
    """One text or several, each with words in it."""
    several: object = [given] if isinstance(given, str) else given
    if not isinstance(several, Sequence) or isinstance(several, bytes):
        raise InvalidType(f"{what} must be a list of texts, not {type(given).__name__}")
    if not several:
        raise InvalidInput(f"{what} is empty: give at least one text")
    return [clean_text(text, f"each of {what}") for text in several]

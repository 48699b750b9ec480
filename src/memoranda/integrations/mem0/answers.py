"""mem0's forms of ids, messages, memories and events, from ours and back."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import md5
from typing import Any, Final, TypeAlias
from uuid import UUID, uuid5

from memoranda.display import shown
from memoranda.errors import InvalidInput, InvalidType, NotFound
from memoranda.integrations.mem0.filters import OWNERS, Payload, check_filters, is_expired, matches
from memoranda.manager.manager import MemoryManager
from memoranda.results.maintenance import History
from memoranda.types import ANY, Hit, Memory
from memoranda.validation import copy_json_object

Answer: TypeAlias = dict[str, Any]

_PROMOTED: Final = (*OWNERS, "actor_id", "role", "attributed_to", "expiration_date")
"""What mem0 shows beside the text; all other metadata is below `metadata`."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_IDENTITY: Final = (*OWNERS, "actor_id")
_OWN: Final = frozenset((*_PROMOTED, "id", "data", "hash", "created_at", "updated_at", "text_lemmatized"))


class MemoryNotFound(NotFound, ValueError):
    """There is no memory with this id. A `ValueError` too, which mem0 raises."""


def to_id(memory: Memory) -> str:
    """Return a UUID, as ids of mem0 are, of version 7: when the memory was stored, and its number."""
    millis, micros = divmod((memory.recorded_at - _EPOCH) // timedelta(microseconds=1), 1000)
    return str(UUID(int=(millis % 2**48) << 80 | 7 << 76 | micros << 64 | 2 << 62 | memory.id))


def find_memory(manager: MemoryManager, memory_id: object) -> Memory:
    """Return the memory with an id of mem0's form, or with a number; raise `MemoryNotFound` when there is none."""
    shown = str(memory_id)
    with suppress(NotFound, ValueError):
        number = int(shown) if shown.isdecimal() else UUID(shown).int % 2**62
        memory = manager.get(number, user=ANY)
        if shown.isdecimal() or UUID(shown) == UUID(to_id(memory)):  # else it is of another database
            return memory
    raise MemoryNotFound(f"Memory with id {memory_id} not found")


def to_payload(memory: Memory) -> Payload:
    """Return the owner and the metadata of a memory in one dict, for filters."""
    owner = {"user_id": memory.user, "agent_id": memory.agent, "run_id": memory.session}
    named = {key: name for key, name in owner.items() if name is not None}
    # As in mem0, metadata may set when a memory was created, but not when it was updated.
    created, updated = memory.recorded_at.isoformat(), memory.updated_at.isoformat()
    return {"created_at": created, **memory.metadata, "updated_at": updated, **named}


def passes(memory: Memory, filters: Mapping[str, Any], show_expired: bool) -> bool:
    """Return whether mem0 would show a memory; what has a key is a value or an item of another interface."""
    payload = to_payload(memory)
    hidden = memory.key is not None or (is_expired(payload, datetime.now(UTC)) and not show_expired)
    return not hidden and matches(payload, filters)


def to_answer(memory: Memory) -> Answer:
    """Return a memory as mem0 shows it."""
    payload = to_payload(memory)
    others = {key: value for key, value in payload.items() if key not in _OWN}
    return {
        "id": to_id(memory),
        "memory": memory.content,
        "hash": md5(memory.content.encode(), usedforsecurity=False).hexdigest(),
        "metadata": others or None,
        "created_at": payload["created_at"],
        "updated_at": payload["updated_at"],
        **{key: payload[key] for key in _PROMOTED if key in payload},
    }


def to_added(memory: Memory) -> Answer:
    """Return a new memory as mem0's `add` shows it."""
    return {"id": to_id(memory), "memory": memory.content, "event": "ADD"}


def to_hit(hit: Hit, *, explain: bool) -> Answer:
    """Return a hit as mem0's `search` shows it; with `explain`, with what each search arm contributed."""
    answer = {**to_answer(hit.memory), "score": hit.score}
    if explain:
        answer["score_details"] = {**{each.arm: each.score for each in hit.why}, "final_score": hit.score}
    return answer


def to_events(history: History) -> list[Answer]:
    """Return mem0's history of a memory: how it was added, and each change of it."""
    memory = history.memory
    texts = [None, *(each.content for each in history.versions), memory.content]
    times = [memory.recorded_at, *(each.changed_at for each in history.versions)]
    return [_to_event(memory, n, texts[n], texts[n + 1], time) for n, time in enumerate(times)]


def _to_event(memory: Memory, number: int, old: str | None, new: str | None, time: datetime) -> Answer:
    memory_id, payload = UUID(to_id(memory)), to_payload(memory)
    return {
        "id": str(uuid5(memory_id, str(number))),
        "memory_id": str(memory_id),
        "old_memory": old,
        "new_memory": new,
        "event": "UPDATE" if number else "ADD",
        "created_at": payload["created_at"],
        "updated_at": time.isoformat() if number else payload["created_at"],
        "is_deleted": False,
        "actor_id": payload.get("actor_id"),
        "role": payload.get("role"),
    }


def to_messages(messages: object) -> list[dict[str, Any]]:
    """Return what was said in the messages, without system messages and those without a text, which mem0 skips."""
    given = [messages] if isinstance(messages, str | Mapping) else messages
    if not isinstance(given, list | tuple):
        raise InvalidType(f"messages must be str, dict, or list[dict], not {type(messages).__name__}")
    listed = [{"role": "user", "content": each} if isinstance(each, str) else each for each in given]
    for each in listed:
        if not isinstance(each, Mapping) or each.get("role") is None:
            raise InvalidInput("each message must be a dict with a role and a content")
    said = [{"role": each["role"], "name": each.get("name"), "content": _text(each.get("content"))} for each in listed]
    return [each for each in said if each["role"] != "system" and each["content"]]


def to_moment(value: datetime | str | float | None) -> datetime | str | None:
    """Return a time as the manager takes it; mem0's may be in seconds since 1970."""
    return datetime.fromtimestamp(value, UTC) if isinstance(value, int | float) else value


def without_identity(metadata: Mapping[str, Any] | None) -> Payload:
    """Return a copy of the metadata without names of owners, which only the arguments of a call may set."""
    fields = {} if metadata is None else copy_json_object(metadata, "metadata")
    return {key: value for key, value in fields.items() if key not in _IDENTITY}


def join_filters(filters: Mapping[str, Any] | None, names: Mapping[str, object]) -> Payload:
    """Return the filters of a call with the owners that mem0 1.x takes as arguments."""
    if unknown := sorted(set(names) - set(OWNERS)):
        raise InvalidType(f"unknown argument {shown(unknown[0])}: name a {', '.join(OWNERS)}, or use filters")
    given = {} if filters is None else check_filters(filters)
    return {**given, **{key: name for key, name in names.items() if name is not None}}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else [content]
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))

"""JSON values that cannot be changed: what a message holds is shared by threads and never copied."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from memoranda.errors import InvalidInput, InvalidType
from memoranda.messages.calls import (
    AgentCallMsg,
    Content,
    FrozenDict,
    FrozenList,
    MessageContent,
    ToolCallMsg,
    freeze_content,
    freeze_mapping,
    freeze_text,
    thaw,
)
from memoranda.messages.images import as_reference
from memoranda.types import JSON, Record
from memoranda.validation import check_datetime

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
ROLES: Final[tuple[Role, ...]] = ("system", "user", "assistant", "tool")

_ALWAYS: Final = ("role", "content", "message_id", "timestamp")
_OPTIONAL: Final = ("name", "tool_calls", "agent_calls", "structured_data", "images", "tool_call_id", "metadata")
_NOTHING: Final = FrozenDict()


@dataclass(frozen=True, slots=True, init=False)
class Message(Record):
    """One turn: who said what, when. A value: nothing in it can be changed afterwards.

    It reads like a dict as well: `message["role"]`, and `dict(message)` equals `to_dict()`.
    A field that was not given reads as None and is not listed.
    """

    role: Role
    content: Content
    message_id: str
    name: str | None
    tool_calls: list[ToolCallMsg] | None
    agent_calls: list[AgentCallMsg] | None
    structured_data: dict[str, JSON] | None
    images: list[str] | None
    """Paths, http(s) addresses or data URLs; nothing is opened before a message is formatted."""
    tool_call_id: str | None
    timestamp: datetime
    metadata: dict[str, JSON]

    def __init__(
        self,
        role: str,
        content: str | Mapping[str, object] | Sequence[Mapping[str, object]] | MessageContent | None = None,
        message_id: str | None = None,
        name: str | None = None,
        tool_calls: Iterable[ToolCallMsg | Mapping[str, object]] | None = None,
        agent_calls: Iterable[AgentCallMsg | Mapping[str, object]] | None = None,
        structured_data: Mapping[str, object] | None = None,
        images: Iterable[str | Path | bytes] | None = None,
        tool_call_id: str | None = None,
        timestamp: datetime | str | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "role", _checked_role(role))
        put(self, "content", freeze_content(content))
        put(self, "message_id", uuid.uuid4().hex if message_id is None else _identifier(message_id, "message_id"))
        put(self, "name", None if name is None else freeze_text(name, "name"))
        put(self, "tool_calls", _tool_calls(tool_calls))
        put(self, "agent_calls", _agent_calls(agent_calls))
        put(self, "structured_data", _mapping(structured_data, "structured_data"))
        put(self, "images", _images(images))
        put(self, "tool_call_id", None if tool_call_id is None else _identifier(tool_call_id, "tool_call_id"))
        put(self, "timestamp", _in_utc(timestamp))
        put(self, "metadata", _mapping(metadata, "metadata") or _NOTHING)

    def __hash__(self) -> int:
        return hash(self.message_id)

    def keys(self) -> list[str]:
        return [*_ALWAYS, *(name for name in _OPTIONAL if self._is_set(name))]

    def __getitem__(self, key: str) -> Any:
        if key not in _ALWAYS and key not in _OPTIONAL:
            raise KeyError(key)
        return _plain(getattr(self, key))

    def __contains__(self, key: object) -> bool:
        return key in self.keys()

    def _is_set(self, name: str) -> bool:
        return bool(self.metadata) if name == "metadata" else getattr(self, name) is not None

    def to_dict(self) -> dict[str, JSON]:
        """Plain JSON data, yours to change; fields that were not given are left out."""
        return {key: self[key] for key in self.keys()}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Message:
        """From `to_dict()`, or from any chat message with a `role`.

        Keys that are not fields of a message are kept in its metadata; `id` is taken as `message_id`.
        """
        if not isinstance(data, Mapping):
            raise InvalidType(f"a message must be a Message or a dict, not {type(data).__name__}")
        if "role" not in data:
            raise InvalidInput(f"a message needs a 'role': one of {', '.join(ROLES)}")
        fields = {key: data[key] for key in (*_ALWAYS, *_OPTIONAL) if data.get(key) is not None}
        others = {key: value for key, value in data.items() if key not in _FIELDS and value is not None}
        if "message_id" not in fields and "id" in others:
            fields["message_id"] = others.pop("id")
        if others:
            fields["metadata"] = {**others, **freeze_mapping(fields.get("metadata", {}), "metadata")}
        return cls(**fields)  # type: ignore[arg-type]  # the constructor checks every field

    @staticmethod
    def is_valid_role(role: object) -> bool:
        """Whether it is one of system, user, assistant and tool."""
        return role in ROLES


_FIELDS: Final = frozenset((*_ALWAYS, *_OPTIONAL))


def as_message(value: object) -> Message:
    """A message from a message or a dict."""
    if isinstance(value, Message):
        return value
    if isinstance(value, Mapping):
        return Message.from_dict(value)
    raise InvalidType(f"expected a Message or a dict, not {type(value).__name__}")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, FrozenList):
        return [item.to_dict() if isinstance(item, ToolCallMsg | AgentCallMsg) else thaw(item) for item in value]
    return thaw(value)


def _checked_role(role: object) -> Role:
    for known in ROLES:
        if role == known:
            return known
    raise InvalidInput(f"unknown role {role!r}: use one of {', '.join(ROLES)}")


def _identifier(value: object, name: str) -> str:
    if not freeze_text(value, name).strip():
        raise InvalidInput(f"{name} is empty: leave it out, or give it a value")
    return str(value)


def _mapping(given: object, name: str) -> FrozenDict | None:
    return None if given is None else freeze_mapping(given, name)


def _tool_calls(given: object) -> FrozenList[ToolCallMsg] | None:
    calls = (c if isinstance(c, ToolCallMsg) else ToolCallMsg.from_dict(c) for c in _items(given, "tool_calls"))
    return FrozenList(calls) or None


def _agent_calls(given: object) -> FrozenList[AgentCallMsg] | None:
    calls = (c if isinstance(c, AgentCallMsg) else AgentCallMsg.from_dict(c) for c in _items(given, "agent_calls"))
    return FrozenList(calls) or None


def _images(given: object) -> FrozenList[str] | None:
    return FrozenList(as_reference(image) for image in _items(given, "images")) or None


def _items(given: object, name: str) -> Iterable[Any]:
    if given is None:
        return ()
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidType(f"{name} must be a list, not {type(given).__name__}")
    return given


def _in_utc(given: object) -> datetime:
    if given is None:
        return datetime.now(UTC)
    return check_datetime(given, "timestamp")

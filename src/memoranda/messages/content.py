"""What a message says: text, one structured object, or a list of parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from memoranda.errors import InvalidInput, InvalidType
from memoranda.messages.frozen import freeze, freeze_mapping, freeze_text, thaw
from memoranda.types import JSON, Record

Content: TypeAlias = "str | dict[str, JSON] | list[dict[str, JSON]] | None"
"""A text, a structured object, or parts such as `{"type": "text", "text": …}`."""

ACTIONS: Final = ("call_tool", "invoke_agent", "final_response")


@dataclass(frozen=True, slots=True)
class MessageContent(Record):
    """An agent's answer in three parts: what it thinks, what it does next, and with what."""

    thought: str | None = None
    next_action: str | None = None
    action_input: dict[str, JSON] | None = None

    def __post_init__(self) -> None:
        if self.thought is not None:
            freeze_text(self.thought, "thought")
        if self.next_action is not None and self.next_action not in ACTIONS:
            raise InvalidInput(f"unknown next_action {self.next_action!r}: use one of {', '.join(ACTIONS)}")
        if self.action_input is not None:
            object.__setattr__(self, "action_input", freeze_mapping(self.action_input, "action_input"))

    def to_dict(self) -> dict[str, JSON]:
        """The fields as plain data, without those that are None."""
        return {key: thaw(self[key]) for key in self.keys() if self[key] is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> MessageContent:
        """From the fields by name; an unknown one is refused."""
        if not isinstance(data, Mapping):
            raise InvalidType(f"message content must be a dict, not {type(data).__name__}")
        unknown = sorted(set(data) - {"thought", "next_action", "action_input"})
        if unknown:
            raise InvalidInput(f"unknown key {unknown[0]!r}: use thought, next_action and action_input")
        return cls(**data)  # type: ignore[arg-type]  # checked when built


def freeze_content(content: object) -> Content:
    """The content as a message keeps it, or an error that says what is wrong with it."""
    if content is None:
        return None
    if isinstance(content, str):
        return freeze_text(content, "content")
    if isinstance(content, MessageContent):
        return freeze_mapping(content.to_dict(), "content")
    if isinstance(content, Mapping):
        return freeze_mapping(content, "content")
    if isinstance(content, list | tuple):
        return _freeze_parts(content)
    raise InvalidType(f"content must be a string, a dict or a list of parts, not {type(content).__name__}")


def _freeze_parts(parts: list[object] | tuple[object, ...]) -> list[dict[str, JSON]]:
    for i, part in enumerate(parts):
        if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
            raise InvalidInput(f"content[{i}] must be a dict with a 'type', such as {{'type': 'text', 'text': …}}")
    return freeze(parts, "content")  # type: ignore[return-value]  # each part is a mapping, just checked

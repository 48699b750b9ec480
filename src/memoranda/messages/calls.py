"""The content of an assistant's message: calls of tools and of other agents, and structured answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from memoranda.errors import InvalidInput, InvalidType
from memoranda.messages.frozen import check_not_blank, check_string, freeze, freeze_mapping, thaw
from memoranda.types import JSON, Record

MessageBody: TypeAlias = "str | dict[str, JSON] | list[dict[str, JSON]] | None"
"""A text, a structured object, or parts such as `{"type": "text", "text": …}`."""

ACTIONS: Final = ("call_tool", "invoke_agent", "final_response")


@dataclass(frozen=True, slots=True)
class ToolCallMsg(Record):
    """A request to run a tool. `arguments` is JSON text, as models return it."""

    id: str
    call_id: str
    """The id of the call, for vendors that distinguish call and item; usually the same as `id`."""
    type: str
    name: str
    arguments: str

    def __post_init__(self) -> None:
        for field in ("id", "call_id", "type", "name"):
            check_not_blank(getattr(self, field), f"a tool call's {field}")
        _parse_arguments(self.arguments, self.name)

    def parsed_arguments(self) -> JSON:
        """Return the arguments as data."""
        return _parse_arguments(self.arguments, self.name)

    def to_dict(self) -> dict[str, JSON]:
        """Return the call in OpenAI's format; `call_id` is included only where it differs from `id`."""
        data: dict[str, JSON] = {"id": self.id, "type": self.type}
        if self.type == "custom":
            parsed = self.parsed_arguments()
            data["custom"] = {"name": self.name, "input": parsed if isinstance(parsed, str) else self.arguments}
        else:
            data["function"] = {"name": self.name, "arguments": self.arguments}
        if self.call_id != self.id:
            data["call_id"] = self.call_id
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> ToolCallMsg:
        """Return the call from OpenAI's format, or from the fields by name. Arguments may be data."""
        if not isinstance(data, Mapping):
            raise InvalidType(f"a tool call must be a ToolCallMsg or a dict, not {type(data).__name__}")
        kind = data.get("type") or "function"
        body, arguments = _split_call(data, kind)
        call_id = data.get("id") or data.get("call_id") or ""
        return cls(
            id=call_id,  # type: ignore[arg-type]  # checked when built
            call_id=data.get("call_id") or call_id,  # type: ignore[arg-type]
            type=kind,  # type: ignore[arg-type]
            name=body.get("name") or "",  # type: ignore[arg-type]
            arguments=arguments if isinstance(arguments, str) else json.dumps(freeze(arguments, "arguments")),
        )


@dataclass(frozen=True, slots=True)
class AgentCallMsg(Record):
    """A request to another agent."""

    agent_name: str
    request: object
    """Any JSON value."""

    def __post_init__(self) -> None:
        check_not_blank(self.agent_name, "an agent call's agent_name")
        object.__setattr__(self, "request", freeze(self.request, "an agent call's request"))

    def to_dict(self) -> dict[str, JSON]:
        """Return the fields that are not None as plain data."""
        data: dict[str, JSON] = {"agent_name": self.agent_name}
        if self.request is not None:
            data["request"] = thaw(self.request)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> AgentCallMsg:
        """Return the call from its fields by name."""
        if not isinstance(data, Mapping):
            raise InvalidType(f"an agent call must be an AgentCallMsg or a dict, not {type(data).__name__}")
        return cls(agent_name=data.get("agent_name") or "", request=data.get("request"))  # type: ignore[arg-type]


def _split_call(data: Mapping[str, object], kind: object) -> tuple[Mapping[str, object], object]:
    """Return the part of a tool call that contains the name, and the arguments."""
    custom = data.get("custom")
    if kind == "custom" and isinstance(custom, Mapping):
        # A custom tool takes free text; as JSON it is a string.
        return custom, json.dumps(custom.get("input", ""))
    function = data.get("function")
    body = function if isinstance(function, Mapping) else data
    return body, body.get("arguments", "{}")


def _parse_arguments(arguments: object, tool: str) -> JSON:
    text = check_string(arguments, f"the arguments of the call to {tool!r}")
    try:
        parsed: JSON = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the arguments of the call to {tool!r} are not JSON: {error}") from error
    return parsed


@dataclass(frozen=True, slots=True)
class MessageContent(Record):
    """An agent's answer in three parts: its thought, its next action, and the input of that action."""

    thought: str | None = None
    next_action: str | None = None
    action_input: dict[str, JSON] | None = None

    def __post_init__(self) -> None:
        if self.thought is not None:
            check_string(self.thought, "thought")
        if self.next_action is not None and self.next_action not in ACTIONS:
            raise InvalidInput(f"unknown next_action {self.next_action!r}: use one of {', '.join(ACTIONS)}")
        if self.action_input is not None:
            object.__setattr__(self, "action_input", freeze_mapping(self.action_input, "action_input"))

    def to_dict(self) -> dict[str, JSON]:
        """Return the fields that are not None as plain data."""
        return {key: thaw(self[key]) for key in self.keys() if self[key] is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> MessageContent:
        """Return the content from its fields by name; an unknown field is an error."""
        if not isinstance(data, Mapping):
            raise InvalidType(f"message content must be a dict, not {type(data).__name__}")
        unknown = sorted(set(data) - {"thought", "next_action", "action_input"})
        if unknown:
            raise InvalidInput(f"unknown key {unknown[0]!r}: use thought, next_action and action_input")
        return cls(**data)  # type: ignore[arg-type]  # checked when built


def freeze_content(content: object) -> MessageBody:
    """Return the content as a message stores it, or raise an error that says what is wrong with it."""
    if content is None:
        return None
    if isinstance(content, str):
        return check_string(content, "content")
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

"""What an assistant asks for inside a message: a tool, or another agent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from memoranda.errors import InvalidInput, InvalidType
from memoranda.messages.frozen import freeze, freeze_text, thaw
from memoranda.types import JSON, Record


@dataclass(frozen=True, slots=True)
class ToolCallMsg(Record):
    """A request to run a tool. `arguments` is the text of a JSON value, as models give it."""

    id: str
    call_id: str
    """The id of the call where a vendor names call and item apart; usually the same as `id`."""
    type: str
    name: str
    arguments: str

    def __post_init__(self) -> None:
        for field in ("id", "call_id", "type", "name"):
            _require_text(getattr(self, field), f"a tool call's {field}")
        _parse_arguments(self.arguments, self.name)

    def parsed_arguments(self) -> JSON:
        """The arguments as data."""
        return _parse_arguments(self.arguments, self.name)

    def to_dict(self) -> dict[str, JSON]:
        """OpenAI's form; `call_id` stands in it only where it differs from `id`."""
        data: dict[str, JSON] = {"id": self.id, "type": self.type}
        if self.type == "custom":
            data["custom"] = {"name": self.name, "input": self._input()}
        else:
            data["function"] = {"name": self.name, "arguments": self.arguments}
        if self.call_id != self.id:
            data["call_id"] = self.call_id
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> ToolCallMsg:
        """From OpenAI's form, or from the fields by name. Arguments may be given as data."""
        if not isinstance(data, Mapping):
            raise InvalidType(f"a tool call must be a ToolCallMsg or a dict, not {type(data).__name__}")
        kind = data.get("type") or "function"
        body, arguments = _body(data, kind)
        identity = data.get("id") or data.get("call_id") or ""
        return cls(
            id=identity,  # type: ignore[arg-type]  # checked when built
            call_id=data.get("call_id") or identity,  # type: ignore[arg-type]
            type=kind,  # type: ignore[arg-type]
            name=body.get("name") or "",  # type: ignore[arg-type]
            arguments=arguments if isinstance(arguments, str) else json.dumps(freeze(arguments, "arguments")),
        )

    def _input(self) -> str:
        given = self.parsed_arguments()
        return given if isinstance(given, str) else self.arguments


@dataclass(frozen=True, slots=True)
class AgentCallMsg(Record):
    """A request to another agent."""

    agent_name: str
    request: object
    """Any JSON value."""

    def __post_init__(self) -> None:
        _require_text(self.agent_name, "an agent call's agent_name")
        object.__setattr__(self, "request", freeze(self.request, "an agent call's request"))

    def to_dict(self) -> dict[str, JSON]:
        """The fields as plain data, without those that are None."""
        data: dict[str, JSON] = {"agent_name": self.agent_name}
        if self.request is not None:
            data["request"] = thaw(self.request)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> AgentCallMsg:
        """From the fields by name."""
        if not isinstance(data, Mapping):
            raise InvalidType(f"an agent call must be an AgentCallMsg or a dict, not {type(data).__name__}")
        return cls(agent_name=data.get("agent_name") or "", request=data.get("request"))  # type: ignore[arg-type]


def _body(data: Mapping[str, object], kind: object) -> tuple[Mapping[str, object], object]:
    custom = data.get("custom")
    if kind == "custom" and isinstance(custom, Mapping):
        # A custom tool takes free text; as JSON it is a string.
        return custom, json.dumps(custom.get("input", ""))
    function = data.get("function")
    body = function if isinstance(function, Mapping) else data
    return body, body.get("arguments", "{}")


def _require_text(value: object, name: str) -> None:
    if not freeze_text(value, name).strip():
        raise InvalidInput(f"{name} is empty: give it a value")


def _parse_arguments(arguments: object, tool: str) -> JSON:
    text = freeze_text(arguments, f"the arguments of the call to {tool!r}")
    try:
        parsed: JSON = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the arguments of the call to {tool!r} are not JSON: {error}") from error
    return parsed

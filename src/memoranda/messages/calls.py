"""What an assistant asks for inside a message: a tool, or another agent."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from memoranda.errors import InvalidInput, InvalidType
from memoranda.text import check_unicode
from memoranda.types import JSON, Record

MAX_DEPTH = 100
"""Levels of lists and dicts inside one value; deeper data is refused."""


_T = TypeVar("_T")


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("a message cannot be changed: take a copy with to_dict(), or build a new one")


class FrozenDict(dict[str, JSON]):
    """A dict to read. Equal to a plain dict; `copy()` gives a plain one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def copy(self) -> dict[str, JSON]:
        return {key: thaw(value) for key, value in self.items()}

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, JSON]:
        return self.copy()

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, JSON]]]:
        return FrozenDict, (dict(self),)


class FrozenList(list[_T]):
    """A list to read. Equal to a plain list; `copy()` gives a plain one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = extend = insert = _refuse
    clear = pop = remove = reverse = sort = _refuse

    def copy(self) -> list[_T]:
        return [thaw(value) for value in self]

    def __deepcopy__(self, memo: dict[int, Any]) -> list[_T]:
        return self.copy()

    def __reduce__(self) -> tuple[type[FrozenList[_T]], tuple[list[_T]]]:
        return FrozenList, (list(self),)


def thaw(value: Any) -> Any:
    """A plain copy that is the caller's own."""
    if isinstance(value, FrozenDict | FrozenList):
        return value.copy()
    return value


def freeze(value: object, name: str) -> JSON:
    """A read-only copy of a JSON value, or an error that says where it is not JSON."""
    return _freeze(value, name, [])


def freeze_text(text: object, name: str) -> str:
    """The text, or an error when it is not a string that can leave this process."""
    if not isinstance(text, str):
        raise InvalidType(f"{name} must be a string, not {type(text).__name__}")
    return text if text.isascii() else check_unicode(text, name)


def freeze_mapping(value: object, name: str) -> FrozenDict:
    """A read-only copy of a JSON object."""
    if not isinstance(value, Mapping):
        raise InvalidType(f"{name} must be a dict, not {type(value).__name__}")
    frozen = freeze(value, name)
    assert isinstance(frozen, FrozenDict)
    return frozen


def _freeze(value: object, name: str, above: list[object]) -> JSON:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return freeze_text(value, name)
    if isinstance(value, float):
        return _finite(value, name)
    if isinstance(value, Mapping | list | tuple):
        return _freeze_container(value, name, above)
    raise InvalidType(f"{name} holds a {type(value).__name__}, which is not JSON: convert it first")


def _freeze_container(value: Mapping[object, object] | Iterable[object], name: str, above: list[object]) -> JSON:
    if any(value is outer for outer in above):
        raise InvalidInput(f"{name} contains itself: a circular reference cannot be kept")
    if len(above) >= MAX_DEPTH:
        raise InvalidInput(f"{name} is nested deeper than {MAX_DEPTH} levels: flatten it")
    inside = [*above, value]
    if isinstance(value, Mapping):
        return FrozenDict({_key(key, name): _freeze(item, f"{name}.{key}", inside) for key, item in value.items()})
    return FrozenList(_freeze(item, f"{name}[{i}]", inside) for i, item in enumerate(value))


def _key(key: object, name: str) -> str:
    if not isinstance(key, str):
        raise InvalidType(f"{name} has the key {key!r}; keys of JSON are strings")
    return freeze_text(key, f"a key of {name}")


def _finite(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise InvalidInput(f"{name} is {value}, which JSON cannot hold")
    return value


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

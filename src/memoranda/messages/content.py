"""Parts of a message: content as JSON, and dict messages as they come from elsewhere, as the fields of a `Message`."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from memoranda.display import shown
from memoranda.errors import InvalidInput, InvalidType
from memoranda.records import DictRecord
from memoranda.text.checks import plain_text
from memoranda.types import JSON
from memoranda.validation import MAX_DEPTH, check_datetime, check_json_integer

ROLE_NAMES: Final = {
    **{role: role for role in ("system", "user", "assistant", "tool")},
    **{"developer": "system", "function": "tool"},  # OpenAI's newer and older names
    **{"human": "user", "ai": "assistant", "model": "assistant"},  # LangChain's and Google's
}
"""The role of a message by the names that vendors use."""
_EPOCH: Final = re.compile(r"\d{9,13}(\.\d+)?")
"""Seconds or milliseconds since 1970, as text; shorter texts of digits are dates."""
_MILLISECONDS_FROM: Final = 1e11
"""As seconds this would be the year 5138."""


def add_missing_fields(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a dict message with a role, and with the calls and results that it has in another form.

    What OpenAI's Responses API returns has a type instead, and its retired form calls one function by its name.
    """
    if data.get("role") is None:
        return {**data, **_fields_by_type(data)}
    call = data.get("function_call")
    if isinstance(call, Mapping) and not data.get("tool_calls"):
        return {**data, "tool_calls": [_to_call(call, call.get("name"))]}
    if data.get("role") == "function" and not data.get("tool_call_id"):
        return {**data, "tool_call_id": data.get("name")}
    return data


def _fields_by_type(data: Mapping[str, Any]) -> dict[str, Any]:
    kind = data.get("type")
    kind = kind if isinstance(kind, str) else ""
    if kind.endswith("_output"):
        return {"role": "tool", "content": _as_text(data.get("output")), "tool_call_id": data.get("call_id")}
    if kind == "function_call":
        return {"role": "assistant", "tool_calls": [_to_call(data, data.get("call_id"))]}
    if kind in ROLE_NAMES and "content" in data:
        return {"role": kind}
    if kind == "reasoning" or kind.endswith("_call"):
        return {"role": "assistant"}
    raise InvalidInput(f"a message needs a 'role': one of {', '.join(dict.fromkeys(ROLE_NAMES.values()))}")


def to_fields(fields: dict[str, Any], others: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields as a `Message` takes them, and the message's own keys with what these were as given."""
    found = dict(fields)
    if isinstance(found["role"], str):
        found["role"] = ROLE_NAMES.get(found["role"].strip().lower(), found["role"])
    if "content" in found:
        found["content"] = _to_content(found["content"])
    if isinstance(found.get("timestamp"), str | int | float):
        found["timestamp"] = to_time(_as_moment(found["timestamp"]))
    changed = {key: fields[key] for key in ("role", "content", "timestamp") if key in fields}
    return found, others | {key: value for key, value in changed.items() if not _is_same(value, found[key])}


def id_text(value: object) -> object:
    """Return a number that is used as an id as a text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(check_json_integer(value, "an id"))
    return value


def to_time(value: object) -> datetime:
    """Return a moment with a zone, from one, its text, or the seconds or milliseconds since 1970."""
    if value is None:
        return datetime.now(UTC)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return check_datetime(value, "timestamp")
    try:
        return datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS_FROM else value, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput(f"timestamp is {shown(value)}, which is out of range") from error


def _to_content(given: object) -> object:
    """Return the content as a text, an object, or parts; other JSON becomes its text."""
    if isinstance(given, bool | int | float):
        return _as_text(freeze(given, "content"))
    if not isinstance(given, list | tuple):
        return given
    parts = [_to_part(part) for part in given]
    if parts == given and _is_parts(parts):
        return given
    return parts if _is_parts(parts) else _as_text(freeze(given, "content"))


def _is_parts(values: list[object]) -> bool:
    """Return whether each is a part of a content: a dict with a type."""
    return all(isinstance(part, Mapping) and isinstance(part.get("type"), str) for part in values)


def _to_part(given: object) -> object:
    if isinstance(given, str):
        return {"type": "text", "text": given}
    if isinstance(given, Mapping) and "type" not in given and isinstance(given.get("text"), str):
        return {"type": "text", **given}
    return given


def _to_call(data: Mapping[str, Any], call_id: object) -> dict[str, Any]:
    function = {"name": data.get("name"), "arguments": data.get("arguments") or "{}"}
    return {"id": call_id, "type": "function", "function": function}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_same(given: object, found: object) -> bool:
    """Return whether a `Message` shows a field as it was given; True is not 1."""
    shown = found.isoformat() if isinstance(found, datetime) else found
    return given is found or (type(given) is type(shown) and given == shown)


def _as_moment(value: object) -> object:
    """Return a text of digits as the number that it is, and one without a zone as a moment of this computer's zone.

    `datetime.now()` writes the latter.
    """
    if isinstance(value, str) and _EPOCH.fullmatch(value):
        return float(value)
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        return moment.astimezone() if moment is not None and moment.tzinfo is None else value
    except (ValueError, OverflowError, OSError):
        return value  # the check says what is wrong with it


_T = TypeVar("_T")


def refuse_change(*_: object, **__: object) -> NoReturn:
    raise TypeError(
        "a message cannot be changed: change a copy of it, dict(message), or make a new one with "
        "dataclasses.replace(message, content=…)"
    )


class FrozenDict(dict[str, JSON]):
    """A read-only dict. Equal to a plain dict; `copy()` returns a plain one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = refuse_change

    def copy(self) -> dict[str, JSON]:
        return {key: thaw(value) for key, value in self.items()}

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, JSON]:
        return self.copy()

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, JSON]]]:
        return FrozenDict, (dict(self),)


class FrozenList(list[_T]):
    """A read-only list. Equal to a plain list; `copy()` returns a plain one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = extend = insert = refuse_change
    clear = pop = remove = reverse = sort = refuse_change

    def copy(self) -> list[_T]:
        return [thaw(value) for value in self]

    def __deepcopy__(self, memo: dict[int, Any]) -> list[_T]:
        return self.copy()

    def __reduce__(self) -> tuple[type[FrozenList[_T]], tuple[list[_T]]]:
        return FrozenList, (list(self),)


def thaw(value: Any) -> Any:
    """Return a plain copy that the caller may change."""
    if isinstance(value, FrozenDict | FrozenList):
        return value.copy()
    return value


def freeze(value: object, name: str) -> JSON:
    """Return a read-only copy of a JSON value, or raise an error that names the part which is not JSON."""
    # Not `validation.encode_json`: this copies while it checks, and reports a bad string by its position.
    return _freeze(value, name, [])


def freeze_mapping(value: object, name: str) -> FrozenDict:
    """Return a read-only copy of a JSON object."""
    if not isinstance(value, Mapping):
        raise InvalidType(f"{name} must be a dict, not {type(value).__name__}")
    frozen = freeze(value, name)
    assert isinstance(frozen, FrozenDict)
    return frozen


def check_string(text: object, name: str) -> str:
    """Return the text if it is a string."""
    if not isinstance(text, str):
        raise InvalidType(f"{name} must be a string, not {type(text).__name__}")
    return plain_text(text)


def check_not_blank(value: object, name: str, advice: str = "give it a value") -> str:
    """Return the text if it is a string that is not blank."""
    text = check_string(value, name)
    if not text.strip():
        raise InvalidInput(f"{name} is empty: {advice}")
    return text


def _freeze(value: object, name: str, parents: list[object]) -> JSON:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return check_json_integer(value, name)
    if isinstance(value, str):
        return check_string(value, name)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{name} is {value}, which JSON cannot hold")
        return value
    if isinstance(value, Mapping | list | tuple):
        return _freeze_container(value, name, parents)
    raise InvalidType(f"{name} holds a {type(value).__name__}, which is not JSON: convert it first")


def _freeze_container(value: Mapping[object, object] | Iterable[object], name: str, parents: list[object]) -> JSON:
    if any(value is parent for parent in parents):
        raise InvalidInput(f"{name} contains itself: a circular reference cannot be kept")
    if len(parents) >= MAX_DEPTH:
        raise InvalidInput(f"{name} is nested deeper than {MAX_DEPTH} levels: flatten it")
    inside = [*parents, value]
    if isinstance(value, Mapping):
        checked = {_check_key(key, name): item for key, item in value.items()}
        return FrozenDict({key: _freeze(item, f"{name}.{key}", inside) for key, item in checked.items()})
    return FrozenList(_freeze(item, f"{name}[{i}]", inside) for i, item in enumerate(value))


def _check_key(key: object, name: str) -> str:
    if not isinstance(key, str):
        raise InvalidType(f"{name} has the key {shown(key)}; keys of JSON are strings")
    return check_string(key, f"a key of {name}")


MAX_IMAGE_BYTES: Final = 20_000_000
"""The largest image that vendors accept."""

_SIGNATURES: Final = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def as_reference(image: object) -> str:
    """Return an image as a message stores it: a path or address unchanged, bytes as a data URL."""
    if isinstance(image, bytes):
        return data_url(image)
    if isinstance(image, Path):
        return str(image)
    return check_not_blank(image, "an image", "give a path, an http(s) address or bytes")


def image_url(reference: str) -> str:
    """Return a URL that a model can read: http(s) and data URLs unchanged, a file as a data URL."""
    if reference.startswith(("http://", "https://", "data:")):
        return reference
    if "://" in reference:
        raise InvalidInput(f"cannot use the image {reference!r}: give a path, an http(s) address or bytes")
    return data_url(_read_file(reference), reference)


def data_url(data: bytes, name: str = "the image") -> str:
    """Return a data URL; the media type is detected from the bytes."""
    return f"data:{media_type(data, name)};base64,{base64.b64encode(data).decode('ascii')}"


def split_data_url(url: str) -> tuple[str, str]:
    """Return the media type and the base64 text of a data URL."""
    head, comma, body = url.partition(",")
    if not comma or not head.endswith(";base64"):
        raise InvalidInput("an image's data URL must look like data:image/png;base64,…")
    try:
        start = base64.b64decode(body[:64], validate=True)
    except binascii.Error as error:
        raise InvalidInput(f"an image's data URL is not base64: {error}") from error
    return media_type(start, "the data URL"), body


def media_type(data: bytes, name: str) -> str:
    """Return the media type by the first bytes: PNG, JPEG, GIF or WebP, the formats that vendors accept."""
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    # Also for security: a path in an imported conversation must not send another kind of file to a vendor.
    raise InvalidInput(f"{name} is not a PNG, JPEG, GIF or WebP image")


def _read_file(path: str) -> bytes:
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read the image {path!r}: {error}") from error
    if len(data) > MAX_IMAGE_BYTES:
        raise InvalidInput(f"the image {path!r} has {len(data):,} bytes; at most {MAX_IMAGE_BYTES:,} fit")
    return data


MessageBody: TypeAlias = "str | dict[str, JSON] | list[dict[str, JSON]] | None"
"""A text, a structured object, or parts such as `{"type": "text", "text": …}`."""

ACTIONS: Final = ("call_tool", "invoke_agent", "final_response")


@dataclass(frozen=True, slots=True)
class ToolCallMsg(DictRecord):
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
        DictRecord.__post_init__(self)

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
class AgentCallMsg(DictRecord):
    """A request to another agent."""

    agent_name: str
    request: object
    """Any JSON value."""

    def __post_init__(self) -> None:
        check_not_blank(self.agent_name, "an agent call's agent_name")
        object.__setattr__(self, "request", freeze(self.request, "an agent call's request"))
        DictRecord.__post_init__(self)

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
class MessageContent(DictRecord):
    """An agent's answer in three parts: its thought, its next action, and the input of that action."""

    thought: str | None = None
    next_action: str | None = None
    action_input: dict[str, JSON] | None = None

    def __post_init__(self) -> None:
        if self.thought is not None:
            check_string(self.thought, "thought")
        if self.next_action is not None and self.next_action not in ACTIONS:
            raise InvalidInput(f"unknown next_action {shown(self.next_action)}: use one of {', '.join(ACTIONS)}")
        if self.action_input is not None:
            object.__setattr__(self, "action_input", freeze_mapping(self.action_input, "action_input"))
        DictRecord.__post_init__(self)

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
            raise InvalidInput(f"unknown key {shown(unknown[0])}: use thought, next_action and action_input")
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
    raise InvalidType(
        f"content must be a string, a dict or a list of parts, not {type(content).__name__}: convert it to a string"
    )


def _freeze_parts(parts: list[object] | tuple[object, ...]) -> list[dict[str, JSON]]:
    for i, part in enumerate(parts):
        if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
            raise InvalidInput(f"content[{i}] must be a dict with a 'type', such as {{'type': 'text', 'text': …}}")
    return freeze(parts, "content")  # type: ignore[return-value]  # each part is a mapping, just checked

"""One request as a value: what is asked, and how the answer is read. Sending it is somebody else's work."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Generic, TypeVar

from recollect.arguments import make_filter
from recollect.client.rebuild import build
from recollect.errors import InvalidInput, InvalidType
from recollect.messages.message import Message
from recollect.types import ANY, AnyUser, Progress

R = TypeVar("R")
_READING = ("GET",)


@dataclass(frozen=True, slots=True)
class Call(Generic[R]):
    """A request that has not been sent."""

    method: str
    path: str
    read: Callable[[Any], R]
    body: bytes | None = None
    params: Mapping[str, str | int] | None = None
    progress: Progress | None = None
    total: int = 0

    @property
    def writes(self) -> bool:
        return self.method not in _READING

    def report(self, done: int) -> None:
        if self.progress is not None:
            self.progress(done, self.total)

    def result(self, answer: Any) -> R:
        value = self.read(answer)
        self.report(self.total)
        return value


def answer_of(kind: Any) -> Callable[[Any], Any]:
    """Reads an answer as a value of this type."""
    return lambda answer: build(kind, answer)


def field_of(name: str) -> Callable[[Any], Any]:
    return lambda answer: answer[name]


def encode(values: Mapping[str, object], *, nullable: str | None = None) -> bytes:
    """The arguments that were given as a JSON body; None is one only of the argument named `nullable`."""
    plain = {key: value for key, value in values.items() if value is not None or key == nullable}
    try:
        return json.dumps(plain, default=_plain, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the arguments hold a lone surrogate: not valid Unicode ({error.reason})") from error
    except ValueError as error:
        raise InvalidInput(f"the arguments cannot be sent as JSON: {error}") from error


def query(values: Mapping[str, object]) -> dict[str, str | int]:
    """The arguments that were given as they stand in an address."""
    return {key: _in_address(value) for key, value in values.items() if value is not None}


def owner(agent: object = None, user: object = None, session: object = None) -> dict[str, object]:
    """The scope of a call."""
    whose: dict[str, object] = {"all_users": True} if user is ANY else {"user": user}
    return {"agent": agent, "session": session, **whose}


def which(where: Mapping[str, Any] | None, types: object, name: str = "types") -> dict[str, object]:
    """The filters of a call, checked by the manager's own rule: what is wrong is named in the same words."""
    make_filter(where, types)
    return {name: [types] if isinstance(types, str) else listed(types), "where": where}


def listed(values: object) -> object:
    """Several as a list, one as it is."""
    return list(values) if isinstance(values, Sequence) and not isinstance(values, str | bytes) else values


def _in_address(value: object) -> str | int:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, int) else str(value)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Message):
        return value.to_dict()
    if isinstance(value, AnyUser):
        raise InvalidInput("a memory belongs to one user, or to none: ANY is for reading")
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return list(value)
    raise InvalidType(f"{type(value).__name__} cannot be sent as JSON: convert it first")

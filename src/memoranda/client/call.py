"""One request as a value: what is asked, and how the answer is read. Sending it is somebody else's work.

What a verb takes is said once, by the embedded manager's own method: `as_in` makes its arguments those of the request.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar

from memoranda.arguments import make_filter
from memoranda.client import rebuild
from memoranda.errors import InvalidInput, InvalidType
from memoranda.messages.message import Message
from memoranda.types import ANY, AnyUser, Progress

P = ParamSpec("P")
R = TypeVar("R")
Given: TypeAlias = dict[str, Any]
"""The arguments of a call by their names, those that were left out with their defaults."""
_READING = ("GET",)
_signature = functools.cache(inspect.signature)


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


def as_in(
    verb: Callable[Concatenate[Any, P], R],
) -> Callable[[Callable[[Given], Call[R]]], Callable[P, Call[R]]]:
    """Lets a request be made with the arguments of the manager's own method, whose words describe it too."""

    def taking(build: Callable[[Given], Call[R]]) -> Callable[P, Call[R]]:
        @functools.wraps(verb)
        def make(*args: P.args, **kwargs: P.kwargs) -> Call[R]:
            return build(given_to(verb, *args, **kwargs))

        make.__doc__ = build.__doc__ or verb.__doc__
        return make

    return taking


def given_to(method: Callable[..., object], /, *args: object, **kwargs: object) -> Given:
    """The arguments by the names they have in a method, which is called with something of its own first."""
    bound = _signature(method).bind(None, *args, **kwargs)
    bound.apply_defaults()
    return dict(list(bound.arguments.items())[1:])


def request(method: str, path: str, read: Callable[[Any], R], given: Given, *, total: int = 0) -> Call[R]:
    """The request that these arguments make: in its address where it only reads, else in its body."""
    progress, sent = given.pop("progress", None), as_sent(given)
    if method in _READING:
        return Call(method, path, read, params=query(sent))
    return Call(method, path, read, encode(sent), progress=progress, total=total)


def as_sent(given: Given) -> Given:
    """The arguments as the server takes them. Filters are checked by the manager's own rule, in the same words."""
    sent = dict(given)
    if "where" in given:
        name = "memory_types" if "memory_types" in given else "types"
        make_filter(given["where"], given[name])
        sent[name] = [given[name]] if isinstance(given[name], str) else listed(given[name])
    if given.get("user") is ANY:
        sent |= {"user": None, "all_users": True}
    return sent


def answer_of(kind: type[R]) -> Callable[[Any], R]:
    """Reads an answer as a value of this type."""
    return lambda answer: rebuild.build(kind, answer)


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

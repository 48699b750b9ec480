"""How a call of the client is made and how its response is read.

A call has the signature of the embedded manager's method, and sends its arguments as JSON. Of a response, the JSON
becomes the dataclasses that the embedded manager returns, or its errors.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeAlias, TypeVar

import httpx2

from memoranda import errors
from memoranda.errors import PROBLEM_URN, Denied, Incompatible, InvalidInput, InvalidType, MemorandaError, Unavailable
from memoranda.messages.message import is_vendor_object
from memoranda.messages.parsing import as_message, as_text
from memoranda.records import ResultList, build
from memoranda.results.recall import Context
from memoranda.text.checks import escape_surrogates
from memoranda.types import ANY, AnyUser, Hit, Memory, Outcome, Outcomes, Progress
from memoranda.validation import make_filter

_T = TypeVar("_T")
_ERRORS: Final = {
    kind.__name__: kind
    for kind in (
        errors.InvalidInput,
        errors.InvalidType,
        errors.NotFound,
        errors.ExtractionFailed,
        errors.Incompatible,
        errors.Closed,
    )
}


def deserialize(kind: type[_T], data: Any) -> _T:
    """Return a value of this type. Unknown fields are ignored; a missing field is an error."""
    try:
        return build(kind, data)
    except (KeyError, TypeError, ValueError) as error:
        raise Incompatible(f"the server's {kind} does not fit this client: use the same version ({error!r})") from error


def parse_list(kind: type[list[_T]], noun: str) -> Callable[[Any], list[_T]]:
    """Return a function that reads a response as a list of this type, of results that are called `noun`."""
    return lambda response: ResultList(deserialize(kind, response), noun)


def parse_outcomes(response: Any) -> Outcomes:
    """Read a response as the outcomes of a write."""
    outcomes = deserialize(list[Outcome], response)
    failure = next((outcome.queued for outcome in outcomes if outcome.queued), None)
    return Outcomes(outcomes, failure=failure)


def parse_context(response: Any) -> Context:
    """Read a response as text for a prompt."""
    return Context(
        response["text"],
        hits=deserialize(tuple[Hit, ...], response["hits"]),
        left_out=response["left_out"],
        tokens=response["tokens"],
        recall_id=response["recall_id"],
        answerable=response["answerable"],
        degraded=tuple(response["degraded"]),
    )


def to_error(status: int, body: bytes, headers: httpx2.Headers) -> Exception:
    """Return the error that a response describes."""
    problem = _parse_problem(body)
    name = str(problem.get("type", "")).removeprefix(PROBLEM_URN)
    detail = str(problem.get("detail") or f"status {status}")
    if name == "IndexError":
        return IndexError(detail)
    if status in (401, 403):
        return Denied(detail, status=status)
    if status in (408, 429, 502, 503, 504) and name != "ExtractionFailed":
        wait = headers.get("retry-after", "")
        kind = errors.OutcomeUnknown if name == "OutcomeUnknown" else Unavailable
        return kind(detail, retry_after=float(wait) if wait.isdigit() else None, status=status)
    if name == "Conflict":
        current = problem.get("current")
        memory = deserialize(Memory, current) if isinstance(current, dict) else None
        return errors.Conflict(detail, current=memory, status=status)
    if name in _ERRORS:
        return _ERRORS[name](detail)
    if 400 <= status < 500:
        return errors.InvalidInput(detail)
    return MemorandaError(f"the server failed: {detail} (request {headers.get('x-request-id', 'unknown')})")


@contextmanager
def translate_errors(url: str) -> Iterator[None]:
    """Turn the HTTP library's errors into ours."""
    try:
        yield
    except httpx2.TimeoutException as error:
        raise Unavailable(f"{url} did not answer in time: try again") from error
    except httpx2.TransportError as error:
        raise Unavailable(f"{url} cannot be reached ({error}): is the server running?") from error


def _parse_problem(body: bytes) -> dict[str, Any]:
    try:
        problem = json.loads(body)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


P = ParamSpec("P")
R = TypeVar("R")
Arguments: TypeAlias = dict[str, Any]
"""The arguments of a call by parameter name, with the defaults of those left out."""
_KINDS: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "str": ((str,), "a string"),
    "int": ((int,), "a whole number"),
    "float": ((float, int), "a number"),
    "bool": ((bool,), "True or False"),
    "datetime": ((datetime,), "a datetime"),
    "AnyUser": ((AnyUser,), ""),
    "None": ((type(None),), ""),
}
"""The types of parameters that are checked before a call is sent, by their annotation, and their names in errors."""
_signature = functools.cache(inspect.signature)


@dataclass(frozen=True, slots=True)
class HttpCall(Generic[R]):
    """A request that has not been sent, and how to read its response."""

    method: str
    path: str
    parse: Callable[[Any], R]
    body: bytes | None = None
    params: Mapping[str, str | int] | None = None
    progress: Progress | None = None
    total: int = 0

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    def report(self, done: int) -> None:
        if self.progress is not None:
            self.progress(done, self.total)

    def result(self, response: Any) -> R:
        value = self.parse(response)
        self.report(self.total)
        return value


Calls: TypeAlias = Generator[HttpCall[R], R, R]
"""Several calls that depend on each other: each is sent, and its result or its error goes back in."""


def derive_from(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[[Callable[[Arguments], HttpCall[R]]], Callable[P, HttpCall[R]]]:
    """Give a function that builds a call the signature and, unless it has its own, the docstring of a method."""

    def decorate(build: Callable[[Arguments], HttpCall[R]]) -> Callable[P, HttpCall[R]]:
        @functools.wraps(method)
        def make_call(*args: P.args, **kwargs: P.kwargs) -> HttpCall[R]:
            return build(bind_arguments(method, *args, **kwargs))

        make_call.__doc__ = build.__doc__ or method.__doc__
        return make_call

    return decorate


def derive_calls_from(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[[Callable[[Arguments], Calls[R]]], Callable[P, Calls[R]]]:
    """Give a function that yields several calls the signature and the docstring of a method."""

    def decorate(build: Callable[[Arguments], Calls[R]]) -> Callable[P, Calls[R]]:
        @functools.wraps(method)
        def make_calls(*args: P.args, **kwargs: P.kwargs) -> Calls[R]:
            return build(bind_arguments(method, *args, **kwargs))

        return make_calls

    return decorate


def endpoint(
    method: Callable[Concatenate[Any, P], R], http_method: str, path: str, parse: Callable[[Any], R]
) -> Callable[P, HttpCall[R]]:
    """Return a function that turns the arguments of a method into its call, unchanged.

    Args:
        method: The method of the embedded manager.
        http_method: The HTTP method.
        path: The path; `{memory_id:d}` stands for that argument.
        parse: Reads the result from the JSON of the response.
    """
    return derive_from(method)(lambda arguments: build_call(http_method, path, parse, arguments))


def bind_arguments(method: Callable[..., object], /, *args: object, **kwargs: object) -> Arguments:
    """Return the arguments by parameter name, without `self`.

    Texts, numbers, times and flags are checked here: a URL would carry a number or a list as the text of it.
    """
    signature = _signature(method)
    bound = signature.bind(None, *args, **kwargs)
    bound.apply_defaults()
    arguments = dict(list(bound.arguments.items())[1:])
    for name, value in arguments.items():
        _check_type(name, value, signature.parameters[name].annotation)
    return arguments


def _check_type(name: str, value: object, annotation: object) -> None:
    kinds = [_KINDS.get(each) for each in str(annotation).split(" | ")]
    known = [kind for kind in kinds if kind is not None]
    if isinstance(value, AnyUser) or len(known) < len(kinds) or any(type(value) in types for types, _ in known):
        return
    is_flag = isinstance(value, bool)
    if is_flag or not any(isinstance(value, types) for types, _ in known):
        wanted = " or ".join(words for _, words in known if words)
        raise InvalidType(f"{name} must be {wanted}, not {type(value).__name__}")


def build_call(
    http_method: str, path: str, parse: Callable[[Any], R], arguments: Arguments, *, total: int = 0
) -> HttpCall[R]:
    """Return the call for these arguments: in the query string of a GET, else in the body.

    Args:
        http_method: The HTTP method.
        path: The path; `{memory_id:d}` stands for that argument.
        parse: Reads the result from the JSON of the response.
        arguments: The arguments by parameter name.
        total: What to report to `progress` when the call is done.
    """
    progress = arguments.pop("progress", None)
    if "{memory_id" in path:
        path = path.format(memory_id=arguments.pop("memory_id"))
    arguments = to_server_arguments(arguments)
    if http_method == "GET":
        return HttpCall(http_method, path, parse, params=encode_query(arguments))
    return HttpCall(http_method, path, parse, encode_body(arguments), progress=progress, total=total)


def to_server_arguments(arguments: Arguments) -> Arguments:
    """Return the arguments as the server expects them; filters are validated as in the embedded manager."""
    converted = dict(arguments)
    query = arguments.get("query")
    if query is not None and not isinstance(query, list | tuple):  # items are searched by a vector too
        converted["query"] = as_text(query, "query")
    if "where" in arguments:
        name = "memory_types" if "memory_types" in arguments else "types"
        make_filter(arguments["where"], arguments[name])
        types = arguments[name]
        converted[name] = [types] if isinstance(types, str) else to_list(types)
    if arguments.get("user") is ANY:
        converted |= {"user": None, "all_users": True}
    return converted


def parse_as(kind: type[R]) -> Callable[[Any], R]:
    """Return a function that reads a response as a value of this type."""
    return lambda response: deserialize(kind, response)


def parse_field(name: str) -> Callable[[Any], Any]:
    """Return a function that reads one field of a response."""
    return lambda response: response[name]


def encode_body(values: Mapping[str, object], *, nullable: str | None = None) -> bytes:
    """Return the values that are not None as a JSON body; the one named `nullable` may be None."""
    kept = {key: value for key, value in values.items() if value is not None or key == nullable}
    return b"{%s}" % b", ".join(json.dumps(name).encode() + b": " + _encode(name, kept[name]) for name in kept)


def _encode(name: str, value: object) -> bytes:
    try:
        text = json.dumps(value, default=_to_plain, ensure_ascii=False, allow_nan=False)
        return escape_surrogates(text).encode("utf-8")
    except InvalidType as error:
        raise InvalidType(f"{name}: {error}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInput(f"{name} cannot be sent as JSON: {error}") from error


def encode_query(values: Mapping[str, object]) -> dict[str, str | int]:
    """Return the values that are not None as query parameters."""
    return {key: _to_parameter(value) for key, value in values.items() if value is not None}


def to_list(values: object) -> object:
    return list(values) if isinstance(values, Sequence) and not isinstance(values, str | bytes) else values


def _to_parameter(value: object) -> str | int:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, int) else str(value)


def _to_plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if is_vendor_object(value):
        return as_message(value).to_dict()
    if isinstance(value, AnyUser):
        raise InvalidInput("a memory belongs to one user, or to none: ANY is for reading")
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return list(value)
    raise InvalidType(f"{type(value).__name__} cannot be sent as JSON: convert it first")

"""How results and errors become responses: JSON, and `application/problem+json` (RFC 9457) from the error tree."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, make_dataclass
from datetime import datetime
from functools import cache, wraps
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from fastapi.datastructures import DefaultPlaceholder
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic_core import PydanticSerializationError, to_jsonable_python
from pydantic_core import to_json as to_utf8_json
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from memoranda.errors import (
    PROBLEM_URN,
    TYPE_ERRORS,
    Conflict,
    InvalidInput,
    InvalidType,
    MemorandaError,
    Unavailable,
    describe_mistakes,
    summarize,
)
from memoranda.server.observability import LOGGER, OPERATIONS, trace_operation
from memoranda.storage.read_budget import AnswerTooLarge, ReadBudget, reading_at_most, too_large
from memoranda.types import Hit, Memory

MAX_ANSWER: Final = 32_000_000
"""Bytes of one answer, of those that only read and are not streamed."""
_MAX_READ: Final = 128_000_000
"""Characters of memories that are read for one answer: a recall looks at more of them than it returns."""
_YIELD_AFTER: Final = 200_000
"""Bytes that are serialized at a time, which takes about a millisecond."""
_ITEM: Final = 500
"""What an item costs beside its bytes, in bytes."""
MEDIA_TYPE: Final = "application/problem+json"
_TITLES: Final = {
    400: "The request cannot be parsed",
    403: "The request is not allowed",
    404: "There is no such route",
    405: "The route does not support this method",
    408: "The request did not arrive in time",
    413: "The request is too large",
    415: "The request is not JSON",
    421: "The Host header does not name this server",
}
_MAX_VALIDATION_ERRORS: Final = 20


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Memories in the order in which they were stored, and the cursor of the next page."""

    items: list[Memory]
    next_cursor: str | None
    """Send it as `cursor`; null on the last page."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Whether a signature is right."""

    ok: bool


@dataclass(frozen=True, slots=True)
class ContextResponse:
    """Recalled text for a prompt, and the hits it contains."""

    text: str
    hits: list[Hit]
    left_out: int
    tokens: int
    recall_id: str
    answerable: float
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ValueResponse:
    """A value stored under a key; null when there is none."""

    value: Any


@dataclass(frozen=True, slots=True)
class CountResponse:
    """How many items were changed."""

    count: int


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """The size and the retention of a conversation."""

    size: int
    max_messages: int | None
    retention_policy: str


@dataclass(frozen=True, slots=True)
class MessagesResponse:
    """Messages, oldest first, each in the form of `Message.to_dict()`."""

    messages: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session that was opened; its id is part of the paths of its routes."""

    session_id: str
    workflow_id: str
    metadata: dict[str, Any]
    auto_cleanup: bool
    started_at: datetime


@dataclass(frozen=True, slots=True)
class RecordId:
    """The id of a stored execution record."""

    id: str


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """Whether the server answers."""

    status: str


class JsonRoute(APIRoute):
    """A route that serializes its result directly, without validating it against the response model."""

    def __init__(self, path: str, endpoint: Callable[..., Awaitable[Any]], **options: Any) -> None:
        result = get_type_hints(endpoint)["return"]
        returns_response = isinstance(result, type) and issubclass(result, Response)
        # Including a router creates its routes a second time, with the options of the first.
        if isinstance(options.get("response_model"), DefaultPlaceholder) and not returns_response:
            options["response_model"] = to_openapi_type(result)
            operation = OPERATIONS.get((next(iter(options["methods"])), path))
            endpoint = _to_json_endpoint(endpoint, options.get("status_code") or 200, operation)
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_ParsedRequest(request.scope, request.receive))

        return handle


class _ParsedRequest(Request):
    """A request whose body the guard has parsed, within its limits."""

    async def json(self) -> object:
        return self.state.json


def _to_json_endpoint(
    endpoint: Callable[..., Awaitable[Any]], status: int, operation: str | None
) -> Callable[..., Awaitable[Response]]:
    @wraps(endpoint)
    async def respond(*args: Any, **kwargs: Any) -> Response:
        with trace_operation(operation, kwargs["caller"].principal.tenant if operation else "") as span:
            only_reads = getattr(kwargs.get("caller"), "only_reads", False)
            with reading_at_most(ReadBudget(_MAX_READ) if only_reads else None):
                result = await endpoint(*args, **kwargs)
            span.record_result(result)
        headers = {"ETag": f'"{result.version}"'} if isinstance(result, Memory) else None
        # What was written is answered, however long the answer is.
        body = await _serialize(result, _ResponseLimit(MAX_ANSWER if only_reads else None))
        return Response(body, status, headers, media_type="application/json")

    return respond


def to_json(value: object) -> bytes:
    """Return the value as JSON; as ASCII if a text in it is not valid Unicode, which UTF-8 cannot hold."""
    try:
        return to_utf8_json(value)
    except PydanticSerializationError:
        return json.dumps(to_jsonable_python(value)).encode("ascii")


@dataclass(slots=True)
class _ResponseLimit:
    """How many bytes an answer may still have; any number when None. One item always fits."""

    left: int | None
    since_yield: int = 0
    """Bytes that were made since others could run."""

    async def take(self, part: bytes, *, is_first: bool) -> None:
        if self.left is not None:
            self.left -= len(part)
            if self.left < 0 and not is_first:
                raise too_large()
        self.since_yield += len(part) + _ITEM
        if self.since_yield > _YIELD_AFTER:
            self.since_yield = 0
            await asyncio.sleep(0)


async def _serialize(value: object, limit: _ResponseLimit) -> bytes:
    """Return the value as JSON. A list is serialized item by item, so that others run in between, up to its limit."""
    if isinstance(value, list | tuple) and len(value) > 1 and not is_dataclass(value):
        parts: list[bytes] = []
        for item in value:
            parts.append(to_json(item))
            await limit.take(parts[-1], is_first=len(parts) == 1)
        return b"[" + b",".join(parts) + b"]"
    # A page is a list and more: its fields are sent, not its items.
    if is_dataclass(value) and (
        isinstance(value, list) or any(_is_list(getattr(value, f.name)) for f in fields(value))
    ):
        members = [
            to_json(field.name) + b":" + await _serialize(getattr(value, field.name), limit) for field in fields(value)
        ]
        return b"{" + b",".join(members) + b"}"
    return to_json(value)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) > 1


def to_openapi_type(kind: Any) -> Any:
    """Return the type to show in the OpenAPI document: JSON becomes Any, and every field is required."""
    if is_dataclass(kind) and isinstance(kind, type):
        return _to_openapi_dataclass(kind)
    if "ForwardRef" in repr(kind) and get_origin(kind) is not dict:
        return Any  # JSON is the only recursive type
    origin, args = get_origin(kind), get_args(kind)
    if origin is None or (origin.__module__ == "typing" and origin is not Union):
        return kind
    types = tuple(arg if arg is Ellipsis else to_openapi_type(arg) for arg in args)
    if origin is Union or origin.__name__ == "UnionType":
        return Union[types]  # noqa: UP007 - made from a tuple
    return origin[types]


@cache
def _to_openapi_dataclass(kind: type) -> type:
    hints = get_type_hints(kind)
    members = [(field.name, to_openapi_type(hints[field.name])) for field in fields(kind)]
    return make_dataclass(kind.__name__, members, namespace={"__doc__": kind.__doc__}, frozen=True)


class RequestRejected(InvalidInput):
    """A request rejected before its content is read."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def error_response(error: MemorandaError, request_id: str) -> Response:
    """Return the problem for the caller. The details of a server error go into the log only."""
    status = error.status
    if status >= 500:
        LOGGER.error("failed", exc_info=error, extra={"fields": {"request_id": request_id}})
    headers: dict[str, str] = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, Unavailable) and error.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    kind = InvalidInput if isinstance(error, RequestRejected | AnswerTooLarge) else type(error)
    title = _TITLES[status] if isinstance(error, RequestRejected) else summarize(kind)
    current = error.current if isinstance(error, Conflict) else None
    return _problem(status, kind.__name__, title, error.public_message(), headers=headers, current=current)


def internal_error_response() -> Response:
    """Return the problem for an unexpected exception."""
    return _problem(
        500, "Internal", "The server failed", "an unexpected error; the server's log has it under the request id"
    )


async def handle_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MemorandaError)
    return error_response(error, request.state.request_id)


async def handle_index_error(_: Request, error: Exception) -> Response:
    return _problem(422, "IndexError", "There is no message at that position", str(error))


async def handle_http_exception(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = _TITLES.get(error.status_code, "The request was refused")
    return _problem(error.status_code, "Refused", title, error.detail, headers=error.headers)


async def handle_validation_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found: Sequence[Mapping[str, Any]] = error.errors()[:_MAX_VALIDATION_ERRORS]
    kind = InvalidType if all(item["type"] in TYPE_ERRORS for item in found) else InvalidInput
    mistakes = describe_mistakes(found, skip=1)  # where in the request it was
    errors = [{"where": name.split("."), "what": what} for name, what in mistakes.items()]
    detail = "; ".join(f"{name} {what}".strip() for name, what in list(mistakes.items())[:3])
    return _problem(422, kind.__name__, summarize(kind), detail, errors=errors)


def _problem(
    status: int,
    kind: str,
    title: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[Mapping[str, Any]] = (),
    current: Memory | None = None,
) -> Response:
    body: dict[str, Any] = {"type": PROBLEM_URN + kind, "title": title, "status": status, "detail": detail}
    if errors:
        body["errors"] = list(errors)
    if current is not None:
        body["current"] = to_jsonable_python(current)
    # `json.dumps` writes ASCII only, so the detail may quote text that is not valid Unicode.
    return Response(json.dumps(body), status, headers=dict(headers or {}), media_type=MEDIA_TYPE)

"""The responses of the REST server that are not results of the manager, and how all results become JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields, is_dataclass, make_dataclass
from datetime import datetime
from functools import cache, wraps
from typing import Any, Union, get_args, get_origin, get_type_hints

from fastapi.datastructures import DefaultPlaceholder
from fastapi.routing import APIRoute
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from memoranda.server.observability import OPERATIONS, trace_operation
from memoranda.types import Hit, Memory

_CHUNK = 100
"""Items serialized at a time, which takes about a millisecond."""


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
            result = await endpoint(*args, **kwargs)
            span.record_result(result)
        headers = {"ETag": f'"{result.version}"'} if isinstance(result, Memory) else None
        return Response(await _serialize(result), status, headers, media_type="application/json")

    return respond


async def _serialize(value: object) -> bytes:
    """Return the value as JSON. A long list is serialized in chunks, so that other requests run in between."""
    if isinstance(value, list | tuple) and len(value) > _CHUNK and not is_dataclass(value):
        chunks = []
        for start in range(0, len(value), _CHUNK):
            chunks.append(to_json(value[start : start + _CHUNK])[1:-1])
            await asyncio.sleep(0)
        return b"[" + b",".join(chunks) + b"]"
    # A page is a list and more: its fields are sent, not its items.
    if is_dataclass(value) and (
        isinstance(value, list) or any(_is_long(getattr(value, f.name)) for f in fields(value))
    ):
        members = [to_json(field.name) + b":" + await _serialize(getattr(value, field.name)) for field in fields(value)]
        return b"{" + b",".join(members) + b"}"
    return to_json(value)


def _is_long(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) > _CHUNK


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

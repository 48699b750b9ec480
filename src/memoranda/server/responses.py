"""What the REST door gives back beside the manager's own values."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields, is_dataclass, make_dataclass
from functools import cache, wraps
from typing import Any, Union, get_args, get_origin, get_type_hints

from fastapi.datastructures import DefaultPlaceholder
from fastapi.routing import APIRoute
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from memoranda.server.observability import OPERATIONS, operation
from memoranda.types import Hit, Memory


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Memories in the order of their ids, and where the next ones begin."""

    items: list[Memory]
    next_cursor: str | None
    """Send it as `cursor`; null when these were the last."""


@dataclass(frozen=True, slots=True)
class ContextText:
    """Recalled text for a prompt, and what it is made of."""

    text: str
    hits: list[Hit]
    left_out: int
    tokens: int
    recall_id: str
    answerable: float
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A value that was kept under a key; null when there is none."""

    value: Any


@dataclass(frozen=True, slots=True)
class Done:
    """How many were touched."""

    count: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as a whole."""

    size: int
    max_messages: int | None
    retention_policy: str


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages, oldest first, each as `Message.to_dict()` gives it."""

    messages: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """A session that is open; its id is part of the addresses of what it does."""

    session_id: str
    workflow_id: str
    metadata: dict[str, Any]
    auto_cleanup: bool | None


@dataclass(frozen=True, slots=True)
class RecordId:
    """The id of an execution record that is on disk."""

    id: str


@dataclass(frozen=True, slots=True)
class Alive:
    """The server answers."""

    status: str


_AT_ONCE = 100
"""Values written in one go, in about a millisecond."""


class AnswerRoute(APIRoute):
    """A route whose value is written as it is, without being checked once more on the way out."""

    def __init__(self, path: str, endpoint: Callable[..., Awaitable[Any]], **options: Any) -> None:
        answer = get_type_hints(endpoint)["return"]
        # Including a router makes its routes again, from what this one was given.
        if isinstance(options.get("response_model"), DefaultPlaceholder) and not issubclass_of(answer, Response):
            options["response_model"] = documented(answer)
            named = OPERATIONS.get((next(iter(options["methods"])), path))
            endpoint = _written(endpoint, options.get("status_code") or 200, named)
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handler = super().get_route_handler()

        async def parsed(request: Request) -> Response:
            return await handler(_ParsedRequest(request.scope, request.receive))

        return parsed


class _ParsedRequest(Request):
    """A request whose body was parsed by the guard, inside its limits."""

    async def json(self) -> object:
        return self.state.json


def _written(
    endpoint: Callable[..., Awaitable[Any]], status: int, named: str | None
) -> Callable[..., Awaitable[Response]]:
    @wraps(endpoint)
    async def write(*args: Any, **kwargs: Any) -> Response:
        with operation(named, kwargs["caller"].principal.tenant if named else "") as span:
            result = await endpoint(*args, **kwargs)
            span.found(result)
        return Response(await _encoded(result), status, media_type="application/json")

    return write


async def _encoded(value: object) -> bytes:
    """The value as JSON. A long list is written in pieces, so that others get their turn in between."""
    if isinstance(value, list | tuple) and len(value) > _AT_ONCE:
        pieces = []
        for start in range(0, len(value), _AT_ONCE):
            pieces.append(to_json(value[start : start + _AT_ONCE])[1:-1])
            await asyncio.sleep(0)
        return b"[" + b",".join(pieces) + b"]"
    if is_dataclass(value) and any(_is_long(getattr(value, each.name)) for each in fields(value)):
        members = [to_json(each.name) + b":" + await _encoded(getattr(value, each.name)) for each in fields(value)]
        return b"{" + b",".join(members) + b"}"
    return to_json(value)


def _is_long(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) > _AT_ONCE


def documented(kind: Any) -> Any:
    """The type as the OpenAPI document shows it: any JSON is just that, and every field is always there."""
    if is_dataclass(kind) and isinstance(kind, type):
        return _twin(kind)
    if "ForwardRef" in repr(kind) and get_origin(kind) is not dict:
        return Any  # JSON is the one type that names itself
    origin, args = get_origin(kind), get_args(kind)
    if origin is None or (origin.__module__ == "typing" and origin is not Union):
        return kind
    known = tuple(each if each is Ellipsis else documented(each) for each in args)
    if origin is Union or origin.__name__ == "UnionType":
        return Union[known]  # noqa: UP007 - made from a tuple
    return origin[known]


@cache
def _twin(kind: type) -> type:
    hints = get_type_hints(kind)
    shown = [(each.name, documented(hints[each.name])) for each in fields(kind)]
    return make_dataclass(kind.__name__, shown, namespace={"__doc__": kind.__doc__}, frozen=True)


def issubclass_of(kind: object, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)

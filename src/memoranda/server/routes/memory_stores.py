"""`/v1/memory_stores` as Anthropic's own client calls it: `Anthropic(base_url=…, api_key=…).beta.memory_stores`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from memoranda.errors import Conflict, InvalidInput, MemorandaError, NotFound
from memoranda.server.memory_store_values import Json
from memoranda.server.memory_stores import AsyncMemoryStores, MemoryStores, Page, PathTaken
from memoranda.server.responses import to_json
from memoranda.server.routes import Reader, Writer

_MAX_PAGE: Final = 100
_MAX_FULL: Final = 20
_TYPES: Final = (
    (PathTaken, "memory_path_conflict_error"),
    (Conflict, "memory_precondition_failed_error"),
    (NotFound, "not_found_error"),
    (InvalidInput, "invalid_request_error"),
)


class AnthropicRoute(APIRoute):
    """A route whose errors have the form that Anthropic's client reads."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                response: Response = await handle(request)
                return response
            except MemorandaError as error:
                kind = next((name for known, name in _TYPES if isinstance(error, known)), None)
                if kind is None:
                    raise
                status = 400 if isinstance(error, InvalidInput) else error.status
                problem = {"type": "error", "error": {"type": kind, "message": error.public_message()}}
                return _json(problem, status)

        return answer


routes = APIRouter(prefix="/v1/memory_stores", include_in_schema=False, route_class=AnthropicRoute)


def _stores(caller: Reader | Writer) -> AsyncMemoryStores:
    manager = caller.memory._inner
    stores = MemoryStores(manager._components.items, manager._scope(None, None), caller.principal.key_id)
    return AsyncMemoryStores(stores, caller.memory._threads)


def _read(caller: Reader) -> AsyncMemoryStores:
    return _stores(caller)


def _change(caller: Writer) -> AsyncMemoryStores:
    return _stores(caller)


def _body(request: Request) -> Json:
    body = getattr(request.state, "json", None) or {}
    if not isinstance(body, dict):
        raise InvalidInput("the body must be an object")
    return body


READ, CHANGE = Depends(_read), Depends(_change)


@routes.post("")
async def create_store(request: Request, stores: AsyncMemoryStores = CHANGE) -> Response:
    body = _body(request)
    return _json(await stores.create_store(body.get("name"), body.get("description"), body.get("metadata")))


@routes.get("")
async def list_stores(request: Request, stores: AsyncMemoryStores = READ) -> Response:
    archived = request.query_params.get("include_archived", "false").lower() == "true"
    in_time = _in_time(request)

    def is_wanted(store: Json) -> bool:
        return (archived or store["archived_at"] is None) and in_time(store)

    return _page(request, await stores.list_stores(is_wanted, request.query_params.get("page"), _limit(request)))


@routes.get("/{store_id}")
async def get_store(store_id: str, stores: AsyncMemoryStores = READ) -> Response:
    return _json(await stores.get_store(store_id))


@routes.post("/{store_id}")
async def update_store(store_id: str, request: Request, stores: AsyncMemoryStores = CHANGE) -> Response:
    return _json(await stores.update_store(store_id, _body(request)))


@routes.delete("/{store_id}")
async def delete_store(store_id: str, stores: AsyncMemoryStores = CHANGE) -> Response:
    return _json(await stores.delete_store(store_id))


@routes.post("/{store_id}/archive")
async def archive_store(store_id: str, stores: AsyncMemoryStores = CHANGE) -> Response:
    return _json(await stores.archive_store(store_id))


@routes.post("/{store_id}/memories")
async def create_memory(store_id: str, request: Request, stores: AsyncMemoryStores = CHANGE) -> Response:
    body = _body(request)
    return _show(request, await stores.create_memory(store_id, body.get("path"), body.get("content")), "basic")


@routes.get("/{store_id}/memories")
async def list_memories(store_id: str, request: Request, stores: AsyncMemoryStores = READ) -> Response:
    prefix, depth = request.query_params.get("path_prefix", "/"), _number(request, "depth", 0, 0, _MAX_PAGE)
    page, limit = request.query_params.get("page"), _limit(request, content=True)
    return _page(request, await stores.list_memories(store_id, prefix, depth, page, limit), content=True)


@routes.get("/{store_id}/memories/{memory_id}")
async def get_memory(store_id: str, memory_id: str, request: Request, stores: AsyncMemoryStores = READ) -> Response:
    return _show(request, await stores.get_memory(store_id, memory_id), "full")


@routes.post("/{store_id}/memories/{memory_id}")
async def update_memory(
    store_id: str, memory_id: str, request: Request, stores: AsyncMemoryStores = CHANGE
) -> Response:
    return _show(request, await stores.update_memory(store_id, memory_id, _body(request)), "basic")


@routes.delete("/{store_id}/memories/{memory_id}")
async def delete_memory(
    store_id: str, memory_id: str, request: Request, stores: AsyncMemoryStores = CHANGE
) -> Response:
    expected = request.query_params.get("expected_content_sha256")
    return _json(await stores.delete_memory(store_id, memory_id, expected))


@routes.get("/{store_id}/memory_versions")
async def list_versions(store_id: str, request: Request, stores: AsyncMemoryStores = READ) -> Response:
    query, in_time = request.query_params, _in_time(request)

    def is_wanted(version: Json) -> bool:
        if query.get("session_id") or query.get("service_account_id"):
            return False  # all versions here are written with a key
        author, key = version["created_by"].get("api_key_id"), query.get("api_key_id")
        same = all(query.get(name) in (None, version[name]) for name in ("memory_id", "operation"))
        return same and key in (None, author) and in_time(version)

    page, limit = query.get("page"), _limit(request, content=True)
    return _page(request, await stores.list_versions(store_id, is_wanted, page, limit), content=True)


@routes.get("/{store_id}/memory_versions/{version_id}")
async def get_version(store_id: str, version_id: str, request: Request, stores: AsyncMemoryStores = READ) -> Response:
    return _show(request, await stores.get_version(store_id, version_id), "full")


@routes.post("/{store_id}/memory_versions/{version_id}/redact")
async def redact_version(
    store_id: str, version_id: str, request: Request, stores: AsyncMemoryStores = CHANGE
) -> Response:
    return _show(request, await stores.redact_version(store_id, version_id), "full")


def _view(request: Request, default: str) -> str:
    view = request.query_params.get("view", default)
    if view not in ("basic", "full"):
        raise InvalidInput(f"view must be basic or full, not {view[:100]!r}")
    return view


def _show(request: Request, document: Json, default: str) -> Response:
    return _json(document if _view(request, default) == "full" else {**document, "content": None})


def _page(request: Request, page: Page, *, content: bool = False) -> Response:
    shown, following = page
    if content and _view(request, "basic") != "full":
        shown = [{**each, "content": None} if "content" in each else each for each in shown]
    return _json({"data": shown, "next_page": following})


def _limit(request: Request, *, content: bool = False) -> int:
    most = _MAX_FULL if content and _view(request, "basic") == "full" else _MAX_PAGE
    return min(_number(request, "limit", 20, 1, _MAX_PAGE), most)


def _json(value: object, status: int = 200) -> Response:
    return Response(to_json(value), status, media_type="application/json")


def _number(request: Request, name: str, default: int, least: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isdecimal() or len(text) > 10 or not least <= int(text) <= most:
        raise InvalidInput(f"{name} must be a whole number of {least} to {most:,}")
    return int(text)


def _in_time(request: Request) -> Callable[[Json], bool]:
    first, last = _time(request, "created_at[gte]"), _time(request, "created_at[lte]")

    def test(document: Json) -> bool:
        created = datetime.fromisoformat(document["created_at"])
        return (first is None or created >= first) and (last is None or created <= last)

    return test


def _time(request: Request, name: str) -> datetime | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(f"{name} must be a time such as 2026-03-01T12:00:00Z") from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)

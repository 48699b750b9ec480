"""The application: routes behind the guard, over one set of services."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from memoranda.embedding.base import Embedder
from memoranda.errors import MemorandaError
from memoranda.server import errors
from memoranda.server.config import ServerConfig
from memoranda.server.guard import Guard
from memoranda.server.observability import Metrics, RequestLog
from memoranda.server.routes import (
    conversations,
    executions,
    knowledge,
    memories,
    recall,
    sessions,
    status,
    transfer,
    upkeep,
    values,
)
from memoranda.server.services import Services
from memoranda.settings import MemoryConfig
from memoranda.types import Clock

_RESOURCES = (recall, memories, conversations, sessions, values, executions, knowledge, upkeep, status, transfer)
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:memoranda:NotFound"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {"type": "array", "items": {"type": "object"}},
    },
}
_REFUSALS = {
    400: "The request cannot be read",
    401: "No key, or one that is not valid",
    403: "The key, or the web page, may not do this",
    404: "There is no such thing, or it belongs to somebody else",
    408: "The request did not arrive in time",
    409: "Somebody else changed it first, or the idempotency key was used for another request",
    413: "The request is too large",
    415: "The request is no JSON",
    421: "The server does not go by the name in the Host header",
    422: "The request is wrong",
    429: "The key has used up its rate",
    503: "A store or model cannot answer now",
}


def build_app(
    config: ServerConfig, memory: MemoryConfig, *, embedder: Embedder | None = None, clock: Clock | None = None
) -> FastAPI:
    """The whole server as an ASGI application; its lifespan opens and closes the store."""
    services, metrics = Services(config, memory, embedder=embedder, clock=clock), Metrics()
    app = FastAPI(
        title="Memoranda",
        summary="Memory for AI agents",
        version=version("memoranda"),
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        responses={code: _refusal(text) for code, text in _REFUSALS.items()},
        separate_input_output_schemas=False,
    )
    app.state.config, app.state.services, app.state.metrics = config, services, metrics
    for resource in _RESOURCES:
        app.include_router(resource.routes)
    app.include_router(status.open_routes)
    app.add_exception_handler(MemorandaError, errors.on_error)
    app.add_exception_handler(IndexError, errors.on_index)
    app.add_exception_handler(RequestValidationError, errors.on_validation)
    app.add_exception_handler(HTTPException, errors.on_http)
    app.add_middleware(Guard, config=config, services=services, metrics=metrics, log=RequestLog())
    app.openapi = lambda: _with_keys(app)  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    services: Services = app.state.services
    await services.open()
    watch = asyncio.create_task(app.state.metrics.watch_loop())
    try:
        yield
    finally:
        watch.cancel()
        await services.close()


def _refusal(text: str) -> dict[str, Any]:
    return {"description": text, "content": {errors.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def _with_keys(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        parts = document.setdefault("components", {})
        parts.setdefault("schemas", {})["Problem"] = _PROBLEM
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
        document["paths"]["/healthz"]["get"]["security"] = []
        app.openapi_schema = document
    return app.openapi_schema

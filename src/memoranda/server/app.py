"""The ASGI application: the routes behind the guard, over one set of services."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from memoranda.embedding.base import Embedder
from memoranda.errors import MemorandaError
from memoranda.server import responses
from memoranda.server.config import ServerConfig
from memoranda.server.guard import Guard
from memoranda.server.observability import Metrics
from memoranda.server.routes import (
    dashboard,
    maintenance,
    mem0,
    memories,
    memory_stores,
    workflows,
)
from memoranda.server.services import Services
from memoranda.settings import MemoryConfig
from memoranda.types import Clock

_RESOURCES = (
    memories.recall_routes,
    memories.routes,
    memories.fact_routes,
    workflows.conversation_routes,
    workflows.routes,
    workflows.value_routes,
    memories.item_routes,
    workflows.execution_routes,
    workflows.knowledge_routes,
    maintenance.routes,
    maintenance.status_routes,
    maintenance.transfer_routes,
    mem0.routes,
    memory_stores.routes,
    maintenance.open_routes,
    dashboard.routes,
)
_PROBLEM_SCHEMA = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:memoranda:NotFound"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {"type": "array", "items": {"type": "object"}},
        "current": {"type": "object", "description": "The memory as it is now, when an update came too late"},
    },
}
_ERROR_RESPONSES = {
    400: "The request cannot be parsed",
    401: "The key is missing or not valid",
    403: "The key, or the web page, is not allowed to do this",
    404: "It does not exist, or belongs to another tenant",
    408: "The request did not arrive in time",
    409: "It was changed in the meantime, or the idempotency key was used for another request",
    412: "The memory is not at the version that If-Match names",
    413: "The request is too large",
    415: "The request is not JSON",
    421: "The Host header does not name this server",
    422: "The request is not valid",
    429: "The key has exceeded its rate limit",
    503: "A store or model is not available",
}


def build_app(
    config: ServerConfig, memory: MemoryConfig, *, embedder: Embedder | None = None, clock: Clock | None = None
) -> FastAPI:
    """Build the ASGI application; its lifespan opens and closes the store.

    Args:
        config: The settings of the server.
        memory: The settings of the store and the models.
        embedder: An embedder to use instead of the configured one.
        clock: A clock to use instead of the system's.
    """
    services, metrics = Services(config, memory, embedder=embedder, clock=clock), Metrics()
    app = _new_app()
    app.state.config, app.state.services, app.state.metrics = config, services, metrics
    app.router.routes += _routes()
    app.add_exception_handler(MemorandaError, responses.handle_error)
    app.add_exception_handler(IndexError, responses.handle_index_error)
    app.add_exception_handler(RequestValidationError, responses.handle_validation_error)
    app.add_exception_handler(HTTPException, responses.handle_http_exception)
    app.add_middleware(Guard, config=config, services=services, metrics=metrics)
    app.openapi = lambda: _build_openapi(app)  # type: ignore[method-assign]
    return app


def _new_app() -> FastAPI:
    return FastAPI(
        title="Memoranda",
        summary="Memory for AI agents",
        version=version("memoranda"),
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        responses={status: _error_response(text) for status, text in _ERROR_RESPONSES.items()},
        separate_input_output_schemas=False,
        generate_unique_id_function=lambda route: route.name,
    )


@cache
def _routes() -> list[BaseRoute]:
    """Return the routes of every application of this process: FastAPI takes longer for them than for all the rest."""
    app = _new_app()
    own = len(app.routes)
    for routes in _RESOURCES:
        app.include_router(routes)
    return app.routes[own:]


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    services: Services = app.state.services
    await services.open()
    lag_task = asyncio.create_task(app.state.metrics.measure_loop_lag())
    try:
        yield
    finally:
        lag_task.cancel()
        await services.close()


def _error_response(text: str) -> dict[str, Any]:
    return {
        "description": text,
        "content": {responses.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _build_openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        components = document.setdefault("components", {})
        components.setdefault("schemas", {})["Problem"] = _PROBLEM_SCHEMA
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
        document["paths"]["/healthz"]["get"]["security"] = []
        app.openapi_schema = document
    return app.openapi_schema

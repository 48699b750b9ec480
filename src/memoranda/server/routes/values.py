"""Values that an agent stores under a key."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from memoranda.server.access import Reader, Writer, create_router
from memoranda.server.requests import DeleteValueRequest, SaveValueRequest, ValueQuery
from memoranda.server.responses import CountResponse, ValueResponse

routes = create_router("values")


@routes.put("/values")
async def save_value(request: SaveValueRequest, caller: Writer) -> CountResponse:
    """Store a value: short-term until it expires, long-term permanently."""
    return CountResponse(int(await caller.memory.save(**request.arguments())))


@routes.post("/values/delete")
async def delete_value(request: DeleteValueRequest, caller: Writer) -> CountResponse:
    """Delete a value; the count is 0 when there was none."""
    return CountResponse(int(await caller.memory.delete_value(**request.arguments())))


@routes.get("/values")
async def retrieve_value(query: Annotated[ValueQuery, Query()], caller: Reader) -> ValueResponse:
    """Return a value; null when there is none."""
    return ValueResponse(await caller.memory.retrieve(**query.arguments()))

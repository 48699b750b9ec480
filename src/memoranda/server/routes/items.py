"""Items: values under a caller's own key in a namespace."""

from __future__ import annotations

from memoranda.items.base import Item, NamespaceActivity
from memoranda.server.access import Reader, Writer, create_router
from memoranda.server.requests import (
    DeleteItemsRequest,
    ItemRequest,
    NamespacesRequest,
    PutItemsRequest,
    SearchItemsRequest,
)
from memoranda.server.responses import CountResponse

routes = create_router("items")


@routes.post("/items")
async def put_items(request: PutItemsRequest, caller: Writer) -> list[Item]:
    """Store values by their keys in one commit."""
    return await caller.memory.put_many(**request.arguments(), **caller.write_scope(request))


@routes.post("/items/get")
async def get_item(request: ItemRequest, caller: Reader) -> Item | None:
    """Return an item; null when there is none."""
    if request.refresh:
        caller.principal.require("write")
    return await caller.memory.get_item(**request.arguments(), **caller.write_scope(request))


@routes.post("/items/delete")
async def delete_items(request: DeleteItemsRequest, caller: Writer) -> CountResponse:
    """Delete items; the count says how many there were."""
    scope = caller.write_scope(request)
    return CountResponse(await caller.memory.delete_item(request.namespace, request.keys, **scope))


@routes.post("/items/search")
async def search_items(request: SearchItemsRequest, caller: Reader) -> list[Item]:
    """Return items of a namespace and of those below it, by score with a query, else the one put last first."""
    if request.refresh:
        caller.principal.require("write")
    return await caller.memory.search_items(**request.arguments(), **caller.read_scope(request))


@routes.post("/items/namespaces")
async def list_namespaces(request: NamespacesRequest, caller: Reader) -> list[NamespaceActivity]:
    """Return the namespaces that have items and how many, sorted."""
    return await caller.memory.namespaces(**request.arguments(), **caller.read_scope(request))

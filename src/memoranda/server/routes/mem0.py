"""mem0's REST interface, for `mem0.MemoryClient(api_key=…, host="http://…/mem0")`.

mem0 reads memories by their id alone, and those of an agent or a run for all users: both need a key with the admin
scope.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Query
from starlette.requests import Request

from memoranda.errors import InvalidInput, InvalidType, NotFound
from memoranda.integrations.mem0 import AsyncMemory
from memoranda.integrations.mem0.answers import Answer
from memoranda.integrations.mem0.filters import OWNERS, check_filters, read_owner
from memoranda.server.fields import WHOLE
from memoranda.server.responses import JsonRoute
from memoranda.server.routes import Admin, Caller, Reader, Writer
from memoranda.types import ANY

routes = APIRouter(prefix="/mem0", route_class=JsonRoute, include_in_schema=False)

JsonObject = Annotated[dict[str, Any], Body()]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000), WHOLE]
_ALL: Final = 2**62
_ADD: Final = frozenset((*OWNERS, "metadata", "timestamp", "expiration_date", "infer"))
_LIST: Final = frozenset(("filters", "show_expired"))
_SEARCH: Final = frozenset(("filters", "top_k", "threshold", "rerank", "reference_date", "show_expired"))
_UPDATE: Final = frozenset(("text", "metadata", "expiration_date"))
_WITHOUT_EFFECT: Final = frozenset(("async_mode", "output_format", "version", "enable_graph", "org_id", "project_id"))
"""How the hosted service works inside, and who pays for it; here they change nothing."""


@routes.get("/v1/ping/")
async def ping(caller: Reader) -> Answer:
    """Return that the key is valid, and whose it is."""
    return {
        "status": "ok",
        "org_id": caller.principal.tenant,
        "project_id": caller.principal.tenant,
        "user_email": None,
    }


@routes.post("/v3/memories/add/")
async def add(body: JsonObject, caller: Writer) -> Answer:
    """Store messages."""
    messages, names = body.pop("messages", None), body.pop("filters", None) or {}
    return await AsyncMemory(caller.memory).add(messages, **_choose({**names, **body}, _ADD))


@routes.post("/v3/memories/")
async def get_all(
    body: JsonObject, caller: Reader, request: Request, page: PageNumber = 1, page_size: PageNumber = 100
) -> Answer:
    """Return a page of the memories that match."""
    options = _choose(body, _LIST)
    _check_owner(caller, options.get("filters"))
    found = (await AsyncMemory(caller.memory).get_all(**options, top_k=_ALL))["results"]
    stop = page * page_size
    return {
        "count": len(found),
        "next": str(request.url.include_query_params(page=page + 1)) if stop < len(found) else None,
        "previous": str(request.url.include_query_params(page=page - 1)) if page > 1 else None,
        "results": found[stop - page_size : stop],
    }


@routes.post("/v3/memories/search/")
async def search(body: JsonObject, caller: Reader) -> Answer:
    """Return the memories that answer a query, best first."""
    query = body.pop("query", None)
    options = _choose(body, _SEARCH)
    _check_owner(caller, options.get("filters"))
    return await AsyncMemory(caller.memory).search(query, **options)


@routes.get("/v1/memories/{memory_id}/")
async def get(memory_id: str, caller: Admin) -> Answer:
    """Return one memory."""
    return await _get(AsyncMemory(caller.memory), memory_id)


@routes.put("/v1/memories/{memory_id}/")
async def update(memory_id: str, body: JsonObject, caller: Admin) -> Answer:
    """Change a memory, and return it as it is now."""
    memory = AsyncMemory(caller.memory)
    await memory.update(memory_id, **_choose(body, _UPDATE))
    return await _get(memory, memory_id)


@routes.delete("/v1/memories/{memory_id}/")
async def delete(memory_id: str, caller: Admin) -> Answer:
    """Delete a memory."""
    return await AsyncMemory(caller.memory).delete(memory_id)


@routes.get("/v1/memories/{memory_id}/history/")
async def history(memory_id: str, caller: Admin) -> list[Answer]:
    """Return how a memory was added and changed."""
    return await AsyncMemory(caller.memory).history(memory_id)


@routes.delete("/v1/memories/")
async def delete_all(request: Request, caller: Writer) -> Answer:
    """Delete all memories of a user, an agent or a run."""
    names = _choose(dict(request.query_params), frozenset(OWNERS))
    _check_owner(caller, names)
    return await AsyncMemory(caller.memory).delete_all(**names)


@routes.put("/v1/batch/")
async def update_several(body: JsonObject, caller: Admin) -> Answer:
    """Change several memories, one after the other."""
    memory, changes = AsyncMemory(caller.memory), [dict(each) for each in _memories_of(body)]
    for change in changes:
        await memory.update(change.pop("memory_id"), **_choose(change, _UPDATE))
    return {"message": f"Successfully updated {len(changes)} memories"}


@routes.delete("/v1/batch/")
async def delete_several(body: JsonObject, caller: Admin) -> Answer:
    """Delete several memories, one after the other."""
    memory, chosen = AsyncMemory(caller.memory), _memories_of(body)
    for each in chosen:
        await memory.delete(each["memory_id"])
    return {"message": f"Successfully deleted {len(chosen)} memories"}


@routes.get("/v1/entities/")
async def get_entities(caller: Admin) -> Answer:
    """Return the users, agents and runs that have memories, the first thousand of each."""
    users = [(each.user, "user", each.memories) for each in await caller.memory.users(limit=1000)]
    agents = [(each.name, "agent", each.memories) for each in await caller.memory.agents(limit=1000, user=ANY)]
    runs = [(each.name, "run", each.memories) for each in await caller.memory.sessions(limit=1000, user=ANY)]
    entities = [
        {"id": name, "name": name, "type": kind, "total_memories": count} for name, kind, count in users + agents + runs
    ]
    return {"count": len(entities), "next": None, "previous": None, "results": entities}


@routes.delete("/v2/entities/{kind}/{name}/")
async def delete_entity(kind: str, name: str, caller: Admin) -> Answer:
    """Delete all memories of a user, an agent or a run."""
    if f"{kind}_id" not in OWNERS:
        raise InvalidInput(f"unknown kind {kind!r}: use user, agent or run")
    await AsyncMemory(caller.memory).delete_all(**{f"{kind}_id": name})
    return {"message": "Entity deleted successfully!"}


async def _get(memory: AsyncMemory, memory_id: str) -> Answer:
    found = await memory.get(memory_id)
    if found is None:
        raise NotFound(f"no memory {memory_id}")
    return found


def _check_owner(caller: Caller, filters: object) -> None:
    """Reading and deleting across users needs the admin scope, as everywhere."""
    if read_owner(check_filters(filters or {}))["user"] is ANY:
        caller.principal.require("admin")


def _choose(body: Mapping[str, Any], known: Set[str]) -> dict[str, Any]:
    """Return the options of a request; one that would change the answer, and is not supported, is an error."""
    if unknown := sorted(set(body) - known - _WITHOUT_EFFECT):
        raise InvalidInput(f"{unknown[0]} is not supported here: use {', '.join(sorted(known))}")
    return {key: value for key, value in body.items() if key in known}


def _memories_of(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    memories = body.get("memories")
    if not isinstance(memories, list) or not all(isinstance(each, dict) and "memory_id" in each for each in memories):
        raise InvalidType("memories must be a list of objects, each with a memory_id")
    return memories

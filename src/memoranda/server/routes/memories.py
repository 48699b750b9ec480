"""Memories, single and in lists, and the associations between them."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Header, Path, Query

from memoranda.errors import Conflict, InvalidInput
from memoranda.results.maintenance import History
from memoranda.server.access import Reader, Writer, create_router
from memoranda.server.requests import (
    AddMemoriesRequest,
    AddMemoryRequest,
    AssociateRequest,
    DeleteRequest,
    ListRequest,
    MemoryId,
    QuarantineRequest,
    RelatedQuery,
    ScopedRequest,
    ScopeQuery,
    UpdateRequest,
)
from memoranda.server.responses import CountResponse, MemoryPage
from memoranda.types import Association, Memory, Related

routes = create_router("memories")
_ETAG = re.compile(r'"([1-9][0-9]{0,17})"')
PathId = Annotated[MemoryId, Path(description="The id of a memory")]
ScopeParams = Annotated[ScopeQuery, Query()]


@routes.post("/memories", status_code=201)
async def add_memory(request: AddMemoryRequest, caller: Writer) -> Memory:
    """Store one memory."""
    return await caller.memory.add_memory(**request.arguments(), **caller.write_scope(request))


@routes.post("/memories/batch", status_code=201)
async def add_memories(request: AddMemoriesRequest, caller: Writer) -> list[Memory]:
    """Store many memories in one commit."""
    return await caller.memory.add_memories(**request.arguments(), **caller.write_scope(request))


@routes.post("/memories/list")
async def list_memories(request: ListRequest, caller: Reader) -> MemoryPage:
    """Return memories in the order in which they were stored, one page at a time."""
    after = int(request.cursor or 0)
    items = await caller.memory.list_memories(after=after, **request.arguments("cursor"), **caller.read_scope(request))
    return MemoryPage(items, str(items[-1].id) if len(items) == request.limit else None)


@routes.post("/memories/delete")
async def delete_memories(request: DeleteRequest, caller: Writer) -> CountResponse:
    """Delete all given memories, or none."""
    return CountResponse(await caller.memory.delete(request.memory_ids, **caller.read_scope(request)))


@routes.get("/memories/{memory_id}")
async def get_memory(memory_id: PathId, query: ScopeParams, caller: Reader) -> Memory:
    """Return one memory."""
    return await caller.memory.get(memory_id, **caller.read_scope(query))


@routes.patch("/memories/{memory_id}")
async def update_memory(
    memory_id: PathId, request: UpdateRequest, caller: Writer, if_match: Annotated[str | None, Header()] = None
) -> Memory:
    """Change a memory; fields left out stay as they are.

    With `If-Match` (the `ETag` of a response) or `expected_version`, a memory that was changed since stays as it is,
    and the problem holds it as `current`.
    """
    version = _expected_version(request.expected_version, if_match)
    arguments = request.arguments("expected_version")
    try:
        return await caller.memory.update(
            memory_id, **arguments, expected_version=version, **caller.read_scope(request)
        )
    except Conflict as error:
        raise error if if_match is None else Conflict(str(error), current=error.current, status=412) from error


@routes.delete("/memories/{memory_id}")
async def delete_memory(memory_id: PathId, query: ScopeParams, caller: Writer) -> CountResponse:
    """Delete a memory."""
    return CountResponse(await caller.memory.delete(memory_id, **caller.read_scope(query)))


@routes.get("/memories/{memory_id}/related")
async def get_related(memory_id: PathId, query: Annotated[RelatedQuery, Query()], caller: Reader) -> list[Related]:
    """Return memories up to `depth` associations away, nearest and strongest first."""
    return await caller.memory.get_related_memories(
        memory_id, **query.arguments(), agent=query.agent, user=caller.read_user(query)
    )


@routes.get("/memories/{memory_id}/history")
async def get_history(memory_id: PathId, query: ScopeParams, caller: Reader) -> History:
    """Return the earlier versions of a memory, its sources, and what superseded it."""
    return await caller.memory.history(memory_id, **caller.read_scope(query))


@routes.post("/memories/{memory_id}/archive")
async def archive(memory_id: PathId, request: ScopedRequest, caller: Writer) -> Memory:
    """Exclude a memory from recall until it is restored."""
    return await caller.memory.archive(memory_id, **caller.read_scope(request))


@routes.post("/memories/{memory_id}/restore")
async def restore(memory_id: PathId, request: ScopedRequest, caller: Writer) -> Memory:
    """Include an archived memory in recall again."""
    return await caller.memory.restore(memory_id, **caller.read_scope(request))


@routes.post("/memories/{memory_id}/release")
async def release(memory_id: PathId, request: ScopedRequest, caller: Writer) -> Memory:
    """Take a memory out of quarantine, so that it takes part in recall."""
    return await caller.memory.release(memory_id, **caller.read_scope(request))


@routes.post("/memories/{memory_id}/quarantine")
async def quarantine(memory_id: PathId, request: QuarantineRequest, caller: Writer) -> Memory:
    """Put a memory into quarantine, where no recall finds it until it is released."""
    return await caller.memory.quarantine(memory_id, **request.arguments(), **caller.read_scope(request))


@routes.post("/memories/discard")
async def discard_memories(request: DeleteRequest, caller: Writer) -> CountResponse:
    """Delete all given memories in quarantine, or none."""
    return CountResponse(await caller.memory.discard(request.memory_ids, **caller.read_scope(request)))


@routes.post("/memories/{memory_id}/pin")
async def pin(memory_id: PathId, request: ScopedRequest, caller: Writer) -> Memory:
    """Protect a memory from upkeep."""
    return await caller.memory.pin(memory_id, **caller.read_scope(request))


@routes.post("/memories/{memory_id}/unpin")
async def unpin(memory_id: PathId, request: ScopedRequest, caller: Writer) -> Memory:
    """Remove the protection from upkeep."""
    return await caller.memory.unpin(memory_id, **caller.read_scope(request))


@routes.post("/associations", status_code=201)
async def associate(request: AssociateRequest, caller: Writer) -> Association:
    """Link two memories; linking them again sets the new strength and metadata."""
    return await caller.memory.add_memory_association(
        **request.arguments(), agent=request.agent, user=caller.read_user(request)
    )


def _expected_version(expected: int | None, if_match: str | None) -> int | None:
    """Return the version that the body or the `If-Match` header asks for; `*` matches every version."""
    if if_match is None or if_match.strip() == "*":
        return expected
    match = _ETAG.fullmatch(if_match.strip())
    if match is None:
        raise InvalidInput('If-Match must be one ETag of this memory, such as "3", or *')
    version = int(match[1])
    if expected not in (None, version):
        raise InvalidInput("If-Match and expected_version name different versions: send one of them")
    return version

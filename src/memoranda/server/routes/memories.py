"""Memories, one by one and in lists, and what links them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from memoranda.results import History
from memoranda.server.access import Reader, Writer, router
from memoranda.server.requests import (
    AddMemories,
    AddMemory,
    Associate,
    Delete,
    MemoryId,
    Owner,
    OwnerQuery,
    Page,
    RelatedQuery,
    Update,
)
from memoranda.server.responses import Done, MemoryPage
from memoranda.types import Association, Memory, Related

routes = router("memories")
Id = Annotated[MemoryId, Path(description="A memory's id")]
Whose = Annotated[OwnerQuery, Query()]


@routes.post("/memories", status_code=201)
async def add_memory(request: AddMemory, caller: Writer) -> Memory:
    """Stores one memory."""
    return await caller.memory.add_memory(**request.given(), **caller.owner(request))


@routes.post("/memories/batch", status_code=201)
async def add_memories(request: AddMemories, caller: Writer) -> list[Memory]:
    """Stores many memories in one commit."""
    return await caller.memory.add_memories(**request.given(), **caller.owner(request))


@routes.post("/memories/list")
async def list_memories(request: Page, caller: Reader) -> MemoryPage:
    """Memories in the order of their ids, a page at a time."""
    start = int(request.cursor or 0)
    found = await caller.memory.list_memories(after=start, **request.given("cursor"), **caller.named(request))
    return MemoryPage(found, str(found[-1].id) if len(found) == request.limit else None)


@routes.post("/memories/delete")
async def delete_memories(request: Delete, caller: Writer) -> Done:
    """Deletes all that are named, or none."""
    return Done(await caller.memory.delete(request.memory_ids, **caller.named(request)))


@routes.get("/memories/{memory_id}")
async def get_memory(memory_id: Id, owner: Whose, caller: Reader) -> Memory:
    """One memory."""
    return await caller.memory.get(memory_id, **caller.named(owner))


@routes.patch("/memories/{memory_id}")
async def update_memory(memory_id: Id, request: Update, caller: Writer) -> Memory:
    """Changes a memory; what is not given stays."""
    return await caller.memory.update(memory_id, **request.given(), **caller.named(request))


@routes.delete("/memories/{memory_id}")
async def delete_memory(memory_id: Id, owner: Whose, caller: Writer) -> Done:
    """Deletes a memory."""
    return Done(await caller.memory.delete(memory_id, **caller.named(owner)))


@routes.get("/memories/{memory_id}/related")
async def get_related(memory_id: Id, wanted: Annotated[RelatedQuery, Query()], caller: Reader) -> list[Related]:
    """Memories up to `depth` links away, nearest and strongest first."""
    return await caller.memory.get_related_memories(
        memory_id, **wanted.given(), agent=wanted.agent, user=caller.user(wanted)
    )


@routes.get("/memories/{memory_id}/history")
async def get_history(memory_id: Id, owner: Whose, caller: Reader) -> History:
    """What a memory was before, what it was made from, and what took its place."""
    return await caller.memory.history(memory_id, **caller.named(owner))


@routes.post("/memories/{memory_id}/archive")
async def archive(memory_id: Id, request: Owner, caller: Writer) -> Memory:
    """Takes a memory out of recall, until it is restored."""
    return await caller.memory.archive(memory_id, **caller.named(request))


@routes.post("/memories/{memory_id}/restore")
async def restore(memory_id: Id, request: Owner, caller: Writer) -> Memory:
    """Brings an archived memory back into recall."""
    return await caller.memory.restore(memory_id, **caller.named(request))


@routes.post("/memories/{memory_id}/pin")
async def pin(memory_id: Id, request: Owner, caller: Writer) -> Memory:
    """From now on, upkeep never tidies this memory away."""
    return await caller.memory.pin(memory_id, **caller.named(request))


@routes.post("/memories/{memory_id}/unpin")
async def unpin(memory_id: Id, request: Owner, caller: Writer) -> Memory:
    """From now on, this memory is like any other."""
    return await caller.memory.unpin(memory_id, **caller.named(request))


@routes.post("/associations", status_code=201)
async def associate(request: Associate, caller: Writer) -> Association:
    """Links two memories; a repeated link takes the new strength."""
    return await caller.memory.add_memory_association(**request.given(), agent=request.agent, user=caller.user(request))

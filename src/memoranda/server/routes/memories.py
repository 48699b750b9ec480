"""Memories, single and in lists; questions about them; what is known; and items, which have a key of the caller's."""

from __future__ import annotations

import re
from typing import Annotated, Final

from fastapi import Header, Path, Query

from memoranda.errors import Conflict, InvalidInput
from memoranda.items.base import Item, NamespaceActivity
from memoranda.results.maintenance import History
from memoranda.results.recall import Fact, FactConflict, Replay, WhyNot
from memoranda.server.fields import MemoryId
from memoranda.server.requests import (
    AddMemoriesRequest,
    AddMemoryRequest,
    AssociateRequest,
    ContextRequest,
    DeleteItemsRequest,
    DeleteRequest,
    FactsQuery,
    ItemRequest,
    ListRequest,
    NamespacesRequest,
    PageQuery,
    PutItemsRequest,
    QuarantineRequest,
    RecallRequest,
    RelatedQuery,
    RememberRequest,
    ReplayRequest,
    ScopedRequest,
    ScopeQuery,
    SearchItemsRequest,
    SearchRequest,
    SearchSimilarRequest,
    SlotQuery,
    UpdateRequest,
    WhyNotRequest,
)
from memoranda.server.responses import MAX_ANSWER, ContextResponse, CountResponse, MemoryPage
from memoranda.server.routes import Reader, Writer, create_router
from memoranda.storage.read_budget import ReadBudget, reading_at_most, too_large
from memoranda.types import Association, Hit, Memory, Outcome, Recall, Related

routes = create_router("memories")
_MAX_PAGE: Final = MAX_ANSWER // 4
"""Characters of a page: a character may take up to six bytes in JSON, though hardly one in four does."""
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
    """Return memories in the order in which they were stored, one page at a time.

    A page of very long memories ends before its limit, with the cursor of the next one.
    """
    after = int(request.cursor or 0)
    budget = ReadBudget(_MAX_PAGE, ends_early=not request.offset and request.known_at is None)
    with reading_at_most(budget):
        items = await caller.memory.list_memories(
            after=after, **request.arguments("cursor"), **caller.read_scope(request)
        )
    if budget.was_cut and not items:
        raise too_large()
    return MemoryPage(items, str(items[-1].id) if budget.was_cut or len(items) == request.limit else None)


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


recall_routes = create_router("recall")
fact_routes = create_router("facts")


@recall_routes.post("/remember")
async def remember(request: RememberRequest, caller: Writer) -> list[Outcome]:
    """Store texts and messages and return an outcome for each; duplicates are not stored again.

    Many messages are stored in several commits. After an error, the same request under the same idempotency key stores
    what is missing.
    """
    key = request.idempotency_key or caller.idempotency_key
    arguments = request.arguments("idempotency_key")
    return await caller.memory.remember(**arguments, **caller.write_scope(request), idempotency_key=key)


@recall_routes.post("/recall")
async def recall(request: RecallRequest, caller: Reader) -> Recall:
    """Return the memories that match a question, best first, and why each was found."""
    return await caller.memory.recall(**request.arguments(), **caller.read_scope(request))


@recall_routes.post("/why-not")
async def why_not(request: WhyNotRequest, caller: Reader) -> WhyNot:
    """Return which step left out an expected memory, or its rank."""
    return await caller.memory.why_not(**request.arguments(), **caller.read_scope(request))


@recall_routes.post("/replay")
async def replay(request: ReplayRequest, caller: Reader) -> Replay:
    """Return a past recall as it was answered; hits that were deleted since are named by their position."""
    return await caller.memory.replay(**request.arguments(), **caller.read_scope(request))


@recall_routes.post("/context")
async def context(request: ContextRequest, caller: Reader) -> ContextResponse:
    """Return what is remembered about a question as text for a prompt, inside a fence."""
    result = await caller.memory.context(**request.arguments(), **caller.read_scope(request))
    return ContextResponse(
        str(result),
        list(result.hits),
        result.left_out,
        result.tokens,
        result.recall_id,
        result.answerable,
        result.degraded,
    )


@recall_routes.post("/search")
async def search(request: SearchRequest, caller: Reader) -> list[Hit]:
    """Return only the hits, best first."""
    return await caller.memory.search_memories(**request.arguments(), **caller.read_scope(request))


@recall_routes.post("/search/similar")
async def search_similar(request: SearchSimilarRequest, caller: Reader) -> list[Hit]:
    """Return an agent's memories that match a question, best first."""
    return await caller.memory.search_similar(**request.arguments())


@fact_routes.get("/facts")
async def facts(query: Annotated[FactsQuery, Query()], caller: Reader) -> list[Fact]:
    """Return the current value of each slot, since when, who said it, and what it replaced."""
    return await caller.memory.facts(**query.arguments(), **caller.read_scope(query))


@fact_routes.get("/conflicts")
async def conflicts(query: Annotated[PageQuery, Query()], caller: Reader) -> list[FactConflict]:
    """Return where sources disagree, and what each of them says, the most trusted source first."""
    return await caller.memory.conflicts(**query.arguments(), **caller.read_scope(query))


@fact_routes.get("/history")
async def slot_history(query: Annotated[SlotQuery, Query()], caller: Reader) -> History:
    """Return every value that a slot ever had, and the history of the memory that holds its current value."""
    return await caller.memory.history(query.slot, **caller.read_scope(query))


item_routes = create_router("items")


@item_routes.post("/items")
async def put_items(request: PutItemsRequest, caller: Writer) -> list[Item]:
    """Store values by their keys in one commit."""
    return await caller.memory.put_many(**request.arguments(), **caller.write_scope(request))


@item_routes.post("/items/get")
async def get_item(request: ItemRequest, caller: Reader) -> Item | None:
    """Return an item; null when there is none."""
    if request.refresh:
        caller.principal.require("write")
    return await caller.memory.get_item(**request.arguments(), **caller.write_scope(request))


@item_routes.post("/items/delete")
async def delete_items(request: DeleteItemsRequest, caller: Writer) -> CountResponse:
    """Delete items; the count says how many there were."""
    scope = caller.write_scope(request)
    return CountResponse(await caller.memory.delete_item(request.namespace, request.keys, **scope))


@item_routes.post("/items/search")
async def search_items(request: SearchItemsRequest, caller: Reader) -> list[Item]:
    """Return items of a namespace and of those below it, by score with a query, else the one put last first."""
    if request.refresh:
        caller.principal.require("write")
    with reading_at_most(ReadBudget(MAX_ANSWER)):
        return await caller.memory.search_items(**request.arguments(), **caller.read_scope(request))


@item_routes.post("/items/namespaces")
async def list_namespaces(request: NamespacesRequest, caller: Reader) -> list[NamespaceActivity]:
    """Return the namespaces that have items and how many, sorted."""
    return await caller.memory.namespaces(**request.arguments(), **caller.read_scope(request))

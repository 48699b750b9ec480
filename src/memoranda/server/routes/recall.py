"""Questions, and what is known: recall, facts, where sources disagree, and the history of a slot."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from memoranda.results.facts import Fact, FactConflict
from memoranda.results.maintenance import History
from memoranda.results.recall import Replay, WhyNot
from memoranda.server.access import Reader, Writer, create_router
from memoranda.server.requests import (
    ContextRequest,
    FactsQuery,
    PageQuery,
    RecallRequest,
    RememberRequest,
    ReplayRequest,
    SearchRequest,
    SearchSimilarRequest,
    SlotQuery,
    WhyNotRequest,
)
from memoranda.server.responses import ContextResponse
from memoranda.types import Hit, Outcome, Recall

routes = create_router("recall")
fact_routes = create_router("facts")


@routes.post("/remember")
async def remember(request: RememberRequest, caller: Writer) -> list[Outcome]:
    """Store texts and messages and return an outcome for each; duplicates are not stored again.

    Many messages are stored in several commits. After an error, the same request under the same idempotency key stores
    what is missing.
    """
    key = request.idempotency_key or caller.idempotency_key
    arguments = request.arguments("idempotency_key")
    return await caller.memory.remember(**arguments, **caller.write_scope(request), idempotency_key=key)


@routes.post("/recall")
async def recall(request: RecallRequest, caller: Reader) -> Recall:
    """Return the memories that match a question, best first, and why each was found."""
    return await caller.memory.recall(**request.arguments(), **caller.read_scope(request))


@routes.post("/why-not")
async def why_not(request: WhyNotRequest, caller: Reader) -> WhyNot:
    """Return which step left out an expected memory, or its rank."""
    return await caller.memory.why_not(**request.arguments(), **caller.read_scope(request))


@routes.post("/replay")
async def replay(request: ReplayRequest, caller: Reader) -> Replay:
    """Return a past recall as it was answered; hits that were deleted since are named by their position."""
    return await caller.memory.replay(**request.arguments(), **caller.read_scope(request))


@routes.post("/context")
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


@routes.post("/search")
async def search(request: SearchRequest, caller: Reader) -> list[Hit]:
    """Return only the hits, best first."""
    return await caller.memory.search_memories(**request.arguments(), **caller.read_scope(request))


@routes.post("/search/similar")
async def search_similar(request: SearchSimilarRequest, caller: Reader) -> list[Hit]:
    """Return an agent's memories that match a question, best first."""
    return await caller.memory.search_similar(**request.arguments())


@fact_routes.get("/facts")
async def facts(query: Annotated[FactsQuery, Query()], caller: Reader) -> list[Fact]:
    """Return the current value of each slot, since when, who said it, and what it replaced."""
    return await caller.memory.facts(**query.arguments(), **caller.read_scope(query))


@fact_routes.get("/conflicts")
async def conflicts(query: Annotated[PageQuery, Query()], caller: Reader) -> list[FactConflict]:
    """Return where sources disagree, and what each of them says, the most trusted one first."""
    return await caller.memory.conflicts(**query.arguments(), **caller.read_scope(query))


@fact_routes.get("/history")
async def slot_history(query: Annotated[SlotQuery, Query()], caller: Reader) -> History:
    """Return every value that a slot ever had, and the history of the memory that holds its current value."""
    return await caller.memory.history(query.slot, **caller.read_scope(query))

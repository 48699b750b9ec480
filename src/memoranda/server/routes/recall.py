"""Remembering and finding again."""

from __future__ import annotations

from memoranda.server.access import Reader, Writer, router
from memoranda.server.requests import ContextRequest, RecallRequest, Remember, Search, SearchSimilar, WhyNotRequest
from memoranda.server.responses import ContextText
from memoranda.types import Hit, Outcome, Recall, WhyNot

routes = router("recall")


@routes.post("/remember")
async def remember(request: Remember, caller: Writer) -> list[Outcome]:
    """One outcome per text or message, all in one commit; what is known already is not stored again."""
    once = request.idempotency_key or caller.idempotency_key
    given = request.given("idempotency_key")
    return await caller.memory.remember(**given, **caller.owner(request), idempotency_key=once)


@routes.post("/recall")
async def recall(request: RecallRequest, caller: Reader) -> Recall:
    """The memories that fit a question, best first, and why each was found."""
    return await caller.memory.recall(**request.given(), **caller.named(request))


@routes.post("/why-not")
async def why_not(request: WhyNotRequest, caller: Reader) -> WhyNot:
    """Which step left out a memory that one expected, or where it stands."""
    return await caller.memory.why_not(**request.given(), **caller.named(request))


@routes.post("/context")
async def context(request: ContextRequest, caller: Reader) -> ContextText:
    """What is remembered on a question as text for a prompt, inside a fence."""
    made = await caller.memory.context(**request.given(), **caller.named(request))
    return ContextText(
        str(made), list(made.hits), made.left_out, made.tokens, made.recall_id, made.answerable, made.degraded
    )


@routes.post("/search")
async def search(request: Search, caller: Reader) -> list[Hit]:
    """The hits alone, best first."""
    return await caller.memory.search_memories(**request.given(), **caller.named(request))


@routes.post("/search/similar")
async def search_similar(request: SearchSimilar, caller: Reader) -> list[Hit]:
    """An agent's memories that fit a question, best first."""
    return await caller.memory.search_similar(**request.given())

"""What is known: facts, where sources disagree, and the history of a slot."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from memoranda.results.facts import Fact, FactConflict
from memoranda.results.maintenance import History
from memoranda.server.access import Reader, create_router
from memoranda.server.requests import FactsQuery, PageQuery, SlotQuery

routes = create_router("facts")


@routes.get("/facts")
async def facts(query: Annotated[FactsQuery, Query()], caller: Reader) -> list[Fact]:
    """Return the current value of each slot, since when, who said it, and what it replaced."""
    return await caller.memory.facts(**query.arguments(), **caller.read_scope(query))


@routes.get("/conflicts")
async def conflicts(query: Annotated[PageQuery, Query()], caller: Reader) -> list[FactConflict]:
    """Return where sources disagree, and what each of them says, the most trusted one first."""
    return await caller.memory.conflicts(**query.arguments(), **caller.read_scope(query))


@routes.get("/history")
async def slot_history(query: Annotated[SlotQuery, Query()], caller: Reader) -> History:
    """Return every value that a slot ever had, and the history of the memory that holds its current value."""
    return await caller.memory.history(query.slot, **caller.read_scope(query))

"""Values an agent keeps under a key."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from memoranda.server.access import Reader, Writer, router
from memoranda.server.requests import SaveValue, ValueQuery
from memoranda.server.responses import Done, Value

routes = router("values")


@routes.put("/values")
async def save(request: SaveValue, caller: Writer) -> Done:
    """Keeps a value: short-term until it expires, long-term for good."""
    return Done(int(await caller.memory.save(**request.given())))


@routes.get("/values")
async def retrieve(wanted: Annotated[ValueQuery, Query()], caller: Reader) -> Value:
    """The value; null when there is none."""
    return Value(await caller.memory.retrieve(**wanted.given()))

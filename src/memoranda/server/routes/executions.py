"""The audit trail: what agents did, in order."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from memoranda.results import ExecutionPage, ExecutionStats, VerificationReport
from memoranda.server.access import Reader, Writer, router
from memoranda.server.requests import ExecutionQuery, ExecutionRequest, ExecutionStatsQuery, VerifyQuery
from memoranda.server.responses import RecordId

routes = router("executions")


@routes.post("/executions", status_code=201)
async def save(request: ExecutionRequest, caller: Writer) -> RecordId:
    """Appends a record, without its secrets."""
    return RecordId(await caller.memory.save_execution_record(request.agent_id, request.record))


@routes.get("/executions")
async def find(wanted: Annotated[ExecutionQuery, Query()], caller: Reader) -> ExecutionPage:
    """Records that fit, newest first, and the cursor of the next page."""
    return await caller.memory.get_execution_records(session=wanted.session, **wanted.given())


@routes.get("/executions/stats")
async def stats(wanted: Annotated[ExecutionStatsQuery, Query()], caller: Reader) -> ExecutionStats:
    """How many executions there were, how they ended, and how long they took."""
    return await caller.memory.get_execution_stats(session=wanted.session, **wanted.given())


@routes.get("/executions/verify")
async def verify(wanted: Annotated[VerifyQuery, Query()], caller: Reader) -> VerificationReport:
    """Whether every record is there, unchanged and in its place."""
    return await caller.memory.verify_executions(wanted.head)

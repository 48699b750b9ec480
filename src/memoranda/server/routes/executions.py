"""The audit trail: what agents did, in order."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from memoranda.results.workflows import ExecutionPage, ExecutionStats, VerificationReport
from memoranda.server.access import Reader, Writer, create_router
from memoranda.server.requests import ExecutionRecordsQuery, ExecutionRequest, ExecutionStatsQuery, VerifyQuery
from memoranda.server.responses import RecordId

routes = create_router("executions")


@routes.post("/executions", status_code=201)
async def save_execution(request: ExecutionRequest, caller: Writer) -> RecordId:
    """Append a record, with its secrets redacted."""
    return RecordId(await caller.memory.save_execution_record(request.agent_id, request.record))


@routes.get("/executions")
async def list_executions(query: Annotated[ExecutionRecordsQuery, Query()], caller: Reader) -> ExecutionPage:
    """Return the matching records, newest first, and the cursor of the next page."""
    return await caller.memory.get_execution_records(session=query.session, **query.arguments())


@routes.get("/executions/stats")
async def get_execution_stats(query: Annotated[ExecutionStatsQuery, Query()], caller: Reader) -> ExecutionStats:
    """Return how many executions there were, how they ended, and how long they took."""
    return await caller.memory.get_execution_stats(session=query.session, **query.arguments())


@routes.get("/executions/verify")
async def verify_executions(query: Annotated[VerifyQuery, Query()], caller: Reader) -> VerificationReport:
    """Check that every record is present, unchanged and in order."""
    return await caller.memory.verify_executions(query.head)

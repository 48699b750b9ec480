"""Upkeep, forgetting, export and import, and the status of the server and of a tenant's memory."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import IO, Annotated

from fastapi import APIRouter, Query
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse

from memoranda.aio.threads import in_thread
from memoranda.display import shown
from memoranda.errors import Incompatible, InvalidInput
from memoranda.files import open_to_write
from memoranda.maintenance.policies import UpkeepSettings
from memoranda.records import build
from memoranda.results.maintenance import (
    CleanupReport,
    ForgetReceipt,
    Health,
    NameActivity,
    Stats,
    UpkeepReport,
    UserActivity,
)
from memoranda.results.workflows import ImportReport
from memoranda.security.encryption import EncryptionKey, make_key, open_encrypted, random_key
from memoranda.server.bodies import BodyTimer
from memoranda.server.config import ServerConfig
from memoranda.server.fields import Name
from memoranda.server.observability import METRICS_CONTENT_TYPE, Metrics
from memoranda.server.requests import (
    CleanupRequest,
    ForgetRequest,
    NamesQuery,
    ScopeQuery,
    UpkeepRequest,
    UsersQuery,
    VerifyReceiptRequest,
)
from memoranda.server.responses import JsonRoute, RequestRejected, ServerStatus, Verified
from memoranda.server.routes import Admin, Caller, Reader, ServerAdmin, Writer, create_router

routes = create_router("upkeep")
status_routes = create_router("status")
open_routes = APIRouter(tags=["status"], route_class=JsonRoute)


@routes.post("/upkeep")
async def upkeep(request: UpkeepRequest, caller: Writer) -> UpkeepReport:
    """Tidy, merge and archive memories; with `dry_run`, only report what would happen to which memory and why."""
    settings = None if request.settings is None else _parse_settings(request.settings)
    return await caller.memory.upkeep(**request.arguments("settings"), settings=settings, **caller.read_scope(request))


@routes.post("/upkeep/cleanup")
async def cleanup(request: CleanupRequest, caller: Writer) -> CleanupReport:
    """Remove old memories of low importance; with `dry_run`, only report which and why."""
    return await caller.memory.cleanup_old_memories(
        **request.arguments(), agent=request.agent, user=caller.read_user(request)
    )


@routes.post("/forget")
async def forget(request: ForgetRequest, caller: Writer) -> ForgetReceipt:
    """Erase memories and everything derived from them; with `dry_run`, only report what would be erased."""
    return await caller.memory.forget(**request.arguments(), **caller.read_scope(request))


@routes.get("/receipts")
async def receipts(query: Annotated[NamesQuery, Query()], caller: Reader) -> list[ForgetReceipt]:
    """Return the receipts of what was forgotten, newest first; names in them are pseudonyms."""
    return await caller.memory.receipts(user=caller.read_user(query), limit=query.limit, offset=query.offset)


@routes.get("/receipts/{receipt_id}")
async def receipt(receipt_id: Name, caller: Reader) -> ForgetReceipt:
    """Return one receipt."""
    return await caller.memory.receipt(receipt_id)


@routes.post("/receipts/verify")
async def verify_receipt(request: VerifyReceiptRequest, caller: Reader) -> Verified:
    """Check that this store signed a receipt, given itself or by its id, exactly as it is."""
    given = request.receipt
    chosen = given if isinstance(given, str) else _read_receipt(given)
    return Verified(await caller.memory.verify_receipt(chosen))


def _read_receipt(values: Mapping[str, object]) -> ForgetReceipt:
    try:
        return build(ForgetReceipt, dict(values))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"this is not a receipt ({error}): send it as it was returned") from error


def _parse_settings(values: dict[str, float | bool]) -> UpkeepSettings:
    """Return the settings by their names in Python; durations are in seconds."""
    defaults = {field.name: field.default for field in fields(UpkeepSettings)}
    if unknown := sorted(set(values) - set(defaults)):
        raise InvalidInput(f"unknown setting {shown(unknown[0])}: use {', '.join(defaults)}")
    parsed = {
        name: timedelta(seconds=value)
        if isinstance(defaults[name], timedelta) and not isinstance(value, bool)
        else value
        for name, value in values.items()
    }
    return UpkeepSettings(**parsed)  # type: ignore[arg-type]  # it validates every field


@open_routes.get("/healthz")
async def get_status() -> ServerStatus:
    """Return that the server answers; needs no key."""
    return ServerStatus("ok")


@status_routes.get("/stats")
async def get_stats(caller: Reader) -> Stats:
    """Return counts of what the tenant has stored."""
    stats = await caller.memory.get_stats()
    # The folders of the server are no business of its callers.
    return replace(stats, storage_dir=None, embeddings_dir=None)


@status_routes.get("/users")
async def list_users(query: Annotated[UsersQuery, Query()], caller: Admin) -> list[UserActivity]:
    """Return who has memories and how many, in the order of their names."""
    return await caller.memory.users(query.limit, query.offset)


@status_routes.get("/agents")
async def list_agents(query: Annotated[NamesQuery, Query()], caller: Reader) -> list[NameActivity]:
    """Return the agents that have memories and how many, in the order of their names."""
    return await caller.memory.agents(query.limit, query.offset, user=caller.read_user(query))


@status_routes.get("/health")
async def get_health(caller: ServerAdmin) -> Health:
    """Return whether every component works, and which ones are in use."""
    return await caller.memory.health()


@status_routes.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def get_metrics(_: ServerAdmin, request: Request) -> Response:
    """Return metrics for Prometheus."""
    metrics: Metrics = request.app.state.metrics
    return Response(metrics.to_text(), media_type=METRICS_CONTENT_TYPE)


transfer_routes = create_router("transfer")
MEDIA_TYPE = "application/x-ndjson"
_CHUNK = 256 * 1024
_IMPORT_BODY = {"required": True, "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}


@transfer_routes.get("/export", response_class=FileResponse, responses={200: {"content": {MEDIA_TYPE: {}}}})
async def export_jsonl(query: Annotated[ScopeQuery, Query()], caller: Reader) -> Response:
    """Export conversations, memories and associations; with `all_users`, also sessions and executions.

    The export is a consistent snapshot.
    """
    folder = await in_thread(lambda: tempfile.TemporaryDirectory(prefix="memoranda-export-"))
    path, key = Path(folder.name) / "export.jsonl", await _temporary_key(caller)
    try:
        await caller.memory.export_jsonl(path, encryption_key=key, **caller.read_scope(query))
    except BaseException:
        folder.cleanup()
        raise
    background = BackgroundTask(folder.cleanup)
    if key is None:
        return FileResponse(path, media_type=MEDIA_TYPE, background=background)
    return StreamingResponse(_decrypt(path, key), media_type=MEDIA_TYPE, background=background)


@transfer_routes.post("/import", openapi_extra={"requestBody": _IMPORT_BODY})
async def import_jsonl(request: Request, caller: Writer, include_forgotten: bool = False) -> ImportReport:
    """Import an export; existing data stays, and what was forgotten since is left out unless it is included."""
    config: ServerConfig = request.app.state.config
    caller.principal.require("admin")
    with tempfile.TemporaryDirectory(prefix="memoranda-import-") as folder:
        path, key = Path(folder) / "import.jsonl", await _temporary_key(caller)
        with open_to_write(path, make_key(key)) as file:
            await _save(request.stream(), file, config)
        try:
            return await caller.memory.import_jsonl(path, include_forgotten=include_forgotten, encryption_key=key)
        except Incompatible as error:
            # The manager names its file, which is a temporary one here: name what the caller sent.
            raise InvalidInput(str(error).replace(str(path), "the import")) from error


async def _temporary_key(caller: Caller) -> str | None:
    """Return a key for a temporary file when the database is encrypted: its content must not be on disk in plain."""
    return random_key() if (await caller.memory.health()).encrypted else None


def _decrypt(path: Path, key: str) -> Iterator[bytes]:
    with open_encrypted(path, EncryptionKey(key)) as file:
        while chunk := file.read(_CHUNK):
            yield chunk


async def _save(chunks: AsyncIterator[bytes], file: IO[bytes], config: ServerConfig) -> None:
    line, size, timer = 0, 0, BodyTimer(config.body_timeout)
    while True:
        try:
            chunk = await timer.wait(anext(chunks), len)
        except StopAsyncIteration:
            return
        except ClientDisconnect:
            raise RequestRejected(400, "the connection ended before the import did: nothing was imported") from None
        line = line + len(chunk) if b"\n" not in chunk else len(chunk) - chunk.rindex(b"\n")
        size += len(chunk)
        if line > config.max_import_line or size > config.max_import:
            limits = f"{config.max_import:,} bytes, and a line {config.max_import_line:,}"
            raise RequestRejected(413, f"an import may have {limits}: split it up")
        await in_thread(file.write, chunk)

"""Everything out, and in again, as lines of JSON that are never held in memory as a whole."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO, Annotated

from fastapi import Query
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse

from memoranda.aio.threads import in_thread
from memoranda.errors import Incompatible, InvalidInput
from memoranda.results import ImportReport
from memoranda.server.access import Reader, Writer, router
from memoranda.server.config import ServerConfig
from memoranda.server.errors import Refusal
from memoranda.server.requests import OwnerQuery

routes = router("transfer")
MEDIA_TYPE = "application/x-ndjson"
_IMPORT_BODY = {"required": True, "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}


@routes.get("/export", response_class=FileResponse, responses={200: {"content": {MEDIA_TYPE: {}}}})
async def export(owner: Annotated[OwnerQuery, Query()], caller: Reader) -> FileResponse:
    """Conversations, memories and their links, and with all users sessions and executions: as of one moment."""
    folder = await in_thread(lambda: tempfile.TemporaryDirectory(prefix="memoranda-export-"))
    path = Path(folder.name) / "export.jsonl"
    try:
        await caller.memory.export_jsonl(path, **caller.named(owner))
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(path, media_type=MEDIA_TYPE, background=BackgroundTask(folder.cleanup))


@routes.post("/import", openapi_extra={"requestBody": _IMPORT_BODY})
async def load(request: Request, caller: Writer) -> ImportReport:
    """Loads an export; what is there already stays, and running it again adds nothing."""
    config: ServerConfig = request.app.state.config
    caller.principal.require("admin")
    with tempfile.TemporaryDirectory(prefix="memoranda-import-") as folder:
        path = Path(folder) / "import.jsonl"
        with path.open("wb") as file:
            await _spool(request.stream(), file, config)
        try:
            return await caller.memory.import_jsonl(path)
        except Incompatible as error:
            # To the manager it is a file; here it is what the caller sent.
            raise InvalidInput(str(error).replace(str(path), "the import")) from error


async def _spool(pieces: AsyncIterator[bytes], file: IO[bytes], config: ServerConfig) -> None:
    line = size = 0
    while True:
        try:
            piece = await asyncio.wait_for(anext(pieces), config.body_timeout)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Refusal(408, f"nothing came for {config.body_timeout:g} seconds: send it again") from None
        except ClientDisconnect:
            raise Refusal(400, "the connection ended before the import did: nothing was taken in") from None
        line = line + len(piece) if b"\n" not in piece else len(piece) - piece.rindex(b"\n")
        size += len(piece)
        if line > config.max_import_line or size > config.max_import:
            most = f"{config.max_import:,} bytes, and a line {config.max_import_line:,}"
            raise Refusal(413, f"an import may have {most}: split it up")
        await in_thread(file.write, piece)

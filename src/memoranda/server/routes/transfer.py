"""Export and import as JSON lines; neither is ever held in memory as a whole."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO, Annotated

from fastapi import Query
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse

from memoranda.aio.threads import in_thread
from memoranda.errors import Incompatible, InvalidInput
from memoranda.files import open_to_write
from memoranda.results.transfer import ImportReport
from memoranda.security.encryption import EncryptionKey, make_key, open_encrypted, random_key
from memoranda.server.access import Caller, Reader, Writer, create_router
from memoranda.server.body_timer import BodyTimer
from memoranda.server.config import ServerConfig
from memoranda.server.requests import ScopeQuery
from memoranda.server.responses import RequestRejected

routes = create_router("transfer")
MEDIA_TYPE = "application/x-ndjson"
_CHUNK = 256 * 1024
_IMPORT_BODY = {"required": True, "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}


@routes.get("/export", response_class=FileResponse, responses={200: {"content": {MEDIA_TYPE: {}}}})
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


@routes.post("/import", openapi_extra={"requestBody": _IMPORT_BODY})
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

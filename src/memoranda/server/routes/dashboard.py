"""The dashboard and the page of the API: their files, which are in the package, and what the dashboard asks for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Path, Query
from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from memoranda.aio.threads import in_thread
from memoranda.dashboard.browse import (
    ConversationPage,
    ConversationSummary,
    MemoryGraph,
    MemoryOrder,
    MemoryState,
    Provenance,
    SearchOrder,
)
from memoranda.dashboard.insight import DashboardAnswer, Insight
from memoranda.dashboard.overview import MemoryStates, NamedCount, Overview, Person
from memoranda.errors import NotFound
from memoranda.results.workflows import SessionSummary
from memoranda.security.id_cipher import using_cipher
from memoranda.server.auth import COOKIE, LOCAL, Principal
from memoranda.server.fields import WHOLE, Limit, MemoryId, Mode, Moment, Name, Names, Text, TypeNames
from memoranda.server.paths import STATIC
from memoranda.server.requests import RequestModel, ScopedRequest, ScopeQuery, WhereFilter
from memoranda.server.responses import CountResponse, JsonRoute, MemoryPage, to_json
from memoranda.server.routes import Caller, Reader, Writer
from memoranda.server.services import Services, change_ids
from memoranda.server.streams import Shares
from memoranda.types import Recall, Scope

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_MEDIA_TYPES: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
_POLL_SECONDS: Final = 1.0
_REMARK_EVERY: Final = 10
"""Polls after which a stream says that it is still there."""
_R = TypeVar("_R")

routes = APIRouter(include_in_schema=False, route_class=JsonRoute)


class LoginRequest(RequestModel):
    key: Annotated[str, Field(min_length=1, max_length=500)]


class BrowseRequest(ScopedRequest):
    types: TypeNames | None = None
    where: WhereFilter | None = None
    state: MemoryState = "any"
    order: MemoryOrder = "newest"
    trust: Names = Field(default_factory=list)
    limit: Limit = 50
    cursor: Annotated[str, Field(pattern=r"^[0-9]{1,18}$")] | None = None


class AskRequest(ScopedRequest):
    question: Text
    mode: Mode | None = None
    as_of: Moment | None = None
    now: Moment | None = None
    types: TypeNames | None = None
    where: WhereFilter | None = None


class FindRequest(ScopedRequest):
    query: Text
    types: TypeNames | None = None
    where: WhereFilter | None = None
    state: MemoryState = "any"
    order: SearchOrder = "best"
    trust: Names = Field(default_factory=list)
    limit: Limit = 30


class PagedQuery(ScopeQuery):
    limit: Limit = 100
    after: Annotated[int, Field(ge=0), WHOLE] = 0


class PersonQuery(ScopeQuery):
    name: Name
    as_of: Moment | None = None


class GraphQuery(ScopeQuery):
    limit: Annotated[int, Field(ge=1, le=5000), WHOLE] = 400
    around: MemoryId | None = None


class OverviewQuery(ScopeQuery):
    zone: Annotated[str, Field(min_length=1, max_length=100)] = "UTC"


class EventsQuery(ScopeQuery):
    model_config = ConfigDict(strict=False)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who looks at the dashboard, and what they may do."""

    signed_in: bool
    tenant: str | None = None
    scopes: tuple[str, ...] = ()
    local: bool = False
    csrf_token: str | None = None


@routes.get("/")
async def get_page() -> Response:
    return _respond("index.html")


@routes.get("/favicon.ico")
async def get_icon() -> Response:
    return _respond("icon.svg")


@routes.get(STATIC + "{name:path}")
async def get_file(name: Annotated[str, Path(max_length=200)], request: Request) -> Response:
    etag = _read(name)[1]
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers={"ETag": etag, "Cache-Control": "no-cache"})
    return _respond(name)


@routes.get("/ui/session")
async def get_session(request: Request) -> SignedIn:
    """Return who is signed in; needs no key, so that a page can ask before it shows the form."""
    principal: Principal | None = request.state.principal
    services: Services = request.app.state.services
    session = await in_thread(services.browsers.find, request.cookies.get(COOKIE))
    return _signed_in(principal, None if session is None else session.csrf_token)


@routes.post("/ui/login")
async def log_in(body: LoginRequest, request: Request) -> Response:
    """Check a key and set the cookie of a new session."""
    services: Services = request.app.state.services
    authorization = f"Bearer {body.key.strip()}"
    principal = await services.authenticator.authenticate(authorization, local=False)
    await in_thread(services.browsers.end, request.cookies.get(COOKIE))
    token, session = await in_thread(services.browsers.create, principal.key_id)
    response = _json(_signed_in(principal, session.csrf_token))
    secure = request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"
    response.set_cookie(
        COOKIE, token, max_age=int(services.browsers.lifetime), httponly=True, samesite="strict", secure=secure
    )
    return response


@routes.post("/ui/logout")
async def log_out(request: Request) -> Response:
    """End the session of this browser."""
    services: Services = request.app.state.services
    await in_thread(services.browsers.end, request.cookies.get(COOKIE))
    response = _json(SignedIn(False))
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


@routes.get("/ui/overview")
async def get_overview(query: Annotated[OverviewQuery, Query()], caller: Reader) -> Overview:
    """Return the numbers of the first page, by days of the reader's time zone.

    They are of the user named. Without one, an admin sees the whole tenant, and others what belongs to no user.
    """
    scope: Scope | None = _scope(caller, query)
    if query.user is None and "admin" in caller.principal.scopes:
        scope = None
    insight = await caller.services.get_insight(caller.principal.tenant)
    return await _show(caller, partial(insight.overview, scope, zone=query.zone))


@routes.get("/ui/states")
async def get_states(query: Annotated[ScopeQuery, Query()], caller: Reader) -> MemoryStates:
    """Return how many memories are quarantined, archived and so on."""
    return await _with_insight(caller, query, lambda insight, scope: insight.states(scope))


@routes.post("/ui/memories")
async def browse_memories(request: BrowseRequest, caller: Reader) -> MemoryPage:
    """Return a page of memories by state, trust and the filters of `/v1`."""
    after = int(request.cursor or 0)
    cipher = await caller.services.get_cipher(caller.principal)
    arguments = request.arguments("cursor")
    arguments["after"] = cipher.decode(after) if cipher is not None and after else after
    items = await _with_insight(caller, request, lambda insight, scope: insight.list_memories(scope, **arguments))
    return MemoryPage(items, str(items[-1].id) if len(items) == request.limit else None)


@routes.post("/ui/search")
async def search_memories(request: FindRequest, caller: Reader) -> Recall:
    """Return the best hits for what was typed so far; it is not recorded as a recall."""
    arguments = request.arguments("query")
    return await _with_insight(
        caller, request, lambda insight, scope: insight.search(request.query, scope, **arguments)
    )


@routes.post("/ui/ask")
async def ask(request: AskRequest, caller: Reader) -> DashboardAnswer:
    """Return a recall as an agent gets it, the text made from it, and what was left out."""
    arguments = request.arguments("question")
    return await _with_insight(
        caller, request, lambda insight, scope: insight.ask(request.question, scope, **arguments)
    )


@routes.get("/ui/memories/{memory_id}/provenance")
async def get_provenance(memory_id: MemoryId, query: Annotated[ScopeQuery, Query()], caller: Reader) -> Provenance:
    """Return the message that a memory came from, and the recalls that returned it."""
    plain = await _plain_id(caller, memory_id)
    return await _with_insight(caller, query, lambda insight, scope: insight.provenance(scope, plain))


@routes.get("/ui/speakers")
async def list_speakers(query: Annotated[PagedQuery, Query()], caller: Reader) -> list[NamedCount]:
    """Return a page of those who speak in memories and are no users; `after` is how many came before."""
    return await _with_insight(caller, query, lambda insight, scope: insight.speakers(scope, query.limit, query.after))


@routes.get("/ui/person")
async def get_person(query: Annotated[PersonQuery, Query()], caller: Reader) -> Person:
    """Return what is known about a person: what that user told, and what the memories of the scope say."""
    return await _with_insight(caller, query, lambda insight, scope: insight.person(scope, query.name, query.as_of))


@routes.get("/ui/conversations")
async def list_conversations(query: Annotated[PagedQuery, Query()], caller: Reader) -> list[ConversationSummary]:
    """Return a page of the conversations of a scope, newest first; `after` is how many came before."""
    return await _with_insight(
        caller, query, lambda insight, scope: insight.conversations(scope, query.limit, query.after)
    )


@routes.get("/ui/conversation")
async def read_conversation(query: Annotated[PagedQuery, Query()], caller: Reader) -> ConversationPage:
    """Return a page of one conversation, with the memories that came from each message."""
    return await _with_insight(
        caller, query, lambda insight, scope: insight.conversation(scope, query.limit, query.after)
    )


@routes.get("/ui/graph")
async def get_graph(query: Annotated[GraphQuery, Query()], caller: Reader) -> MemoryGraph:
    """Return memories and their links."""
    around = None if query.around is None else await _plain_id(caller, query.around)
    return await _with_insight(caller, query, lambda insight, scope: insight.graph(scope, around, query.limit))


@routes.get("/ui/sessions")
async def list_open_sessions(caller: Reader) -> list[SessionSummary]:
    """Return the sessions that callers have open: to an admin, as a session belongs to no user."""
    return await _open_sessions(caller, limit=100)


@routes.post("/ui/demo")
async def load_demo(caller: Writer) -> CountResponse:
    """Store the demo conversation."""
    insight = await caller.services.get_insight(caller.principal.tenant)
    return CountResponse(await in_thread(insight.load_demo))


@routes.get("/ui/events")
async def stream_events(query: Annotated[EventsQuery, Query()], caller: Reader, request: Request) -> Response:
    """Stream what changes, as server-sent events: memories as they are written, and the open sessions."""
    scope, insight = _scope(caller, query), await caller.services.get_insight(caller.principal.tenant)
    request.state.never_ends = True
    return _CountedStream(caller.services.streams, caller.principal, _events(caller, insight, scope, request))


class _CountedStream(StreamingResponse):
    """A stream that counts as one of its key from now on, so that of many at once no more than allowed are opened."""

    def __init__(self, streams: Shares, principal: Principal, events: AsyncIterator[str]) -> None:
        super().__init__(events, media_type="text/event-stream")
        self._streams, self._principal = streams, principal
        streams.take(principal)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.give_back(self._principal)


async def _events(caller: Caller, insight: Insight, scope: Scope, request: Request) -> AsyncIterator[str]:
    head, _ = await in_thread(insight.changes_since, scope, 0, 1)
    cipher = await caller.services.get_cipher(caller.principal)
    sessions, polls = "", 0
    yield "retry: 2000\n\n"
    while not await request.is_disconnected():
        polls += 1
        if polls % _REMARK_EVERY == 0:
            yield ":\n\n"  # what nobody takes any more ends the connection, which silence would not
        head, changed = await in_thread(insight.changes_since, scope, head)
        if changed:
            shown = [
                {"op": op, "id": number if cipher is None else cipher.encode(number), "user": user or None}
                for op, number, user in changed
            ]
            yield f"event: changes\ndata: {json.dumps(shown)}\n\n"
        opened = await _open_sessions(caller, limit=20)
        # The duration changes all the time; what counts is who did what.
        latest = json.dumps([(each.session_id, each.total_interactions) for each in opened])
        if latest != sessions:
            sessions = latest
            yield f"event: sessions\ndata: {json.dumps(len(opened))}\n\n"
        await asyncio.sleep(_POLL_SECONDS)


async def _open_sessions(caller: Caller, limit: int) -> list[SessionSummary]:
    if "admin" not in caller.principal.scopes:
        return []
    return await caller.services.sessions.summaries(caller.memory, limit=limit)


def _scope(caller: Caller, request: ScopedRequest) -> Scope:
    return Scope(caller.principal.tenant, request.agent, caller.read_user(request), request.session)


async def _with_insight(caller: Caller, request: ScopedRequest, work: Callable[[Insight, Scope], _R]) -> _R:
    scope = _scope(caller, request)
    insight = await caller.services.get_insight(caller.principal.tenant)
    return await _show(caller, partial(work, insight, scope))


async def _show(caller: Caller, work: Callable[[], _R]) -> _R:
    """Run the work in a thread; return its result with ids as the caller sees them."""
    cipher = await caller.services.get_cipher(caller.principal)

    def run() -> _R:
        with using_cipher(cipher):
            found = work()
        return found if cipher is None else change_ids(found, cipher.encode)

    return await in_thread(run)


async def _plain_id(caller: Caller, shown: int) -> int:
    cipher = await caller.services.get_cipher(caller.principal)
    return shown if cipher is None else cipher.decode(shown)


def _signed_in(principal: Principal | None, csrf_token: str | None) -> SignedIn:
    if principal is None:
        return SignedIn(False)
    return SignedIn(True, principal.tenant, tuple(sorted(principal.scopes)), principal is LOCAL, csrf_token)


def _json(value: Any) -> Response:
    return Response(to_json(value), media_type="application/json")


def _respond(name: str) -> Response:
    content, etag = _read(name)
    headers = {"Content-Security-Policy": _POLICY, "ETag": etag, "Cache-Control": "no-cache"}
    return Response(content, media_type=_MEDIA_TYPES[PurePosixPath(name).suffix], headers=headers)


@lru_cache
def _names() -> frozenset[str]:
    """Return the files that may be asked for: a name in a request is never made into a path."""
    root = files("memoranda.dashboard").joinpath("static")
    found = []
    for folder in ("", "pages/", "vendor/"):
        entries = root.joinpath(folder).iterdir() if folder else root.iterdir()
        found += [folder + each.name for each in entries if PurePosixPath(each.name).suffix in _MEDIA_TYPES]
    return frozenset(found)


@lru_cache
def _read(name: str) -> tuple[bytes, str]:
    if name not in _names():
        raise NotFound("the dashboard has no such file")
    content = files("memoranda.dashboard").joinpath("static", *name.split("/")).read_bytes()
    return content, f'"{sha256(content).hexdigest()[:20]}"'


@routes.get("/openapi.json")
async def get_openapi(request: Request) -> Response:
    """Return the description of all routes. It is made once, in a thread: that takes about a second."""
    document = await in_thread(request.app.openapi)
    mounted_at = request.scope.get("root_path", "").rstrip("/")
    return _json({**document, "servers": [{"url": mounted_at}]} if mounted_at else document)


@routes.get("/docs")
async def get_docs_page() -> Response:
    return _respond_docs("page.html", "text/html")


@routes.get("/docs/page.js")
async def get_docs_script() -> Response:
    return _respond_docs("page.js", "text/javascript")


@routes.get("/docs/page.css")
async def get_docs_style() -> Response:
    return _respond_docs("page.css", "text/css")


def _respond_docs(name: str, media_type: str) -> Response:
    return Response(_read_docs(name), media_type=media_type, headers={"Content-Security-Policy": _POLICY})


@lru_cache
def _read_docs(name: str) -> str:
    return files("memoranda.server").joinpath("docs", name).read_text(encoding="utf-8")

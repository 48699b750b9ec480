from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from memoranda.errors import Denied
from memoranda.mcp.run import create_http_app
from memoranda.server.config import ServerConfig
from memoranda.server.keys import open_keys
from memoranda.server.run import create_app, prepare_to_listen
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}


def rest(db_url: str, **options: Any) -> Any:
    return create_app(ServerConfig(**options.pop("config", {})), db_url, embedder=HashEmbedder(32), **options)


def mcp(db_url: str, **options: Any) -> Any:
    config, memory = ServerConfig(**options.pop("config", {})), MemoryConfig(db_url=db_url)
    return create_http_app(config, memory, embedder=HashEmbedder(32), **options)


def call(app: Any, peer: tuple[str, int] | None = ("127.0.0.1", 5000), **headers: str) -> int:
    """Call either application without a key and return the status."""
    with TestClient(app, base_url="http://localhost", client=peer) as http:  # type: ignore[arg-type]
        if any(getattr(route, "path", "") == "/mcp" for route in app.routes):
            accept = {"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-06-18"}
            return http.post("/mcp", json=PING, headers=accept | headers).status_code
        return http.get("/v1/stats", headers=headers).status_code


@pytest.fixture
def db_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/server.db"


@pytest.fixture(params=[rest, mcp])
def build(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return request.param  # type: ignore[no-any-return]


def test_app_answers_nobody_without_a_key_unless_told(build: Callable[..., Any], db_url: str) -> None:
    assert call(build(db_url)) == 401
    assert call(build(db_url, config={"allow_unauthenticated": False})) == 401
    assert call(build(db_url, allow_unauthenticated=True)) != 401
    assert call(build(db_url, config={"allow_unauthenticated": True})) != 401


@pytest.mark.parametrize("peer", [("127.0.0.1", 1), ("127.9.9.9", 1), ("::1", 1), ("::ffff:127.0.0.1", 1)])
def test_loopback_peer_needs_no_key_where_that_is_allowed(
    build: Callable[..., Any], db_url: str, peer: tuple[str, int]
) -> None:
    assert call(build(db_url, allow_unauthenticated=True), peer) != 401


@pytest.mark.parametrize(
    "peer", [("203.0.113.9", 1), ("10.0.0.1", 1), ("fe80::1", 1), ("", 0), ("testclient", 1), None]
)
def test_peer_that_is_not_loopback_needs_a_key(
    build: Callable[..., Any], db_url: str, peer: tuple[str, int] | None
) -> None:
    assert call(build(db_url, allow_unauthenticated=True), peer, Host="localhost") == 401


@pytest.mark.parametrize(
    "header",
    ["X-Forwarded-For", "x-forwarded-host", "X-Forwarded-Proto", "X-Forwarded", "Forwarded", "Via", "X-Real-IP",
     "CF-Connecting-IP", "True-Client-IP", "X-Client-IP", "X-Original-URL", "Fly-Client-IP", "X-Azure-ClientIP",
     "Content-Forwarded-For", "Sec-Forwarded", "Accept-X", "If-Forwarded", "Mcp-Forwarded-For",
     "Cdn-Loop", "Ngrok-Trace-Id", "Tailscale-User-Login", "X-Of-A-Proxy-Of-Tomorrow"],
)  # fmt: skip
def test_proxied_request_needs_a_key(build: Callable[..., Any], db_url: str, header: str) -> None:
    assert call(build(db_url, allow_unauthenticated=True), **{header: "127.0.0.1"}) == 401


def test_headers_that_clients_send_by_themselves_need_no_key(build: Callable[..., Any], db_url: str) -> None:
    sent = ("Sec-Fetch-Mode", "X-Stainless-Lang", "traceparent", "X-Request-Id", "Accept-Language", "Referer", "DNT")
    assert call(build(db_url, allow_unauthenticated=True), **dict.fromkeys(sent, "x")) != 401


@pytest.mark.parametrize("encoding", ["gzip", "identity, br", "GZIP"])
def test_encoded_body_is_refused(build: Callable[..., Any], db_url: str, encoding: str) -> None:
    with TestClient(
        build(db_url, allow_unauthenticated=True), base_url="http://localhost", client=("127.0.0.1", 5000)
    ) as http:
        path = "/mcp" if any(getattr(route, "path", "") == "/mcp" for route in http.app.routes) else "/v1/recall"  # type: ignore[attr-defined]
        assert http.post(path, json=PING, headers={"Content-Encoding": encoding}).status_code == 415
        assert http.post(path, json=PING, headers={"Content-Encoding": "identity"}).status_code != 415


@pytest.mark.parametrize("root", ["/memory", "/ui/static", "/docs", "/v1", "/healthz"])
def test_mounted_app_checks_the_path_below_its_root(db_url: str, root: str) -> None:
    with open_keys(db_url) as keys:
        key = keys.create("ci", scopes=("read", "write", "admin")).key
    app = rest(db_url)
    outer = Starlette(routes=[Mount(root, app)], lifespan=lambda _: app.router.lifespan_context(app))
    signed = {"Authorization": f"Bearer {key}"}
    with TestClient(outer, base_url="http://localhost") as http:
        assert http.get(f"{root}/healthz").status_code == 200
        assert http.get(f"{root}/v1/stats").status_code == 401
        assert http.post(f"{root}/v1/memories", json={"content": "a note"}).status_code == 401
        assert http.get(f"{root}/v1/stats", headers=signed).status_code == 200
        lines = http.get(f"{root}/v1/export", headers=signed).content
        assert http.post(f"{root}/v1/import", content=lines, headers=signed).status_code == 200


def test_mounted_app_without_its_lifespan_is_not_available_and_its_log_says_why(
    db_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with open_keys(db_url) as keys:
        key = keys.create("ci", scopes=("read", "write", "admin")).key
    http = TestClient(Starlette(routes=[Mount("/memory", rest(db_url))]), base_url="http://localhost")
    for headers in ({}, {"Authorization": f"Bearer {key}"}):
        assert http.get("/memory/v1/stats", headers=headers).status_code == 503
    assert "needs its lifespan" in caplog.text


@pytest.mark.parametrize("condition", ["If-Match", "If-None-Match", "If-Unmodified-Since"])
def test_write_with_a_condition_that_is_not_checked_is_refused(db_url: str, condition: str) -> None:
    with TestClient(rest(db_url, allow_unauthenticated=True), base_url="http://localhost", client=("::1", 1)) as http:
        path = f"/v1/memories/{http.post('/v1/memories', json={'content': 'a note'}).json()['id']}"
        headers = {condition: '"7"'}
        for method, where, body in [
            ("DELETE", path, None), ("POST", f"{path}/archive", {}), ("POST", "/v1/forget", {"ids": [1]}),
            ("PUT", "/v1/values", {"agent_id": "a", "key": "k", "value": 1}),
        ]:  # fmt: skip
            assert http.request(method, where, json=body, headers=headers).status_code == 400
        changed = http.patch(path, json={"content": "another"}, headers=headers).status_code
        assert changed == (412 if condition == "If-Match" else 400)
        assert http.get(path, headers=headers).json()["content"] == "a note"


def test_request_to_another_host_name_needs_a_key(build: Callable[..., Any], db_url: str) -> None:
    app = build(db_url, config={"allowed_hosts": ("memory.example",)}, allow_unauthenticated=True)
    assert call(app, Host="memory.example") == 401


def test_app_does_not_open_again_when_the_last_key_is_revoked(build: Callable[..., Any], db_url: str) -> None:
    with open_keys(db_url) as keys:
        keys.revoke(keys.create("ci").info.id)
    assert call(build(db_url, allow_unauthenticated=True)) == 401


@pytest.mark.parametrize(
    ("host", "given", "allowed"), [("127.0.0.1", None, True), ("127.0.0.1", True, True), ("0.0.0.0", True, True)]
)
def test_own_server_allows_callers_without_key_on_loopback(
    db_url: str, host: str, given: bool | None, allowed: bool
) -> None:
    config = prepare_to_listen(ServerConfig(host=host, allow_unauthenticated=given), MemoryConfig(db_url=db_url))
    assert config.allow_unauthenticated is allowed


@pytest.mark.parametrize(("host", "given"), [("0.0.0.0", None), ("0.0.0.0", False), ("127.0.0.1", False)])
def test_own_server_that_no_caller_could_use_does_not_start(db_url: str, host: str, given: bool | None) -> None:
    config = ServerConfig(host=host, allow_unauthenticated=given)
    with pytest.raises(Denied, match="keys create"):
        prepare_to_listen(config, MemoryConfig(db_url=db_url))
    with open_keys(db_url) as keys:
        keys.create("ci")
    assert prepare_to_listen(config, MemoryConfig(db_url=db_url)).allow_unauthenticated is False

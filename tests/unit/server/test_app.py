from __future__ import annotations

import asyncio
import json
import logging
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from memoranda.server.config import ServerConfig
from tests.fake_clock import FakeClock
from tests.server.in_process import InProcessServer, open_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    with open_server(tmp_path, max_body=100_000, key_cache_seconds=0.001, body_timeout=0.2) as server:
        yield server


@pytest.fixture
def key(server: InProcessServer) -> str:
    return server.key()


def _record_files(written: list[bytes]) -> Callable[[tempfile.TemporaryDirectory[str]], None]:
    """Return a cleanup of temporary folders that first records what is in their files."""
    real = tempfile.TemporaryDirectory.cleanup

    def cleanup(folder: tempfile.TemporaryDirectory[str]) -> None:
        written.extend(path.read_bytes() for path in Path(folder.name).iterdir())
        real(folder)

    return cleanup


class TestAccess:
    def test_request_without_key_is_refused_before_its_body_is_read(self, server: InProcessServer, key: str) -> None:
        refused = server.send(
            "POST", "/v1/memories", content=b"{not json", headers={"Content-Type": "application/json"}
        )
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["type"] == "urn:memoranda:Denied"

    def test_key_may_do_only_what_its_scopes_allow(self, server: InProcessServer, key: str) -> None:
        reader, writer = server.key(scopes=("read",)), server.key(scopes=("write",))
        assert server.send("POST", "/v1/memories", reader, json={"content": "tea"}).status_code == 403
        added = server.send("POST", "/v1/memories", writer, json={"content": "tea"})
        assert added.status_code == 201
        path = f"/v1/memories/{added.json()['id']}"
        assert server.send("GET", path, writer).status_code == 403
        assert server.send("GET", path, reader).status_code == 200
        for path in ("/v1/health", "/v1/metrics"):
            assert server.send("GET", path, reader).status_code == 403
            assert server.send("GET", path, key).status_code == 200

    def test_reading_all_users_needs_the_admin_scope(self, server: InProcessServer, key: str) -> None:
        reader = server.key(scopes=("read", "write"))
        server.send("POST", "/v1/memories", key, json={"content": "tea", "user": "ann"})
        everybody = {"query": "tea", "all_users": True}
        assert server.send("POST", "/v1/recall", reader, json=everybody).status_code == 403
        assert len(server.send("POST", "/v1/recall", key, json=everybody).json()["hits"]) == 1
        assert server.send("POST", "/v1/recall", reader, json={"query": "tea"}).json()["hits"] == []
        both = everybody | {"user": "ann"}
        assert server.send("POST", "/v1/recall", key, json=both).status_code == 422
        written = {"content": "tea", "all_users": True}
        assert server.send("POST", "/v1/memories", key, json=written).status_code == 422

    def test_user_named_any_is_an_ordinary_user(self, server: InProcessServer, key: str) -> None:
        server.send("POST", "/v1/memories", key, json={"content": "tea", "user": "ann"})
        assert server.send("POST", "/v1/recall", key, json={"query": "tea", "user": "ANY"}).json()["hits"] == []

    def test_rate_limit_error_has_retry_after(self, server: InProcessServer, key: str) -> None:
        slow = server.key(rate=1)
        codes = [server.send("GET", "/v1/stats", slow).status_code for _ in range(3)]
        assert codes[0] == 200
        assert 429 in codes
        assert int(server.send("GET", "/v1/stats", slow).headers["retry-after"]) >= 1

    @pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:80"])
    def test_unknown_host_is_refused(self, server: InProcessServer, key: str, host: str) -> None:
        assert server.send("GET", "/healthz", key, headers={"Host": host}).status_code == 421

    def test_unknown_origin_is_refused(self, server: InProcessServer, key: str) -> None:
        refused = server.send("GET", "/v1/stats", key, headers={"Origin": "https://evil.example"})
        assert refused.status_code == 403
        assert "access-control-allow-origin" not in refused.headers
        assert server.send("GET", "/v1/stats", key, headers={"Origin": "http://localhost"}).status_code == 200

    @pytest.mark.parametrize(
        ("site", "mode", "status"),
        [
            ("cross-site", "no-cors", 403),
            ("same-site", "no-cors", 403),
            ("cross-site", "navigate", 200),
            ("same-origin", "no-cors", 200),
            ("none", "navigate", 200),
        ],
    )
    def test_page_of_another_site_cannot_load_anything(
        self, server: InProcessServer, key: str, site: str, mode: str, status: int
    ) -> None:
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
        assert server.send("GET", "/v1/stats", key, headers=headers).status_code == status

    def test_allowed_origin_gets_cors_headers(self, tmp_path: Path) -> None:
        with open_server(tmp_path / "b", allowed_origins=("https://app.example",)) as server:
            answer = server.send("GET", "/v1/stats", headers={"Origin": "https://app.example"})
            assert answer.headers["access-control-allow-origin"] == "https://app.example"
            asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
            preflight = server.send("OPTIONS", "/v1/recall", headers=asked)
            assert (preflight.status_code, preflight.headers["vary"]) == (204, "Origin")
            assert "Authorization" in preflight.headers["access-control-allow-headers"]
            assert (
                server.send("OPTIONS", "/v1/recall", headers=asked | {"Origin": "https://x.example"}).status_code == 403
            )

    def test_every_response_has_the_security_headers(self, server: InProcessServer, key: str) -> None:
        for answer in (
            server.send("GET", "/healthz"),
            server.send("GET", "/nowhere", key),
            server.send("GET", "/v1/stats"),
        ):
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"
            assert len(answer.headers["x-request-id"]) == 16

    def test_local_server_is_open_until_the_first_key(self, tmp_path: Path) -> None:
        with open_server(tmp_path / "c", key_cache_seconds=0.001) as server:
            assert server.send("POST", "/v1/memories", json={"content": "tea"}).status_code == 201
            server.key()
            assert server.send("GET", "/v1/memories/1").status_code == 401


class TestRequests:
    @pytest.mark.parametrize(
        ("body", "status"),
        [
            (b"{bad", 400),
            (b"[1, 2", 400),
            (b'{"content": NaN}', 400),
            (b"\xff\xfe", 400),
            (b'"text"', 422),
            (b"[]", 422),
            (b"{}", 422),
            (b'{"content": 5}', 422),
            (b'{"content": "tea", "importance": "0.5"}', 422),
            (b'{"content": "tea", "tenant": "acme"}', 422),
            (b'{"content": "tea", "unknown": 1}', 422),
            (b'{"content": "tea", "user": "\\ud800"}', 422),
            (b'{"content": "tea", "\\ud800": 1}', 422),
            (b'{"content": "tea", "user": "a\\u0000"}', 422),
            (b'{"content": "tea", "at": "yesterday"}', 422),
            (b'{"content": "tea", "metadata": ' + b'{"a":' * 108 + b"1" + b"}" * 108 + b"}", 422),
            (b'{"content": "tea", "metadata": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}", 413),
            (b'{"content": "' + b"a" * 100_000 + b'"}', 413),
        ],
    )
    def test_invalid_body_is_refused_and_nothing_is_stored(
        self, server: InProcessServer, key: str, body: bytes, status: int
    ) -> None:
        answer = server.send("POST", "/v1/memories", key, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"]
        assert server.send("GET", "/v1/stats", key).json()["long_term_entries"] == 0

    def test_other_content_types_are_refused(self, server: InProcessServer, key: str) -> None:
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            answer = server.send(
                "POST", "/v1/memories", key, content=b'{"content":"a"}', headers={"Content-Type": kind}
            )
            assert answer.status_code == 415

    def test_too_large_content_length_is_refused_unread(self, server: InProcessServer, key: str) -> None:
        headers = {"Content-Length": "100001", "Content-Type": "application/json"}
        answer = server.send("POST", "/v1/memories", key, content=b"", headers=headers)
        assert answer.status_code == 413

    @pytest.mark.parametrize(
        "name",
        [
            "../../etc/passwd",
            "..%2f..%2fetc",
            "/etc/passwd",
            "a\\..\\b",
            "CON",
            "x" * 512,
            "'; DROP TABLE memories; --",
        ],
    )
    def test_names_are_never_used_as_paths(self, server: InProcessServer, key: str, name: str) -> None:
        value = {"agent_id": name, "key": name, "value": {"n": 1}, "memory_type": "long_term"}
        assert server.send("PUT", "/v1/values", key, json=value).status_code == 200
        params = {"agent_id": name, "key": name, "memory_type": "long_term"}
        assert server.send("GET", "/v1/values", key, params=params).json() == {"value": {"n": 1}}
        scope = {"agent": name, "user": name, "session": name}
        message = {"role": "user", "content": "hi"}
        said = server.send("POST", "/v1/conversation/messages", key, json={**scope, "messages": [message]})
        assert said.json()["size"] == 1
        opened = server.send("POST", "/v1/sessions", key, json={"workflow_id": name}).json()
        assert opened["workflow_id"] == name

    @pytest.mark.parametrize(
        "path", ["/v1/memories/../../etc/passwd", "/v1/memories/%2e%2e%2f", "/v1/sessions/..", "/v1/nothing"]
    )
    def test_unknown_path_is_not_found(self, server: InProcessServer, key: str, path: str) -> None:
        assert server.send("GET", path, key).status_code in (404, 405, 422)

    @pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 30, "1.5", "%00"])
    def test_invalid_memory_id_is_refused(self, server: InProcessServer, key: str, number: str) -> None:
        assert server.send("GET", f"/v1/memories/{number}", key).status_code == 422

    def test_wrong_method_is_a_problem_response(self, server: InProcessServer, key: str) -> None:
        answer = server.send("DELETE", "/v1/recall", key)
        assert (answer.status_code, answer.headers["content-type"]) == (405, "application/problem+json")


class TestIdempotency:
    def test_repeated_request_runs_once_and_gets_the_same_response(self, server: InProcessServer, key: str) -> None:
        headers = {"Idempotency-Key": "one"}
        first = server.send("POST", "/v1/memories", key, json={"content": "tea"}, headers=headers)
        second = server.send("POST", "/v1/memories", key, json={"content": "tea"}, headers=headers)
        assert first.json() == second.json()
        assert (second.status_code, second.headers["idempotency-replayed"]) == (201, "true")
        assert server.send("GET", "/v1/stats", key).json()["long_term_entries"] == 1

    def test_response_with_an_item_that_was_deleted_is_not_sent_again(self, server: InProcessServer, key: str) -> None:
        headers, item = {"Idempotency-Key": "one"}, {"namespace": ["n/m"], "values": {"k:1": "tea"}, "user": "ann"}
        server.send("POST", "/v1/items", key, json=item, headers=headers)
        again = server.send("POST", "/v1/items", key, json=item, headers=headers)
        assert (again.status_code, again.headers["idempotency-replayed"]) == (200, "true")
        named = {"namespace": ["n/m"], "keys": ["k:1"], "user": "ann"}
        assert server.send("POST", "/v1/items/delete", key, json=named).json() == {"count": 1}
        assert server.send("POST", "/v1/items", key, json=item, headers=headers).status_code == 409

    def test_key_reused_for_another_request_is_a_conflict(self, server: InProcessServer, key: str) -> None:
        headers = {"Idempotency-Key": "one"}
        server.send("POST", "/v1/memories", key, json={"content": "tea"}, headers=headers)
        other = server.send("POST", "/v1/memories", key, json={"content": "milk"}, headers=headers)
        assert other.status_code == 409

    def test_api_keys_do_not_share_cached_responses(self, server: InProcessServer, key: str) -> None:
        headers, other = {"Idempotency-Key": "one"}, server.key("acme")
        server.send("POST", "/v1/memories", key, json={"content": "tea"}, headers=headers)
        mine = server.send("POST", "/v1/memories", other, json={"content": "tea"}, headers=headers)
        assert (mine.json()["tenant"], "idempotency-replayed" in mine.headers) == ("acme", False)

    def test_remember_is_idempotent_across_restarts_and_for_ever(self, tmp_path: Path) -> None:
        clock = FakeClock(datetime(2030, 1, 1, tzinfo=UTC))
        answers = []
        for seconds in (0, 60, 3600):
            clock.advance(seconds=seconds)
            with open_server(tmp_path / "d", clock=clock) as server:
                headers = {"Idempotency-Key": "one"}
                answer = server.send("POST", "/v1/remember", json={"content": "tea"}, headers=headers)
                answers.append((answer.json()[0]["status"], "idempotency-replayed" in answer.headers))
        assert answers == [("stored", False), ("stored", True), ("duplicate", False)]

    def test_key_of_what_was_forgotten_is_refused_also_when_its_response_is_kept_no_more(self, tmp_path: Path) -> None:
        clock = FakeClock(datetime(2030, 1, 1, tzinfo=UTC))
        headers = {"Idempotency-Key": "one"}
        with open_server(tmp_path / "d", clock=clock) as server:
            server.send("POST", "/v1/remember", json={"content": "tea", "user": "ann"}, headers=headers)
            server.send("POST", "/v1/forget", json={"user": "ann"})
            for seconds, text in ((0, "tea"), (3600, "tea"), (7200, "coffee")):
                clock.advance(seconds=seconds)
                body = {"content": text, "user": "ann"}
                assert server.send("POST", "/v1/remember", json=body, headers=headers).status_code == 409
            assert server.send("POST", "/v1/memories/list", json={"user": "ann"}).json()["items"] == []


class TestResponses:
    def test_cursor_pages_through_all_memories(self, server: InProcessServer, key: str) -> None:
        server.send("POST", "/v1/memories/batch", key, json={"contents": [f"fact {n}" for n in range(7)]})
        seen, cursor = [], None
        while True:
            page = {"limit": 3} | ({"cursor": cursor} if cursor else {})
            answer = server.send("POST", "/v1/memories/list", key, json=page).json()
            seen += [item["content"] for item in answer["items"]]
            cursor = answer["next_cursor"]
            if cursor is None:
                break
        assert seen == [f"fact {n}" for n in range(7)]

    def test_encrypted_database_is_served_and_no_temporary_file_holds_its_text(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
        monkeypatch.setenv("MEMORY_ENCRYPTION_KEY", "0123456789abcdef" * 4)
        written: list[bytes] = []
        monkeypatch.setattr("tempfile.TemporaryDirectory.cleanup", _record_files(written))
        with open_server(tmp_path) as server:
            key = server.key()
            server.send("POST", "/v1/memories", key, json={"content": "about a zanzibarquokka", "user": "ann"})
            exported = server.send("GET", "/v1/export", key, params={"all_users": "true"})
            assert b"about a zanzibarquokka" in exported.content
            other = server.key("acme")
            assert server.send("POST", "/v1/import", other, content=exported.content).json()["memories"] == 1
            assert server.send("GET", "/v1/health", key).json()["encrypted"] is True
            assert server.send("POST", "/v1/import", other, content=b"not json").status_code == 422
        assert len(written) == 3
        files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
        assert [data for data in [*written, *files] if b"zanzibarquokka" in data] == []

    def test_export_can_be_imported_by_another_tenant(self, server: InProcessServer, key: str) -> None:
        server.send("POST", "/v1/memories/batch", key, json={"contents": ["tea", "milk"], "user": "ann"})
        lines = server.send("GET", "/v1/export", key, params={"all_users": "true"})
        assert lines.headers["content-type"] == "application/x-ndjson"
        other = server.key("acme")
        first = server.send("POST", "/v1/import", other, content=lines.content).json()
        again = server.send("POST", "/v1/import", other, content=lines.content).json()
        assert (first["memories"], again["memories"], again["known"]) == (2, 0, 2)
        assert (
            server.send("GET", "/v1/export", server.key(scopes=("read",)), params={"all_users": "true"}).status_code
            == 403
        )

    @pytest.mark.parametrize("body", [b"", b"not json\n", b'{"kind":"header"}\n', b"\xff" * 100])
    def test_damaged_import_stores_nothing(self, server: InProcessServer, key: str, body: bytes) -> None:
        answer = server.send("POST", "/v1/import", key, content=body)
        assert 400 <= answer.status_code < 500, answer.text
        assert server.send("GET", "/v1/stats", key).json()["long_term_entries"] == 0

    def test_import_over_its_limits_is_refused(self, tmp_path: Path) -> None:
        with open_server(tmp_path / "e", max_body=100, max_import=3000, max_import_line=1000) as server:
            for body in (b"x" * 1001, (b"x" * 99 + b"\n") * 31):
                assert server.send("POST", "/v1/import", content=body).status_code == 413
            assert server.send("POST", "/v1/import", content=(b"x" * 99 + b"\n") * 29).status_code == 422

    def test_session_is_visible_only_to_its_tenant(self, server: InProcessServer, key: str) -> None:
        opened = server.send("POST", "/v1/sessions", key, json={"workflow_id": "w"}).json()["session_id"]
        other = server.key("acme")
        message = {"agent_id": "a", "role": "user", "content": "hi"}
        assert server.send("POST", f"/v1/sessions/{opened}/messages", key, json=message).status_code == 201
        foreign = server.send("GET", f"/v1/sessions/{opened}", other)
        missing = server.send("GET", f"/v1/sessions/{'0' * 32}", other)
        assert foreign.status_code == missing.status_code == 404
        assert foreign.text.replace(opened, "ID") == missing.text.replace("0" * 32, "ID")
        assert server.send("POST", f"/v1/sessions/{opened}/end", key).json()["conversation_messages"] == 1
        assert server.send("POST", f"/v1/sessions/{opened}/messages", key, json=message).status_code == 404

    def test_metrics_have_routes_and_no_ids(self, server: InProcessServer, key: str) -> None:
        server.send("GET", "/v1/memories/123456", key)
        figures = server.send("GET", "/v1/metrics", key).text
        assert 'memoranda_requests_total{method="GET",route="/v1/memories/{memory_id}",status="404"} 1.0' in figures
        assert "123456" not in figures

    def test_method_that_a_caller_makes_up_is_no_series_of_the_metrics(self, server: InProcessServer, key: str) -> None:
        for number in range(3):
            assert server.http.request(f"MADEUP{number}", "/healthz").status_code == 405
        figures = server.send("GET", "/v1/metrics", key).text
        assert 'memoranda_requests_total{method="other",route="/healthz",status="405"} 3.0' in figures
        assert "MADEUP" not in figures

    def test_unexpected_error_is_logged_and_not_returned(
        self, server: InProcessServer, key: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        from memoranda.aio.manager import MemoryManager

        async def broken(self: object) -> object:
            raise ZeroDivisionError("the secret is mmr.abc.def")

        monkeypatch.setattr(MemoryManager, "get_stats", broken)
        with caplog.at_level(logging.ERROR, "memoranda.server"):
            answer = server.send("GET", "/v1/stats", key)
        assert answer.status_code == 500
        assert answer.json()["type"] == "urn:memoranda:Internal"
        assert "secret" not in answer.text
        assert caplog.records[0].fields["request_id"] == answer.headers["x-request-id"]  # type: ignore[attr-defined]


def test_store_error_details_are_logged_and_not_returned(
    server: InProcessServer, key: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from memoranda.aio.manager import MemoryManager
    from memoranda.errors import Unavailable

    async def full(self: object) -> object:
        raise Unavailable("no space left in /var/lib/secret-place", retry_after=7)

    monkeypatch.setattr(MemoryManager, "get_stats", full)
    with caplog.at_level(logging.ERROR, "memoranda.server"):
        answer = server.send("GET", "/v1/stats", key)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "7")
    assert "secret-place" not in answer.text
    assert "secret-place" in caplog.text
    assert caplog.records[0].fields["request_id"] == answer.headers["x-request-id"]  # type: ignore[attr-defined]


def test_log_line_is_json_without_secrets_or_content(
    server: InProcessServer, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from memoranda.server import observability

    logger = logging.getLogger("memoranda.server")
    before = logger.handlers, logger.propagate, logger.level
    try:
        observability.configure_logging()
        server.send(
            "POST", "/v1/memories", key, json={"content": "a private sentence"}, headers={"X-Request-Id": "abc"}
        )
        logger.error("failed with %s and password=hunter22", key)
    finally:
        logger.handlers, logger.propagate, logger.level = before[0], before[1], before[2]
    request, failure = (json.loads(line) for line in capsys.readouterr().err.strip().splitlines())
    assert (request["status"], request["path"], request["request_id"]) == (201, "/v1/memories", "abc")
    assert "private" not in json.dumps(request)
    assert key.split(".")[2] not in failure["message"]
    assert "hunter22" not in failure["message"]
    assert key.split(".")[1] in failure["message"]


def test_openapi_document_is_made_beside_the_event_loop(
    server: InProcessServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = server.app.openapi

    def make_in_thread() -> object:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return make()

    monkeypatch.setattr(server.app, "openapi", make_in_thread)
    assert "servers" not in server.send("GET", "/openapi.json").json()
    mounted = TestClient(Starlette(routes=[Mount("/memory", server.app)]), base_url="http://localhost")
    assert mounted.get("/memory/openapi.json").json()["servers"] == [{"url": "/memory"}]


def test_openapi_document_has_examples_and_response_schemas(server: InProcessServer) -> None:
    document = server.send("GET", "/openapi.json").json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], path
            assert operation["responses"]["404"]["content"].keys() == {"application/problem+json"}
            success = next(answer for code, answer in operation["responses"].items() if code.startswith("2"))
            assert success["content"], (path, method)
    text = json.dumps(document)
    assert "HTTPValidationError" not in text
    assert text.count('"examples"') > 25


def test_long_response_serialised_in_chunks_is_complete(server: InProcessServer, key: str) -> None:
    texts = [f"fact {n}" for n in range(250)]
    stored = server.send("POST", "/v1/memories/batch", key, json={"contents": texts}).json()
    assert [memory["content"] for memory in stored] == texts
    page = server.send("POST", "/v1/memories/list", key, json={"limit": 1000}).json()
    assert page == {"items": stored, "next_cursor": None}
    found = server.send("POST", "/v1/recall", key, json={"query": "fact", "limit": 1000}).json()
    assert len(found["hits"]) == 250
    assert found["query"] == "fact"


def _add_tea(server: InProcessServer, key: str) -> str:
    """Add a memory and return its path."""
    return f"/v1/memories/{server.send('POST', '/v1/memories', key, json={'content': 'tea'}).json()['id']}"


class TestVersions:
    @pytest.mark.parametrize(
        "changes",
        [["archive"], ["archive", "restore"], ["pin"], ["pin", "unpin"], ["quarantine"], ["quarantine", "release"]],
        ids=lambda changes: changes[-1],
    )
    def test_any_change_by_somebody_else_makes_a_new_version(
        self, server: InProcessServer, key: str, changes: list[str]
    ) -> None:
        memory_id = server.send("POST", "/v1/memories", key, json={"content": "tea"}).json()["id"]
        path = f"/v1/memories/{memory_id}"
        for change in changes:
            read = server.send("GET", path, key).headers["etag"]
            assert server.send("POST", f"{path}/{change}", key, json={}).status_code == 200
            late = server.send("PATCH", path, key, json={"importance": 0.9}, headers={"If-Match": read})
            assert (late.status_code, late.json()["current"]["version"]) == (412, int(read.strip('"')) + 1)
        now = server.send("GET", path, key).headers["etag"]
        assert server.send("PATCH", path, key, json={"importance": 0.9}, headers={"If-Match": now}).status_code == 200

    def test_etag_sent_as_if_match_guards_an_update(self, server: InProcessServer, key: str) -> None:
        created = server.send("POST", "/v1/memories", key, json={"content": "tea"})
        assert created.headers["etag"] == '"1"'
        path = f"/v1/memories/{created.json()['id']}"
        read = server.send("GET", path, key)
        match = {"If-Match": read.headers["etag"]}
        changed = server.send("PATCH", path, key, json={"content": "milk"}, headers=match)
        assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
        late = server.send("PATCH", path, key, json={"content": "water"}, headers=match)
        assert (late.status_code, late.json()["type"]) == (412, "urn:memoranda:Conflict")
        assert late.json()["current"] == server.send("GET", path, key).json() == changed.json()

    def test_expected_version_in_the_body_conflicts_with_409(self, server: InProcessServer, key: str) -> None:
        path = _add_tea(server, key)
        late = server.send("PATCH", path, key, json={"content": "milk", "expected_version": 9})
        assert (late.status_code, late.json()["current"]["content"]) == (409, "tea")

    @pytest.mark.parametrize("if_match", ["1", 'W/"1"', '"1", "2"', '"x"', '""', '"0"'])
    def test_malformed_if_match_is_refused(self, server: InProcessServer, key: str, if_match: str) -> None:
        path = _add_tea(server, key)
        sent = {"json": {"content": "milk"}, "headers": {"If-Match": if_match}}
        assert server.send("PATCH", path, key, **sent).status_code == 422
        assert server.send("GET", path, key).json()["content"] == "tea"

    def test_if_match_star_matches_every_version(self, server: InProcessServer, key: str) -> None:
        path = _add_tea(server, key)
        sent = {"json": {"content": "milk"}, "headers": {"If-Match": "*"}}
        assert server.send("PATCH", path, key, **sent).status_code == 200

    def test_if_match_is_part_of_what_an_idempotency_key_stands_for(self, server: InProcessServer, key: str) -> None:
        path = _add_tea(server, key)
        codes = [
            server.send(
                "PATCH",
                path,
                key,
                json={"content": "milk"},
                headers={"Idempotency-Key": "a", "If-Match": version},
            ).status_code
            for version in ('"1"', '"1"', '"2"')
        ]
        assert codes == [200, 200, 409]


class TestReplay:
    @pytest.mark.parametrize("path", ["/v1/memories", "/v1/remember", "/v1/memories/batch"])
    def test_replay_does_not_return_a_forgotten_text(self, server: InProcessServer, key: str, path: str) -> None:
        body = {"contents": ["Ann drinks tea"]} if path.endswith("batch") else {"content": "Ann drinks tea"}
        sent = {"json": body, "headers": {"Idempotency-Key": "a"}}
        first = server.send("POST", path, key, **sent)
        assert server.send("POST", path, key, **sent).content == first.content
        stored = server.send("POST", "/v1/memories/list", key, json={}).json()["items"]
        assert server.send("POST", "/v1/forget", key, json={"ids": [stored[0]["id"]]}).status_code == 200
        for _ in range(2):
            again = server.send("POST", path, key, **sent)
            assert (again.status_code, again.json()["type"]) == (409, "urn:memoranda:Conflict")
            assert "tea" not in again.text
        assert server.send("POST", "/v1/memories/list", key, json={}).json()["items"] == []

    def test_replay_does_not_return_a_text_that_was_deleted(self, server: InProcessServer, key: str) -> None:
        added: dict[str, object] = {"messages": [{"role": "user", "content": "I drink green tea."}], "user_id": "ann"}
        owner: dict[str, object] = {"filters": {"user_id": "ann"}}
        sent: dict[str, dict[str, object]] = {
            "/v1/items": {"namespace": ["a"], "values": {"k": "green tea"}},
            "/mem0/v3/memories/add/": added,
            "/mem0/v3/memories/": owner,
            "/mem0/v3/memories/search/": {"query": "tea", **owner},
            "/v1/recall": {"query": "tea", "user": "ann"},
            "/v1/items/get": {"namespace": ["a"], "key": "k"},
            "/v1/items/search": {"prefix": ["a"]},
        }
        headers = {"Idempotency-Key": "a"}
        before = {path: server.send("POST", path, key, json=body, headers=headers) for path, body in sent.items()}
        shown = [path for path, answer in before.items() if "green tea" in answer.text]
        assert len(shown) == len(sent), {path: answer.text for path, answer in before.items() if path not in shown}
        assert server.send("POST", "/v1/items/delete", key, json={"namespace": ["a"], "keys": ["k"]}).is_success
        memory = before["/mem0/v3/memories/search/"].json()["results"][0]["id"]
        assert server.send("DELETE", f"/mem0/v1/memories/{memory}/", key).is_success
        del sent["/v1/items"]  # it returns what this very request holds
        after = {path: server.send("POST", path, key, json=body, headers=headers) for path, body in sent.items()}
        assert [path for path, answer in after.items() if "green tea" in answer.text] == []

    def test_replay_of_a_recall_does_not_return_a_forgotten_text(self, server: InProcessServer, key: str) -> None:
        added = server.send("POST", "/v1/memories", key, json={"content": "Ann drinks tea"}).json()
        server.send("POST", "/v1/memories", key, json={"content": "tea is hot"})
        for path in ("/v1/recall", "/v1/context"):
            sent = {"json": {"query": "tea"}, "headers": {"Idempotency-Key": path}}
            assert "Ann drinks tea" in server.send("POST", path, key, **sent).text
        server.send("POST", "/v1/forget", key, json={"ids": [added["id"]]})
        for path in ("/v1/recall", "/v1/context"):
            sent = {"json": {"query": "tea"}, "headers": {"Idempotency-Key": path}}
            assert "Ann drinks tea" not in server.send("POST", path, key, **sent).text


@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Length", "2"), ("Transfer-Encoding", "chunked")],
        [("Content-Length", "2"), ("Content-Length", "3")],
        [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "identity")],
    ],
)
@pytest.mark.parametrize("path", ["/v1/recall", "/v1/import", "/healthz"])
def test_request_with_two_lengths_is_refused(
    server: InProcessServer, key: str, headers: list[tuple[str, str]], path: str
) -> None:
    sent = [("Authorization", f"Bearer {key}"), ("Content-Type", "application/json"), *headers]
    refused = server.http.request("POST", path, content=b"{}", headers=sent)
    assert (refused.status_code, refused.headers["connection"]) == (400, "close")


@pytest.mark.parametrize("path", ["/v1/recall", "/v1/import", "/healthz"])
def test_chunks_in_http_1_0_are_refused(server: InProcessServer, key: str, path: str) -> None:
    async def as_http_1_0(scope: Scope, receive: Receive, send: Send) -> None:
        await server.app(scope | {"http_version": "1.0"}, receive, send)

    sent = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    old = TestClient(as_http_1_0, base_url="http://localhost")
    refused = old.post(path, content=iter([b"{}"]), headers=sent)
    assert (refused.status_code, refused.headers["connection"]) == (400, "close")
    del sent["Transfer-Encoding"]
    assert old.post("/v1/memories", json={"content": "a note"}, headers=sent).status_code == 201


@pytest.mark.parametrize(
    "name", ["Authorization", "Host", "Origin", "Content-Type", "Idempotency-Key", "If-Match", "X-CSRF-Token"]
)
@pytest.mark.parametrize("path", ["/v1/stats", "/healthz"])
def test_header_that_decides_is_refused_when_it_comes_twice(
    server: InProcessServer, key: str, name: str, path: str
) -> None:
    values = {"Authorization": f"Bearer {key}", "Host": "localhost", "Content-Type": "application/json"}
    sent = [*values.items(), (name, values.get(name, "a"))]
    if name not in values:
        sent.append((name, "b"))
    refused = server.http.request("GET", path, headers=sent)
    assert refused.status_code == 400
    assert f"send the header {name.lower()} once" in refused.json()["detail"]


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:1@other.example",
        "localhost@other.example",
        "other.example@localhost",
        "localhost:80:80",
        "localhost:port",
        "localhost/path",
        "localhost other.example",
        "localhost,other.example",
        "[::1]other.example",
        "[::1]@other.example",
        "[::1",
        "::1",
        "localhost:999999",
    ],
)
def test_host_that_is_more_than_a_name_and_a_port_is_refused(server: InProcessServer, key: str, host: str) -> None:
    headers = {"Authorization": f"Bearer {key}", "Host": host}
    assert server.http.get("/v1/stats", headers=headers).status_code == 421
    assert not ServerConfig().answers_to(host)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8700", "127.0.0.1:1", "[::1]", "[::1]:8700", "localhost:"])
def test_own_names_are_accepted_with_and_without_a_port(host: str) -> None:
    assert ServerConfig().answers_to(host)


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "null", "http://localhost:x"])
def test_origin_that_is_no_address_is_refused(server: InProcessServer, key: str, origin: str) -> None:
    headers = {"Authorization": f"Bearer {key}", "Origin": origin}
    assert server.http.get("/v1/stats", headers=headers).status_code == 403


def test_operation_ids_are_plain_and_unique(server: InProcessServer) -> None:
    document = server.send("GET", "/openapi.json").json()
    ids = [operation["operationId"] for item in document["paths"].values() for operation in item.values()]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+){0,3}", each) and "_v1_" not in each for each in ids), ids


def test_page_of_the_api_needs_no_key_and_no_other_server(server: InProcessServer) -> None:
    page = server.send("GET", "/docs")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    linked = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert {"docs/page.js", "docs/page.css", "openapi.json"} <= set(linked)
    texts = [page.text]
    for name in ("docs/page.js", "docs/page.css"):
        answer = server.send("GET", f"/{name}")
        assert answer.status_code == 200
        texts.append(answer.text)
        assert "script-src 'self'" in answer.headers["content-security-policy"]
    for text in texts:
        assert re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text) == []
        assert "innerHTML" not in text
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert page.headers["x-frame-options"] == "DENY"
    assert (
        server.send("GET", "/healthz").headers["content-security-policy"]
        == "default-src 'none'; frame-ancestors 'none'"
    )
    assert server.send("GET", "/docs/other.js").status_code in (401, 404)


def test_list_of_users_needs_the_admin_scope(server: InProcessServer, key: str) -> None:
    server.send("POST", "/v1/remember", key, json={"content": "Ann likes tea", "user": "ann"})
    assert server.send("GET", "/v1/users", server.key(scopes=("read", "write"))).status_code == 403


def test_server_finds_damaged_rows_in_the_background(tmp_path: Path) -> None:
    with open_server(tmp_path, scrub_seconds=0.05) as server:
        key = server.key()
        made = server.send("POST", "/v1/memories", key, json={"content": "Nora likes tea"})
        assert made.status_code == 201
        # In another process: two SQLite libraries in one process undo each other's locks.
        change = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit(); c.close()"
        statement = "UPDATE memories SET content = 'Nora likes tar'"
        subprocess.run([sys.executable, "-c", change, tmp_path / "server.db", statement], check=True)
        deadline = time.monotonic() + 30
        while not (problems := server.send("GET", "/v1/health", key).json()["problems"]):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert "is damaged" in problems[0]

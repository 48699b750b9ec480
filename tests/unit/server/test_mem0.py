from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.in_process import InProcessServer, open_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    with open_server(tmp_path) as server:
        yield server


def send(server: InProcessServer, key: str, method: str, path: str, **options: Any) -> Any:
    """Send a request as mem0's client does, with its own scheme."""
    return server.http.request(method, f"/mem0{path}", headers={"Authorization": f"Token {key}"}, **options)


def add(server: InProcessServer, key: str, **fields: Any) -> str:
    body = {"messages": [{"role": "user", "content": "I like tea"}], "infer": False, **fields}
    answer = send(server, key, "POST", "/v3/memories/add/", json=body)
    assert answer.status_code == 200, answer.text
    memory_id: str = answer.json()["results"][0]["id"]
    return memory_id


def test_tenants_do_not_see_each_other(server: InProcessServer) -> None:
    one, two = server.key("one"), server.key("two")
    memory_id = add(server, one, user_id="ann")
    assert send(server, one, "GET", f"/v1/memories/{memory_id}/").json()["memory"] == "I like tea"
    assert send(server, two, "GET", f"/v1/memories/{memory_id}/").status_code == 404
    assert send(server, two, "PUT", f"/v1/memories/{memory_id}/", json={"text": "x"}).status_code == 404
    assert send(server, two, "DELETE", f"/v1/memories/{memory_id}/").status_code == 404
    assert send(server, two, "GET", f"/v1/memories/{memory_id}/history/").json() == []
    listed = send(server, two, "POST", "/v3/memories/", json={"filters": {"user_id": "ann"}}).json()
    assert (listed["count"], listed["results"]) == (0, [])
    assert send(server, two, "GET", "/v1/entities/").json()["results"] == []


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [
        ("POST", "/v3/memories/", {"json": {"filters": {"agent_id": "a1"}}}),
        ("POST", "/v3/memories/", {"json": {"filters": {"OR": [{"user_id": "ann"}, {"user_id": "bob"}]}}}),
        ("POST", "/v3/memories/", {"json": {"filters": {"user_id": "*"}}}),
        ("POST", "/v3/memories/search/", {"json": {"query": "tea", "filters": {"run_id": "r1"}}}),
        ("DELETE", "/v1/memories/", {"params": {"agent_id": "a1"}}),
        ("GET", "/v1/memories/{id}/", {}),
        ("GET", "/v1/memories/{id}/history/", {}),
        ("PUT", "/v1/memories/{id}/", {"json": {"text": "x"}}),
        ("DELETE", "/v1/memories/{id}/", {}),
        ("PUT", "/v1/batch/", {"json": {"memories": []}}),
        ("DELETE", "/v1/batch/", {"json": {"memories": []}}),
        ("GET", "/v1/entities/", {}),
        ("DELETE", "/v2/entities/user/ann/", {}),
    ],
)
def test_what_reaches_several_users_needs_the_admin_scope(
    server: InProcessServer, method: str, path: str, options: dict[str, Any]
) -> None:
    memory_id = add(server, server.key(), user_id="ann", agent_id="a1", run_id="r1")
    key = server.key(scopes=("read", "write"))
    answer = send(server, key, method, path.replace("{id}", memory_id), **options)
    assert (answer.status_code, "admin" in answer.text) == (403, True)
    own = send(server, key, "POST", "/v3/memories/", json={"filters": {"user_id": "ann"}})
    assert own.json()["count"] == 1


def test_reader_may_not_write(server: InProcessServer) -> None:
    key = server.key(scopes=("read",))
    assert send(server, key, "GET", "/v1/ping/").json()["status"] == "ok"
    body = {"messages": "I like tea", "user_id": "ann"}
    assert send(server, key, "POST", "/v3/memories/add/", json=body).status_code == 403
    assert send(server, key, "DELETE", "/v1/memories/", params={"user_id": "ann"}).status_code == 403
    assert send(server, "wrong", "GET", "/v1/ping/").status_code == 401


def test_pages_cover_all_memories_once(server: InProcessServer) -> None:
    key = server.key()
    ids = [add(server, key, user_id="ann") for _ in range(5)]
    found, path = [], "/v3/memories/?page=1&page_size=2"
    while path:
        page = send(server, key, "POST", path, json={"filters": {"user_id": "ann"}}).json()
        found += [each["id"] for each in page["results"]]
        path = (page["next"] or "").partition("/mem0")[2]
    assert found == ids


@pytest.mark.parametrize(
    ("method", "path", "body", "message"),
    [
        ("POST", "/v3/memories/add/", {"messages": "x", "user_id": "u", "includes": "y"}, "includes is not supported"),
        ("POST", "/v3/memories/add/", {"user_id": "u"}, "messages must be"),
        ("POST", "/v3/memories/search/", {"filters": {"user_id": "u"}}, "query"),
        ("POST", "/v3/memories/search/", {"query": "x"}, "must name a user_id"),
        ("POST", "/v3/memories/", {"filters": "ann"}, "filters must be a dict"),
        ("PUT", "/v1/batch/", {"memories": [{"text": "x"}]}, "memory_id"),
        ("DELETE", "/v2/entities/app/x/", None, "unknown kind 'app'"),
    ],
)
def test_wrong_request_is_refused_with_what_to_do(
    server: InProcessServer, method: str, path: str, body: Any, message: str
) -> None:
    answer = send(server, server.key(), method, path, json=body)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]

"""Two tenants, every route, random queries: neither ever sees a row, an id or a count of the other."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoranda.storage.sqlite import connections
from tests.server.in_process import InProcessServer, open_server

NAMES = ("writer", "ann", "campaign", "tea", "draft", None)
Call = tuple[str, str, dict[str, Any]]


class Tenant:
    """One tenant: fills every table with a word that identifies it, and keeps its ids."""

    def __init__(self, server: InProcessServer, name: str) -> None:
        self.server = server
        self.name = name
        self.word = f"canary{name}"
        self.key = server.key(name)
        self.session = ""
        self.ids: list[int] = []
        self.export = b""
        self.recall_id = ""
        self.receipt_id = ""

    def send(self, method: str, path: str, **options: Any) -> Any:
        return self.server.send(method, path, self.key, **options)

    def fill(self) -> None:
        for user in (None, "ann"):
            scope = {"user": user, "agent": "writer", "session": "campaign"} if user else {}
            texts = [f"{self.word} likes tea number {n}" for n in range(10)]
            made = self.send("POST", "/v1/memories/batch", json={"contents": texts, **scope}).json()
            self.ids += [memory["id"] for memory in made]
        first, second = self.ids[:2]
        said = {"role": "user", "content": self.word, "message_id": "m1"}
        value = {"agent_id": "writer", "key": "draft", "value": self.word}
        self.send("POST", "/v1/associations", json={"memory_id": first, "related_memory_id": second})
        self.send("POST", "/v1/remember", json={"content": [said], "idempotency_key": "same"})
        self.send("POST", "/v1/conversation/messages", json={"agent": "writer", "messages": [said]})
        self.send("PUT", "/v1/values", json=value)
        self.send("PUT", "/v1/values", json={**value, "memory_type": "long_term"})
        for user in (None, "ann"):
            item = {"namespace": ["teas", self.word], "values": {"draft": {"text": self.word}}, "user": user}
            assert self.send("POST", "/v1/items", json=item).status_code == 200
            self.send("POST", "/v1/items", json={**item, "namespace": ["teas"]})
        self.send("POST", "/v1/executions", json={"agent_id": "writer", "record": {"status": self.word}})
        document = {"text": f"{self.word} brews tea", "source": "tea.md"}
        self.send("POST", "/v1/knowledge", json={"documents": [document]})
        opened = self.send("POST", "/v1/sessions", json={"workflow_id": "campaign", "metadata": {"who": self.word}})
        self.session = opened.json()["session_id"]
        line = {"agent_id": "writer", "role": "user", "content": self.word}
        self.send("POST", f"/v1/sessions/{self.session}/messages", json=line)
        self.send("PUT", f"/v1/sessions/{self.session}/values", json=value)
        told = {"role": "user", "name": "Ann", "content": f"My favourite colour is {self.word}."}
        self.send("POST", "/v1/remember", json={"content": [told], "user": "ann"})
        disputed = {"content": f"Ann's favourite colour is pale {self.word}.", "source": "https://example.org"}
        self.send("POST", "/v1/remember", json={**disputed, "user": "ann"})
        gone = self.send("POST", "/v1/memories", json={"content": f"{self.word} is gone"}).json()
        self.receipt_id = self.send("POST", "/v1/forget", json={"ids": [gone["id"]]}).json()["id"]
        self.recall_id = self.send("POST", "/v1/recall", json={"query": self.word}).json()["id"]
        self.export = self.send("GET", "/v1/export", params={"all_users": "true"}).content


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    with open_server(tmp_path) as server:
        yield server


@pytest.fixture
def tenants(server: InProcessServer) -> tuple[Tenant, Tenant]:
    both = Tenant(server, "red"), Tenant(server, "blue")
    for tenant in both:
        tenant.fill()
    return both


def random_scope(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.4:
        return {"all_users": True}
    given = {"agent": rng.choice(NAMES), "user": rng.choice(NAMES), "session": rng.choice(NAMES)}
    return {name: value for name, value in given.items() if value is not None}


def reading_calls(rng: random.Random, other: Tenant) -> list[Call]:
    """Every route that reads, with names that both tenants use and ids that only the other one has."""
    foreign, session = rng.choice(other.ids), other.session
    scope, text = (
        random_scope(rng),
        rng.choice([other.word, "tea", "likes", f"{other.word} tea number {rng.randrange(10)}"]),
    )
    flat = {name: str(value).lower() if value is True else value for name, value in scope.items()}
    agent = {"agent_id": "writer", "key": "draft"}
    return [
        ("POST", "/v1/recall", {"json": {"query": text, "shared": True, "explain": True, **scope}}),
        ("POST", "/v1/context", {"json": {"query": text, **scope}}),
        ("POST", "/v1/why-not", {"json": {"query": text, "memory_id": foreign, **scope}}),
        ("POST", "/v1/replay", {"json": {"recall_id": other.recall_id, **scope}}),
        ("POST", "/v1/search", {"json": {"query": text, "limit": 100, **scope}}),
        ("POST", "/v1/search/similar", {"json": {"agent_id": "writer", "query": text, "shared": True}}),
        ("POST", "/v1/memories/list", {"json": {"limit": 1000, **scope}}),
        ("GET", f"/v1/memories/{foreign}", {"params": flat}),
        ("GET", f"/v1/memories/{foreign}/related", {"params": flat}),
        ("GET", f"/v1/memories/{foreign}/history", {"params": flat}),
        ("GET", "/v1/facts", {"params": flat}),
        ("GET", "/v1/facts", {"params": {"user": "ann"}}),
        ("GET", "/v1/conflicts", {"params": {"user": "ann"}}),
        ("GET", "/v1/history", {"params": {"slot": "Ann/favourite colour", "user": "ann"}}),
        ("GET", "/v1/receipts", {"params": flat}),
        ("GET", f"/v1/receipts/{other.receipt_id}", {}),
        ("POST", "/v1/receipts/verify", {"json": {"receipt": other.receipt_id}}),
        ("GET", "/v1/conversation", {"params": {"agent": "writer"}}),
        ("GET", "/v1/conversation/messages", {"params": {"agent": "writer"}}),
        ("GET", "/v1/conversation/recent", {"params": {"agent": "writer"}}),
        ("GET", "/v1/conversation/window", {"params": {"agent": "writer"}}),
        ("GET", "/v1/values", {"params": agent}),
        ("GET", "/v1/values", {"params": {**agent, "memory_type": "long_term"}}),
        ("POST", "/v1/items/get", {"json": {"namespace": ["teas"], "key": "draft", "user": rng.choice([None, "ann"])}}),
        ("POST", "/v1/items/search", {"json": {"query": rng.choice([None, text]), "user": rng.choice([None, "ann"])}}),
        ("POST", "/v1/items/namespaces", {"json": {"prefix": ["teas"], "user": rng.choice([None, "ann"])}}),
        ("GET", "/v1/agents", {"params": {"all_users": "true"}}),
        ("GET", "/v1/sessions/names", {"params": {"all_users": "true"}}),
        ("GET", "/v1/executions", {"params": {"limit": 100}}),
        ("GET", "/v1/executions/stats", {}),
        ("GET", "/v1/executions/verify", {}),
        ("GET", "/v1/sessions", {}),
        ("GET", "/v1/sessions/history", {"params": {"workflow_id": "campaign"}}),
        ("GET", f"/v1/sessions/{session}", {}),
        ("GET", f"/v1/sessions/{session}/messages", {}),
        ("GET", f"/v1/sessions/{session}/values", {"params": agent}),
        ("GET", "/v1/knowledge", {}),
        ("GET", "/v1/stats", {}),
        ("GET", "/v1/users", {}),
        ("GET", "/v1/health", {}),
        ("GET", "/v1/metrics", {}),
        ("GET", "/healthz", {}),
        ("GET", "/v1/export", {"params": {"all_users": "true"}}),
        ("POST", "/v1/upkeep/cleanup", {"json": {"max_age_days": 0, "min_importance": 1, "dry_run": True, **scope}}),
    ]


def writing_calls(other: Tenant) -> list[Call]:
    """Every route that writes, aimed at the data of the other tenant."""
    foreign, session = other.ids[0], other.session
    everybody = {"all_users": True}
    line = {"agent_id": "writer", "role": "user", "content": "hi"}
    said = {"role": "user", "content": "hi", "message_id": "m1"}
    return [
        ("POST", "/v1/memories", {"json": {"content": "mine", "user": "ann"}}),
        ("POST", "/v1/memories/batch", {"json": {"contents": ["mine too"]}}),
        ("POST", "/v1/remember", {"json": {"content": [said], "idempotency_key": "same"}}),
        ("POST", "/v1/executions", {"json": {"agent_id": "writer", "record": {"status": "ok"}}}),
        ("POST", "/v1/knowledge", {"json": {"documents": [{"text": "milk", "source": "tea.md"}]}}),
        ("POST", "/v1/sessions", {"json": {"workflow_id": "campaign"}}),
        ("POST", "/v1/conversation/messages", {"json": {"agent": "writer", "messages": [said]}}),
        ("PUT", "/v1/values", {"json": {"agent_id": "writer", "key": "draft", "value": 1}}),
        ("POST", "/v1/values/delete", {"json": {"agent_id": "writer", "key": "draft", "memory_type": "long_term"}}),
        ("POST", "/v1/items", {"json": {"namespace": ["teas"], "values": {"draft": "mine"}, "user": "ann"}}),
        ("POST", "/v1/items/delete", {"json": {"namespace": ["teas", other.word], "keys": ["draft"], "user": "ann"}}),
        ("POST", "/v1/import", {"content": other.export, "headers": {"Content-Type": "application/x-ndjson"}}),
        ("PATCH", f"/v1/memories/{foreign}", {"json": {"content": "taken", **everybody}}),
        ("DELETE", f"/v1/memories/{foreign}", {"params": {"all_users": "true"}}),
        ("POST", "/v1/memories/delete", {"json": {"memory_ids": other.ids[:3], **everybody}}),
        ("POST", "/v1/memories/discard", {"json": {"memory_ids": other.ids[:3], **everybody}}),
        ("POST", "/v1/associations", {"json": {"memory_id": foreign, "related_memory_id": other.ids[1], **everybody}}),
        ("POST", "/v1/upkeep/cleanup", {"json": {"max_age_days": 0, "min_importance": 1, **everybody}}),
        *(
            ("POST", f"/v1/memories/{foreign}/{verb}", {"json": everybody})
            for verb in ("archive", "restore", "release", "quarantine", "pin", "unpin")
        ),
        ("POST", "/v1/upkeep", {"json": everybody}),
        ("POST", "/v1/forget", {"json": {"containing": other.word, **everybody}}),
        ("POST", "/v1/forget", {"json": {"ids": other.ids[:2], **everybody}}),
        ("POST", f"/v1/sessions/{session}/messages", {"json": line}),
        ("PUT", f"/v1/sessions/{session}/values", {"json": {"agent_id": "writer", "key": "draft", "value": 1}}),
        ("POST", f"/v1/sessions/{session}/executions", {"json": {"agent_id": "writer", "record": {}}}),
        ("POST", f"/v1/sessions/{session}/end", {}),
        ("POST", "/v1/sessions/clear", {"json": {"workflow_id": "campaign"}}),
        ("POST", "/v1/knowledge/remove", {"json": {"source": "tea.md"}}),
        ("POST", "/v1/conversation/messages/pop", {"json": {"agent": "writer"}}),
        ("POST", "/v1/conversation/messages/delete", {"json": {"agent": "writer", "positions": [0]}}),
        ("PUT", "/v1/conversation/messages", {"json": {"agent": "writer", "messages": []}}),
        ("PUT", "/v1/conversations/retention", {"json": {"agent_name": "writer", "policy": "session"}}),
        ("POST", "/v1/conversations/end-run", {"json": {"agent_name": "writer"}}),
        ("POST", "/v1/conversations/clear-agent", {"json": {"agent_name": "writer"}}),
        ("POST", "/v1/conversations/clear", {}),
    ]


def test_reading_routes_never_return_data_of_another_tenant(tenants: tuple[Tenant, Tenant]) -> None:
    rng = random.Random(11)
    answered = 0
    for _ in range(12):
        for mine, other in (tenants, tenants[::-1]):
            for method, path, options in reading_calls(rng, other):
                answer = mine.send(method, path, **options)
                assert answer.status_code < 500, answer.text
                shown = answer.text.replace(str(options.get("json", {}).get("query")), "")
                assert other.word not in shown, (method, path, options)
                answered += answer.status_code == 200
    assert answered > 300


def test_health_and_metrics_need_an_admin_key_of_the_default_tenant(
    server: InProcessServer, tenants: tuple[Tenant, Tenant]
) -> None:
    for path in ("/v1/health", "/v1/metrics"):
        assert tenants[0].send("GET", path).status_code == 403
        assert server.send("GET", path, server.key(scopes=("read", "write"))).status_code == 403
        assert server.send("GET", path, server.key()).status_code == 200


def test_stats_count_only_the_tenants_own_data(tenants: tuple[Tenant, Tenant]) -> None:
    red, blue = tenants
    before = red.send("GET", "/v1/stats").json()
    blue.send("POST", "/v1/memories", json={"content": "one more"})
    assert red.send("GET", "/v1/stats").json() == before


def test_id_of_another_tenant_answers_like_an_unknown_id(tenants: tuple[Tenant, Tenant]) -> None:
    mine, other = tenants
    foreign, never = str(other.ids[0]), "987654321"
    for method, path, options in [*reading_calls(random.Random(1), other), *writing_calls(other)]:
        if other.session in path:
            continue
        asked, missing = (
            mine.send(method, path.replace(foreign, number), **_with(options, other.ids, int(number)))
            for number in (foreign, never)
        )
        if "memories/" in path or path in ("/v1/associations", "/v1/why-not"):
            assert asked.status_code == missing.status_code, path
            assert _without_numbers(asked.text) == _without_numbers(missing.text), path


def test_id_of_another_tenant_runs_the_same_queries_as_an_unknown_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test of time would fail on a busy machine; the queries that take the time can be compared."""
    ran: list[str] = []
    connect = connections.connect

    def traced(*how: Any, **options: Any) -> Any:
        raw = connect(*how, **options)
        raw.set_trace_callback(ran.append)
        return raw

    monkeypatch.setattr(connections, "connect", traced)
    with open_server(tmp_path, key_cache_seconds=600.0) as server:
        mine, other = Tenant(server, "red"), Tenant(server, "blue")
        mine.fill()
        other.fill()
        foreign, never = str(other.ids[0]), "987654321"
        for verb in ("", "/related", "/history"):
            reads: list[list[str]] = []
            for number in (never, foreign, never, foreign):
                ran.clear()
                assert mine.send("GET", f"/v1/memories/{number}{verb}").status_code == 404
                reads.append([_without_numbers(statement) for statement in ran])
            assert reads[2] == reads[3] != [], verb


def test_writing_routes_never_change_another_tenant(tenants: tuple[Tenant, Tenant]) -> None:
    mine, other = tenants
    looked_at = [
        call
        for call in reading_calls(random.Random(3), mine)
        if not any(word in call[1] for word in ("why-not", "recall", "replay"))
    ]
    before = [_stable(other.send(*call[:2], **call[2]).text) for call in looked_at]
    for method, path, options in writing_calls(other):
        assert mine.send(method, path, **options).status_code < 500
    after = [_stable(other.send(*call[:2], **call[2]).text) for call in looked_at]
    assert after == before


def test_isolation_tests_cover_every_route(server: InProcessServer, tenants: tuple[Tenant, Tenant]) -> None:
    rng, other = random.Random(0), tenants[1]
    tried = {
        (method, _pattern(path, other.session, other.receipt_id))
        for method, path, _ in [*reading_calls(rng, other), *writing_calls(other)]
    }
    document = server.send("GET", "/openapi.json").json()
    known = {(verb.upper(), _pattern(path)) for path, verbs in document["paths"].items() for verb in verbs}
    assert known == tried


def _pattern(path: str, *names: str) -> str:
    """The path with `{}` for its parameters."""
    parts = ["{}" if part.isdigit() or part.startswith("{") or part in names else part for part in path.split("/")]
    return "/".join(parts)


def _with(options: dict[str, Any], ids: list[int], number: int) -> dict[str, Any]:
    body = dict(options.get("json", {}))
    for name, value in body.items():
        if name == "memory_ids":
            body[name] = [number]
        elif isinstance(value, int) and value in ids and name.endswith("memory_id"):
            body[name] = number
    return {**options, "json": body} if body else options


def _without_numbers(text: str) -> str:
    return "".join(letter for letter in text if not letter.isdigit())


def _stable(text: str) -> str:
    """The text without what differs between requests: times, fence markers, access counts."""
    import re

    counted = r'"access_count":\d+|,"accessed_at":"[^"]+"'
    return re.sub(
        rf'"(duration_seconds|elapsed_ms)":[0-9.e-]+|memoranda-memory [0-9a-f]+|"recall_id":"\w+"|{counted}', "", text
    )

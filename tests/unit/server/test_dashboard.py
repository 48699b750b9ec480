from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoranda import MemoryManager
from memoranda.testing.fakes import HashEmbedder
from tests.server.in_process import InProcessServer, open_server

ALL = ("read", "write", "admin")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    with open_server(tmp_path, key_cache_seconds=0.0) as opened:
        yield opened


def add(server: InProcessServer, content: str, **options: Any) -> int:
    key = options.pop("key", None)
    return int(server.send("POST", "/v1/memories", key, json={"content": content, **options}).json()["id"])


def sign_in(server: InProcessServer, key: str) -> str:
    answer = server.http.post("/ui/login", json={"key": key})
    assert answer.status_code == 200
    return str(answer.json()["csrf_token"])


def test_page_and_files_need_no_key_and_have_a_strict_policy(server: InProcessServer) -> None:
    server.key()
    for path in ("/", "/ui/static/app.js", "/ui/static/app.css", "/ui/static/icon.svg", "/ui/static/pages/ask.js"):
        answer = server.http.get(path)
        assert answer.status_code == 200, path
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


@pytest.mark.parametrize(
    "name", ["../insight.py", "..%2Finsight.py", "%2e%2e/%2e%2e/types.py", "vendor/NOTICE", "x.js", "/etc/passwd"]
)
def test_only_the_listed_files_are_served(server: InProcessServer, name: str) -> None:
    assert server.http.get(f"/ui/static/{name}").status_code in (401, 404)


def test_unchanged_file_is_not_sent_again(server: InProcessServer) -> None:
    etag = server.http.get("/ui/static/app.js").headers["etag"]
    again = server.http.get("/ui/static/app.js", headers={"If-None-Match": etag})
    assert (again.status_code, again.content) == (304, b"")


def test_local_caller_is_signed_in_until_the_first_key(server: InProcessServer) -> None:
    assert server.http.get("/ui/session").json()["local"] is True
    server.key()
    assert server.http.get("/ui/session").json()["signed_in"] is False
    assert server.http.get("/ui/overview").status_code == 401


def test_wrong_key_signs_nobody_in(server: InProcessServer) -> None:
    key = server.key()
    answer = server.http.post("/ui/login", json={"key": key[:-2] + "zz"})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_cookie_reads_but_writes_only_with_the_token_of_the_page(server: InProcessServer) -> None:
    token = sign_in(server, server.key(scopes=ALL))
    assert server.http.get("/v1/stats").status_code == 200
    body = {"content": "Ann likes tea"}
    assert server.http.post("/v1/memories", json=body).status_code == 403
    assert server.http.post("/v1/memories", json=body, headers={"X-CSRF-Token": "guess"}).status_code == 403
    assert server.http.post("/v1/memories", json=body, headers={"X-CSRF-Token": token}).status_code == 201


def test_cookie_of_one_page_is_of_no_use_to_another_origin(server: InProcessServer) -> None:
    token = sign_in(server, server.key(scopes=ALL))
    headers = {"X-CSRF-Token": token, "Origin": "https://evil.example"}
    assert server.http.post("/v1/memories", json={"content": "x"}, headers=headers).status_code == 403


def test_cookie_is_strict_and_hidden_from_scripts(server: InProcessServer) -> None:
    answer = server.http.post("/ui/login", json={"key": server.key()})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "max-age=" in cookie


def test_session_ends_with_its_key_and_with_signing_out(server: InProcessServer) -> None:
    from memoranda.server.keys import open_keys

    key = server.key(scopes=ALL)
    sign_in(server, key)
    with open_keys(server.db_url) as keys:
        keys.revoke(next(iter(keys.all())).id)
    assert server.http.get("/ui/overview").status_code == 401
    sign_in(server, server.key(scopes=ALL))
    assert server.http.get("/ui/overview").status_code == 200
    server.http.post("/ui/logout", json={})
    assert server.http.get("/ui/overview").status_code == 401


def test_key_that_only_reads_cannot_write_with_its_cookie(server: InProcessServer) -> None:
    token = sign_in(server, server.key(scopes=("read",)))
    answer = server.http.post("/ui/demo", json={}, headers={"X-CSRF-Token": token})
    assert answer.status_code == 403


READS = ("/ui/states", "/ui/conversations", "/ui/conversation", "/ui/graph", "/ui/memories/1/provenance")


@pytest.mark.parametrize("path", READS)
def test_reading_across_users_needs_the_admin_scope(server: InProcessServer, path: str) -> None:
    key = server.key(scopes=("read", "write"))
    assert server.send("GET", path, key, params={"all_users": "true"}).status_code == 403


def test_key_without_admin_sees_nothing_of_others_in_the_overview(server: InProcessServer) -> None:
    add(server, "Ann likes tea", user="ann", agent="helper")
    server.http.post("/v1/upkeep", json={})
    limited, full = server.key(scopes=("read",)), server.key(scopes=ALL)
    nobody = server.send("GET", "/ui/overview", limited).json()
    assert [nobody[name] for name in ("memories", "users", "agents", "executions")] == [0, 0, 0, 0]
    assert [nobody[name] for name in ("by_type", "by_agent", "by_user", "growth", "recalls")] == [[], [], [], [], []]
    assert nobody["last_upkeep"]["examined"] is None
    everybody = server.send("GET", "/ui/overview", full).json()
    assert [each["name"] for each in everybody["by_user"]] == ["ann"]
    assert server.send("GET", "/ui/overview", limited, params={"all_users": "true"}).status_code == 403


def test_overview_is_of_the_person_who_is_named(server: InProcessServer) -> None:
    for number in range(3):
        add(server, f"Ann has note {number}", user="ann", agent="helper")
    gone = add(server, "Bob likes red tea", user="bob", agent="guide", memory_type="procedural")
    add(server, "Bob likes black tea", user="bob", agent="guide", memory_type="procedural")
    server.http.delete(f"/v1/memories/{gone}", params={"user": "bob"})
    for user in ("ann", "ann", "bob"):
        server.http.post("/v1/recall", json={"query": "tea", "user": user})
    for key in (server.key(scopes=("read",)), server.key(scopes=ALL)):
        bob = server.send("GET", "/ui/overview", key, params={"user": "bob"}).json()
        assert (bob["memories"], bob["users"], bob["agents"], bob["by_user"]) == (1, 1, 1, [])
        assert [(each["name"], each["memories"]) for each in bob["by_type"]] == [("procedural", 1)]
        assert [(each["name"], each["memories"]) for each in bob["by_agent"]] == [("guide", 1)]
        assert [(day["added"], day["removed"], day["total"]) for day in bob["growth"]] == [(2, 1, 1)]
        assert [day["recalls"] for day in bob["recalls"]] == [1]


def test_tenants_see_neither_memories_nor_ids_of_each_other(server: InProcessServer) -> None:
    mine, other = server.key(scopes=ALL), server.key("other", scopes=ALL)
    shown = add(server, "Ann likes tea", user="ann", key=mine)
    scope = {"all_users": True}
    assert server.send("POST", "/ui/memories", other, json=scope).json()["items"] == []
    assert server.send("GET", "/ui/graph", other, params=scope).json()["nodes"] == []
    assert server.send("GET", f"/ui/memories/{shown}/provenance", other, params=scope).status_code == 404
    listed = server.send("POST", "/ui/memories", mine, json=scope).json()["items"]
    graph = server.send("GET", "/ui/graph", mine, params=scope | {"around": shown}).json()
    assert [memory["id"] for memory in listed] == [shown]
    assert [node["id"] for node in graph["nodes"]] == [shown]
    assert shown != 1


def test_memories_are_paged_newest_first_with_opaque_cursors(server: InProcessServer) -> None:
    key = server.key(scopes=ALL)
    ids = [add(server, f"note number {number}", user="ann", key=key) for number in range(7)]
    seen: list[int] = []
    cursor = None
    while True:
        body = {"user": "ann", "limit": 3} | ({"cursor": cursor} if cursor else {})
        page = server.send("POST", "/ui/memories", key, json=body).json()
        seen += [memory["id"] for memory in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == ids[::-1]


def test_memories_are_listed_by_state_and_trust(server: InProcessServer) -> None:
    kept, gone = add(server, "Ann likes tea"), add(server, "Bo likes milk")
    server.http.post(f"/v1/memories/{gone}/archive", json={})

    def listed(**filters: Any) -> list[int]:
        return [memory["id"] for memory in server.http.post("/ui/memories", json=filters).json()["items"]]

    assert listed(state="current") == [kept]
    assert listed(state="archived") == [gone]
    assert listed(trust=["user"]) == [gone, kept]
    assert listed(trust=["model"]) == []
    assert server.http.post("/ui/memories", json={"state": "lost"}).status_code == 422


def test_ask_returns_the_text_for_the_prompt_and_what_was_left_out(server: InProcessServer) -> None:
    gone = add(server, "Ann likes green tea very much", user="ann")
    add(server, "Ann lives in Oslo", user="ann")
    server.http.post(f"/v1/memories/{gone}/archive", json={"user": "ann"})
    answer = server.http.post("/ui/ask", json={"question": "Which tea does Ann like?", "user": "ann"}).json()
    assert [(each["memory"]["id"], each["step"]) for each in answer["dropped"]] == [(gone, "archived")]
    assert answer["recall"]["explanation"]["considered"] == 1


def test_looking_is_not_recorded_and_not_counted(server: InProcessServer) -> None:
    add(server, "Ann likes tea")
    for _ in range(3):
        server.http.post("/ui/search", json={"query": "tea"})
        server.http.post("/ui/ask", json={"question": "tea?"})
    assert server.http.get("/ui/overview").json()["recalls"] == []
    server.http.post("/v1/recall", json={"query": "tea"})
    assert [day["recalls"] for day in server.http.get("/ui/overview").json()["recalls"]] == [1]


def test_overview_counts_what_was_added_and_removed(server: InProcessServer) -> None:
    ids = [add(server, f"note number {number}", user="ann", agent="helper") for number in range(5)]
    server.http.delete(f"/v1/memories/{ids[0]}", params={"user": "ann"})
    overview = server.http.get("/ui/overview").json()
    assert (overview["memories"], overview["users"], overview["agents"]) == (4, 1, 1)
    assert [(day["added"], day["removed"], day["total"]) for day in overview["growth"]] == [(5, 1, 4)]


def test_provenance_names_the_message_and_the_recalls(server: InProcessServer) -> None:
    said = [{"role": "user", "name": "Ann", "content": text} for text in ("I live in Oslo.", "My cat is called Tom.")]
    outcomes = server.http.post("/v1/remember", json={"content": said, "user": "ann", "session": "s1"}).json()
    cat = next(each["memory"] for each in outcomes if each["memory"] and "Tom" in each["memory"]["content"])
    server.http.post("/v1/recall", json={"query": "What is the cat called?", "user": "ann"})
    found = server.http.get(f"/ui/memories/{cat['id']}/provenance", params={"user": "ann"}).json()
    assert [message["content"] for message in found["source"]] == [message["content"] for message in said]
    assert [use["query"] for use in found["uses"]] == ["What is the cat called?"]


def test_conversation_pages_go_on_where_the_last_one_ended(server: InProcessServer) -> None:
    said = [{"role": "user", "name": "Ann", "content": f"I bought item {number} in Oslo."} for number in range(5)]
    server.http.post("/v1/remember", json={"content": said, "user": "ann", "session": "s1"})
    (summary,) = server.http.get("/ui/conversations", params={"user": "ann"}).json()
    assert (summary["session"], summary["messages"]) == ("s1", 5)
    scope = {"user": "ann", "session": "s1", "limit": 3}
    first = server.http.get("/ui/conversation", params=scope).json()
    rest = server.http.get("/ui/conversation", params=scope | {"after": first["next_cursor"]}).json()
    assert [each["content"] for each in first["messages"] + rest["messages"]] == [each["content"] for each in said]
    assert rest["next_cursor"] is None


def test_graph_links_memories_by_association_and_by_name(server: InProcessServer) -> None:
    said = [
        {"role": "user", "name": "Ann", "content": text} for text in ("I moved to Oslo.", "I love the parks in Oslo.")
    ]
    server.http.post("/v1/remember", json={"content": said, "user": "ann", "keep_all": True})
    ids = [memory["id"] for memory in server.http.post("/ui/memories", json={"user": "ann"}).json()["items"]]
    body = {"memory_id": ids[0], "related_memory_id": ids[1], "relationship_type": "same place", "user": "ann"}
    server.http.post("/v1/associations", json=body)
    graph = server.http.get("/ui/graph", params={"user": "ann"}).json()
    assert {"source": ids[0], "target": ids[1], "kind": "same place", "strength": 1.0} in graph["edges"]
    assert "Oslo" in [entity["name"] for entity in graph["entities"]]


def test_demo_is_loaded_once(server: InProcessServer) -> None:
    assert server.http.post("/ui/demo", json={}).json()["count"] > 200
    before = server.http.get("/v1/stats").json()["long_term_entries"]
    server.http.post("/ui/demo", json={})
    assert server.http.get("/v1/stats").json()["long_term_entries"] == before


def _search(server: InProcessServer, **body: Any) -> list[int]:
    answer = server.http.post("/ui/search", json={"query": "Which tea?", "user": "ann", **body})
    assert answer.status_code == 200, answer.text
    return [hit["memory"]["id"] for hit in answer.json()["hits"]]


def test_search_takes_the_filters_that_the_list_takes(server: InProcessServer) -> None:
    first, second, third = [add(server, f"Ann likes {kind} tea", user="ann") for kind in ("green", "black", "white")]
    other = add(server, "Bob likes red tea", user="bob")
    server.http.post(f"/v1/memories/{second}/pin", json={"user": "ann"})
    server.http.post(f"/v1/memories/{third}/archive", json={"user": "ann"})
    server.http.post(f"/v1/memories/{other}/archive", json={"user": "bob"})
    assert set(_search(server)) == {first, second}
    assert _search(server, order="oldest") == [first, second]
    assert _search(server, order="newest") == [second, first]
    assert _search(server, state="pinned") == [second]
    assert _search(server, state="archived") == [third]
    assert _search(server, state="archived", types=["procedural"]) == []
    assert _search(server, state="quarantined") == []
    assert _search(server, trust=["tool"]) == []
    assert set(_search(server, trust=["user"])) == {first, second}
    assert _search(server, where={"before": "2000-01-01T00:00:00Z"}) == []
    for state in ("archived", "pinned", "any"):
        listed = server.http.post("/ui/memories", json={"user": "ann", "state": state}).json()["items"]
        assert set(_search(server, state=state)) <= {memory["id"] for memory in listed}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/ui/search", {"query": "tea"}),
        ("/ui/ask", {"question": "Which tea?"}),
        ("/v1/recall", {"query": "tea"}),
        ("/v1/memories", {"content": "Ann likes coffee"}),
    ],
)
def test_vectors_of_another_model_are_answered_with_what_to_run(
    tmp_path: Path, path: str, body: dict[str, str]
) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/server.db", embedder=HashEmbedder(16)) as memory:
        memory.add_memory("Ann likes tea")
    with open_server(tmp_path) as server:
        answer = server.http.post(path, json=body)
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:memoranda:Incompatible")
    assert "`memoranda reembed`" in answer.json()["detail"]


def test_demo_conversation_is_remembered_like_any_other(server: InProcessServer) -> None:
    stored = server.http.post("/ui/demo").json()["count"]
    person = {"user": "nora-and-theo"}
    assert 150 < stored < 210, "greetings are refused"
    assert server.http.get("/v1/facts", params=person).json() != []
    assert server.http.get("/ui/states", params=person).json()["first_at"].startswith("2025-01-12")


def test_conversation_is_in_the_order_of_saying(server: InProcessServer) -> None:
    texts = ["I live in Oslo.", "Ok.", "My cat is called Tom.", "Thanks!", "I work at Acme."]
    said = [
        {"role": "user", "content": text, "timestamp": f"2026-01-01T10:0{minute}:00Z"}
        for minute, text in enumerate(texts)
    ]
    scope = {"user": "ann", "session": "s1"}
    stored = server.http.post("/v1/remember", json={"content": said, **scope}).json()
    assert {each["status"] for each in stored} == {"stored", "rejected"}
    pages = [server.http.get("/ui/conversation", params=scope | {"limit": 2, "after": n}).json() for n in (0, 2, 4)]
    assert [one["content"] for page in pages for one in page["messages"]] == texts
    assert [page["next_cursor"] for page in pages] == [2, 4, None]
    cat = next(each["memory"]["id"] for each in stored if each["memory"] and "Tom" in each["memory"]["content"])
    source = server.http.get(f"/ui/memories/{cat}/provenance", params={"user": "ann"}).json()["source"]
    assert [one["content"] for one in source] == texts


def test_open_sessions_are_listed_to_an_admin_alone(server: InProcessServer) -> None:
    key = server.key(scopes=ALL)
    server.send("POST", "/v1/sessions", key, json={"workflow_id": "secret-campaign"})
    assert "secret-campaign" in server.send("GET", "/ui/sessions", key).text
    assert server.send("GET", "/ui/sessions", server.key(scopes=("read", "write"))).json() == []


def without_marker(text: str) -> str:
    return re.sub("[0-9a-f]{8,}", "MARKER", text)


def test_ask_shows_the_text_that_context_returns(server: InProcessServer) -> None:
    said = [f"Ann bought item {number} for the garden" for number in range(40)]
    for content in ("Always answer me in French.", "Ann lives in Oslo", "Ann lives in Bergen", *said):
        body = {"content": [{"role": "user", "content": content, "timestamp": "2025-03-01T10:00:00Z"}], "user": "ann"}
        assert server.send("POST", "/v1/remember", json=body).status_code == 200
    for question in ("Where does Ann live?", "What did Ann buy for the garden?", "How tall is the tower?"):
        for times in ({}, {"as_of": "2025-04-01T00:00:00Z"}, {"as_of": "2024-04-01T00:00:00Z"}):
            asked = server.send("POST", "/ui/ask", json={"question": question, "user": "ann", **times}).json()
            given = server.send("POST", "/v1/context", json={"query": question, "user": "ann", **times}).json()
            assert without_marker(asked["text"]) == without_marker(given["text"]), (question, times)
            assert ("French" in asked["text"]) == ("2024" not in str(times))

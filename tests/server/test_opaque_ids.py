"""Callers with a key see opaque ids: no response of any route or tool shows a number of a row of the store."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from memoranda.security.id_cipher import IdCipher, IdText
from memoranda.server.services import ID_ARGUMENTS, ID_FIELDS
from memoranda.storage import open_store
from tests.mcp import test_tenants as mcp_tenants
from tests.mcp.http_server import NEWEST, open_mcp_server
from tests.server.in_process import InProcessServer, open_server
from tests.server.test_tenants import Tenant, reading_calls, writing_calls

FIRST = {"memories": 771000000000, "messages": 772000000000, "changes": 773000000000, "recalls": 774000000000}
"""Where the numbers of rows begin: long enough to be recognised wherever they show."""
SHOWN = re.compile(r"77[1-4]0000000\d\d")
COUNTS = {
    *(
        "limit",
        "offset",
        "max_depth",
        "budget",
        "depth",
        "top_k",
        "keep",
        "start",
        "stop",
        "positions",
        "max_tokens",
        "max_age_days",
    ),
    *("version", "expected_version", "rank", "position", "considered", "left_out", "tokens", "count", "size"),
    *("max_messages", "examined", "removed", "checked", "first_bad", "number", "timed", "chunks", "added", "kept"),
    *("memories", "known", "messages", "associations", "sessions", "executions", "skipped"),
    *("total_interactions", "conversation_messages", "conversation_history_size"),
    *("short_term_entries", "long_term_entries", "active_sessions", "calls", "input_tokens", "output_tokens"),
    *("checked_rows", "index_bytes", "index_limit", "status", "by_status", "by_type", "activity", "settings"),
    # Of the whole server, for its administrator only.
    *("size_bytes", "generation", "changes", "unread_messages"),
}
"""Integers that are no ids: a new one belongs here, or into `ID_FIELDS`."""


def number_rows_from(db_url: str) -> None:
    statement = text("INSERT OR REPLACE INTO sqlite_sequence (name, seq) VALUES (:name, :seq)")
    rows = [{"name": name, "seq": number} for name, number in FIRST.items()]
    with closing(open_store(db_url)) as store:
        store.write(lambda tx: tx.execute(statement, rows))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    with open_server(tmp_path) as server:
        number_rows_from(server.db_url)
        yield server


@pytest.fixture
def tenants(server: InProcessServer) -> tuple[Tenant, Tenant]:
    both = Tenant(server, "red"), Tenant(server, "blue")
    for tenant in both:
        tenant.fill()
    return both


class TestCipher:
    def test_every_id_is_read_back_and_none_is_shown_as_it_is(self) -> None:
        cipher = IdCipher(b"k" * 32)
        numbers = [*range(1, 2000), 2**31, 2**52 - 1]
        shown = [cipher.encode(number) for number in numbers]
        assert [cipher.decode(number) for number in shown] == numbers
        assert len(set(shown)) == len(numbers)
        assert all(0 < number < 2**53 for number in shown)
        assert not set(shown) & set(numbers)

    def test_shown_ids_do_not_follow_the_order_of_ids(self) -> None:
        shown = [IdCipher(b"k" * 32).encode(number) for number in range(1, 1001)]
        rises = sum(first < second for first, second in pairwise(shown))
        assert 400 < rises < 600

    def test_keys_and_kinds_have_their_own_permutations(self) -> None:
        one, other = IdCipher(b"a" * 32), IdCipher(b"b" * 32)
        assert len({one.encode(7), other.encode(7), one.encode(7, "change")}) == 3
        assert other.decode(one.encode(7)) != 7

    def test_numbers_outside_of_the_range_stay(self) -> None:
        cipher = IdCipher(b"k" * 32)
        for number in (0, -5, 2**52, 2**63 - 1):
            assert cipher.encode(number) == cipher.decode(number) == number

    def test_cipher_keeps_few_of_the_ids_it_has_seen(self) -> None:
        cipher = IdCipher(b"k" * 32)
        for number in range(1, 3_000):
            cipher.decode(cipher.encode(number))
        assert cipher.encode.cache_info().currsize + cipher.decode.cache_info().currsize <= 2_000

    def test_text_of_an_error_is_written_with_the_ids_of_its_reader(self) -> None:
        text = IdText("no memory ", (3, 4), " here")
        assert text == "no memory 3, 4 here"
        assert text.shown(lambda number: number * 10) == "no memory 30, 40 here"


def test_no_response_of_any_route_shows_the_number_of_a_row(tenants: tuple[Tenant, Tenant]) -> None:
    mine, other = tenants
    assert not SHOWN.search(mine.export.decode())
    answered = 0
    for round_number in range(3):
        rng = random.Random(round_number)
        # Aimed at the caller's own ids as well, so that most calls find something.
        for target in (mine, other):
            for method, path, options in [*reading_calls(rng, target), *writing_calls(target)]:
                answer = mine.send(method, path, **options)
                assert answer.status_code < 500
                assert not SHOWN.search(answer.text), (method, path, answer.text)
                assert not SHOWN.search(str(answer.headers))
                answered += answer.status_code < 300
    assert answered > 150


async def test_no_tool_or_resource_shows_the_number_of_a_row(tmp_path: Path) -> None:
    with open_mcp_server(tmp_path) as server:
        number_rows_from(server.db_url)
        async with AsyncExitStack() as stack:
            mine, other = await mcp_tenants.two_tenants(server, stack, NEWEST)
            rng = random.Random(5)
            for target in (mine, other):
                calls = [*mcp_tenants.reading_calls(rng, target), *mcp_tenants.writing_calls(rng, target)]
                for name, arguments in calls:
                    answer = await mine.client.call_tool(name, arguments)
                    assert not SHOWN.search(answer.model_dump_json()), (name, answer)
            for resource in (await mine.client.list_resources()).resources:
                answer = await mine.client.read_resource(str(resource.uri))
                assert not SHOWN.search(answer.model_dump_json()), resource


def test_every_integer_of_the_api_is_an_id_that_is_covered_or_a_count(server: InProcessServer) -> None:
    document = server.send("GET", "/openapi.json").json()
    covered = {(kind.__name__, name) for kind, names in ID_FIELDS.items() for name in names}
    arguments = {*ID_ARGUMENTS, "memory_ids"}
    unknown = []
    for schema, content in document["components"]["schemas"].items():
        for name, kind in content.get("properties", {}).items():
            if _has_integer(kind) and name not in COUNTS and (schema, name) not in covered and name not in arguments:
                unknown.append(f"{schema}.{name}")
    for path, verbs in document["paths"].items():
        for verb in verbs.values():
            for parameter in verb.get("parameters", ()):
                name = parameter["name"]
                if _has_integer(parameter["schema"]) and name not in COUNTS | arguments:
                    unknown.append(f"{path} {name}")
    assert unknown == []


def _has_integer(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(_has_integer, schema))
    if not isinstance(schema, dict):
        return False
    return schema.get("type") == "integer" or any(
        _has_integer(schema.get(name)) for name in ("anyOf", "items", "prefixItems", "additionalProperties")
    )


def test_ids_are_the_same_in_every_route_and_after_a_restart(tmp_path: Path) -> None:
    with open_server(tmp_path) as server:
        key = server.key("red")
        made = server.send("POST", "/v1/memories", key, json={"content": "Ann likes tea"}).json()
        assert server.send("POST", "/v1/recall", key, json={"query": "tea"}).json()["hits"][0]["memory"] == made
    with open_server(tmp_path) as server:
        assert server.send("GET", f"/v1/memories/{made['id']}", key).json() == made


def test_pages_follow_each_other(server: InProcessServer) -> None:
    key = server.key("red")
    texts = [f"note number {number}" for number in range(25)]
    server.send("POST", "/v1/memories/batch", key, json={"contents": texts})
    found, cursor = [], None
    while True:
        page = server.send("POST", "/v1/memories/list", key, json={"limit": 10, "cursor": cursor}).json()
        found += [memory["content"] for memory in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == texts


def test_id_of_another_tenant_and_plain_id_are_not_found(tenants: tuple[Tenant, Tenant]) -> None:
    mine, other = tenants
    assert mine.send("GET", f"/v1/memories/{mine.ids[0]}").status_code == 200
    for number in (other.ids[0], FIRST["memories"] + 1, 1):
        assert mine.send("GET", f"/v1/memories/{number}").status_code == 404
        text = mine.send("PATCH", f"/v1/memories/{number}", json={"content": "taken"}).json()["detail"]
        assert text.startswith(f"no memory {number} in ")


def test_receipt_with_opaque_ids_verifies(tenants: tuple[Tenant, Tenant]) -> None:
    mine, other = tenants
    receipt = mine.send("GET", f"/v1/receipts/{mine.receipt_id}").json()
    assert mine.send("POST", "/v1/receipts/verify", json={"receipt": receipt}).json() == {"ok": True}
    changed = receipt | {"ids": [other.ids[0]]}
    assert mine.send("POST", "/v1/receipts/verify", json={"receipt": changed}).json() == {"ok": False}


def test_late_update_names_the_opaque_id_and_holds_the_memory_as_it_is(server: InProcessServer) -> None:
    key = server.key("red")
    made = server.send("POST", "/v1/memories", key, json={"content": "Ann likes tea"}).json()
    late = server.send("PATCH", f"/v1/memories/{made['id']}", key, json={"content": "x", "expected_version": 9})
    assert late.json()["detail"].startswith(f"memory {made['id']} is at version 1")
    assert late.json()["current"] == made


def test_export_can_be_imported_by_another_tenant(tenants: tuple[Tenant, Tenant], server: InProcessServer) -> None:
    mine, _ = tenants
    linked = mine.send("GET", f"/v1/memories/{mine.ids[0]}/related").json()
    heir = Tenant(server, "heir")
    heir.send("POST", "/v1/import", content=mine.export, headers={"Content-Type": "application/x-ndjson"})
    listed = heir.send("POST", "/v1/memories/list", json={"all_users": True, "limit": 1000}).json()["items"]
    assert {memory["content"] for memory in listed} >= {f"{mine.word} likes tea number {n}" for n in range(10)}
    first = next(memory["id"] for memory in listed if memory["content"] == f"{mine.word} likes tea number 0")
    found = heir.send("GET", f"/v1/memories/{first}/related").json()
    assert [item["memory"]["content"] for item in found] == [item["memory"]["content"] for item in linked] != []


def test_caller_without_a_key_sees_plain_ids(server: InProcessServer) -> None:
    made = server.send("POST", "/v1/memories", json={"content": "Ann likes tea"}).json()
    assert made["id"] == FIRST["memories"] + 1


def test_recalled_text_that_comes_back_is_recognised_by_its_opaque_ids(server: InProcessServer) -> None:
    key = server.key("red")
    text = "Nora keeps the spare key of the boat house under the third stone of the harbour wall"
    server.send("POST", "/v1/remember", key, json={"content": [{"role": "user", "content": text}]})
    shown = server.send("POST", "/v1/context", key, json={"query": "where is the spare key?"}).json()["text"]
    back = server.send("POST", "/v1/remember", key, json={"content": [{"role": "assistant", "content": shown}]}).json()
    assert {outcome["status"] for outcome in back} <= {"rejected", "duplicate"}

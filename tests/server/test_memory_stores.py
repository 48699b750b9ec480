"""Anthropic's own client against our server, with real keys."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from memoranda import MemoryManager
from memoranda.items.items import Items
from memoranda.server import memory_stores as module
from memoranda.server.keys import open_keys
from memoranda.testing.fakes import HashEmbedder
from tests.server.running import serving


class Running:
    def __init__(self, url: str, db_url: str) -> None:
        self.url, self.db_url = url, db_url

    def stores(self, tenant: str = "red", scopes: tuple[str, ...] = ("read", "write")) -> Any:
        with open_keys(self.db_url) as keys:
            key = keys.create("test", tenant=tenant, scopes=scopes).key
        return anthropic.Anthropic(base_url=self.url, api_key=key, max_retries=0).beta.memory_stores


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with serving(tmp_path, key_cache_seconds=0.01) as url:
        yield Running(url, f"sqlite:///{tmp_path}/server.db")


@pytest.fixture
def stores(server: Running) -> Any:
    return server.stores()


def test_store_is_created_read_changed_archived_and_deleted(stores: Any) -> None:
    store = stores.create(name="Ann", description="About Ann", metadata={"a": "1", "b": "2"})
    assert (store.type, store.id[:9], store.archived_at) == ("memory_store", "memstore_", None)
    assert stores.retrieve(store.id) == store
    changed = stores.update(store.id, name="Ann B.", metadata={"a": None, "c": "3"})
    assert (changed.name, changed.description, changed.metadata) == ("Ann B.", "About Ann", {"b": "2", "c": "3"})
    other = stores.create(name="Bob")
    assert [each.id for each in stores.list()] == [other.id, store.id]
    assert stores.archive(store.id).archived_at is not None
    assert [each.id for each in stores.list()] == [other.id]
    assert {each.id for each in stores.list(include_archived=True)} == {store.id, other.id}
    with pytest.raises(anthropic.BadRequestError, match="archived"):
        stores.memories.create(store.id, path="/a", content="x")
    assert stores.delete(store.id).type == "memory_store_deleted"
    with pytest.raises(anthropic.NotFoundError) as missing:
        stores.retrieve(store.id)
    assert missing.value.type == "not_found_error"


def test_memory_keeps_its_id_through_changes_and_renames(stores: Any) -> None:
    store = stores.create(name="s").id
    made = stores.memories.create(store, path="/notes/a.md", content="Ann likes tea")
    assert (made.content, made.content_size_bytes) == (None, 13)
    assert made.content_sha256 == hashlib.sha256(b"Ann likes tea").hexdigest()
    assert stores.memories.retrieve(made.id, memory_store_id=store).content == "Ann likes tea"
    moved = stores.memories.update(made.id, memory_store_id=store, path="/notes/b.md", view="full")
    assert (moved.id, moved.path, moved.content) == (made.id, "/notes/b.md", "Ann likes tea")
    condition = {"type": "content_sha256", "content_sha256": made.content_sha256}
    stores.memories.update(made.id, memory_store_id=store, content="Ann likes milk", precondition=condition)
    with pytest.raises(anthropic.ConflictError) as late:
        stores.memories.update(made.id, memory_store_id=store, content="x", precondition=condition)
    assert late.value.type == "memory_precondition_failed_error"
    stores.memories.create(store, path="/notes/a.md", content="")
    with pytest.raises(anthropic.ConflictError) as taken:
        stores.memories.update(made.id, memory_store_id=store, path="/notes/a.md")
    assert taken.value.type == "memory_path_conflict_error"
    with pytest.raises(anthropic.ConflictError):
        stores.memories.delete(made.id, memory_store_id=store, expected_content_sha256=made.content_sha256)
    assert stores.memories.delete(made.id, memory_store_id=store).type == "memory_deleted"
    with pytest.raises(anthropic.NotFoundError):
        stores.memories.retrieve(made.id, memory_store_id=store)


def test_memories_are_listed_by_path_with_folders_and_pages(stores: Any) -> None:
    store = stores.create(name="s").id
    for path in ("/a.md", "/b/c.md", "/b/d/e.md", "/b-x/f.md"):
        stores.memories.create(store, path=path, content=path)
    assert [each.path for each in stores.memories.list(store, limit=2)] == [
        "/a.md",
        "/b-x/f.md",
        "/b/c.md",
        "/b/d/e.md",
    ]
    shallow = list(stores.memories.list(store, depth=1))
    assert [(each.type, each.path) for each in shallow] == [
        ("memory", "/a.md"),
        ("memory_prefix", "/b-x/"),
        ("memory_prefix", "/b/"),
    ]
    below = list(stores.memories.list(store, path_prefix="/b/", depth=1, view="full"))
    assert [(each.path, getattr(each, "content", None)) for each in below] == [("/b/c.md", "/b/c.md"), ("/b/d/", None)]


def test_every_change_is_a_version_that_outlives_the_memory_and_can_be_redacted(stores: Any) -> None:
    store = stores.create(name="s").id
    made = stores.memories.create(store, path="/a", content="secret")
    changed = stores.memories.update(made.id, memory_store_id=store, content="public")
    versions = list(stores.memory_versions.list(store, memory_id=made.id, view="full"))
    assert [(each.operation, each.content) for each in versions] == [("modified", "public"), ("created", "secret")]
    assert versions[0].id == changed.memory_version_id
    assert versions[0].created_by.type == "api_actor"
    with pytest.raises(anthropic.BadRequestError, match="current version"):
        stores.memory_versions.redact(versions[0].id, memory_store_id=store)
    redacted = stores.memory_versions.redact(versions[1].id, memory_store_id=store)
    assert (redacted.content, redacted.path, redacted.content_sha256) == (None, None, None)
    assert redacted.redacted_at is not None
    assert stores.memory_versions.retrieve(versions[1].id, memory_store_id=store).content is None
    stores.memories.delete(made.id, memory_store_id=store)
    deleted = list(stores.memory_versions.list(store, operation="deleted"))
    assert [(each.memory_id, each.content) for each in deleted] == [(made.id, None)]
    assert list(stores.memory_versions.list(store, created_at_lte="2001-01-01T00:00:00Z")) == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a", "content": "x"},
        {"path": "/a//b", "content": "x"},
        {"path": "/a/../b", "content": "x"},
        {"path": "/" + "/".join("abcdefghijklmnopqrstuv"), "content": "x"},
        {"path": "/a\u200b", "content": "x"},
        {"path": "/e\u0301", "content": "x"},
        {"path": "/" + "x" * 1024, "content": "x"},
        {"path": "/a", "content": "x" * 102_401},
        {"path": "/a", "content": 5},
    ],
)
def test_invalid_memory_is_refused_and_nothing_is_stored(stores: Any, arguments: dict[str, Any]) -> None:
    store = stores.create(name="s").id
    with pytest.raises(anthropic.BadRequestError) as refused:
        stores.memories.create(store, **arguments)
    assert refused.value.type == "invalid_request_error"
    assert list(stores.memories.list(store)) == []
    assert list(stores.memory_versions.list(store)) == []


def test_invalid_stores_and_pages_are_refused(stores: Any) -> None:
    for arguments in ({"name": ""}, {"name": "a\nb"}, {"name": "a", "metadata": {str(n): "" for n in range(17)}}):
        with pytest.raises(anthropic.BadRequestError):
            stores.create(**arguments)
    store = stores.create(name="s").id
    for arguments in ({"limit": 0}, {"limit": 101}, {"page": "x"}, {"path_prefix": "/a"}, {"view": "half"}):
        with pytest.raises(anthropic.BadRequestError):
            list(stores.memories.list(store, **arguments))


def test_other_tenants_and_weaker_keys_see_and_change_nothing(server: Running, stores: Any) -> None:
    store = stores.create(name="s").id
    memory = stores.memories.create(store, path="/a", content="canary").id
    stranger = server.stores("blue")
    assert list(stranger.list(include_archived=True)) == []
    for call in (
        lambda: stranger.retrieve(store),
        lambda: stranger.memories.list(store),
        lambda: stranger.memories.retrieve(memory, memory_store_id=store),
        lambda: stranger.memory_versions.list(store),
        lambda: stranger.delete(store),
    ):
        with pytest.raises(anthropic.NotFoundError):
            call()
    reader = server.stores(scopes=("read",))
    assert reader.memories.retrieve(memory, memory_store_id=store).content == "canary"
    with pytest.raises(anthropic.PermissionDeniedError):
        reader.delete(store)
    with pytest.raises(anthropic.AuthenticationError):
        anthropic.Anthropic(base_url=server.url, api_key="mmr.x.y", max_retries=0).beta.memory_stores.list()


def test_documents_are_recalled_like_other_memories(server: Running, stores: Any) -> None:
    stores.memories.create(stores.create(name="s").id, path="/ann.md", content="Ann is allergic to peanuts")
    with MemoryManager(server.db_url, embedder=HashEmbedder(64), tenant="red") as memory:
        assert "peanuts" in memory.recall("What is Ann allergic to?")[0].content


def together(*calls: Any) -> list[Any]:
    """Run the calls at the same time; return what each returned or raised."""
    found: list[Any] = [None] * len(calls)

    def run(position: int) -> None:
        try:
            found[position] = calls[position]()
        except anthropic.APIStatusError as error:
            found[position] = error

    threads = [threading.Thread(target=run, args=(position,)) for position in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.fixture
def two_servers(tmp_path: Path) -> Iterator[list[Any]]:
    with serving(tmp_path) as first, serving(tmp_path) as second:
        both = [Running(url, f"sqlite:///{tmp_path}/server.db") for url in (first, second)]
        yield [each.stores() for each in both]


def test_two_servers_lose_no_conditional_update(two_servers: list[Any]) -> None:
    store = two_servers[0].create(name="s").id
    counter = two_servers[0].memories.create(store, path="/count", content="0").id

    def increase(stores: Any) -> int:
        done = 0
        while done < 10:
            read = stores.memories.retrieve(counter, memory_store_id=store)
            condition = {"type": "content_sha256", "content_sha256": read.content_sha256}
            try:
                stores.memories.update(
                    counter, memory_store_id=store, content=str(int(read.content) + 1), precondition=condition
                )
                done += 1
            except anthropic.ConflictError:
                continue
        return done

    assert together(*(lambda stores=each: increase(stores) for each in two_servers)) == [10, 10]
    assert two_servers[1].memories.retrieve(counter, memory_store_id=store).content == "20"
    assert len(list(two_servers[0].memory_versions.list(store))) == 21


def test_two_servers_give_a_path_to_one_document_and_lose_no_change_of_a_store(two_servers: list[Any]) -> None:
    store = two_servers[0].create(name="s").id
    for n in range(8):
        path = f"/{n}"
        made = together(
            *(
                lambda stores=each, path=path: stores.memories.create(store, path=path, content="x")
                for each in two_servers
            )
        )
        assert sorted(type(each) is anthropic.ConflictError for each in made) == [False, True]
        changes = [{f"{n}-0": ""}, {f"{n}-1": ""}]
        together(
            *(
                lambda stores=each, pairs=pairs: stores.update(store, metadata=pairs)
                for each, pairs in zip(two_servers, changes, strict=True)
            )
        )
    assert len(two_servers[0].retrieve(store).metadata) == 16
    assert [each.path for each in two_servers[0].memories.list(store)] == [f"/{n}" for n in range(8)]


def test_path_is_free_once_its_document_is_renamed_deleted_or_erased(server: Running, stores: Any) -> None:
    store = stores.create(name="s").id
    made = stores.memories.create(store, path="/a", content="x")
    stores.memories.update(made.id, memory_store_id=store, path="/b")
    second = stores.memories.create(store, path="/a", content="y")
    stores.memories.delete(second.id, memory_store_id=store)
    stores.memories.create(store, path="/a", content="canary")
    with MemoryManager(server.db_url, embedder=HashEmbedder(64), tenant="red") as memory:
        memory.forget(containing="canary")
    stores.memories.create(store, path="/a", content="z")
    assert [each.path for each in stores.memories.list(store)] == ["/a", "/b"]


def test_lone_surrogates_are_refused_in_names_and_come_back_in_content(server: Running, stores: Any) -> None:
    for body in ({"name": "a\ud800"}, {"name": "a", "metadata": {"b\ud800": "c"}}):
        status, problem = post(server, "", body)
        assert (status, "surrogate" in problem["error"]["message"]) == (400, True)
    _, store = post(server, "", {"name": "a", "description": "cut\ud800", "metadata": {"b": "\ud800"}})
    assert (store["description"], store["metadata"]) == ("cut\ud800", {"b": "\ud800"})
    assert len(list(stores.list())) == 1
    _, made = post(server, f"/{store['id']}/memories", {"path": "/a", "content": "cut\ud800"})
    assert stores.memories.retrieve(made["id"], memory_store_id=store["id"]).content == "cut\ud800"


def post(server: Running, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Send JSON as ASCII, which the official client does not do; it cannot send what UTF-8 does not hold."""
    with open_keys(server.db_url) as keys:
        key = keys.create("post", tenant="red", scopes=("read", "write")).key
    headers = {"X-Api-Key": key, "Content-Type": "application/json"}
    answer = httpx2.post(f"{server.url}/v1/memory_stores{path}", content=json.dumps(body).encode(), headers=headers)
    return answer.status_code, json.loads(answer.content)


def test_other_values_in_the_namespaces_are_no_stores_and_do_no_harm(server: Running, stores: Any) -> None:
    store = stores.create(name="s").id
    stores.memories.create(store, path="/a", content="x")
    with MemoryManager(server.db_url, embedder=HashEmbedder(64), tenant="red") as memory:
        memory.put_many(("memory_stores",), {"yy": "text", "zz": {"id": "zz"}, "xx": {}, store + "0": {"name": "n"}})
        for kind in ("memories", "versions", "paths"):
            namespace = ("memory_store", store, kind)
            memory.put_many(namespace, {"yy": "text", "zz": {"id": "zz"}, "0A": {"memory_id": 5}, "A": None})
    assert [each.id for each in stores.list()] == [store]
    assert [each.path for each in stores.memories.list(store)] == ["/a"]
    assert [each.operation for each in stores.memory_versions.list(store)] == ["created"]
    for other in ("yy", "zz", "xx", store + "0"):
        for call in (
            lambda other=other: stores.retrieve(other),
            lambda other=other: stores.memories.create(other, path="/b", content="x"),
            lambda other=other: stores.update(other, name="n"),
            lambda other=other: stores.memories.retrieve(other, memory_store_id=store),
            lambda other=other: stores.delete(other),
        ):
            with pytest.raises(anthropic.NotFoundError):
                call()


def test_limit_limits_what_is_read(server: Running, stores: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", 5)
    store = stores.create(name="s").id
    for n in range(30):
        stores.memories.create(store, path=f"/{n:02}/a", content="x")
    read: list[int] = []
    page = Items.page

    def counting(self: Items, *args: Any, **kwargs: Any) -> Any:
        found = page(self, *args, **kwargs)
        read.append(len(found))
        return found

    monkeypatch.setattr(Items, "page", counting)
    for call in (
        lambda: stores.memories.list(store, limit=2),
        lambda: stores.memories.list(store, limit=2, depth=1),
        lambda: stores.memory_versions.list(store, limit=2),
    ):
        read.clear()
        first = call()
        assert (len(first.data), sum(read) <= 15, first.has_next_page()) == (2, True, True)
        assert len(list(call())) == 30


def test_deleting_a_large_store_delays_no_other_tenant(server: Running, stores: Any, monkeypatch: Any) -> None:
    store, other = stores.create(name="s").id, server.stores("blue")
    stores.memories.create(store, path="/a", content="x")
    held, go_on = threading.Event(), threading.Event()
    delete_some = Items.delete_some

    def waiting(self: Items, *args: Any) -> int:
        held.set()
        assert go_on.wait(30)
        return delete_some(self, *args)

    monkeypatch.setattr(Items, "delete_some", waiting)
    deleting = threading.Thread(target=lambda: stores.delete(store))
    deleting.start()
    assert held.wait(30)
    try:
        assert other.create(name="quick", timeout=10).id
    finally:
        go_on.set()
    deleting.join()
    assert list(stores.list(include_archived=True)) == []

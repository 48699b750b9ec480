"""Anthropic's own client against our server, with real keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest

from memoranda import MemoryManager
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

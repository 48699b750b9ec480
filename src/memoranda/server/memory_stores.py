"""Memory stores in the form of Anthropic's API: documents by path, with every version, for `client.beta.memory_stores`.

A store, a document and a version are an item each; so is the path of each document, which makes it unique and keeps
documents in order. Every change is one commit that expects what was read before it, so it holds between processes.
Documents are found by `recall` like other memories.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final, TypeAlias

from memoranda.aio.threads import Threads, off_loop
from memoranda.errors import Conflict, InvalidInput, NotFound
from memoranda.items.base import Item, NamespacePath, check_label
from memoranda.items.items import Items
from memoranda.items.write import ItemName, ItemPut, PutOptions
from memoranda.server.memory_store_values import (
    NEXT,
    ContentChanged,
    Json,
    after_all,
    check_content,
    check_hash,
    check_metadata,
    check_name,
    check_object,
    check_page,
    check_path,
    check_text,
    current_time,
    is_one,
    new_id,
    path_key,
    to_bytes,
)
from memoranda.storage.write import retry_on_conflict
from memoranda.types import Scope

Page: TypeAlias = tuple[list[Json], str | None]
"""What is on a page, and where the next one begins; None on the last one."""
_STORES: Final = ("memory_stores",)
_CONTENT: Final = "memory_store"
"""The first name of the namespaces that hold what is in the stores."""
_CHUNK: Final = 50
"""Documents of up to 100 kB that are read or deleted at once."""
_MAX_READ: Final = 200
"""Versions or stores that are read for one page, of which a filter may leave out most."""
_EMPTY: Final = {"content": None, "content_sha256": None, "content_size_bytes": None}
_SEARCHED: Final = PutOptions(index=("content",))
_NOT_SEARCHED: Final = PutOptions(index=False)


class PathTaken(Conflict):
    """Another document has this path."""


@dataclass(frozen=True, slots=True)
class MemoryStores:
    """The memory stores of one tenant."""

    items: Items
    scope: Scope
    key_id: str

    def create_store(self, name: object, description: object, metadata: object) -> Json:
        now = current_time()
        store: Json = {
            "type": "memory_store",
            "id": new_id("memstore"),
            "name": check_name(name, "name", 255),
            "description": check_text(description or "", "description", 0, 1024),
            "metadata": check_metadata(metadata or {}),
            "created_at": now,
            "updated_at": now,
            "archived_at": None,
        }
        self._commit({}, _put(_STORES, store))
        return store

    def get_store(self, store_id: str) -> Json:
        return self._get_store(store_id)[0]

    def list_stores(self, matches: Callable[[Json], bool], page: str | None, limit: int) -> Page:
        """Return a page of the stores, the newest first."""
        return self._newest(_STORES, "memory_store", matches, page, limit)

    def update_store(self, store_id: str, changes: Mapping[str, Any]) -> Json:
        return _retry(lambda: self._update_store(store_id, changes))

    def archive_store(self, store_id: str) -> Json:
        return _retry(lambda: self._archive_store(store_id))

    def delete_store(self, store_id: str) -> Json:
        # Archived first, so that nobody adds to it meanwhile, and deleted last: what was interrupted can be repeated.
        self.archive_store(store_id)
        for kind in ("paths", "memories", "versions"):
            while self.items.delete_some(self.scope, (_CONTENT, store_id, kind), _CHUNK):
                pass
        self.items.delete(self.scope, _STORES, [store_id])
        return {"type": "memory_store_deleted", "id": store_id}

    def create_memory(self, store_id: str, path: object, content: object) -> Json:
        checked, text = check_path(path), check_content(content)

        def create() -> Json:
            expected = self._writable(store_id) | self._free_path(store_id, checked)
            document = {
                "type": "memory",
                "id": new_id("mem"),
                "memory_store_id": store_id,
                "created_at": current_time(),
            }
            return self._write(document, (checked, text), expected, "created")

        return _retry(create)

    def get_memory(self, store_id: str, memory_id: str) -> Json:
        self.get_store(store_id)
        return self._get_memory(store_id, memory_id)[0]

    def list_memories(self, store_id: str, prefix: str, depth: int, page: str | None, limit: int) -> Page:
        """Return a page of the documents below a prefix by path, those deeper than `depth` as their folders."""
        if not prefix.startswith("/") or not prefix.endswith("/"):
            raise InvalidInput("path_prefix must begin and end with /, such as /notes/")
        self.get_store(store_id)
        start = path_key(prefix) if page is None else check_page(page)
        found = list(islice(self._below(store_id, prefix, depth, start), limit + 1))
        return found[:limit], path_key(found[limit]["path"]) if len(found) > limit else None

    def update_memory(self, store_id: str, memory_id: str, changes: Mapping[str, Any]) -> Json:
        path = None if changes.get("path") is None else check_path(changes["path"])
        text = None if changes.get("content") is None else check_content(changes["content"])
        condition = check_object(changes.get("precondition") or {}, "precondition")

        def change() -> Json:
            expected = self._writable(store_id)
            document, item = self._get_memory(store_id, memory_id)
            if condition:
                check_hash(document, condition.get("content_sha256"))
            before = (document["path"], document["content"])
            after = (path or before[0], before[1] if text is None else text)
            removed = {}
            if after[0] != before[0]:
                expected |= self._free_path(store_id, after[0])
                removed = self._own_path(store_id, document)
            expected[item.namespace, item.key] = item.updated_at
            return document if after == before else self._write(document, after, expected, "modified", removed)

        return _retry(change)

    def delete_memory(self, store_id: str, memory_id: str, expected_hash: str | None) -> Json:
        def delete() -> None:
            self.get_store(store_id)
            document, item = self._get_memory(store_id, memory_id)
            if expected_hash is not None:
                check_hash(document, expected_hash)
            removed = {(item.namespace, item.key): item.updated_at, **self._own_path(store_id, document)}
            version = self._version({**document, **_EMPTY}, "deleted")
            self._commit(removed, _put_version(version), removed=removed)

        _retry(delete)
        return {"type": "memory_deleted", "id": memory_id}

    def get_version(self, store_id: str, version_id: str) -> Json:
        self.get_store(store_id)
        return self._get((_CONTENT, store_id, "versions"), version_id, "memory_version")[0]

    def list_versions(self, store_id: str, matches: Callable[[Json], bool], page: str | None, limit: int) -> Page:
        """Return a page of the versions, the newest first."""
        self.get_store(store_id)
        return self._newest((_CONTENT, store_id, "versions"), "memory_version", matches, page, limit)

    def redact_version(self, store_id: str, version_id: str) -> Json:
        """Remove the content and path of a version. That of a current one would still be in its document."""

        def redact() -> Json:
            self.get_store(store_id)
            version, item = self._get((_CONTENT, store_id, "versions"), version_id, "memory_version")
            if version["redacted_at"] is not None:
                return version
            current = self._find((_CONTENT, store_id, "memories"), version["memory_id"], "memory")
            if current is not None and current.value["memory_version_id"] == version_id:
                raise InvalidInput("this is the current version: update or delete the memory first, then redact it")
            redacted = {"redacted_at": current_time(), "redacted_by": self._actor(), "path": None, **_EMPTY}
            changed = {**version, **redacted}
            self._commit({(item.namespace, item.key): item.updated_at}, _put(item.namespace, changed))
            return changed

        return _retry(redact)

    def _update_store(self, store_id: str, changes: Mapping[str, Any]) -> Json:
        expected, store = self._writable(store_id), self.get_store(store_id)
        if changes.get("name") is not None:
            store["name"] = check_name(changes["name"], "name", 255)
        if changes.get("description") is not None:
            store["description"] = check_text(changes["description"], "description", 0, 1024)
        if changes.get("metadata") is not None:
            merged = {**store["metadata"], **check_object(changes["metadata"], "metadata")}
            store["metadata"] = check_metadata({key: value for key, value in merged.items() if value is not None})
        store["updated_at"] = current_time()
        self._commit(expected, _put(_STORES, store))
        return store

    def _archive_store(self, store_id: str) -> Json:
        (store, item), now = self._get_store(store_id), current_time()
        if store["archived_at"] is not None:
            return store
        changed = {**store, "archived_at": now, "updated_at": now}
        self._commit({(_STORES, store_id): item.updated_at}, _put(_STORES, changed))
        return changed

    def _get_store(self, store_id: str) -> tuple[Json, Item]:
        return self._get(_STORES, store_id, "memory_store")

    def _get_memory(self, store_id: str, memory_id: str) -> tuple[Json, Item]:
        return self._get((_CONTENT, store_id, "memories"), memory_id, "memory")

    def _writable(self, store_id: str) -> dict[ItemName, datetime | None]:
        """Return the store as it is expected by a change of it or of what is in it."""
        store, item = self._get_store(store_id)
        if store["archived_at"] is not None:
            raise InvalidInput(f"the memory store {store_id} is archived: create another one")
        return {(_STORES, store_id): item.updated_at}

    def _free_path(self, store_id: str, path: str) -> dict[ItemName, datetime | None]:
        """Return that no other document is expected to have the path; raise `PathTaken` when one has it."""
        namespace, key = (_CONTENT, store_id, "paths"), path_key(path)
        entry = self.items.get(self.scope, namespace, key)
        if entry is not None and self._document_at(store_id, entry) is not None:
            raise PathTaken(f"the path {path} is taken: update that memory, or choose another path")
        return {(namespace, key): None if entry is None else entry.updated_at}

    def _own_path(self, store_id: str, document: Json) -> dict[ItemName, datetime | None]:
        namespace, key = (_CONTENT, store_id, "paths"), path_key(document["path"])
        entry = self.items.get(self.scope, namespace, key)
        is_own = entry is not None and entry.value == _path_entry(document)
        return {(namespace, key): entry.updated_at} if entry is not None and is_own else {}

    def _document_at(self, store_id: str, entry: Item) -> Json | None:
        """Return the document that a path leads to; None when it was erased, or is another way."""
        memory_id = entry.value.get("memory_id") if isinstance(entry.value, dict) else None
        if not isinstance(memory_id, str):
            return None
        item = self._find((_CONTENT, store_id, "memories"), memory_id, "memory")
        document: Json | None = None if item is None else item.value
        return document if document is not None and path_key(document["path"]) == entry.key else None

    def _below(self, store_id: str, prefix: str, depth: int, start: str) -> Iterator[Json]:
        """Yield the documents and folders below a prefix, from the key of a path on."""
        namespace, end = (_CONTENT, store_id, "paths"), path_key(after_all(prefix))
        while page := self.items.page(self.scope, namespace, limit=_CHUNK, start=start, end=end):
            for entry in page:
                document, start = self._document_at(store_id, entry), entry.key + NEXT
                names = [] if document is None else document["path"][len(prefix) :].split("/")
                if 0 < depth < len(names):
                    folder = prefix + "/".join(names[:depth]) + "/"
                    yield {"type": "memory_prefix", "path": folder}
                    start = path_key(after_all(folder))
                    break
                if document is not None:
                    yield document

    def _write(
        self,
        document: Json,
        changed: tuple[str, str],
        expected: Mapping[ItemName, datetime | None],
        operation: str,
        removed: Mapping[ItemName, datetime | None] | None = None,
    ) -> Json:
        """Write a document with its path and text, and the version that this makes."""
        path, text = changed
        data = to_bytes(text)
        digest = hashlib.sha256(data).hexdigest()
        content = {"path": path, "content": text, "content_sha256": digest, "content_size_bytes": len(data)}
        version = self._version({**document, **content}, operation)
        new = {**document, **content, "memory_version_id": version["id"], "updated_at": version["created_at"]}
        store_id, gone = document["memory_store_id"], removed or {}
        put = ItemPut((_CONTENT, store_id, "memories"), new["id"], new, _SEARCHED)
        self._commit({**expected, **gone}, _put_version(version), put, _put_path(store_id, new), removed=gone)
        return new

    def _version(self, document: Json, operation: str) -> Json:
        copied = ("memory_store_id", "path", "content", "content_sha256", "content_size_bytes")
        return {
            "type": "memory_version",
            "id": new_id("memver"),
            "memory_id": document["id"],
            "operation": operation,
            "created_at": current_time(),
            "created_by": self._actor(),
            "redacted_at": None,
            "redacted_by": None,
            **{name: document[name] for name in copied},
        }

    def _actor(self) -> Json:
        return {"type": "api_actor", "api_key_id": self.key_id}

    def _commit(
        self,
        expected: Mapping[ItemName, datetime | None],
        *puts: ItemPut,
        removed: Mapping[ItemName, datetime | None] | None = None,
    ) -> None:
        self.items.put_all(self.scope, puts, expected, removed or {})

    def _get(self, namespace: NamespacePath, item_id: str, kind: str) -> tuple[Json, Item]:
        item = self._find(namespace, item_id, kind)
        if item is None:
            raise NotFound(f"there is no {kind.replace('_', ' ')} {item_id}")
        return dict(item.value), item

    def _find(self, namespace: NamespacePath, item_id: str, kind: str) -> Item | None:
        names = tuple(check_label(name, "an id") for name in namespace)
        item = self.items.get(self.scope, names, check_label(item_id, "an id"))
        return item if item is not None and is_one(item, kind) else None

    def _newest(
        self, namespace: NamespacePath, kind: str, matches: Callable[[Json], bool], page: str | None, limit: int
    ) -> Page:
        """Return a page of what matches. It may be short, or empty, where a filter leaves out very many."""
        end = None if page is None else check_label(page, "page")
        found: list[Json] = []
        for _ in range(0, _MAX_READ, _CHUNK):
            read = self.items.page(self.scope, namespace, limit=_CHUNK, end=end, backwards=True)
            for item in read:
                if len(found) == limit:
                    return found, end
                if is_one(item, kind) and matches(item.value):
                    found.append(item.value)
                end = item.key
            if len(read) < _CHUNK:
                return found, None
        return found, end


_retry: Final = partial(retry_on_conflict, final=(PathTaken, ContentChanged))


class AsyncMemoryStores:
    """The memory stores of one tenant, off the event loop, in the threads of the tenant."""

    def __init__(self, inner: MemoryStores, threads: Threads) -> None:
        self._inner = inner
        self._threads = threads

    create_store = off_loop(MemoryStores.create_store)
    get_store = off_loop(MemoryStores.get_store)
    list_stores = off_loop(MemoryStores.list_stores)
    update_store = off_loop(MemoryStores.update_store)
    archive_store = off_loop(MemoryStores.archive_store)
    delete_store = off_loop(MemoryStores.delete_store, background=True)
    create_memory = off_loop(MemoryStores.create_memory, model=True)
    get_memory = off_loop(MemoryStores.get_memory)
    list_memories = off_loop(MemoryStores.list_memories)
    update_memory = off_loop(MemoryStores.update_memory, model=True)
    delete_memory = off_loop(MemoryStores.delete_memory)
    get_version = off_loop(MemoryStores.get_version)
    list_versions = off_loop(MemoryStores.list_versions)
    redact_version = off_loop(MemoryStores.redact_version)


def _put(namespace: NamespacePath, value: Json) -> ItemPut:
    return ItemPut(namespace, value["id"], value, _NOT_SEARCHED)


def _put_version(version: Json) -> ItemPut:
    return _put((_CONTENT, version["memory_store_id"], "versions"), version)


def _put_path(store_id: str, document: Json) -> ItemPut:
    return ItemPut((_CONTENT, store_id, "paths"), path_key(document["path"]), _path_entry(document), _NOT_SEARCHED)


def _path_entry(document: Json) -> Json:
    return {"path": document["path"], "memory_id": document["id"]}

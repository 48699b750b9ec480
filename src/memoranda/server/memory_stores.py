"""Memory stores in the form of Anthropic's API: documents by path, with every version, for `client.beta.memory_stores`.

A store, a document and a version are an item each. Documents are found by `recall` like other memories.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from memoranda.aio.manager import MemoryManager
from memoranda.errors import Conflict, InvalidInput, NotFound

Json: TypeAlias = dict[str, Any]
_STORES: Final = ("memory_stores",)
_CONTENT: Final = "memory_store"
"""The first name of the namespaces that hold what is in the stores."""
_PAGE: Final = 1000
_MAX_CONTENT: Final = 102_400
_MAX_PATH: Final = 1024
_MAX_SEGMENTS: Final = 20
_MAX_PAIRS: Final = 16
_EMPTY: Final = {"content": None, "content_sha256": None, "content_size_bytes": None}


class PathTaken(Conflict):
    """Another document has this path."""


@dataclass(frozen=True, slots=True)
class MemoryStores:
    """The memory stores of one tenant."""

    memory: MemoryManager
    key_id: str
    lock: asyncio.Lock
    """Held while something is read and then changed."""

    async def create_store(self, name: object, description: object, metadata: object) -> Json:
        now = _now()
        store = {
            "type": "memory_store",
            "id": _new_id("memstore"),
            "name": _check_text(name, "name", 1, 255),
            "description": _check_text(description or "", "description", 0, 1024),
            "metadata": _check_metadata(metadata or {}),
            "created_at": now,
            "updated_at": now,
            "archived_at": None,
        }
        return await self._put(_STORES, store)

    async def get_store(self, store_id: str) -> Json:
        return await self._get(_STORES, store_id, "memory store")

    async def list_stores(self, wanted: Callable[[Json], bool]) -> list[Json]:
        """Return the stores, the newest first."""
        return [store for store in await self._all(_STORES, "-key") if wanted(store)]

    async def update_store(self, store_id: str, changes: Mapping[str, Any]) -> Json:
        async with self.lock:
            store = await self._writable(store_id)
            if changes.get("name") is not None:
                store["name"] = _check_text(changes["name"], "name", 1, 255)
            if changes.get("description") is not None:
                store["description"] = _check_text(changes["description"], "description", 0, 1024)
            if changes.get("metadata") is not None:
                merged = {**store["metadata"], **_check_object(changes["metadata"], "metadata")}
                store["metadata"] = _check_metadata({key: value for key, value in merged.items() if value is not None})
            return await self._put(_STORES, {**store, "updated_at": _now()})

    async def archive_store(self, store_id: str) -> Json:
        async with self.lock:
            store, now = await self.get_store(store_id), _now()
            if store["archived_at"] is not None:
                return store
            return await self._put(_STORES, {**store, "archived_at": now, "updated_at": now})

    async def delete_store(self, store_id: str) -> Json:
        async with self.lock:
            await self.get_store(store_id)
            for kind in ("memories", "versions"):
                documents = await self._all((_CONTENT, store_id, kind))
                if documents:
                    await self.memory.delete_item((_CONTENT, store_id, kind), [each["id"] for each in documents])
            # Last, so that a deletion that was interrupted can be repeated.
            await self.memory.delete_item(_STORES, store_id)
        return {"type": "memory_store_deleted", "id": store_id}

    async def create_memory(self, store_id: str, path: object, content: object) -> Json:
        checked, text = _check_path(path), _check_content(content)
        async with self.lock:
            await self._writable(store_id)
            await self._refuse_taken(store_id, checked)
            document = {"type": "memory", "id": _new_id("mem"), "memory_store_id": store_id, "created_at": _now()}
            return await self._write(document, checked, text, "created")

    async def get_memory(self, store_id: str, memory_id: str) -> Json:
        await self.get_store(store_id)
        return await self._get((_CONTENT, store_id, "memories"), memory_id, "memory")

    async def list_memories(self, store_id: str, prefix: str, depth: int) -> list[Json]:
        """Return the documents below a prefix by path, those deeper than `depth` as the folders that they are in."""
        if not prefix.startswith("/") or not prefix.endswith("/"):
            raise InvalidInput("path_prefix must begin and end with /, such as /notes/")
        await self.get_store(store_id)
        found: dict[str, Json] = {}
        for document in await self._all((_CONTENT, store_id, "memories")):
            if document["path"].startswith(prefix):
                names = document["path"][len(prefix) :].split("/")
                folder = prefix + "/".join(names[:depth]) + "/"
                is_deep = depth > 0 and len(names) > depth
                found[folder if is_deep else document["path"]] = (
                    {"type": "memory_prefix", "path": folder} if is_deep else document
                )
        return [found[path] for path in sorted(found)]

    async def update_memory(self, store_id: str, memory_id: str, changes: Mapping[str, Any]) -> Json:
        path = None if changes.get("path") is None else _check_path(changes["path"])
        text = None if changes.get("content") is None else _check_content(changes["content"])
        async with self.lock:
            await self._writable(store_id)
            document = await self.get_memory(store_id, memory_id)
            if changes.get("precondition") is not None:
                condition = _check_object(changes["precondition"], "precondition")
                _check_hash(document, condition.get("content_sha256"))
            if path is not None and path != document["path"]:
                await self._refuse_taken(store_id, path)
            before = (document["path"], document["content"])
            after = (path or before[0], before[1] if text is None else text)
            return document if after == before else await self._write(document, *after, "modified")

    async def delete_memory(self, store_id: str, memory_id: str, expected: str | None) -> Json:
        async with self.lock:
            document = await self.get_memory(store_id, memory_id)
            if expected is not None:
                _check_hash(document, expected)
            await self._put_version({**document, **_EMPTY}, "deleted")
            await self.memory.delete_item((_CONTENT, store_id, "memories"), memory_id)
        return {"type": "memory_deleted", "id": memory_id}

    async def get_version(self, store_id: str, version_id: str) -> Json:
        await self.get_store(store_id)
        return await self._get((_CONTENT, store_id, "versions"), version_id, "memory version")

    async def list_versions(self, store_id: str, wanted: Callable[[Json], bool]) -> list[Json]:
        """Return the versions, the newest first."""
        await self.get_store(store_id)
        return [version for version in await self._all((_CONTENT, store_id, "versions"), "-key") if wanted(version)]

    async def redact_version(self, store_id: str, version_id: str) -> Json:
        """Remove the content and path of a version. That of a current one would still be in its document."""
        async with self.lock:
            version = await self.get_version(store_id, version_id)
            if version["redacted_at"] is not None:
                return version
            current = await self.memory.get_item((_CONTENT, store_id, "memories"), version["memory_id"])
            if current is not None and current.value["memory_version_id"] == version_id:
                raise InvalidInput("this is the current version: update or delete the memory first, then redact it")
            redacted = {"redacted_at": _now(), "redacted_by": self._actor(), "path": None, **_EMPTY}
            return await self._put((_CONTENT, store_id, "versions"), {**version, **redacted})

    async def _writable(self, store_id: str) -> Json:
        store = await self.get_store(store_id)
        if store["archived_at"] is not None:
            raise InvalidInput(f"the memory store {store_id} is archived: create another one")
        return store

    async def _refuse_taken(self, store_id: str, path: str) -> None:
        if await self.memory.search_items((_CONTENT, store_id, "memories"), filter={"path": path}, limit=1):
            raise PathTaken(f"the path {path} is taken: update that memory, or choose another path")

    async def _write(self, document: Json, path: str, text: str, operation: str) -> Json:
        data = _to_bytes(text)
        digest = hashlib.sha256(data).hexdigest()
        content = {"path": path, "content": text, "content_sha256": digest, "content_size_bytes": len(data)}
        version = await self._put_version({**document, **content}, operation)
        changed = {**document, **content, "memory_version_id": version["id"], "updated_at": version["created_at"]}
        return await self._put((_CONTENT, document["memory_store_id"], "memories"), changed, index=["content"])

    async def _put_version(self, document: Json, operation: str) -> Json:
        copied = ("memory_store_id", "path", "content", "content_sha256", "content_size_bytes")
        version = {
            "type": "memory_version",
            "id": _new_id("memver"),
            "memory_id": document["id"],
            "operation": operation,
            "created_at": _now(),
            "created_by": self._actor(),
            "redacted_at": None,
            "redacted_by": None,
            **{name: document[name] for name in copied},
        }
        return await self._put((_CONTENT, document["memory_store_id"], "versions"), version)

    def _actor(self) -> Json:
        return {"type": "api_actor", "api_key_id": self.key_id}

    async def _put(self, namespace: tuple[str, ...], value: Json, index: list[str] | bool = False) -> Json:
        await self.memory.put(namespace, value["id"], value, index=index)
        return value

    async def _get(self, namespace: tuple[str, ...], item_id: str, what: str) -> Json:
        item = await self.memory.get_item(namespace, item_id)
        if item is None:
            raise NotFound(f"there is no {what} {item_id}")
        value: Json = item.value
        return value

    async def _all(self, namespace: tuple[str, ...], order: Any = "key") -> list[Json]:
        found: list[Json] = []
        offset = 0
        while True:
            page = await self.memory.search_items(namespace, order=order, limit=_PAGE, offset=offset)
            found += [item.value for item in page]
            if len(page) < _PAGE:
                return found
            offset += _PAGE


def _new_id(kind: str) -> str:
    """Return an id; those made later sort after those made before."""
    return f"{kind}_{time.time_ns():016x}{secrets.token_hex(6)}"


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def _check_text(value: object, name: str, least: int, most: int) -> str:
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise InvalidInput(f"{name} must be text of {least} to {most:,} characters")
    if any(unicodedata.category(character) == "Cc" for character in value) and name == "name":
        raise InvalidInput("name holds a control character: remove it")
    return value


def _check_object(value: object, name: str) -> Json:
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} must be an object")
    return value


def _check_metadata(value: object) -> dict[str, str]:
    pairs = _check_object(value, "metadata")
    if len(pairs) > _MAX_PAIRS:
        raise InvalidInput(f"metadata holds {len(pairs)} pairs: at most {_MAX_PAIRS} fit")
    return {
        _check_text(key, "a key in metadata", 1, 64): _check_text(text, f"metadata[{key!r}]", 0, 512)
        for key, text in pairs.items()
    }


def _check_content(value: object) -> str:
    text = "" if value is None else value
    if not isinstance(text, str):
        raise InvalidInput("content must be text")
    if (size := len(_to_bytes(text))) > _MAX_CONTENT:
        raise InvalidInput(f"content has {size:,} bytes; at most {_MAX_CONTENT:,} fit: split it up")
    return text


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _check_path(value: object) -> str:
    if not isinstance(value, str) or not value.startswith("/"):
        raise InvalidInput("path must be text that begins with /, such as /notes/todo.md")
    segments = value[1:].split("/")
    if len(segments) > _MAX_SEGMENTS or any(segment in ("", ".", "..") for segment in segments):
        raise InvalidInput(f"path must have 1 to {_MAX_SEGMENTS} segments, and none may be empty, . or ..")
    if any(unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs") for character in value):
        raise InvalidInput("path holds a control or format character: remove it")
    if unicodedata.normalize("NFC", value) != value or len(value.encode()) > _MAX_PATH:
        raise InvalidInput(f"path must be in Unicode Normalization Form C, and at most {_MAX_PATH:,} bytes long")
    return value


def _check_hash(document: Json, expected: object) -> None:
    if document["content_sha256"] != expected:
        raise Conflict(f"the memory {document['id']} was changed: read it again, then decide")

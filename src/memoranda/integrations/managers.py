"""What several adapters need: a `MemoryManager` or the default one, a namespace of items, and texts of any length."""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import count, takewhile
from os import PathLike
from typing import Any, Final, Generic, TypeAlias, TypeVar

from memoranda import aio
from memoranda.aio.manager import async_part, blocking_part
from memoranda.embedding.base import Embedder
from memoranda.errors import Incompatible, InvalidInput, InvalidType
from memoranda.items.base import MAX_LABEL, Item, check_namespace
from memoranda.manager.manager import MemoryManager
from memoranda.records import AsyncClosing, Closing
from memoranda.validation import MAX_LIMIT

T = TypeVar("T")
Source: TypeAlias = MemoryManager | aio.MemoryManager | str | PathLike[str] | None
"""A manager, blocking or async, or the path or URL of a database; None for the default database."""
_MAX_KEYS: Final = 10_000
"""A statement of SQLite takes 32,766 values by default."""
RELEVANT: Final = 0.08
"""The lowest score of what a search returns by default: below it, a memory is hardly related to the question."""


def open_source(memory: Source, embedder: Embedder | None = None) -> tuple[MemoryManager, bool]:
    """Return the blocking manager, and whether it was opened here, with the embedding model if one is given."""
    if memory is None or isinstance(memory, str | PathLike):
        return MemoryManager(memory, embedder=embedder), True
    if embedder is not None:
        raise InvalidInput("the manager has its embedding model: leave yours out, or pass the path of the database")
    if isinstance(memory, aio.MemoryManager):
        return blocking_part(memory)[0], False
    if isinstance(memory, MemoryManager):
        return memory, False
    raise wrong_source(memory)


def open_async(memory: Source, **options: Any) -> tuple[aio.MemoryManager, bool]:
    """Return an async manager, and whether it was opened here, with these options."""
    if memory is None or isinstance(memory, str | PathLike):
        return aio.MemoryManager(memory, **options), True
    if isinstance(memory, MemoryManager):
        return async_part(memory), False
    if isinstance(memory, aio.MemoryManager):
        return memory, False
    raise wrong_source(memory)


class OpenedSource(Closing):
    """Closes the manager of an adapter if it was opened here, also at the end of a `with` block."""

    memory: Any
    _owns_memory: bool

    def close(self) -> None:
        """Close the manager if it was opened here."""
        if self._owns_memory:
            self.memory.close()


class AsyncOpenedSource(AsyncClosing):
    """The same for an adapter with async methods."""

    memory: aio.MemoryManager
    _owns_memory: bool

    async def close(self) -> None:
        """Close the manager if it was opened here."""
        if self._owns_memory:
            await self.memory.close()


def read_pages(read: Callable[[int, int], list[T]], limit: int = sys.maxsize, offset: int = 0) -> Iterator[T]:
    """Yield as many results as are asked for, or all: also more than one call of the manager returns."""
    while limit > 0:
        page = read(min(limit, MAX_LIMIT), offset)
        yield from page
        if len(page) < MAX_LIMIT:
            return
        limit, offset = limit - len(page), offset + len(page)


async def read_all(read: Callable[[int, int], Awaitable[list[T]]]) -> list[T]:
    """Return all results of an async manager's calls."""
    found: list[T] = []
    while page := await read(MAX_LIMIT, len(found)):
        found += page
        if len(page) < MAX_LIMIT:
            break
    return found


def wrong_source(value: object) -> InvalidType:
    """Return the error for what is no manager."""
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    return InvalidType(f"memory must be a memoranda.MemoryManager, or the path of a database, not {name}")


def to_label(id: object, argument: str) -> str:
    """Return an id of a framework as a name in a namespace, which is never empty and never a wildcard."""
    label = f"={id}"
    if len(label) > MAX_LABEL:
        raise InvalidInput(f"{argument} has {len(label) - 1:,} characters; at most {MAX_LABEL - 1} fit: shorten it")
    return label


class OwnedNamespace:
    """The items of one namespace that belong to one owner, without those of the namespaces below it."""

    def __init__(
        self,
        memory: MemoryManager,
        namespace: Sequence[str],
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
    ) -> None:
        self.memory = memory
        self.names = check_namespace(namespace)
        self.owner: dict[str, Any] = {"user": user, "agent": agent, "session": session}

    def put(
        self,
        values: Mapping[str, Any],
        index: Sequence[str] | bool | None = None,
        expected: Mapping[str, datetime | None] | None = None,
    ) -> None:
        """Store the values by key in one commit.

        With `expected`, raise `Conflict` and store nothing when one was not last put at that time, None for never.
        """
        self.memory.put_many(self.names, values, index=index, expected=expected, **self.owner)

    def get(self, key: str) -> Item | None:
        return self.memory.get_item(self.names, key, **self.owner)

    def delete(self, keys: Sequence[str]) -> int:
        """Delete those that exist and return how many there were; ten thousand in one commit."""
        parts = (list(keys[start : start + _MAX_KEYS]) for start in range(0, len(keys), _MAX_KEYS))
        return sum(self.memory.delete_item(self.names, part, **self.owner) for part in parts)

    def count(self) -> tuple[int, datetime | None]:
        """Return how many items there are, and when the latest one was put."""
        found = self.memory.namespaces(self.names, limit=1, **self.owner)
        return (found[0].count, found[0].last_active) if found and found[0].namespace == self.names else (0, None)

    def search(self, limit: int, query: str | Sequence[float], filter: Mapping[str, Any] | None) -> list[Item]:
        """Return as many of the items that fit the query as are asked for, the best first."""

        def read(size: int, offset: int) -> list[Item]:
            options = {"query": query, "filter": filter, **self.owner}
            return self.memory.search_items(self.names, limit=size, offset=offset, **options)

        return [item for item in read_pages(read, limit, 0) if item.score is not None]

    def read(self, query: str | None = None, *, page: int = MAX_LIMIT) -> Iterator[Item]:
        """Yield the items, in several reads: the one that was put last first; with a query, matches, the best first."""
        seen: set[str] = set()
        for start in count(0, page):
            found = self.memory.search_items(self.names, query=query, limit=page, offset=start, **self.owner)
            # An item moves to the front when it is put again meanwhile, and another one is then read twice.
            new = (item for item in found if item.namespace == self.names and item.key not in seen)
            own = [item for item in new if query is None or item.score is not None]
            yield from own
            seen.update(item.key for item in own)
            if len(found) < page:
                return


class CachedNamespace(OwnedNamespace, Generic[T]):
    """Keeps what its items are made into, and reads only those that were put since the last time."""

    def __init__(
        self, make: Callable[[Item], T], memory: MemoryManager, namespace: Sequence[str], **owner: str | None
    ) -> None:
        super().__init__(memory, namespace, **owner)
        self._make = make
        self._lock = threading.Lock()
        self._made: dict[str, T] = {}
        self._seen: tuple[int, datetime | None] = (0, None)

    def all(self) -> list[T]:
        """Return what every item is made into."""
        with self._lock:
            state, last = self.count(), self._seen[1]
            if state != self._seen:
                new = takewhile(lambda item: last is None or item.updated_at >= last, self.read(page=100))
                self._made |= {item.key: self._make(item) for item in new}
                if len(self._made) != state[0]:  # some were deleted
                    self._made = {item.key: self._make(item) for item in self.read()}
                self._seen = state
            return list(self._made.values())


_PART: Final = 80_000
"""Characters in one value: even if each is written as an escape in JSON, they fit."""


class LongValues:
    """Keeps the parts of long texts in a namespace of their own."""

    def __init__(self, parts: OwnedNamespace) -> None:
        self._parts = parts

    def store(self, text: str) -> dict[str, Any]:
        """Return what to keep of a text in an item: the text itself, or where its parts are."""
        if len(text) <= _PART:
            return {"text": text}
        parts = {uuid.uuid4().hex: text[start : start + _PART] for start in range(0, len(text), _PART)}
        self._parts.put(parts, index=False)
        return {"parts": list(parts)}

    def load(self, value: Mapping[str, Any]) -> str:
        """Return the text."""
        if "text" in value:
            return str(value["text"])
        found = [part for part in map(self._parts.get, value["parts"]) if part is not None]
        if len(found) < len(value["parts"]):
            raise Incompatible("a part of a long value is missing: restore a backup")
        return "".join(part.value for part in found)

    def drop(self, value: Mapping[str, Any] | None) -> None:
        """Delete the parts, once no item refers to them."""
        if value and value.get("parts"):
            self._parts.delete(value["parts"])

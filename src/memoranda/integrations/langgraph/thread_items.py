"""The items of a LangGraph checkpointer: checkpoints, values of channels, and pending writes, by thread."""

from __future__ import annotations

import functools
from base64 import b64decode, b64encode
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, TypeAlias

from memoranda.aio.threads import in_thread
from memoranda.errors import MissingExtra
from memoranda.integrations.managers import LongValues, OwnedNamespace, read_pages, to_label
from memoranda.items.base import Item, NamespaceActivity

try:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import writes_sort_key
except ModuleNotFoundError as error:
    raise MissingExtra("the LangGraph checkpointer", "langgraph") from error

Thread: TypeAlias = tuple[str, str]
"""The id of a thread, and the namespace of a subgraph in it."""
_ROOT = "langgraph"  # no namespace of a LangGraph store may begin with it


class ThreadItems:
    """Reads and writes the items of threads. They are not searched."""

    def __init__(self, memory: Any, owner: Mapping[str, str | None], serde: Any) -> None:
        self._memory = memory
        self._serde = serde
        # A session of their own, so that a store of the same owner does not list them among its items.
        self._owner: dict[str, Any] = {**owner, "session": f"{owner['session'] or _ROOT} checkpoints"}

    def threads(self, thread_id: str | None, subgraph: str | None) -> Iterator[Thread]:
        """Yield the threads that have checkpoints: all, those of one id, or exactly one."""
        prefix = (_ROOT, "checkpoints", *(() if thread_id is None else (to_label(thread_id, "thread_id"),)))

        def read(limit: int, offset: int) -> list[NamespaceActivity]:
            found: list[NamespaceActivity] = self._memory.namespaces(prefix, limit=limit, offset=offset, **self._owner)
            return found

        # All are read first: their checkpoints may be deleted meanwhile.
        found = [(each.namespace[2][1:], each.namespace[3][1:]) for each in read_pages(read)]
        return (thread for thread in found if subgraph is None or thread[1] == subgraph)

    def get(self, kind: str, thread: Thread, key: str, *more: str) -> Item | None:
        found: Item | None = self._memory.get_item(_place(kind, thread, *more), key, **self._owner)
        return found

    def latest(self, thread: Thread) -> Item | None:
        """Return the checkpoint with the highest id, which is the one made last."""
        page = self._memory.search_items(_place("checkpoints", thread), order="-key", limit=1, **self._owner)
        return page[0] if page else None

    def walk(self, kind: str, thread: Thread, *more: str) -> Iterator[Item]:
        """Yield items, the one with the highest key first."""

        def read(limit: int, offset: int) -> list[Item]:
            page = {"order": "-key", "limit": limit, "offset": offset}
            found: list[Item] = self._memory.search_items(_place(kind, thread, *more), **page, **self._owner)
            return found

        return read_pages(read)

    def put(self, kind: str, thread: Thread, values: Mapping[str, Any], *more: str) -> None:
        """Write items in one commit."""
        if values:
            self._memory.put_many(_place(kind, thread, *more), values, index=False, **self._owner)

    def delete(self, kind: str, thread: Thread, *more: str) -> None:
        """Delete all items of one kind."""
        if keys := [item.key for item in self.walk(kind, thread, *more)]:
            self._memory.delete_item(_place(kind, thread, *more), keys, **self._owner)

    def delete_checkpoint(self, thread: Thread, item: Item) -> None:
        """Delete a checkpoint and its pending writes."""
        dumped = [item.value["checkpoint"], item.value["metadata"]]
        dumped += [write.value for write in self.walk("writes", thread, item.key)]
        self.delete("writes", thread, item.key)
        self._memory.delete_item(_place("checkpoints", thread), item.key, **self._owner)
        for value in dumped:
            self._long(thread).drop(value)

    def dump(self, thread: Thread, value: Any) -> dict[str, Any]:
        """Return a value as JSON: its type, and its bytes, or where they are."""
        kind, data = self._serde.dumps_typed(value)
        return {"type": kind, **self._long(thread).store(b64encode(data).decode("ascii"))}

    def load(self, thread: Thread, stored: Mapping[str, Any]) -> Any:
        return self._serde.loads_typed((stored["type"], b64decode(self._long(thread).load(stored))))

    def _long(self, thread: Thread) -> LongValues:
        return LongValues(OwnedNamespace(self._memory, _place("parts", thread), **self._owner))

    def load_values(self, thread: Thread, versions: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values that channels have at these versions; a channel may have none."""
        found = {name: self.get("blobs", thread, f"{version}/{name}") for name, version in versions.items()}
        return {name: self.load(thread, item.value) for name, item in found.items() if item is not None}

    def load_writes(self, thread: Thread, checkpoint_id: str) -> list[tuple[str, str, Any]]:
        """Return the pending writes of a checkpoint, as task, channel and value, in the order they are applied."""
        found = [item.value for item in self.walk("writes", thread, checkpoint_id)]
        found.sort(key=lambda each: writes_sort_key(each["path"], each["task"], each["position"]))
        return [(each["task"], each["channel"], self.load(thread, each)) for each in found]


def _place(kind: str, thread: Thread, *more: str) -> tuple[str, ...]:
    # Labels, because a name in a namespace cannot be empty, and that of the main graph is.
    return (_ROOT, kind, to_label(thread[0], "thread_id"), to_label(thread[1], "checkpoint_ns"), *more)


def off_loop(method: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return the async version of a method."""

    @functools.wraps(method)
    async def call(*arguments: Any, **options: Any) -> Any:
        return await in_thread(method, *arguments, **options)

    return call


def thread_of(config: RunnableConfig) -> Thread:
    named = config["configurable"]
    return str(named["thread_id"]), named.get("checkpoint_ns", "")


def make_config(thread: tuple[str, str | None], checkpoint_id: str | None = None) -> RunnableConfig:
    named = {"thread_id": thread[0], "checkpoint_ns": thread[1], "checkpoint_id": checkpoint_id}
    return {"configurable": {name: value for name, value in named.items() if value is not None}}

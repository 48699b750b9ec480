"""LangGraph's checkpointer: the state of every thread, step by step.

A checkpoint is an item; so is the value of each channel, which checkpoints share, and each pending write. They are not
searched.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from memoranda.aio.threads import in_thread
from memoranda.display import shown
from memoranda.errors import InvalidInput, MissingExtra
from memoranda.integrations.langgraph.thread_items import Thread, ThreadItems, make_config, off_loop, thread_of
from memoranda.integrations.managers import OpenedSource, Source, open_source
from memoranda.items.base import Item

try:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint import base
    from langgraph.checkpoint.serde.types import _DeltaSnapshot
except ModuleNotFoundError as error:
    raise MissingExtra("the LangGraph checkpointer", "langgraph") from error


class MemorandaSaver(OpenedSource, base.BaseCheckpointSaver[str]):
    """A LangGraph checkpointer that keeps its checkpoints in Memoranda.

    Args:
        memory: The manager, or the path or URL of a database; the default database when None.
        serde: LangGraph's serializer.
        agent, user, session: The owner of the checkpoints.
    """

    def __init__(
        self,
        memory: Source = None,
        *,
        serde: Any = None,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self.memory, self._owns_memory = open_source(memory)
        self._items = ThreadItems(self.memory, {"agent": agent, "user": user, "session": session}, self.serde)

    def get_next_version(self, current: str | None, channel: None) -> str:
        # Unique, because branches of one thread share the values of its channels.
        return f"{int((current or '0').partition('.')[0]) + 1:032}.{uuid.uuid4().hex}"

    def get_tuple(self, config: RunnableConfig) -> base.CheckpointTuple | None:
        thread, wanted = thread_of(config), base.get_checkpoint_id(config)
        item = self._items.get("checkpoints", thread, wanted) if wanted else self._items.latest(thread)
        return None if item is None else self._to_tuple(thread, item)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[base.CheckpointTuple]:
        end, wanted = before and base.get_checkpoint_id(before), config and base.get_checkpoint_id(config)
        found = 0
        for thread in self._threads(config):
            for item in self._items.walk("checkpoints", thread):
                if limit is not None and found >= limit:
                    return
                if (wanted and item.key != wanted) or (end and item.key >= end):
                    continue
                metadata = self._items.load(thread, item.value["metadata"])
                if all(metadata.get(name) == value for name, value in (filter or {}).items()):
                    found += 1
                    yield self._to_tuple(thread, item)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: base.Checkpoint,
        metadata: base.CheckpointMetadata,
        new_versions: base.ChannelVersions,
    ) -> RunnableConfig:
        thread, kept = thread_of(config), {**checkpoint}
        values: dict[str, Any] = kept.pop("channel_values")
        new = {f"{version}/{name}": values[name] for name, version in new_versions.items() if name in values}
        self._items.put("blobs", thread, {key: self._items.dump(thread, value) for key, value in new.items()})
        stored = {
            "checkpoint": self._items.dump(thread, kept),
            "metadata": self._items.dump(thread, base.get_checkpoint_metadata(config, metadata)),
            "parent": config["configurable"].get("checkpoint_id"),
        }
        self._items.put("checkpoints", thread, {checkpoint["id"]: stored})
        return make_config(thread, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        thread, checkpoint_id = thread_of(config), config["configurable"]["checkpoint_id"]
        new: dict[str, Any] = {}
        for number, (channel, value) in enumerate(writes):
            position = base.WRITES_IDX_MAP.get(channel, number)
            key = f"{position}/{task_id}"
            # A regular write is kept as it was first made; an error or an interrupt is replaced.
            if position < 0 or self._items.get("writes", thread, key, checkpoint_id) is None:
                write = {"task": task_id, "path": task_path, "position": position, "channel": channel}
                new[key] = {**write, **self._items.dump(thread, value)}
        self._items.put("writes", thread, new, checkpoint_id)

    def delete_thread(self, thread_id: str) -> None:
        for thread in self._threads(make_config((thread_id, None))):
            for item in self._checkpoints(thread):
                self._items.delete_checkpoint(thread, item)
            self._items.delete("blobs", thread)
            self._items.delete("parts", thread)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        for thread in self._threads(None):
            for item in self._checkpoints(thread):
                if self._items.load(thread, item.value["metadata"]).get("run_id") in run_ids:
                    self._items.delete_checkpoint(thread, item)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        for thread in self._threads(make_config((source_thread_id, None))):
            target = (target_thread_id, thread[1])
            writes = [("writes", item.key) for item in self._checkpoints(thread)]
            # In this order, who sees a checkpoint finds what it needs.
            for kind, *more in [("parts",), ("blobs",), *writes, ("checkpoints",)]:
                copied = {item.key: item.value for item in self._items.walk(kind, thread, *more)}
                self._items.put(kind, target, copied, *more)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        if strategy not in ("keep_latest", "delete", "delete_all"):
            raise InvalidInput(f"unknown strategy {shown(strategy)}: use keep_latest or delete")
        for thread_id in thread_ids:
            if strategy != "keep_latest":
                self.delete_thread(thread_id)
                continue
            for thread in self._threads(make_config((thread_id, None))):
                needed = self._needed_ids(thread)
                for item in self._checkpoints(thread):
                    if item.key not in needed:
                        self._items.delete_checkpoint(thread, item)

    def _needed_ids(self, thread: Thread) -> set[str]:
        """Return the latest checkpoint, and those before it from which its delta channels are rebuilt."""
        current = self.get_tuple(make_config(thread))
        if current is None:
            return set()
        checkpoint, needed, path = current.checkpoint, {current.checkpoint["id"]}, set[str]()
        missing = checkpoint["channel_versions"].keys() - checkpoint["channel_values"].keys()
        while missing and current.parent_config and (parent := self.get_tuple(current.parent_config)):
            current, values = parent, parent.checkpoint["channel_values"]
            path.add(parent.checkpoint["id"])
            if any(isinstance(values.get(name), _DeltaSnapshot) for name in missing):
                needed |= path
            missing = missing - values.keys()
        return needed

    def _threads(self, config: RunnableConfig | None) -> Iterator[Thread]:
        named = {} if config is None else config["configurable"]
        return self._items.threads(named.get("thread_id"), named.get("checkpoint_ns"))

    def _checkpoints(self, thread: Thread) -> Sequence[Item]:
        return [*self._items.walk("checkpoints", thread)]

    def _to_tuple(self, thread: Thread, item: Item) -> base.CheckpointTuple:
        checkpoint, parent = self._items.load(thread, item.value["checkpoint"]), item.value["parent"]
        return base.CheckpointTuple(
            make_config(thread, item.key),
            {**checkpoint, "channel_values": self._items.load_values(thread, checkpoint["channel_versions"])},
            self._items.load(thread, item.value["metadata"]),
            make_config(thread, parent) if parent else None,
            self._items.load_writes(thread, item.key),
        )

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncIterator[base.CheckpointTuple]:
        for found in await in_thread(lambda: [*self.list(config, **options)]):
            yield found

    aget_tuple = off_loop(get_tuple)
    aput = off_loop(put)
    aput_writes = off_loop(put_writes)
    adelete_thread = off_loop(delete_thread)
    adelete_for_runs = off_loop(delete_for_runs)
    acopy_thread = off_loop(copy_thread)
    aprune = off_loop(prune)

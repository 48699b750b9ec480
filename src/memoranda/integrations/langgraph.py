"""LangGraph: a store for long-term memory, and a checkpointer. `pip install memoranda[langgraph]`

    store = MemorandaStore()
    graph = builder.compile(store=store, checkpointer=MemorandaSaver(store.memory))

What an agent puts into the store is also found by `recall`. The same store serves LangMem and deepagents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, TypeVar

from memoranda.aio.threads import in_thread
from memoranda.errors import InvalidInput, MissingExtra
from memoranda.items.base import Item as StoredItem
from memoranda.manager.manager import MemoryManager
from memoranda.validation import MAX_LIMIT

try:
    from langgraph.store import base
except ModuleNotFoundError as error:
    raise MissingExtra("the LangGraph store", "langgraph") from error

from memoranda.integrations.langchain_items import LangChainEmbedder
from memoranda.integrations.langgraph_checkpoint import MemorandaSaver

__all__ = ["MemorandaSaver", "MemorandaStore"]
_T = TypeVar("_T")
_WHOLE = ["$"]


class MemorandaStore(base.BaseStore):
    """A LangGraph store that keeps its items in Memoranda.

    Expired items are never returned, also before they are swept.

    Args:
        memory: The manager, or the path or URL of a database; the default database when None.
        index: LangGraph's index settings. `fields` says what is searched when an item does not; `embed` is the
            embedding model of a manager that is opened here. Without them, everything is searched with the built-in
            model.
        ttl: LangGraph's settings for how long items live, in minutes.
        agent, user, session: The owner of the items; the namespaces of another owner are not seen.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: MemoryManager | str | PathLike[str] | None = None,
        *,
        index: base.IndexConfig | None = None,
        ttl: base.TTLConfig | None = None,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> None:
        self.index_config = index
        self.ttl_config = ttl
        self._fields = list((index or {}).get("fields") or _WHOLE)
        self._owner: dict[str, Any] = {"agent": agent, "user": user, "session": session}
        self._opened = memory is None or isinstance(memory, str | PathLike)
        if not self._opened and "embed" in (index or {}):
            raise InvalidInput("the manager has its embedding model: leave out embed, or pass the path of the database")
        self.memory: Any = _open(memory, index) if self._opened else memory

    def close(self) -> None:
        """Close the manager if it was opened here."""
        if self._opened:
            self.memory.close()

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run operations in order; those that put items of one namespace one after the other are one commit."""
        listed = list(ops)
        for op in listed:
            base.validate_op_namespace(op)
        return [result for run in _runs(listed) for result in self._run(run)]

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run operations in order, off the event loop."""
        return await in_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete what has expired, and return how many memories that were."""
        report = self.memory.upkeep(policies=["expire"], **self._owner)
        return sum(decision.action == "removed" for decision in report.decisions)

    def _run(self, ops: list[base.Op]) -> list[base.Result]:
        op = ops[0]
        if isinstance(op, base.PutOp):
            return self._put([each for each in ops if isinstance(each, base.PutOp)])
        if isinstance(op, base.GetOp):
            item = self.memory.get_item(op.namespace, op.key, refresh=op.refresh_ttl, **self._owner)
            return [None if item is None else base.Item(**_fields_of(item))]
        if isinstance(op, base.SearchOp):
            return [self._search(op)]
        if isinstance(op, base.ListNamespacesOp):
            return [self._list_namespaces(op)]
        raise InvalidInput(f"{type(op).__name__} is no operation of a LangGraph store")

    def _put(self, ops: list[base.PutOp]) -> list[base.Result]:
        """Store the last value of each key; None deletes it."""
        last = {op.key: op for op in ops}
        return {key: wanted if _has_operators(wanted) else {"$eq": wanted} for key, wanted in conditions.items()}


def _has_operators(wanted: object) -> bool:
    return isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in wanted)


def _fields_of(item: StoredItem) -> dict[str, Any]:
    names = ("value", "key", "namespace", "created_at", "updated_at")
    return {name: getattr(item, name) for name in names}

"""LangGraph: a store for long-term memory, and a checkpointer. `pip install memoranda[langgraph]`

    store = MemorandaStore()
    graph = builder.compile(store=store, checkpointer=MemorandaSaver(store.memory))

What an agent puts into the store is also found by `recall`. The same store serves LangMem and deepagents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import Any

from memoranda.aio.threads import in_thread
from memoranda.errors import InvalidInput, InvalidType, MissingExtra
from memoranda.integrations.langgraph.checkpointer import MemorandaSaver
from memoranda.integrations.managers import OpenedSource, Source, open_source, read_pages
from memoranda.items.base import Item as StoredItem
from memoranda.persistent.backends import BackendEmbedder
from memoranda.validation import MAX_CONDITIONS, MAX_DEPTH, check_integer

try:
    from langgraph.store import base
except ModuleNotFoundError as error:
    raise MissingExtra("the LangGraph store", "langgraph") from error

__all__ = ["MemorandaSaver", "MemorandaStore"]

_WHOLE = ["$"]


class MemorandaStore(OpenedSource, base.BaseStore):
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
        memory: Source = None,
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
        self.memory, self._owns_memory = open_source(memory, _make_embedder(index or {}))

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run the reads, then what puts and deletes, as LangGraph's own stores do: reads see what was there before.

        Of several puts of one key, the last counts. Those of one namespace one after the other are one commit.
        """
        listed = list(ops)
        for op in listed:
            base.validate_op_namespace(op)
            _check(op)
        results = [None if isinstance(op, base.PutOp) else self._read(op) for op in listed]
        for run in _runs({(op.namespace, op.key): op for op in listed if isinstance(op, base.PutOp)}.values()):
            self._put(run)
        return results

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run operations in order, off the event loop."""
        return await in_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete what has expired, and return how many memories that were."""
        report = self.memory.upkeep(policies=["expire"], **self._owner)
        return sum(decision.action == "removed" for decision in report.decisions)

    def _read(self, op: base.Op) -> base.Result:
        if isinstance(op, base.GetOp):
            item = self.memory.get_item(op.namespace, op.key, refresh=op.refresh_ttl, **self._owner)
            return None if item is None else base.Item(**_fields_of(item))
        if isinstance(op, base.SearchOp):
            return self._search(op)
        if isinstance(op, base.ListNamespacesOp):
            return self._list_namespaces(op)
        raise InvalidInput(f"{type(op).__name__} is not an operation of a LangGraph store")

    def _put(self, ops: list[base.PutOp]) -> None:
        """Store values of one namespace; None deletes one."""
        values = {op.key: op.value for op in ops if op.value is not None}
        gone = [op.key for op in ops if op.value is None]
        first = ops[0]
        if gone:
            self.memory.delete_item(first.namespace, gone, **self._owner)
        if values:
            index = self._fields if first.index is None else first.index
            self.memory.put_many(
                first.namespace,
                values,
                ttl=None if first.ttl is None else 60 * first.ttl,
                index=None if index == _WHOLE else index,
                **self._owner,
            )

    def _search(self, op: base.SearchOp) -> list[base.SearchItem]:
        conditions = _to_item_filter(op.filter)

        def read(limit: int, offset: int) -> list[StoredItem]:
            found: list[StoredItem] = self.memory.search_items(
                op.namespace_prefix,
                query=op.query if op.query and op.query.strip() else None,  # as in LangGraph's own stores
                filter=conditions,
                limit=limit,
                offset=offset,
                refresh=op.refresh_ttl,
                **self._owner,
            )
            return found

        items = read_pages(read, op.limit, op.offset)
        return [base.SearchItem(**_fields_of(item), score=item.score) for item in items]

    def _list_namespaces(self, op: base.ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        paths = {"prefix": (), "suffix": ()} | {each.match_type: each.path for each in conditions}
        if len(conditions) > len({each.match_type for each in conditions}):
            raise InvalidInput("give at most one prefix and one suffix")

        def read(limit: int, offset: int) -> list[Any]:
            page = {"max_depth": op.max_depth, "limit": limit, "offset": offset}
            found: list[Any] = self.memory.namespaces(paths["prefix"], suffix=paths["suffix"], **page, **self._owner)
            return found

        return [each.namespace for each in read_pages(read, op.limit, op.offset)]


def _make_embedder(index: Mapping[str, Any]) -> BackendEmbedder | None:
    embed = index.get("embed")
    return None if embed is None else BackendEmbedder(base.ensure_embeddings(embed), index.get("dims"))


def _check(op: base.Op) -> None:
    """Refuse what the contract does not allow."""
    if isinstance(op, base.PutOp) and not isinstance(op.value, dict | None):
        raise InvalidType(f"value must be a dict, or None to delete the item, not {type(op.value).__name__}")
    if isinstance(op, base.SearchOp | base.ListNamespacesOp):
        check_integer(op.limit, "limit", minimum=0)
        check_integer(op.offset, "offset", minimum=0)


def _to_item_filter(conditions: object) -> dict[str, Any]:
    """Return LangGraph's conditions as those on items: a dict without operators is conditions on its fields."""
    if conditions is not None and not isinstance(conditions, Mapping):
        raise InvalidType(f"filter must be a dict, not {type(conditions).__name__}")
    found = list(islice(_flatten(conditions or {}, ""), MAX_CONDITIONS + 1))  # more are an error below
    if len(found) > len(dict(found)):
        raise InvalidInput("the filter names a field twice, with dots and in a dict: give one condition for each")
    return dict(found)


def _flatten(conditions: Mapping[str, Any], start: str) -> Iterator[tuple[str, Any]]:
    for name, wanted in conditions.items():
        is_dict = isinstance(wanted, Mapping) and bool(wanted)
        if is_dict and any(str(each).startswith("$") for each in wanted):
            yield f"{start}{name}", wanted
        elif is_dict and start.count(".") < MAX_DEPTH:
            yield from _flatten(wanted, f"{start}{name}.")
        else:
            yield f"{start}{name}", {"$eq": wanted}


def _runs(ops: Iterable[base.PutOp]) -> Iterator[list[base.PutOp]]:
    """Yield lists of puts that can be written together."""
    for _, run in groupby(ops, key=lambda op: (op.namespace, op.index, op.ttl)):
        yield list(run)


def _fields_of(item: StoredItem) -> dict[str, Any]:
    names = ("value", "key", "namespace", "created_at", "updated_at")
    return {name: getattr(item, name) for name in names}

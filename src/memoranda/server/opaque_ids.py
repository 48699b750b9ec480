"""Opaque ids for callers with a key: a tenant cannot tell from its ids how much other tenants write.

The ids of a store are shared by its tenants. Here, at the boundary, they go through a secret permutation of the tenant:
arguments on the way in, results, errors and texts on the way out. They stay integers, and stay the same for ever.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MethodType
from typing import Any, Final, TypeAlias, cast

from memoranda.aio.manager import MemoryManager
from memoranda.dashboard.results import EntityNode, MemoryEdge, MemoryNode, Overview
from memoranda.errors import Conflict, ExtractionFailed, MemorandaError
from memoranda.manager import manager
from memoranda.results.facts import Fact, FactValue
from memoranda.results.maintenance import CleanedMemory, Derivation, History, UpkeepDecision
from memoranda.results.recall import Context, ErasedHit, WhyNot
from memoranda.results.receipts import ForgetReceipt
from memoranda.security.id_cipher import IdCipher, IdText, using_cipher
from memoranda.storage.claims import map_enders
from memoranda.types import Association, Memory, Outcomes, Recall

ID_ARGUMENTS: Final = frozenset({"memory_id", "related_memory_id", "ids", "memory_or_slot", "after"})
"""Arguments of the manager's methods that are ids of memories."""
ID_FIELDS: Final[dict[type, dict[str, str]]] = {
    Memory: {"id": "memory", "superseded_by": "memory"},
    Association: {"memory_id": "memory", "related_memory_id": "memory"},
    ErasedHit: {"id": "memory"},
    WhyNot: {"id": "memory"},
    CleanedMemory: {"id": "memory"},
    UpkeepDecision: {"id": "memory", "into": "memory"},
    Derivation: {"derived_id": "memory", "source_id": "memory"},
    History: {"supersedes": "memory"},
    Fact: {"memory_id": "memory"},
    FactValue: {"memory_id": "memory"},
    ForgetReceipt: {"ids": "memory"},
    Recall: {"head": "change"},
    Overview: {"head": "change"},
    MemoryNode: {"id": "memory"},
    MemoryEdge: {"source": "memory", "target": "memory"},
    EntityNode: {"memories": "memory"},
}
"""Fields of results that number rows of the whole store, and what they number."""
_Change: TypeAlias = Callable[[int, str], int]


def with_opaque_ids(memory: MemoryManager, cipher: IdCipher) -> MemoryManager:
    """Return the same manager for callers that see opaque ids."""
    other = copy(memory)
    other._inner = cast(manager.MemoryManager, OpaqueManager(memory._inner, cipher))
    return other


@dataclass(frozen=True, slots=True)
class OpaqueManager:
    """A manager whose methods take and return opaque ids. What it calls inside sees plain ones."""

    _inner: manager.MemoryManager
    _cipher: IdCipher

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._inner, name)
        if name.startswith("_") or not inspect.ismethod(attribute):
            return attribute
        return functools.partial(self._call, attribute)

    def _call(self, method: MethodType, *args: Any, **kwargs: Any) -> Any:
        given = _signature(method.__func__).bind(self._inner, *args, **kwargs)
        for name, value in given.arguments.items():
            given.arguments[name] = self._decode_argument(name, value)
        with using_cipher(self._cipher):
            try:
                return change_ids(method.__func__(*given.args, **given.kwargs), self._cipher.encode)
            except MemorandaError as error:
                _show_in_error(error, self._cipher.encode)
                raise

    def _decode_argument(self, name: str, value: Any) -> Any:
        if name in ID_ARGUMENTS:
            return _change_number(value, "memory", self._cipher.decode)
        return change_ids(value, self._cipher.decode) if is_dataclass(value) else value


_signature = functools.cache(inspect.signature)


def change_ids(value: Any, change: _Change) -> Any:
    """Return a result, or an argument, with every id in it changed; everything else stays the same object."""
    if isinstance(value, Context):
        hits = change_ids(value.hits, change)
        kept = {name: getattr(value, name) for name in Context.__slots__ if name != "hits"}
        return Context(str(value), hits=hits, **kept)
    if isinstance(value, Outcomes):
        return Outcomes([change_ids(item, change) for item in value], value.usage, value.failure)
    if isinstance(value, IdText):
        return value.shown(lambda number: change(number, "memory"))
    if is_dataclass(value) and not isinstance(value, type):
        return _change_fields(value, change)
    if isinstance(value, list | tuple) and _holds_results(value):
        return type(value)(change_ids(item, change) for item in value)
    return value


def _holds_results(values: Sequence[object]) -> bool:
    return any(is_dataclass(value) or isinstance(value, IdText) for value in values)


def _change_fields(value: Any, change: _Change) -> Any:
    numbers = ID_FIELDS.get(type(value), {})
    changed: dict[str, Any] = {}
    for field in fields(value):
        old = getattr(value, field.name)
        kind = numbers.get(field.name)
        new = change_ids(old, change) if kind is None else _change_number(old, kind, change)
        if new is not old:
            changed[field.name] = new
    if isinstance(value, Memory):
        changed["notes"] = map_enders(value.notes, lambda number: change(number, "memory"))
    return replace(value, **changed) if changed else value


def _change_number(value: Any, kind: str, change: _Change) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return change(value, kind)
    if isinstance(value, Sequence | Mapping) and not isinstance(value, str | bytes | Mapping):
        return type(value)(_change_number(item, kind, change) for item in value)  # type: ignore[call-arg]
    return value


def _show_in_error(error: MemorandaError, encode: _Change) -> None:
    error.args = change_ids(error.args, encode)
    if isinstance(error, Conflict):
        error.current = change_ids(error.current, encode)
    elif isinstance(error, ExtractionFailed):
        error.outcomes = change_ids(list(error.outcomes), encode)

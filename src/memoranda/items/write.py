"""Writing items: several at once, and only if others are as they were read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from memoranda.errors import Conflict
from memoranda.items.base import NamespacePath, decode_key
from memoranda.storage.base import Owner, Tenant, Transaction
from memoranda.storage.changes import Remove
from memoranda.storage.read import memory_by_key
from memoranda.storage.write import MemoryWrite, apply_changes
from memoranda.types import JSON, Outcome, Scope

ItemName: TypeAlias = tuple[NamespacePath, str]
"""The namespace and key of an item."""


@dataclass(frozen=True, slots=True)
class PutOptions:
    """How items are put."""

    ttl: float | None = None
    """Seconds until they expire; None for never."""
    index: tuple[str, ...] | bool = True
    """What of a value is searched: all of it, nothing, or what is at these paths."""


@dataclass(frozen=True, slots=True)
class ItemPut:
    """A value to put."""

    namespace: NamespacePath
    key: str
    value: JSON
    options: PutOptions


@dataclass(frozen=True, slots=True)
class ExpectingWrite:
    """A write that happens only if every expected item is as it was read."""

    write: MemoryWrite
    scope: Scope
    expected: Mapping[str, datetime | None]
    """When the items were put last, by stored key; None for no item."""
    now: datetime
    removed: Collection[str] = ()
    """Those of the expected items that are deleted in the same commit."""

    @property
    def tenant(self) -> Tenant:
        return self.scope.tenant

    @property
    def owners(self) -> frozenset[Owner] | None:
        return self.write.owners

    def __call__(self, tx: Transaction) -> list[Outcome]:
        ids = []
        for stored, time in self.expected.items():
            memory = memory_by_key(tx, self.scope, stored)
            found = None if memory is None or memory.has_expired(self.now) else memory.valid_from
            if found != time:
                namespace, key = decode_key(stored)
                raise Conflict(f"the item {key!r} of {'/'.join(namespace)} was changed in the meantime: read it again")
            if memory is not None and stored in self.removed:
                ids.append(memory.id)
        if ids:
            apply_changes(tx, [Remove(self.scope, tuple(ids))])
        return self.write(tx)

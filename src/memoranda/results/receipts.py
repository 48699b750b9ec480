"""Receipts of what was forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from memoranda import display
from memoranda.records import Record
from memoranda.results import texts
from memoranda.results.recall import AffectedRecall

ErasureStatus: TypeAlias = Literal["erased", "pending", "remains", "not searched", "not reachable"]
"""`erased`: nothing of it is left in this place, or never was. `pending`: to be done, or still to be finished.
`remains`: the place still holds it. `not searched`: the place may hold it. `not reachable`: files outside of the store.
"""


@dataclass(frozen=True, slots=True, repr=False)
class StoreReceipt(Record):
    """What was erased from one place."""

    store: str
    status: ErasureStatus
    count: int = 0
    detail: str = ""

    __str__ = texts.store_text


@dataclass(frozen=True, slots=True, repr=False)
class ForgetReceipt(Record):
    """What was erased from each place, or with `dry_run` would be. It holds no names and no texts."""

    ids: tuple[int, ...]
    """Every erased memory, including those derived from others."""
    stores: tuple[StoreReceipt, ...]
    at: datetime
    dry_run: bool
    recalls: tuple[AffectedRecall, ...] = ()
    """With `dry_run`, the past recalls that returned one of the memories, newest first."""
    id: str = ""
    """Empty with `dry_run`, which stores no receipt."""
    agent: str | None = None
    """A pseudonym of the agent that was named, made with the key of the store."""
    user: str | None = None
    session: str | None = None
    tombstones: tuple[str, ...] = ()
    """Keyed hashes of the erased texts and message ids: an import leaves them out."""
    signature: str = ""

    __str__, _repr_html_ = texts.receipt_text, display.report_html

    @property
    def complete(self) -> bool:
        """Whether no place of this store holds any of it; backups and exports are out of its reach."""
        return all(store.status in ("erased", "not reachable") for store in self.stores)

    @property
    def remaining(self) -> tuple[StoreReceipt, ...]:
        """The places that hold or may hold some of it."""
        return tuple(store for store in self.stores if store.status not in ("erased", "not reachable"))

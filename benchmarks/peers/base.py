"""What every measured system must offer, and the values it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float32]

DIMENSION = 384
LIMIT = 10
"""Hits asked for in every search."""


@dataclass(frozen=True, slots=True)
class Item:
    """A text that one user wants remembered."""

    text: str
    user: str


@dataclass(frozen=True, slots=True)
class Query:
    """A question inside one user's scope, and the text that answers it."""

    text: str
    user: str
    gold: str


Lookup: TypeAlias = Callable[[str], FloatArray]
"""The precomputed unit vector of a text or a query: the embedder of every system."""


class Peer(Protocol):
    """A memory system on a fresh folder. Built as `Class(folder, lookup)`."""

    version: str
    settings: str
    """What was set, in one line for the report."""

    def add(self, item: Item) -> None:
        """Returns when the system says that the memory is stored."""
        ...

    def add_many(self, items: Sequence[Item]) -> None:
        """The same by the fastest documented way of adding many."""
        ...

    def search(self, query: Query) -> list[str]:
        """At most `LIMIT` texts of the query's user, best first."""
        ...

    def close(self) -> None: ...


BuildPeer: TypeAlias = Callable[[Path, Lookup], Peer]

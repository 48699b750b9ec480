"""The interface of a measured system, and its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float32]

DIMENSION = 384
POSTGRES_URL = "BENCH_POSTGRES_URL"
"""The variable with the URL of an empty database for the system of a process."""
LIMIT = 10
"""The number of hits requested in every search."""


@dataclass(frozen=True, slots=True)
class Item:
    """A text to store for one user."""

    text: str
    user: str


@dataclass(frozen=True, slots=True)
class Query:
    """A question in one user's scope, and the text that answers it."""

    text: str
    user: str
    gold: str


Lookup: TypeAlias = Callable[[str], FloatArray]
"""Returns the precomputed unit vector of a text or a query; the embedder of every system."""


class Peer(Protocol):
    """A memory system in an empty folder, built as `Class(folder, lookup)`."""

    version: str
    settings: str
    """The settings, in one line for the report."""

    def add(self, item: Item) -> None:
        """Store a memory; return when the system acknowledges it."""
        ...

    def add_many(self, items: Sequence[Item]) -> None:
        """Store memories in the fastest documented way."""
        ...

    def search(self, query: Query) -> list[str]:
        """Return at most `LIMIT` texts of the query's user, best first."""
        ...

    def close(self) -> None: ...


BuildPeer: TypeAlias = Callable[[Path, Lookup], Peer]

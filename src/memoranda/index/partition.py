"""All that is searched of one partition: who may see a memory and when, its vector, its words."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoranda.errors import Incompatible, InvalidInput
from memoranda.index.base import GRAPH_FROM, PartitionVectors
from memoranda.index.faiss import FAISSIndex
from memoranda.index.lexical import Postings
from memoranda.index.vectors import (
    IdTable,
    grown,
)
from memoranda.storage.base import IndexRow, PartitionKey
from memoranda.types import ANY, FloatArray, IntArray

UNNAMED = -1
"""The code of a memory that belongs to no session."""
NEVER_LOADED = -1
_UNKNOWN = -2
_ROW = np.dtype(
    [
        ("agent", np.int32),
        ("session", np.int32),
        ("speaker", np.int32),
        ("valid_from", np.float64),
        ("valid_to", np.float64),
        ("expires_at", np.float64),
    ]
)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The memories session by session, each session in the order in which it was said."""

    ids: IntArray
    sessions: IntArray
    """A number per session, `UNNAMED` for none: neighbours in this list with one number said in one talk."""
    times: NDArray[np.float64]
    by_id: IntArray

    def places(self, ids: IntArray) -> IntArray:
        """Where in the timeline each id stands, -1 where it does not."""
        if not len(self.ids):
            return np.full(len(ids), -1, dtype=np.int64)
        found = np.searchsorted(self.ids, ids, sorter=self.by_id)
        places = self.by_id[np.minimum(found, len(self.ids) - 1)]
        return np.where(self.ids[places] == ids, places, -1)


class Partition:
    """The derived view of one `PartitionKey`, valid up to the change number `seq`.

    Hold `lock` over several calls that must see the same state: `Partitions.reading` does.
    """

    def __init__(
        self,
        key: PartitionKey,
        generation: int | None = None,
        *,
        graph_from: int = GRAPH_FROM,
        kept: Callable[[Partition, int], PartitionVectors] | None = None,
    ) -> None:
        self.key = key
        self.generation = generation
        self.lock = threading.RLock()
        self._graph_from = graph_from
        self._kept = kept
        self.reset()

    @property
    def name(self) -> str:
        """A name that no other partition of the store has."""
        user = [] if self.key.user is ANY else [self.key.user]
        return json.dumps([self.key.tenant, user, self.generation])

    def reset(self, index: PartitionVectors | None = None) -> None:
        """Empties the view, but for vectors that were loaded and are to be compared with the rows to come."""
        self.seq = NEVER_LOADED
        self.loaded_at = NEVER_LOADED
        """The change number at which all rows were read; what was removed since may still lie in memory."""
        self.index = index
        """None while no memory of the partition has a vector."""
        self.postings = Postings()
        self._table = IdTable()
        self._columns = np.empty(0, dtype=_ROW)
        self._agents: dict[str, int] = {}
        self._sessions: dict[str, int] = {}
        self._speakers: dict[str, int] = {}
        self._timeline: Timeline | None = None

    def __len__(self) -> int:
        return len(self._table)

    @property
    def ids(self) -> IntArray:
        """All ids, ascending."""
        return np.sort(self._table.ids[self._table.live])

    @property
    def nbytes(self) -> int:
        """About how much memory this takes."""
        vectors = 0 if self.index is None else self.index.nbytes
        return vectors + self.postings.nbytes + self._columns.nbytes + self._table.nbytes

    @property
    def speakers(self) -> tuple[str, ...]:
        """Everybody who has said something here, by name."""
        spoken = self._columns[: self._table.size]["speaker"][self._table.live]
        counts = np.bincount(spoken - UNNAMED, minlength=len(self._speakers) + 1)[1:]
        return tuple(sorted(name for name, code in self._speakers.items() if counts[code]))

    def open_index(self, dimension: int) -> PartitionVectors:
        """Where this partition's vectors are kept: another engine, or an index of its own."""
        return self.new_index(dimension) if self._kept is None else self._kept(self, dimension)

    def new_index(self, dimension: int) -> FAISSIndex:
        """An empty index as this partition uses it: no question waits for its graph."""
        return FAISSIndex(dimension, graph_from=self._graph_from, grow_on_add=False)

    def upsert(self, rows: Iterable[IndexRow]) -> None:
        """Adds or replaces rows; a row that cannot be taken raises before anything has changed."""
        given = list(rows)
        if not given:
            return
        self._put_vectors(given)
        for row in given:
            self.postings.add(row.id, row.terms.split())
        positions = self._table.claim(np.array([row.id for row in given], dtype=np.int64))
        self._columns = grown(self._columns, self._table.size)
        self._columns[positions] = np.array([self._coded(row) for row in given], dtype=_ROW)
        self._timeline = None

    def remove(self, ids: IntArray) -> None:
        """Removes what is there of these ids."""
        self._table.release(ids)
        self.postings.remove(ids.tolist())
        if self.index is not None:
            self.index.remove(ids)
        if self._table.size > 2 * len(self) + 64:
            self._columns = self._columns[self._table.compact()]
        self._timeline = None

    def remove_strangers(self) -> None:
        """Removes the vectors of ids that have no row."""
        if self.index is not None:
            self.index.remove(np.setdiff1d(self.index.ids, self.ids))

    def eligible(
        self, agent: str | None, session: str | None, now: float, as_of: float | None = None
    ) -> IntArray | None:
        """The ids that may be seen, ascending; None when that is all of them.

        A name that is None means any. What has expired by `now`, or ended, is left out; with `as_of`,
        what had ended by then or only began later.
        """
        columns, allowed = self._columns[: self._table.size], self._table.live.copy()
        if agent is not None:
            allowed &= columns["agent"] == self._agents.get(agent, _UNKNOWN)
        if session is not None:
            allowed &= columns["session"] == self._sessions.get(session, _UNKNOWN)
        allowed &= (columns["expires_at"] > now) & (columns["valid_to"] > (now if as_of is None else as_of))
        if as_of is not None:
            allowed &= columns["valid_from"] <= as_of
        return None if np.count_nonzero(allowed) == len(self) else np.sort(self._table.ids[allowed])

    def said_by(self, speaker: str | None) -> IntArray:
        """The ids of what this speaker said, ascending; of what nobody said, when None."""
        code = UNNAMED if speaker is None else self._speakers.get(speaker, _UNKNOWN)
        spoken = self._table.live & (self._columns[: self._table.size]["speaker"] == code)
        return np.sort(self._table.ids[spoken])

    def timeline(self) -> Timeline:
        """Who stands beside whom; the same object until something changes."""
        if self._timeline is None:
            positions = self._table.positions()
            ids, columns = self._table.ids[positions], self._columns[positions]
            sessions = self._session_numbers()[columns["session"]]
            order = np.lexsort((ids, columns["valid_from"], sessions))
            times = columns["valid_from"][order].copy()
            self._timeline = Timeline(ids[order], sessions[order], times, np.argsort(ids[order], kind="stable"))
        return self._timeline

    def _session_numbers(self) -> IntArray:
        """A number per code, in the order of the names: codes depend on who came first. The last is for no session."""
        numbers = np.full(len(self._sessions) + 1, UNNAMED, dtype=np.int64)
        for number, name in enumerate(sorted(self._sessions)):
            numbers[self._sessions[name]] = number
        return numbers

    def _put_vectors(self, rows: Sequence[IndexRow]) -> None:
        found = [(row.id, row.vector) for row in rows if row.vector is not None]
        if found:
            dimension = len(found[0][1]) // 4 if self.index is None else self.index.dimension
            ids, vectors = _decoded(found, dimension)
            index = self.open_index(dimension) if self.index is None else self.index
            try:
                index.add(ids, vectors)
            except InvalidInput as error:
                raise Incompatible(f"A vector in the store is damaged ({error}): run reembed") from error
            self.index = index
        if self.index is not None and len(found) < len(rows):
            self.index.remove(np.array([row.id for row in rows if row.vector is None], dtype=np.int64))

    def _coded(self, row: IndexRow) -> tuple[Any, ...]:
        return (
            _code(self._agents, row.agent),
            _code(self._sessions, row.session),
            _code(self._speakers, row.speaker),
            row.valid_from,
            row.valid_to,
            row.expires_at,
        )


def _code(codes: dict[str, int], name: str | None) -> int:
    return UNNAMED if name is None else codes.setdefault(name, len(codes))


def _decoded(found: Sequence[tuple[int, bytes]], dimension: int) -> tuple[IntArray, FloatArray]:
    for id, vector in found:
        if len(vector) != 4 * dimension:
            raise Incompatible(f"The vector of memory {id} has {len(vector)} bytes, not {4 * dimension}: run reembed")
    ids = np.array([id for id, _ in found], dtype=np.int64)
    numbers = np.frombuffer(b"".join(vector for _, vector in found), dtype="<f4")
    return ids, numbers.astype(np.float32, copy=False).reshape(len(found), dimension)

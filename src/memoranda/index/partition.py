"""The index of one partition: vectors, terms, and who may see a memory and when."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoranda.errors import Incompatible, InvalidInput
from memoranda.index.base import PartitionVectors
from memoranda.index.faiss import GRAPH_FROM, FAISSIndex
from memoranda.index.lexical import Postings
from memoranda.index.vectors import IdTable, grow_array
from memoranda.storage.base import IndexRow, PartitionKey
from memoranda.text.languages import ALGORITHMS, UNSPACED
from memoranda.text.terms import LANGUAGE_KEY
from memoranda.types import ANY, FloatArray, IntArray

UNNAMED = -1
"""The code of a memory without an agent, a session or a speaker."""
NEVER_LOADED = -1
_UNKNOWN = -2  # the code of a name that no memory has
_SPARE_NAMES = 64
"""Names of removed memories that are always kept."""
MACHINE_ROLES = ("assistant", "system", "tool")
_ROW = np.dtype(
    [
        ("agent", np.int32),
        ("session", np.int32),
        ("speaker", np.int32),
        ("valid_from", np.float64),
        ("valid_to", np.float64),
        ("expires_at", np.float64),
        ("recorded_at", np.float64),
        ("true_from", np.float64),
        ("ended_at", np.float64),
    ]
)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The memories by session, each session in the order of time."""

    ids: IntArray
    sessions: IntArray
    """A number per session, `UNNAMED` for none; consecutive rows with one number are consecutive turns."""
    times: NDArray[np.float64]
    by_id: IntArray
    dialogue: FloatArray
    """0…1 per memory: how much people take turns in its session."""
    all_positions: IntArray
    """0, 1, 2, …"""

    def positions(self, ids: IntArray) -> IntArray:
        """Return the position of each id in the timeline, -1 for unknown ids."""
        if not len(self.ids):
            return np.full(len(ids), -1, dtype=np.int64)
        found = np.searchsorted(self.ids, ids, sorter=self.by_id)
        positions = self.by_id[np.minimum(found, len(self.ids) - 1)]
        return np.where(self.ids[positions] == ids, positions, -1)


class Partition:
    """The memories of one `PartitionKey`, valid up to the change number `seq`.

    Hold `lock` over several calls that must see the same state, as `Partitions.locked` does.
    """

    def __init__(
        self,
        key: PartitionKey,
        generation: int | None = None,
        *,
        graph_from: int = GRAPH_FROM,
        use_gpu: bool = False,
        open_vectors: Callable[[Partition, int], PartitionVectors] | None = None,
    ) -> None:
        """Create an empty partition.

        Args:
            key: Whose memories it holds.
            generation: The generation of its vectors; None for no vectors.
            graph_from: Above this many vectors a graph is built.
            use_gpu: Whether a CUDA device scans them in place of a graph.
            open_vectors: Opens the vectors in another engine, given their dimension.
        """
        self.key = key
        self.generation = generation
        self.lock = threading.RLock()
        self.settled = False
        """Whether it had not changed, when it was last asked for, since the time before."""
        self._graph_from = graph_from
        self._use_gpu = use_gpu
        self._open_vectors = open_vectors
        self.reset()

    @property
    def loaded_generation(self) -> int | None:
        """The generation of the vectors that its rows are read with."""
        return self.generation

    @property
    def name(self) -> str:
        """A name that is unique in the store."""
        user = [] if self.key.user is ANY else [self.key.user]
        return json.dumps([self.key.tenant, user, self.generation])

    def reset(self, index: PartitionVectors | None = None) -> None:
        """Empty the partition; keep only the given vectors, which the next rows correct."""
        self.seq = NEVER_LOADED
        self.loaded_at = NEVER_LOADED
        """The change number at which all rows were read; rows removed since then may still be in memory."""
        self.index = index
        """None while no memory has a vector."""
        self.postings = Postings()
        self._table = IdTable()
        self._columns = np.empty(0, dtype=_ROW)
        self._agents: dict[str, int] = {}
        self._sessions: dict[str, int] = {}
        self._speakers: dict[str, int] = {}
        self._changed()

    def _changed(self) -> None:
        """Forget what was derived from the rows."""
        self._timeline: Timeline | None = None
        self._speaker_names: tuple[str, ...] | None = None
        self._languages: tuple[str, ...] | None = None
        self._first_end: float | None = None

    def __len__(self) -> int:
        return len(self._table)

    @property
    def ids(self) -> IntArray:
        """All ids, ascending."""
        return np.sort(self._table.ids[self._table.live])

    @property
    def nbytes(self) -> int:
        """The approximate memory that this takes."""
        vectors = 0 if self.index is None else self.index.nbytes
        return vectors + self.postings.nbytes + self._columns.nbytes + self._table.nbytes

    @property
    def speakers(self) -> tuple[str, ...]:
        """The names of everybody who said something, sorted."""
        if self._speaker_names is None:
            spoken = self._columns[: self._table.size]["speaker"][self._table.live]
            counts = np.bincount(spoken - UNNAMED, minlength=len(self._speakers) + 1)[1:]
            self._speaker_names = tuple(sorted(name for name, code in self._speakers.items() if counts[code]))
        return self._speaker_names

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the texts, except English."""
        if self._languages is None:
            keys = [LANGUAGE_KEY + language for language in (*ALGORITHMS, *UNSPACED)]
            self._languages = tuple(key.removeprefix(LANGUAGE_KEY) for key in self.postings.held(keys))
        return self._languages

    def open_index(self, dimension: int) -> PartitionVectors:
        """Open the vectors in another engine, if there is one; else create an index in memory."""
        return self.new_index(dimension) if self._open_vectors is None else self._open_vectors(self, dimension)

    def new_index(self, dimension: int) -> FAISSIndex:
        """Return an empty index whose graph is grown in the background, so that no search waits for it."""
        return FAISSIndex(dimension, use_gpu=self._use_gpu, graph_from=self._graph_from, grow_on_add=False)

    def upsert(self, rows: Iterable[IndexRow]) -> None:
        """Add or replace rows; an invalid row raises before anything has changed."""
        new_rows = list(rows)
        if not new_rows:
            return
        self._put_vectors(new_rows)
        self.postings.add_all([row.id for row in new_rows], [row.terms.split() for row in new_rows])
        positions = self._table.claim(np.array([row.id for row in new_rows], dtype=np.int64))
        self._columns = grow_array(self._columns, self._table.size)
        self._columns[positions] = np.array([self._encode(row) for row in new_rows], dtype=_ROW)
        self._drop_unused_names()
        self._changed()

    def remove(self, ids: IntArray) -> None:
        """Remove the known ones of these ids."""
        self._table.release(ids)
        self.postings.remove(ids.tolist())
        if self.index is not None:
            self.index.remove(ids)
        if self._table.size > 2 * len(self) + 64:
            self._columns = self._columns[self._table.compact()]
        self._changed()

    def remove_orphan_vectors(self) -> None:
        """Remove the vectors of ids that have no row."""
        if self.index is not None:
            self.index.remove(np.setdiff1d(self.index.ids, self.ids))

    def eligible(
        self,
        agent: str | None,
        session: str | None,
        now: float,
        as_of: float | None = None,
        known_at: float | None = None,
        was: tuple[float, float] | None = None,
    ) -> IntArray | None:
        """Return the ids that may be seen, ascending; None when all may be seen.

        Memories that have expired or ended by `now` are left out; with `as_of`, those that had ended by then or
        only began later; with `known_at`, those that were stored later, while an end that was learnt later is ignored.

        Args:
            agent: The agent of the memories; None for any.
            session: The session of the memories; None for any.
            now: The time of the question, in seconds.
            as_of: The time that the question asks about, in seconds; None for `now`.
            known_at: The time up to which the store counts, in seconds; None for `now`.
            was: A time from which what has ended since is seen too, if it was true in it; None for none.
        """
        if agent is None and session is None and as_of is None and known_at is None and now < self._find_first_end():
            return None
        columns, allowed = self._columns[: self._table.size], self._table.live.copy()
        if agent is not None:
            allowed &= columns["agent"] == self._agents.get(agent, _UNKNOWN)
        if session is not None:
            allowed &= columns["session"] == self._sessions.get(session, _UNKNOWN)
        moment = min(now, known_at) if known_at is not None else now
        ended = columns["valid_to"] <= (moment if as_of is None else as_of)
        if was is not None:  # what was taken back was never true
            lasted = columns["valid_to"] > columns["true_from"]
            ended &= ~(lasted & (columns["valid_to"] > was[0]) & (columns["true_from"] < was[1]))
        if known_at is not None:
            allowed &= columns["recorded_at"] <= known_at
            ended &= (columns["ended_at"] <= known_at) | np.isinf(columns["ended_at"])
        allowed &= (columns["expires_at"] > moment) & ~ended
        if as_of is not None:
            allowed &= columns["true_from"] <= as_of
        return None if np.count_nonzero(allowed) == len(self) else np.sort(self._table.ids[allowed])

    def _find_first_end(self) -> float:
        """Return when the first memory expires or ends; infinity when none does."""
        if self._first_end is None:
            columns = self._columns[self._table.positions()]
            ends = np.minimum(columns["expires_at"], columns["valid_to"])
            self._first_end = float(ends.min(initial=np.inf))
        return self._first_end

    def said_by(self, speaker: str | None) -> IntArray:
        """Return the ids of what this speaker said, ascending; of memories without a speaker when None."""
        code = UNNAMED if speaker is None else self._speakers.get(speaker, _UNKNOWN)
        spoken = self._table.live & (self._columns[: self._table.size]["speaker"] == code)
        return np.sort(self._table.ids[spoken])

    def speakers_of(self, ids: IntArray) -> tuple[str, ...]:
        """Return who said any of these, sorted."""
        wanted = self._table.live & np.isin(self._table.ids, ids)
        codes = set(self._columns[: self._table.size]["speaker"][wanted].tolist())
        return tuple(sorted(name for name, code in self._speakers.items() if code in codes))

    def timeline(self) -> Timeline:
        """Return the timeline; the same object until something changes."""
        if self._timeline is None:
            positions = self._table.positions()
            ids, columns = self._table.ids[positions], self._columns[positions]
            sessions = self._session_numbers()[columns["session"]]
            order = np.lexsort((ids, columns["valid_from"], sessions))
            times = columns["valid_from"][order].copy()
            machines = [self._speakers.get(role, _UNKNOWN) for role in MACHINE_ROLES]
            dialogue = dialogue_shares(sessions[order], columns["speaker"][order], machines)
            by_id = np.argsort(ids[order], kind="stable")
            all_positions = np.arange(len(ids), dtype=np.int64)
            ids = ids[order]
            ids.flags.writeable = False  # so that what was found for them can be kept
            self._timeline = Timeline(ids, sessions[order], times, by_id, dialogue, all_positions)
        return self._timeline

    def _session_numbers(self) -> IntArray:
        """Return a number per session code, in the order of the names, as codes depend on which came first.

        The last number is for no session, whose code is -1.
        """
        numbers = np.full(len(self._sessions) + 1, UNNAMED, dtype=np.int64)
        for number, name in enumerate(sorted(self._sessions)):
            numbers[self._sessions[name]] = number
        return numbers

    def _drop_unused_names(self) -> None:
        """Forget the names that only removed memories had, such as those of past sessions, once they are the most."""
        for column in ("agent", "session", "speaker"):
            names: dict[str, int] = getattr(self, f"_{column}s")
            if len(names) <= 2 * len(self) + _SPARE_NAMES:
                continue
            codes = self._columns[: self._table.size][column]
            used = np.unique(codes[self._table.live & (codes != UNNAMED)])
            codes[codes != UNNAMED] = np.searchsorted(used, codes[codes != UNNAMED])
            by_code = {code: name for name, code in names.items()}
            setattr(self, f"_{column}s", {by_code[code]: number for number, code in enumerate(used.tolist())})

    def _put_vectors(self, rows: Sequence[IndexRow]) -> None:
        found = [(row.id, row.vector) for row in rows if row.vector is not None]
        if found:
            dimension = len(found[0][1]) // 4 if self.index is None else self.index.dimension
            ids, vectors = _decode_vectors(found, dimension)
            index = self.open_index(dimension) if self.index is None else self.index
            try:
                index.add(ids, vectors)
            except InvalidInput as error:
                raise Incompatible(f"A vector in the store is damaged ({error}): run reembed") from error
            self.index = index
        if self.index is not None and len(found) < len(rows):
            self.index.remove(np.array([row.id for row in rows if row.vector is None], dtype=np.int64))

    def _encode(self, row: IndexRow) -> tuple[Any, ...]:
        return (
            _code(self._agents, row.agent),
            _code(self._sessions, row.session),
            _code(self._speakers, row.speaker),
            row.valid_from,
            row.valid_to,
            row.expires_at,
            row.recorded_at,
            row.true_from,
            row.ended_at,
        )


def dialogue_shares(sessions: IntArray, speakers: IntArray, machines: Sequence[int]) -> FloatArray:
    """Return per memory how much its session is a dialogue of people, by who speaks after whom.

    Where the speaker changes at every second turn or more often, it is 1. It is 0 for notes, for what one person says
    alone, and for chats with an assistant, whose turns are not about each other in the same way. The rows are in the
    order of a timeline.

    Args:
        sessions: A number per memory, equal numbers together; `UNNAMED` for no session.
        speakers: A code per memory; `UNNAMED` for nobody.
        machines: The codes of speakers that are no people.
    """
    shares = np.zeros(len(sessions), dtype=np.float32)
    named = speakers != UNNAMED
    if len(sessions) < 2 or not named.any():
        return shares
    person = named & ~np.isin(speakers, machines)
    together = (sessions[1:] == sessions[:-1]) & (sessions[1:] != UNNAMED)
    changes = together & person[1:] & person[:-1] & (speakers[1:] != speakers[:-1])
    starts = np.flatnonzero(np.concatenate([[True], ~together]))
    lengths = np.diff(starts, append=len(sessions))
    # The pair of two rows is counted in the session of its second row.
    changed = np.add.reduceat(np.concatenate([[0], changes]), starts)
    shares[:] = np.repeat(np.minimum(1.0, 2.0 * changed / np.maximum(lengths - 1, 1)), lengths)
    return shares


def _code(codes: dict[str, int], name: str | None) -> int:
    return UNNAMED if name is None else codes.setdefault(name, len(codes))


def _decode_vectors(found: Sequence[tuple[int, bytes]], dimension: int) -> tuple[IntArray, FloatArray]:
    for id, vector in found:
        if len(vector) != 4 * dimension:
            raise Incompatible(f"The vector of memory {id} has {len(vector)} bytes, not {4 * dimension}: run reembed")
    ids = np.array([id for id, _ in found], dtype=np.int64)
    numbers = np.frombuffer(b"".join(vector for _, vector in found), dtype="<f4")
    return ids, numbers.astype(np.float32, copy=False).reshape(len(found), dimension)

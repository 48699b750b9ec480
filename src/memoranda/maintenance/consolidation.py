"""Related memories, clustered by meaning, time and session. Pure; numpy is loaded when it is called."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from memoranda.maintenance.base import PASSING, Subject, UpkeepSettings, is_live, owner
from memoranda.text import query_terms
from memoranda.types import FloatArray, Memory, MemoryType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_BLOCK: Final = 2_000
"""How many memories are compared with each other at once, in the order of time."""
_BUCKETS: Final = 512


def clusters(
    subjects: Iterable[Subject],
    vectors: Mapping[int, FloatArray],
    baseline: float,
    now: datetime,
    settings: UpkeepSettings,
) -> list[Work]:
    """Episodic memories that tell of one thing, and of which nothing has been made yet.

    `vectors` are unit rows by memory id, `baseline` the cosine of two texts that have nothing in common. Run on what
    is left over, it finds nothing more.
    """
    candidates: dict[tuple[str, ...], list[Memory]] = defaultdict(list)
    for subject in subjects:
        if _may_join(subject, now, settings) and subject.memory.id in vectors:
            candidates[owner(subject.memory)].append(subject.memory)
    found: list[Work] = []
    for _, left in sorted(candidates.items()):
        while groups := _grouped(in_order(left), vectors, baseline, settings):
            found += [Work(f"{len(group)} related memories", in_order(group)) for group in groups]
            taken = {memory.id for group in groups for memory in group}
            left = [memory for memory in left if memory.id not in taken]
    return found


def word_vectors(memories: Iterable[Memory]) -> dict[int, FloatArray]:
    """Vectors from the words alone, for a store without a model: each telling word counts in one of many places."""
    import numpy as np

    made: dict[int, FloatArray] = {}
    for memory in memories:
        row = np.zeros(_BUCKETS, dtype=np.float32)
        for word in query_terms(memory.content):
            row[int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest()) % _BUCKETS] = 1
        length = float(np.linalg.norm(row))
        if length:
            made[memory.id] = row / length
    return made


def _may_join(subject: Subject, now: datetime, settings: UpkeepSettings) -> bool:
    memory = subject.memory
    told = memory.type is MemoryType.EPISODIC and subject.derived is None and memory.key is None
    settled = now - memory.recorded_at > settings.session_timeout
    return told and settled and not subject.consolidated and is_live(subject, now)


def _grouped(
    memories: Sequence[Memory], vectors: Mapping[int, FloatArray], baseline: float, settings: UpkeepSettings
) -> list[list[Memory]]:
    groups: list[list[Memory]] = []
    for start in range(0, len(memories), _BLOCK):
        block = memories[start : start + _BLOCK]
        groups += [[block[place] for place in group] for group in _block_groups(block, vectors, baseline, settings)]
    return groups


def _block_groups(
    block: Sequence[Memory], vectors: Mapping[int, FloatArray], baseline: float, settings: UpkeepSettings
) -> list[list[int]]:
    """Each memory joins the group that it is nearest to on average, if near enough; else it begins one."""
    import numpy as np

    span = settings.cluster_span.total_seconds()
    rows = np.stack([vectors[memory.id] for memory in block])
    needed = settings.related - settings.same_session * _same_session(block)
    margins = ((rows @ rows.T - baseline) / (1 - baseline) - needed).astype(np.float32)
    # Row g: what the members of group g together say of every memory.
    sums, sizes, ends = np.zeros_like(margins), np.zeros(len(block)), np.zeros(len(block))
    groups: list[list[int]] = []
    for place, memory in enumerate(block):
        said = memory.valid_from.timestamp()
        count = len(groups)
        is_open = (sizes[:count] < settings.cluster_most) & (said - ends[:count] <= span)
        near = np.where(is_open, sums[:count, place] / np.maximum(sizes[:count], 1), -np.inf)
        best = int(np.argmax(near)) if count else 0
        if not count or near[best] < 0:
            best = count
            groups.append([])
        groups[best].append(place)
        sums[best] += margins[place]
        sizes[best] += 1
        ends[best] = said
    return [group for group in groups if len(group) >= settings.cluster_least]


def _same_session(block: Sequence[Memory]) -> NDArray[np.float32]:
    import numpy as np

    codes: dict[str, int] = {}
    numbers = [-1 - n if m.session is None else codes.setdefault(m.session, len(codes)) for n, m in enumerate(block)]
    sessions = np.array(numbers)
    together: NDArray[np.float32] = (sessions[:, None] == sessions[None, :]).astype(np.float32)
    return together


REFLECTION = "reflection"
PERIOD = "period"
# A Monday, so that periods of a week are weeks.
_FIRST = datetime(1970, 1, 5, tzinfo=UTC)


def finished_periods(subjects: Iterable[Subject], now: datetime, settings: UpkeepSettings) -> list[Work]:
    """For each agent and user, the periods that are over, have enough in them, and were not looked back on yet."""
    lived: dict[tuple[tuple[str, ...], int], list[Memory]] = defaultdict(list)
    reflections: dict[tuple[tuple[str, ...], int], list[Memory]] = defaultdict(list)
    for subject in subjects:
        memory = subject.memory
        if not is_live(subject, now):
            continue
        if subject.derived == REFLECTION:
            reflections[owner(memory), int(memory.metadata.get(PERIOD, -1))].append(memory)
        elif _counts(subject):
            lived[owner(memory), period_of(memory.valid_from, settings)].append(memory)
    return [
        Work(_described(number, settings), in_order(said), tuple(each.id for each in reflections[whose, number]))
        for (whose, number), said in sorted(lived.items(), key=lambda item: item[0])
        if len(said) >= settings.period_least
        and _end(number, settings) + settings.session_timeout < now
        and max(memory.recorded_at for memory in said) + settings.session_timeout < now
        and not seen_already(reflections[whose, number], said)
    ]


def period_of(moment: datetime, settings: UpkeepSettings) -> int:
    """The number of the period that a moment lies in."""
    return (moment - _FIRST) // settings.period


def _counts(subject: Subject) -> bool:
    passing = subject.memory.type in PASSING or subject.memory.type is MemoryType.SHARED
    return subject.derived is None and not passing and subject.memory.key is None


def _end(number: int, settings: UpkeepSettings) -> datetime:
    return _FIRST + (number + 1) * settings.period


def _described(number: int, settings: UpkeepSettings) -> str:
    start = _FIRST + number * settings.period
    return f"{start:%Y-%m-%d} to {_end(number, settings):%Y-%m-%d}"


SUMMARY = "summary"
THROUGH = "through"
"""Where a derived memory says up to which memory it looked."""


@dataclass(frozen=True, slots=True)
class Work:
    """Memories that are to become one, and what the new one takes the place of."""

    about: str
    """What it will be, in words: a session, a stretch of time."""
    sources: tuple[Memory, ...]
    """In the order in which they were said."""
    replaces: tuple[int, ...] = ()

    @property
    def through(self) -> int:
        """The newest memory looked at."""
        return max(memory.id for memory in self.sources)


def finished_sessions(subjects: Iterable[Subject], now: datetime, settings: UpkeepSettings) -> list[Work]:
    """Conversations that have been silent for long enough and whose latest turns no summary has seen."""
    turns: dict[tuple[str, ...], list[Memory]] = defaultdict(list)
    summaries: dict[tuple[str, ...], list[Memory]] = defaultdict(list)
    for subject in subjects:
        memory = subject.memory
        if memory.session is None or not is_live(subject, now):
            continue
        place = (*owner(memory), memory.session)
        if subject.derived == SUMMARY:
            summaries[place].append(memory)
        elif subject.derived is None and memory.message_id is not None:
            turns[place].append(memory)
    return [
        Work(f"the session {place[-1]}", in_order(said), tuple(each.id for each in summaries[place]))
        for place, said in sorted(turns.items())
        if len(said) >= settings.session_least
        and now - max(each.recorded_at for each in said) > settings.session_timeout
        and not seen_already(summaries[place], said)
    ]


def seen_already(made: Sequence[Memory], sources: Sequence[Memory]) -> bool:
    """Whether one of the derived memories has looked at the newest source."""
    newest = max(memory.id for memory in sources)
    return any(int(each.metadata.get(THROUGH, 0)) >= newest for each in made)


def in_order(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    return tuple(sorted(memories, key=lambda each: (each.valid_from, each.id)))

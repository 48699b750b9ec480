"""Which conversations are finished and want a summary. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoranda.lifecycle.base import Subject, UpkeepSettings, is_live, owner
from memoranda.types import Memory

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

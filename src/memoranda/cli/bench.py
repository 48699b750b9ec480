"""A short measurement of this machine, through the public API, on a store that is thrown away."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from memoranda.arguments import check_whole
from memoranda.types import Record

if TYPE_CHECKING:
    from memoranda.settings import MemoryConfig
    from memoranda.types import Progress

_PLACES = ("Lisbon", "Oslo", "Kyoto", "Quito", "Tunis", "Perth", "Riga", "Lima")
_THINGS = ("tea", "chess", "jazz", "tennis", "maps", "clay", "orchids", "trains", "film", "bread")
_QUESTIONS = 50


@dataclass(frozen=True, slots=True)
class Figure(Record):
    """One thing measured."""

    what: str
    value: float
    unit: str


def measure(count: int, config: MemoryConfig, progress: Progress | None = None) -> list[Figure]:
    """Bulk writing, single writes and searches, with the embedder that is set."""
    from memoranda.manager import MemoryManager

    check_whole(count, "memories", least=10, most=100_000)
    with MemoryManager(replace(config, db_url="sqlite://", durability="full")) as manager:
        manager.add_memory("warm up")
        texts = [_text(n) for n in range(count)]
        bulk = _timed(lambda: manager.add_memories(texts, progress=progress))
        single = [_timed(lambda n=n: manager.add_memory(f"single {_text(n)}")) for n in range(20)]
        asked = [_timed(lambda n=n: manager.recall(f"who likes {_THINGS[n % 10]}?")) for n in range(_QUESTIONS)]
    return [
        Figure("bulk write, embedding included", count / bulk, "memories a second"),
        Figure("single write, median", median(single) * 1000, "ms"),
        Figure("recall, median", median(asked) * 1000, "ms"),
        Figure("recall, slowest", max(asked) * 1000, "ms"),
    ]


def _text(number: int) -> str:
    place, thing = _PLACES[number % len(_PLACES)], _THINGS[number // len(_PLACES) % len(_THINGS)]
    return f"Person {number} moved to {place} and likes {thing}"


def _timed(work: object) -> float:
    started = time.perf_counter()
    assert callable(work)
    work()
    return time.perf_counter() - started

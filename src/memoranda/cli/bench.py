"""`memoranda bench`: measure writes and searches on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Annotated, Final

import typer

from memoranda.cli.options import CommandOptions, command
from memoranda.cli.output import print_result, progress_bar, table
from memoranda.types import Record
from memoranda.validation import check_integer

if TYPE_CHECKING:
    from memoranda.settings import MemoryConfig
    from memoranda.types import Progress

_CITIES: Final = ("Lisbon", "Oslo", "Kyoto", "Quito", "Tunis", "Perth", "Riga", "Lima")
_HOBBIES: Final = ("tea", "chess", "jazz", "tennis", "maps", "clay", "orchids", "trains", "film", "bread")
_QUERIES: Final = 50


@dataclass(frozen=True, slots=True)
class Measurement(Record):
    """One measured value."""

    what: str
    value: float
    unit: str


def register(app: typer.Typer) -> None:
    """Add this command to the app."""
    command(app, "bench")(bench)


def bench(
    options: CommandOptions,
    memories: Annotated[int, typer.Option(help="Number of memories to write.")] = 1000,
) -> None:
    """Measure the speed of writes and searches on this machine. Uses a temporary database."""
    with progress_bar("Measuring", options.as_json) as progress:
        measurements = _measure(memories, options.config, progress)
    rows = ((item.what, f"{item.value:,.1f}", item.unit) for item in measurements)
    print_result(measurements, options.as_json, lambda: table(("what", "value", "unit"), rows))


def _measure(count: int, config: MemoryConfig, progress: Progress | None) -> list[Measurement]:
    """Measure bulk writes, single writes and recall with the configured embedder."""
    from memoranda.manager.manager import MemoryManager

    check_integer(count, "memories", minimum=10, maximum=100_000)
    with MemoryManager(replace(config, db_url="sqlite://", durability="full")) as manager:
        manager.add_memory("warm up")
        texts = [_sample_text(n) for n in range(count)]
        bulk = _time(partial(manager.add_memories, texts, progress=progress))
        single = [_time(partial(manager.add_memory, f"single {_sample_text(n)}")) for n in range(20)]
        recall = [_time(partial(manager.recall, f"who likes {_HOBBIES[n % 10]}?")) for n in range(_QUERIES)]
    return [
        Measurement("bulk write, embedding included", count / bulk, "memories a second"),
        Measurement("single write, median", median(single) * 1000, "ms"),
        Measurement("recall, median", median(recall) * 1000, "ms"),
        Measurement("recall, slowest", max(recall) * 1000, "ms"),
    ]


def _sample_text(number: int) -> str:
    city, hobby = _CITIES[number % len(_CITIES)], _HOBBIES[number // len(_CITIES) % len(_HOBBIES)]
    return f"Person {number} moved to {city} and likes {hobby}"


def _time(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started

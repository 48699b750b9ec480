"""`memoranda models`: which embedding models are on this machine."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.errors import group
from memoranda.cli.output import progress_bar, said, show, table
from memoranda.types import Record
from memoranda.validation import check_integer

if TYPE_CHECKING:
    from memoranda.settings import MemoryConfig
    from memoranda.types import Progress


app = group("Add, list and remove embedding models.")

AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


@app.command()
def add(
    source: Annotated[str, typer.Argument(help="all-MiniLM-L6-v2, a model folder, or hub:<owner/name>.")],
    name: Annotated[str | None, typer.Option(help="The name to use it by; its own by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a model, to be used by its name."""
    from memoranda.embedding import added_models

    with progress_bar(source, as_json) as report:

        def step(name: str) -> None:
            if report is not None:
                report(added_models.STEPS.index(name), len(added_models.STEPS))

        spec = added_models.add(source, name=name, on_step=step)
    text = f"added {spec.name} ({spec.dimension} dimensions): EmbeddingModel({spec.name!r})"
    show(_row(spec.name, spec.dimension, "added"), as_json, said(text))


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the models on this machine."""
    from memoranda.embedding import added_models
    from memoranda.embedding.onnx import default_spec
    from memoranda.embedding.static import StaticEmbedder

    fast = StaticEmbedder().identity
    rows = [_row(default_spec().name, default_spec().dimension, "default"), _row("fast", fast.dimension, "default")]
    rows += [_row(spec.name, spec.dimension, "added") for spec in added_models.list_all()]
    show(rows, as_json, lambda: table(("name", "dimensions", "from"), (list(row.values()) for row in rows)))


@app.command()
def remove(name: Annotated[str, typer.Argument(help="A model that was added.")], as_json: AsJson = False) -> None:
    """Remove a model that was added."""
    from memoranda.embedding import added_models

    added_models.remove(name)
    show({"removed": name}, as_json, said(f"removed {name}"))


def _row(name: str, dimension: int, origin: str) -> dict[str, str | int]:
    return {"name": name, "dimension": dimension, "from": origin}


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
    from memoranda.manager.manager import MemoryManager

    check_integer(count, "memories", minimum=10, maximum=100_000)
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

"""The speed of Memoranda compared with other memory systems: `python benchmarks/speed.py`.

All systems get the same texts and precomputed vectors, 100 memories per user. Each runs in its own process and
environment. They alternate in small rounds, so that a slow minute of the machine affects all of them.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any, TypeAlias

import report
from chart import draw_curve
from peers.process import MeasurementFailed, Worker, import_seconds
from peers.systems import (
    BENCHMARKS,
    CACHE,
    OURS,
    REQUIREMENTS,
    ROOT,
    SYSTEMS,
    System,
    environment_of,
    install,
    installed_mb,
    prepare,
)
from peers.workload import SCOPE_SIZE

Figures: TypeAlias = dict[str, Any]
Answers: TypeAlias = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Plan:
    """The sizes and parts of a run."""

    memories: int = 10_000
    searches: int = 200
    curve: tuple[int, ...] = (1_000, 3_000, 10_000, 30_000, 100_000)
    curve_peers: bool = True
    rounds: int = 10
    import_tries: int = 5
    parts: tuple[str, ...] = ("engine", "imports", "curve", "install", "embedder")


FULL = Plan()
QUICK = Plan(
    memories=2_000, searches=60, curve=(1_000, 3_000, 10_000), curve_peers=False, import_tries=3, parts=FULL.parts[:3]
)


@dataclass(slots=True)
class WorkerGroup:
    """The running workers and the errors so far."""

    workers: list[Worker]
    errors: list[str] = field(default_factory=list)

    def open(self, sizes: dict[str, int]) -> Answers:
        """Start every system; one that cannot start is left out from then on."""
        opened = self.run_rounds(1, lambda worker, _: worker.open(sizes[worker.system.name]))
        self.workers = [worker for worker in self.workers if opened[worker.system.name]]
        return opened

    def run_rounds(self, rounds: int, request: Callable[[Worker, int], dict[str, Any] | None]) -> Answers:
        """Call `request` once per worker and round, each round starting with another worker."""
        answers: Answers = {worker.system.name: [] for worker in self.workers}
        failed: set[str] = set()
        calls = [(worker, number) for number in range(rounds) for worker in _rotate(self.workers, number)]
        for worker, number in calls:
            name = worker.system.name
            if name in failed:
                continue
            try:
                answer = request(worker, number)
            except MeasurementFailed as error:
                self.errors.append(str(error))
                failed.add(name)
            else:
                answers[name] += [] if answer is None else [answer]
        return answers


def _rotate(workers: Sequence[Worker], number: int) -> list[Worker]:
    start = number % max(1, len(workers))
    return [*workers[start:], *workers[:start]]


def measure_engine(systems: Sequence[System], plan: Plan) -> tuple[dict[str, Figures], list[str]]:
    """Measure adds and searches on `plan.memories`, 80 % of them added in bulk, the rest one by one."""
    with ExitStack() as stack:
        group = WorkerGroup([stack.enter_context(Worker(system)) for system in systems])
        sizes = {system.name: min(plan.memories, system.max_memories or plan.memories) for system in systems}
        opened = group.open(sizes)
        figures = {name: dict(answers[0], memories=sizes[name]) for name, answers in opened.items() if answers}
        for phase in (_bulk, _single, _threads, _after_add, _first_search, _search):
            log(phase.__name__.strip("_").replace("_", " "))
            for name, measured in phase(group, sizes, plan):
                figures[name].update(measured)
        for name, answers in group.run_rounds(1, lambda worker, _: worker.request("close")).items():
            figures[name].update(*answers)
    return figures, group.errors


Measured: TypeAlias = Iterator[tuple[str, Figures]]


def _bulk(group: WorkerGroup, sizes: dict[str, int], plan: Plan) -> Measured:
    def request(worker: Worker, number: int) -> dict[str, Any]:
        step = sizes[worker.system.name] * 8 // 10 // plan.rounds
        return worker.request("bulk", low=number * step, high=(number + 1) * step)

    return _rates(group.run_rounds(plan.rounds, request), "bulk_rate")


def _single(group: WorkerGroup, sizes: dict[str, int], plan: Plan) -> Measured:
    def request(worker: Worker, number: int) -> dict[str, Any]:
        numbers = _part(_tail(sizes[worker.system.name])[0], number, plan.rounds)
        return worker.request("add", numbers=numbers, threads=1)

    return _rates(group.run_rounds(plan.rounds, request), "single_rate")


def _threads(group: WorkerGroup, sizes: dict[str, int], plan: Plan) -> Measured:
    rounds = plan.rounds // 2

    def request(worker: Worker, number: int) -> dict[str, Any]:
        numbers = _part(_tail(sizes[worker.system.name])[1], number, rounds)
        return worker.request("add", numbers=numbers, threads=8)

    def search_added(worker: Worker, _: int) -> dict[str, Any]:
        numbers = _tail(sizes[worker.system.name])[1][:50]
        return worker.request("search", queries=[(number, number, number + 1) for number in numbers])

    yield from _rates(group.run_rounds(rounds, request), "threads_rate")
    for name, answers in group.run_rounds(1, search_added).items():
        yield name, {"kept_after_threads": 100 * mean(answers[0]["found"])} if answers else {}


def _after_add(group: WorkerGroup, sizes: dict[str, int], plan: Plan) -> Measured:
    def request(worker: Worker, number: int) -> dict[str, Any]:
        numbers = _part(_tail(sizes[worker.system.name])[2], number, plan.rounds)
        return worker.request("add_then_search", queries=[(200_000 + number, number) for number in numbers])

    for name, figures in _latencies(group.run_rounds(plan.rounds, request)):
        yield name, {"after_add_p50": figures["p50"], "after_add_p95": figures["p95"]}


def _first_search(group: WorkerGroup, sizes: dict[str, int], plan: Plan) -> Measured:
    def request(worker: Worker, number: int) -> dict[str, Any]:
        scopes = _part(range(sizes[worker.system.name] * 8 // 10 // SCOPE_SIZE), number, plan.rounds)
        queries = [(400_000 + scope, scope * SCOPE_SIZE, (scope + 1) * SCOPE_SIZE) for scope in scopes]
        return worker.request("search", queries=queries)

    for name, figures in _latencies(group.run_rounds(plan.rounds, request)):
        yield name, {"first_p50": figures["p50"], "first_p95": figures["p95"]}


def _search(group: WorkerGroup, sizes: dict[str, int], plan: Plan) -> Measured:
    def request(worker: Worker, number: int) -> dict[str, Any]:
        seeds = _part(range(600_000, 600_000 + plan.searches), number, plan.rounds)
        return worker.request("search", queries=[(seed, 0, sizes[worker.system.name]) for seed in seeds])

    for name, figures in _latencies(group.run_rounds(plan.rounds, request)):
        yield name, {f"search_{key}": value for key, value in figures.items()}


def measure_curve(systems: Sequence[System], plan: Plan) -> tuple[dict[str, list[list[float]]], list[str]]:
    """Measure searches in the same ten scopes while the store grows: [memories, p50 ms, p95 ms] by system."""
    points: dict[str, list[list[float]]] = {system.name: [] for system in systems}
    with ExitStack() as stack:
        group = WorkerGroup([stack.enter_context(Worker(system)) for system in systems])
        group.open({system.name: min(system.curve_to or 0, plan.curve[-1]) for system in systems})
        low = 0
        for high in plan.curve:
            log(f"curve, {high:,} memories")
            for name, figures in _latencies(_grow_and_search(group, low, high)):
                points[name].append([high, figures["p50"], figures["p95"]])
            low = high
    return points, group.errors


def _grow_and_search(group: WorkerGroup, low: int, high: int) -> Answers:
    steps = [(start, min(start + 1_000, high)) for start in range(low, high, 1_000)]
    searched = 10 * SCOPE_SIZE

    def grow(worker: Worker, number: int) -> None:
        if high <= (worker.system.curve_to or 0):
            worker.request("bulk", low=steps[number][0], high=steps[number][1])

    def search(worker: Worker, number: int) -> dict[str, Any] | None:
        if high > (worker.system.curve_to or 0):
            return None
        queries = [(high * 100 + number * 20 + seed, 0, searched) for seed in range(20)]
        return worker.request("search", queries=queries)

    group.run_rounds(len(steps), grow)
    # The first round lets every system index what was added; its cost is the "first search" in the table.
    return {name: answers[1:] for name, answers in group.run_rounds(6, search).items()}


def _tail(count: int) -> tuple[list[int], list[int], list[int]]:
    """Return the shuffled last fifth in three parts: single adds (half of it), adds by threads, add-and-search."""
    numbers = list(range(count * 8 // 10, count))
    random.Random(0).shuffle(numbers)
    single, after_add = len(numbers) // 2, max(20, count // 100)
    return numbers[:single], numbers[single:-after_add], numbers[-after_add:]


def _part(numbers: Sequence[int], number: int, parts: int) -> list[int]:
    return list(numbers[number * len(numbers) // parts : (number + 1) * len(numbers) // parts])


def _rates(answers: Answers, figure: str) -> Measured:
    for name, rounds in answers.items():
        yield name, {figure: median(answer["rate"] for answer in rounds)} if rounds else {}


def _latencies(answers: Answers) -> Measured:
    for name, rounds in answers.items():
        ms = [value for answer in rounds for value in answer["ms"]]
        if ms:
            found = [value for answer in rounds for value in answer["found"]]
            hits = [value for answer in rounds for value in answer["hits"]]
            yield (
                name,
                {"p50": median(ms), "p95": quantiles(ms, n=20)[-1], "found": 100 * mean(found), "hits": mean(hits)},
            )


def run_parts(systems: Sequence[System], plan: Plan, parts: Sequence[str]) -> dict[str, Any]:
    """Run the parts and return their results, ready for JSON."""
    results: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cores": report.count_cores()},
        "memories": plan.memories,
        "systems": {system.name: {} for system in systems},
        "curve": {},
        "errors": [],
    }
    for part in parts:
        log(part)
        try:
            PARTS[part](systems, plan, results)
        except subprocess.CalledProcessError as error:
            # The other parts took minutes, so they are still reported.
            results["errors"].append(f"{part}: {error}")
    return results


def _engine_part(systems: Sequence[System], plan: Plan, results: dict[str, Any]) -> None:
    figures, errors = measure_engine(systems, plan)
    for name, measured in figures.items():
        results["systems"][name].update(measured)
    results["errors"] += errors


def _imports_part(systems: Sequence[System], plan: Plan, results: dict[str, Any]) -> None:
    tries = [{system.name: import_seconds(system) for system in systems} for _ in range(plan.import_tries)]
    for system in systems:
        results["systems"][system.name]["import_s"] = min(seconds[system.name] for seconds in tries)


def _curve_part(systems: Sequence[System], plan: Plan, results: dict[str, Any]) -> None:
    chosen = [system for system in systems if system.curve_to and (plan.curve_peers or system == OURS)]
    results["curve"], errors = measure_curve(chosen, plan)
    results["errors"] += errors


def _install_part(systems: Sequence[System], plan: Plan, results: dict[str, Any]) -> None:  # noqa: ARG001
    """Measure new environments in megabytes: Memoranda with its models, the same with the reranker, the peers."""
    models, reranker = (str(ROOT / "packages" / name) for name in ("memoranda-models", "memoranda-reranker"))
    install(CACHE / "core", models, str(ROOT))
    install(CACHE / "best", models, reranker, str(ROOT))
    ours = {"Memoranda with models": CACHE / "core", "Memoranda[best]": CACHE / "best"}
    folders = ours | {name: CACHE / name for name in REQUIREMENTS}
    results["install"] = {
        name: {
            "mb": installed_mb(folder, with_bytecode=False),
            "mb_with_bytecode": installed_mb(folder, with_bytecode=True),
        }
        for name, folder in folders.items()
        if folder.exists()
    }


def _embedder_part(systems: Sequence[System], plan: Plan, results: dict[str, Any]) -> None:  # noqa: ARG001
    """Read the figures that `embedding.py` prints."""
    command = [sys.executable, str(BENCHMARKS / "embedding.py")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT, env=environment_of(OURS))
    rows = [re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines() if line.strip()]
    results["embedder"] = {row[0]: row[-1] for row in rows}


PARTS = {
    "engine": _engine_part,
    "imports": _imports_part,
    "curve": _curve_part,
    "install": _install_part,
    "embedder": _embedder_part,
}


def log(text: str) -> None:
    print(f"  {datetime.now():%H:%M:%S}  {text}", file=sys.stderr, flush=True)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2,000 memories, a short curve, one or two minutes")
    parser.add_argument("--parts", nargs="+", choices=FULL.parts, help="only these parts")
    parser.add_argument("--setup", action="store_true", help="only install the peers into .bench/")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="systems whose name contains one of these")
    parser.add_argument("--output", type=Path, default=BENCHMARKS / "results", help="folder for speed.json and .svg")
    return parser.parse_args()


def main() -> None:
    arguments = _parse_arguments()
    names = [name.lower() for name in arguments.only or [""]]
    systems = [system for system in SYSTEMS if any(name in system.name.lower() for name in names)]
    for environment in dict.fromkeys(system.environment for system in systems if system.environment):
        prepare(environment)
    if arguments.setup:
        return
    plan = QUICK if arguments.quick else FULL
    results = run_parts(systems, plan, arguments.parts or plan.parts)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "speed.json").write_text(json.dumps(results, indent=2) + "\n")
    (arguments.output / "speed.svg").write_text(draw_curve(results["curve"]))
    print(report.format_report(results))


if __name__ == "__main__":
    main()

"""Memoranda on SQLite and PostgreSQL beside mem0 on pgvector and LangGraph's PostgresStore.

    python benchmarks/scale.py [--quick | --medium] [--folder FOLDER] [--systems NAME …]

All systems get the same texts and precomputed vectors, and those on PostgreSQL use one server that syncs every commit.
Each runs in a process and an environment of its own. They alternate in rounds, so that a slow minute of the machine
affects all of them; processor time, with that of the server, depends less on what else the machine does. `--quick`
takes minutes: 20 users with 200 memories each, in place of 100 users with 1,000; `--medium` has 20
users with 1,000, and less time for bulk adds. With a folder, a run that was stopped
goes on where it stopped: what was measured and stored is kept there. A system that has added in bulk for ten minutes
gets no more users, and all are asked about those that every one has: no search gets faster in a larger store.

mem0 is there twice: with its default, an approximate index over all users, and set up to find the true neighbours, so
that searches are also compared where both find the same.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any, Final, TypeAlias

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.postgres.server import PostgresServer, run_server  # noqa: E402

from peers.base import POSTGRES_URL  # noqa: E402
from peers.process import Worker  # noqa: E402
from peers.systems import (  # noqa: E402
    LANGGRAPH_POSTGRES,
    MEM0_EXACT,
    MEM0_POSTGRES,
    OURS,
    OURS_POSTGRES,
    System,
    prepare,
)
from speed import WorkerGroup  # noqa: E402

Figures: TypeAlias = dict[str, Any]
SYSTEMS: Final = (OURS, OURS_POSTGRES, MEM0_POSTGRES, MEM0_EXACT, LANGGRAPH_POSTGRES)
CLIENTS: Final = (1, 8, 32)
BASELINE: Final = MEM0_POSTGRES.name
EQUAL: Final = MEM0_EXACT.name
"""What finds the same as we do, so that the times of searches can be compared."""
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Plan:
    """The sizes of a run. The first memories of each user are added in bulk, the last ones by single calls."""

    users: int = 100
    per_user: int = 1_000
    single: int = 2_000
    """Memories that are added by single calls, for each number of clients."""
    searches: int = 1_000
    recalls: int = 300
    rounds: int = 10
    bulk_seconds: float = 600.0
    """A system that has taken longer gets no more memories in bulk."""
    asked: int = 0
    """The number of memories that every system got in bulk, about which all are asked."""

    @property
    def memories(self) -> int:
        return self.users * self.per_user

    @property
    def bulk(self) -> int:
        """How many memories are added in bulk, in whole users."""
        left = self.memories - self.single * len(CLIENTS)
        return left // self.per_user * self.per_user


FULL: Final = Plan()
MEDIUM: Final = Plan(users=20, single=240, searches=200, recalls=60, rounds=4, bulk_seconds=100.0)
QUICK: Final = Plan(users=20, per_user=200, single=240, searches=200, recalls=60, rounds=4)


def measure(plan: Plan, systems: Sequence[System], folder: Path | None) -> tuple[dict[str, Figures], list[str]]:
    """Return the figures of each system, and the errors."""
    with ExitStack() as stack:
        kept_in = None if folder is None else folder / "server"
        server = stack.enter_context(run_server(durable=True, kept_in=kept_in))
        group = WorkerGroup([stack.enter_context(_start(system, server, folder)) for system in systems])
        opened = group.run_rounds(1, lambda worker, _: worker.open(plan.memories, scope_size=plan.per_user))
        group.workers = [worker for worker in group.workers if opened[worker.system.name]]
        figures: dict[str, Figures] = {name: dict(answers[0]) for name, answers in opened.items() if answers}
        for phase in (_bulk, _add, _search, _recall):
            _log(phase.__name__.strip("_"))
            for name, measured in phase(group, plan):
                figures[name].update(measured)
            plan = replace(plan, asked=min(each.get("memories", plan.bulk) for each in figures.values()))
        for name, answers in group.run_rounds(1, lambda worker, _: worker.request("close")).items():
            figures[name].update(*answers)
    return figures, group.errors


class Journal:
    """What was measured of one system so far, in a file: a request that has its answer there is not made again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._answers: dict[str, Figures | None] = dict(map(json.loads, lines))

    @property
    def is_broken(self) -> bool:
        """Whether the last run was stopped while the system was storing: nobody knows how much it has."""
        return any(answer is None and key.startswith(('["bulk"', '["add"')) for key, answer in self._answers.items())

    def ask(self, command: str, arguments: Figures, request: Callable[[], Figures]) -> Figures:
        """Return the answer in the file, or make the request and keep its answer."""
        key = json.dumps([command, arguments])
        known = self._answers.get(key)
        if known is not None or command in ("open", "close"):
            return known or request()
        self._note(key, None)
        answer = request()
        self._note(key, answer)
        return answer

    def _note(self, key: str, answer: Figures | None) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps([key, answer]) + "\n")


class MeteredWorker(Worker):
    """Adds to each answer the seconds of processor time that the system and the server have taken for it."""

    def __init__(self, system: System, server: PostgresServer, folder: Path | None) -> None:
        super().__init__(system, folder)
        self._server = server
        self._journal = None if folder is None else Journal(folder / "journal")

    def request(self, command: str, **arguments: Any) -> Figures:
        if self._journal is None:
            return self._request(command, arguments)
        return self._journal.ask(command, arguments, lambda: self._request(command, arguments))

    def _request(self, command: str, arguments: Figures) -> Figures:
        before = self._measure()
        answer = super().request(command, **arguments)
        return answer | {"processor": self._measure() - before}

    def _measure(self) -> float:
        return sum(_ticks(self._process.pid)[1:3]) / _TICKS_A_SECOND + server_seconds(self._server)


def server_seconds(server: PostgresServer) -> float:
    """Return the processor time that a server has taken so far: its processes, and those that have ended."""
    own, ticks = int((server.data / "postmaster.pid").read_text().split()[0]), 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (found := _ticks(int(folder.name))):
            ticks += sum(found[1:5] if int(folder.name) == own else found[1:3] * (found[0] == own))
    return ticks / _TICKS_A_SECOND


def _ticks(process: int) -> list[int]:
    """Return the parent of a process, its user and system time, and those of its children that have ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return []
    return [int(fields[position]) for position in (1, 11, 12, 13, 14)]


def _start(system: System, server: PostgresServer, folder: Path | None) -> Worker:
    """Start the process of a system, with a database of its own: an empty one, or the one of a run that was stopped."""
    name = "peer_" + "".join(letter for letter in system.name.lower() if letter.isalnum())
    kept_in = None if folder is None else folder / name
    if kept_in is not None and Journal(kept_in / "journal").is_broken:
        _log(f"{system.name} was stopped while it stored: it begins anew")
        shutil.rmtree(kept_in)
    if kept_in is None or not kept_in.exists():
        server.execute(f"DROP DATABASE IF EXISTS {name}")
        _create_database(system, server, name)
    if kept_in is not None:
        kept_in.mkdir(exist_ok=True)
    os.environ[POSTGRES_URL] = server.url(name) if system is OURS_POSTGRES else server.url(name, "postgres")
    return MeteredWorker(system, server, kept_in)


def _create_database(system: System, server: PostgresServer, name: str) -> None:
    if system is OURS_POSTGRES:
        server.create_database(name)
        return
    server.execute(f"CREATE DATABASE {name}")
    server.execute("CREATE EXTENSION vector", name)


Measured: TypeAlias = Iterator[tuple[str, Figures]]


def _bulk(group: WorkerGroup, plan: Plan) -> Measured:
    """Add whole users at once."""
    users = plan.bulk // plan.per_user
    stored, seconds = Counter[str](), Counter[str]()

    def request(worker: Worker, number: int) -> Figures | None:
        name = worker.system.name
        if seconds[name] > plan.bulk_seconds:
            return None
        low, high = (each * users // plan.rounds * plan.per_user for each in (number, number + 1))
        answer = worker.request("bulk", low=low, high=high)
        stored[name] = high
        seconds[name] += round((high - low) / answer["rate"])
        return answer

    for name, answers in group.run_rounds(plan.rounds, request).items():
        if answers:
            micros = 1e6 * sum(answer["processor"] for answer in answers) / stored[name]
            rate = median(answer["rate"] for answer in answers)
            yield name, {"bulk": rate, "bulk_processor": micros, "memories": stored[name]}


def _add(group: WorkerGroup, plan: Plan) -> Measured:
    """Add by single calls. The users of neighbours differ, so that clients write for several users."""
    for position, clients in enumerate(CLIENTS):
        low = plan.bulk + position * plan.single
        step = plan.single // plan.rounds

        def request(worker: Worker, number: int, low: int = low, step: int = step, clients: int = clients) -> Figures:
            numbers = sorted(range(low + number * step, low + (number + 1) * step), key=lambda each: each % 7)
            return worker.request("add", numbers=numbers, threads=clients)

        for name, answers in group.run_rounds(plan.rounds, request).items():
            yield name, {f"add_{clients}": median(answer["rate"] for answer in answers)} if answers else {}


def _search(group: WorkerGroup, plan: Plan) -> Measured:
    """Search in one user's memories; the first search of each user, which may load them, counts as well."""

    def request(worker: Worker, number: int) -> Figures:
        seeds = range(number * plan.searches // plan.rounds, (number + 1) * plan.searches // plan.rounds)
        return worker.request("search", queries=[(seed, 0, plan.asked) for seed in seeds])

    for name, answers in group.run_rounds(plan.rounds, request).items():
        times = sorted(ms for answer in answers for ms in answer["ms"])
        found = [each for answer in answers for each in answer["found"]]
        if times:
            micros = 1e6 * sum(answer["processor"] for answer in answers) / len(times)
            figures = {"search_p50": median(times), "search_p99": quantiles(times, n=100)[98], "found": mean(found)}
            yield name, {**figures, "search_processor": micros}


def _recall(group: WorkerGroup, plan: Plan) -> Measured:
    """Ask for the nearest vectors of one user, and count how many of the exact ten are found."""

    def request(worker: Worker, number: int) -> Figures:
        seeds = range(number * plan.recalls // plan.rounds, (number + 1) * plan.recalls // plan.rounds)
        queries = [(1_000_000 + seed, 0, plan.asked) for seed in seeds]
        return worker.request("recall", queries=queries, known=plan.asked)

    for name, answers in group.run_rounds(plan.rounds, request).items():
        shares = [share for answer in answers for share in answer["recall"]]
        yield name, {"recall": mean(shares)} if shares else {}


ROWS: Final = (
    ("memories", "memories added in bulk", "{:,.0f}", None),
    ("bulk", "bulk add, /s", "{:,.0f}", True),
    ("bulk_processor", "bulk add, processor time, µs", "{:,.0f}", False),
    ("add_1", "add, 1 client, /s", "{:,.0f}", True),
    ("add_8", "add, 8 clients, /s", "{:,.0f}", True),
    ("add_32", "add, 32 clients, /s", "{:,.0f}", True),
    ("search_p50", "search, p50 ms", "{:.2f}", False),
    ("search_p99", "search, p99 ms", "{:.2f}", False),
    ("search_processor", "search, processor time, µs", "{:,.0f}", False),
    ("found", "answer among ten hits", "{:.3f}", None),
    ("recall", "recall@10 against exact", "{:.3f}", None),
    ("peak_rss_mb", "peak memory, MB", "{:,.0f}", None),
)
"""The figure, its label, how it is written, and whether more is better; None for no ratio."""


def format_table(figures: dict[str, Figures]) -> str:
    """Return a Markdown table; behind each figure, how many times better than mem0's it is."""
    names = list(figures)
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for key, label, template, more_is_better in ROWS:
        cells = [_cell(figures, name, key, template, more_is_better) for name in names]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    names = [system.name for system in (OURS, OURS_POSTGRES) if {system.name, EQUAL} <= figures.keys()]
    equal = [f"- {name} against {EQUAL}: {_ratios(figures[name], figures[EQUAL])}" for name in names]
    settings = [f"- {name} {each['version']}: {each['settings']}" for name, each in figures.items()]
    return "\n".join([*lines, "", *equal, *settings])


def _ratios(own: Figures, other: Figures) -> str:
    """Return how many times better the figures of searches are."""
    rows = [(key, label) for key, label, _, more_is_better in ROWS if key.startswith("search") and not more_is_better]
    return ", ".join(f"{label} ×{other[key] / own[key]:.1f}" for key, label in rows if key in own and key in other)


def _cell(figures: dict[str, Figures], name: str, key: str, template: str, more_is_better: bool | None) -> str:
    value, base = figures[name].get(key), figures.get(BASELINE, {}).get(key)
    if value is None:
        return "–"
    text = template.format(value)
    if more_is_better is None or base is None or name == BASELINE:
        return text
    return f"{text} (×{value / base if more_is_better else base / value:.1f})"


def _log(text: str) -> None:
    print(text, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small store, in minutes")
    parser.add_argument("--medium", action="store_true", help="fewer users of the full size")
    parser.add_argument("--folder", type=Path, help="keep everything there, and go on where a run was stopped")
    parser.add_argument("--systems", nargs="+", metavar="NAME", help="only these, by the names in the table")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    systems = [system for system in SYSTEMS if arguments.systems is None or system.name in arguments.systems]
    for system in systems:
        if system.environment is not None:
            prepare(system.environment)
    plan = QUICK if arguments.quick else MEDIUM if arguments.medium else FULL
    # PostgreSQL runs in another folder.
    figures, errors = measure(plan, systems, arguments.folder and arguments.folder.resolve())
    print(f"{plan.memories:,} memories of {plan.users} users\n\n{format_table(figures)}")
    for error in errors:
        print(f"error: {error}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"plan": plan.memories, "systems": figures, "errors": errors}, indent=1))


if __name__ == "__main__":
    main()

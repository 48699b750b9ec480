"""Run one regime, or print what all runs so far found.

python -m tests.prove.run NAME --runs 10000 --seed 7 --seconds 600
python -m tests.prove.run --table
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.prove.regime import Plan, Regime, Result
from tests.prove.shim import load_by_restart

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results.jsonl"
SHOWN_VIOLATIONS = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the registry."""

    where: str
    """`module:function` of the regime."""
    title: str
    long: int
    """How many runs the long version has."""
    short: int
    """How many runs the version in the ordinary tests has."""
    needs_shim: bool = False
    """Whether it runs with the library of shim.c, which needs Linux and a C compiler."""


REGIMES: dict[str, Entry] = {
    "kill": Entry("tests.prove.kill:run", "kill -9 during every kind of write, several processes", 10_000, 20),
    "power": Entry("tests.prove.power:run", "power cut at every moment of a run", 100_000, 120, needs_shim=True),
    "power-weak": Entry(
        "tests.prove.power:run_weak", "control: weaker sync is found out by `power`", 2, 2, needs_shim=True
    ),
    "faults": Entry(
        "tests.prove.faults:run", "the n-th write, sync, rename, unlink or open fails", 20_000, 25, needs_shim=True
    ),
    "damage": Entry("tests.prove.damage:run", "damaged files: right answer, typed error or reported", 50_000, 50),
    "processes": Entry("tests.prove.processes:run", "operations by 32 processes on one file", 100_000, 128),
    "pauses": Entry("tests.prove.pauses:run", "SIGSTOP of holders of the lock or a lease", 500, 6),
    "canaries": Entry("tests.prove.canaries:run", "forgotten words looked for in the bytes of every file", 1_000, 12),
    "defects": Entry("tests.prove.defects:run", "known faults put into the code, each found by a regime", 60, 1),
    "model": Entry("tests.prove.model:model_steps", "random steps beside the exact reference", 1_000_000, 150),
    "isolation": Entry(
        "tests.prove.isolation:isolation", "queries across tenants, users, agents and sessions", 1_000_000, 400
    ),
    "requests": Entry("tests.prove.requests:openapi_requests", "requests made from OpenAPI", 200_000, 300),
    "parsers": Entry("tests.prove.parsers:fuzz_parsers", "mutated input for every parser", 20_000_000, 2_500),
    "clocks": Entry("tests.prove.clocks:clock_jumps", "schedules of a clock that jumps", 10_000, 15),
    "interrupts": Entry("tests.prove.interrupts:interrupts", "writes interrupted at two moments", 10_000, 100),
    "soak": Entry("tests.prove.soak:soak", "64 clients over HTTP, in seconds", 3_600, 4),
    "offline": Entry("tests.prove.offline:offline", "tests without a network", 2_000, 300),
}
"""Name → regime. One line each; the function is imported only when it runs."""


def load(name: str) -> Regime:
    module, function = REGIMES[name].where.split(":")
    regime: Regime = getattr(import_module(module), function)
    return regime


def run(name: str, plan: Plan) -> Result:
    return load(name)(plan)


def run_apart(name: str, *arguments: str, source: Path | None = None) -> Result:
    """Run a regime in a process of its own, since most of them fork; optionally on another copy of the package."""
    paths = [*([str(source)] if source else []), str(ROOT / "src"), str(ROOT)]
    command = [sys.executable, "-m", "tests.prove.run", name, "--unsaved", *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise RuntimeError(f"{name} ended with status {done.returncode} and no result: {done.stderr}") from None
    return Result(**found | {"violations": tuple(found["violations"])})


def run_short(name: str, seed: int = 1) -> Result:
    """Run the version of a regime that the ordinary tests run."""
    return run_apart(name, "--runs", str(REGIMES[name].short), "--seed", str(seed), "--seconds", "800")


def save(result: Result, file: Path = RESULTS) -> None:
    """Append the result to the results file: one line of JSON, on disk when this returns."""
    line = asdict(result) | {"date": time.strftime("%Y-%m-%d", time.gmtime())}
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")
        out.flush()
        os.fsync(out.fileno())


def table(file: Path = RESULTS) -> str:
    """Return the markdown table of all results in the file: the parts of a regime are added up."""
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
    parts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        parts[line["name"]].append(line)
    rows = [_row(name, parts[name]) for name in REGIMES if name in parts]
    head = ["regime", "runs", "goal", "violations", "true rate, 95 %", "seeds", "time", "last run", "command"]
    return "\n".join(_cells(cells) for cells in (head, ["---"] * len(head), *rows))


def _row(name: str, parts: list[dict[str, Any]]) -> list[str]:
    runs = sum(part["runs"] for part in parts)
    violations = sum(len(part["violations"]) for part in parts)
    seconds = sum(part["seconds"] for part in parts)
    seeds = sorted({part["seed"] for part in parts})
    return [
        REGIMES[name].title,
        f"{runs:,}",
        f"{REGIMES[name].long:,}",
        str(violations),
        f"< {3 / runs:.1g}" if runs and not violations else "–",
        ", ".join(map(str, seeds)),
        f"{seconds / 60:.1f} min",
        max(part["date"] for part in parts),
        f"`make prove PROVE={name}`",
    ]


def _cells(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=sorted(REGIMES))
    parser.add_argument("--runs", type=int, help="how many; the regime's long version when not given")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same seed makes the same run")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after this time")
    parser.add_argument("--most-violations", type=int, default=20, help="stop once so many were found")
    parser.add_argument("--only", default="", choices=sorted(REGIMES), help="plant the defects of this regime only")
    parser.add_argument("--table", action="store_true", help="print the table of all results so far")
    parser.add_argument("--names", action="store_true", help="print the names of all regimes")
    parser.add_argument("--unsaved", action="store_true", help="do not append to the results file")
    chosen = parser.parse_args()
    if chosen.table or chosen.names or chosen.name is None:
        print(table() if chosen.table else "\n".join(REGIMES))
        return 0
    if REGIMES[chosen.name].needs_shim:
        load_by_restart()
    runs = REGIMES[chosen.name].long if chosen.runs is None else chosen.runs
    found = run(chosen.name, Plan(runs, chosen.seed, chosen.seconds, chosen.most_violations, chosen.only))
    print(json.dumps(asdict(replace(found, violations=found.violations[:SHOWN_VIOLATIONS]))))
    for violation in found.violations[:SHOWN_VIOLATIONS]:
        print(f"VIOLATION {violation}", file=sys.stderr)
    if not chosen.unsaved and found.runs:
        save(found)
    if not found.runs:
        print("NOTHING was run in the time given: allow more --seconds", file=sys.stderr)
    return 1 if found.violations or not found.runs else 0


if __name__ == "__main__":
    sys.exit(main())

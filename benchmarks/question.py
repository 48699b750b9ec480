"""Milliseconds per question in each mode, with the real models and nothing cached.

    python benchmarks/question.py --modes fast default best --questions 60

A store is filled with the demo conversation. Each question is asked once, so that no vector and no pair of question and
text was computed before. *processor* is the time on all cores together, which other programs on the machine change
little; *clock* is what the caller waits.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from memoranda import MemoryManager

ASKED = ("What did {0} say about {1}?", "When did {0} talk about {1}?", "Why does {0} think of {1}?", "{0} and {1}")
_MODES = ("fast", "default", "best")


def main() -> None:
    options = _parse_arguments()
    if options.cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    rows = _read_conversation()
    questions = _make_questions(rows, options.questions, random.Random(options.seed))
    print(f"{'mode':<10}{'clock p50':>12}{'clock p95':>12}{'processor p50':>16}   milliseconds")
    with TemporaryDirectory() as folder, MemoryManager(f"sqlite:///{Path(folder) / 'memories.db'}") as manager:
        _fill(manager, rows)
        for number, mode in enumerate(options.modes):
            asked = questions[number :: len(options.modes)]
            manager.recall("hello", user="demo", mode=mode)  # loads the models
            manager.recall(f"{rows[0]['speaker']} said hello", user="demo", mode=mode)
            clock, processor = _measure(manager, asked, mode)
            print(f"{mode:<10}{median(clock):>12.1f}{quantiles(clock, n=20)[-1]:>12.1f}{median(processor):>16.1f}")


def _measure(manager: MemoryManager, questions: Sequence[str], mode: str) -> tuple[list[float], list[float]]:
    clock, processor = [], []
    for question in questions:
        started, used = time.perf_counter(), time.process_time()
        manager.recall(question, user="demo", mode=mode)
        clock.append(1000 * (time.perf_counter() - started))
        processor.append(1000 * (time.process_time() - used))
    return clock, processor


def _read_conversation() -> list[dict[str, str]]:
    lines = files("memoranda.demo").joinpath("conversation.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _fill(manager: MemoryManager, rows: Sequence[dict[str, str]]) -> None:
    sessions: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        message = {"role": "user", "name": row["speaker"], "content": row["text"], "timestamp": row["at"]}
        sessions.setdefault(row["session"], []).append(message)
    for session, messages in sessions.items():
        manager.remember(messages, user="demo", session=session, keep_all=True)


def _make_questions(rows: Sequence[dict[str, str]], count: int, rng: random.Random) -> list[str]:
    """Return questions of about a dozen words about turns, no two alike."""
    found: dict[str, None] = {}
    while len(found) < count:
        row = rng.choice(rows)
        words = row["text"].split()
        start = rng.randrange(max(1, len(words) - 6))
        found[rng.choice(ASKED).format(row["speaker"], " ".join(words[start : start + 6]).strip(".,?!"))] = None
    return list(found)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", nargs="+", choices=_MODES, default=list(_MODES))
    parser.add_argument("--questions", type=int, default=90, help="number of questions, shared by the modes")
    parser.add_argument("--cores", type=int, default=2, help="how many cores are used; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Many processes on one file: none fails, no update is lost, and nobody waits long."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from memoranda import Memory, MemoryManager
from tests.prove.children import Child, send
from tests.prove.operations import contents_of, find_problems_of, open_manager
from tests.prove.regime import Plan, Result, result, scratch_folder

PROCESSES: Final = 32
COUNTERS: Final = 8
"""Memories that every process increases: a lost update shows as a number that is too small."""
TIMEOUT_S: Final = 3600.0


def increase(memory: Memory) -> dict[str, object]:
    return {"metadata": {"count": int(str(memory.metadata["count"])) + 1}}


def work(path: Path, number: int, operations: int, seconds: float, seed: str, pipe: int) -> None:
    """Do operations, and send what was done and how long each took."""
    rng, counted, added, times = random.Random(seed), [0] * COUNTERS, 0, list[float]()
    until = time.monotonic() + seconds
    with open_manager(path) as manager:
        for step in range(operations):
            if time.monotonic() > until:
                break
            started = time.perf_counter()
            if rng.random() < 0.5:
                counter = rng.randrange(COUNTERS)
                manager.update(counter + 1, change=increase, user="all")
                counted[counter] += 1
            else:
                added += _other(manager, rng, number, step)
            times.append(time.perf_counter() - started)
    send(pipe, counted=counted, added=added, times=[round(each, 4) for each in times])


def _other(manager: MemoryManager, rng: random.Random, number: int, step: int) -> int:
    """Do something else than increase a counter; return how many memories stay."""
    user = f"user {number}"
    content = f"process {number} step {step} river stone"

    def add() -> int:
        manager.add_memory(content, user=user)
        return 1

    def delete() -> int:
        manager.delete(manager.add_memory(content, user=user).id, user=user)
        return 0

    def recall() -> int:
        manager.recall("river stone", user=user)
        return 0

    def save() -> int:
        manager.save(user, "key", step, "long_term")
        return 0

    choices: list[Callable[[], int]] = [add, add, delete, recall, save]
    return rng.choice(choices)()


def run(plan: Plan) -> Result:
    """Share the operations between the processes; a counter has what all of them together added to it."""
    with scratch_folder() as folder:
        path = folder / "memories.db"
        with open_manager(path) as manager:
            manager.add_memories([f"counter {n}" for n in range(COUNTERS)], user="all", metadata={"count": 0})
        share = max(1, plan.runs // PROCESSES)
        children = [
            Child(partial(work, path, number, share, plan.seconds, f"{plan.seed}/{number}"))
            for number in range(PROCESSES)
        ]
        messages = [_last_message(child) for child in children]
        return _judge(plan, path, messages)


def _last_message(child: Child) -> dict[str, Any]:
    messages = [*child.messages(time.monotonic() + TIMEOUT_S), *child.kill()]
    return messages[-1] if messages else {"error": "the process ended without a message"}


def _judge(plan: Plan, path: Path, messages: list[dict[str, Any]]) -> Result:
    violations = [str(message["error"]) for message in messages if "error" in message]
    ended = [message for message in messages if "times" in message]
    times = sorted(each for message in ended for each in message["times"])
    with open_manager(path) as manager:
        for counter in range(COUNTERS):
            expected = sum(message["counted"][counter] for message in ended)
            found = manager.get(counter + 1, user="all").metadata["count"]
            if found != expected:
                violations.append(f"counter {counter} is {found} after {expected} updates")
        for number, message in enumerate(messages):
            found = len(contents_of(manager, f"user {number}"))
            if found != message.get("added", found):
                violations.append(f"process {number} has {found} memories and added {message['added']}")
        violations += find_problems_of(manager, path)
    detail: dict[str, object] = {"processes": len(messages)}
    if times:
        quantiles = {"p50": 0.5, "p99": 0.99, "longest": 1.0}
        detail |= {name: f"{times[round((len(times) - 1) * part)]:.3f} s" for name, part in quantiles.items()}
    return result("processes", plan, len(times), violations, detail)

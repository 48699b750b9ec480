"""Stop processes with SIGSTOP while they hold the lock of the file or a lease.

What must hold: others get a typed error within a bounded time and go on once the lock is free; what a process had
decided under a lease that it lost while it was stopped is not written.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from memoranda import MemoryManager
from memoranda.errors import Conflict, Unavailable
from memoranda.storage import group_commit
from memoranda.storage.base import Transaction
from memoranda.storage.meta import Lease, get_meta, renew_lease, set_meta, take_lease
from tests.prove.children import Child, send
from tests.prove.operations import contents_of, find_problems_of, open_manager
from tests.prove.regime import Plan, Result, result, scratch_folder

WAIT_S: Final = 0.4
"""How long a writer waits for the lock here; two minutes elsewhere."""
BOUND_S: Final = 20.0
"""No call may take longer, on a machine with other work too."""
TIMEOUT_S: Final = 60.0


def hold_lock(path: Path, name: str, pipe: int) -> None:
    """Write once, and say when the lock is held: the parent stops this process there."""
    with open_manager(path) as manager:
        store = manager._components.open().store

        def work(tx: Transaction) -> None:
            set_meta(tx, f"proof:{name}", "written")
            send(pipe, holds=True)
            time.sleep(0.05)

        try:
            store.write(work)
        finally:
            send(pipe, ended=True)


def hold_lease(path: Path, name: str, pipe: int) -> None:
    """Take a lease, decide, and write what was decided: the parent stops this process in between."""
    with open_manager(path) as manager:
        store = manager._components.open().store
        lease = Lease("proof", name)

        def write(tx: Transaction) -> None:
            renew_lease(tx, lease)
            set_meta(tx, "proof:holder", name)

        taken = store.write(lambda tx: take_lease(tx, lease)) is None
        send(pipe, holds=taken)
        time.sleep(0.05)
        try:
            store.write(write)
        except Conflict:
            send(pipe, ended="refused")
        else:
            send(pipe, ended="written")


def _wait(child: Child, key: str) -> dict[str, Any]:
    for message in child.messages(time.monotonic() + TIMEOUT_S):
        if key in message or "error" in message:
            return message
    return {"error": f"no {key} within {TIMEOUT_S:.0f} seconds"}


def pause_lock_holder(manager: MemoryManager, path: Path, rng: random.Random, number: int) -> list[str]:
    """Stop a process in its transaction; return what is wrong."""
    child = Child(partial(hold_lock, path, str(number)))
    problems, killed = [], rng.random() < 0.3
    try:
        if "error" in (message := _wait(child, "holds")):
            return [message["error"]]
        time.sleep(rng.uniform(0, 0.04))
        os.kill(child.pid, signal.SIGSTOP)
        started = time.monotonic()
        refused = _try_to_write(manager, number)
        if (waited := time.monotonic() - started) > BOUND_S:
            problems.append(f"a writer waited {waited:.1f} s for a process that was stopped")
        found = manager._components.open().store.get_meta(f"proof:{number}")
        manager.recall("proof", user="other")  # readers never wait
        if not killed:
            os.kill(child.pid, signal.SIGCONT)
            if "error" in (message := _wait(child, "ended")):
                problems.append(message["error"])
    finally:
        list(child.kill())
    return problems + _check_after(manager, number, refused=refused, killed=killed, seen=found)


def _try_to_write(manager: MemoryManager, number: int) -> bool:
    """Return whether a write was refused because the lock is taken."""
    try:
        with _short_wait():
            manager.add_memory(f"during {number}", user="other")
    except Unavailable:
        return True
    return False


@contextmanager
def _short_wait() -> Iterator[None]:
    usual = group_commit._MAX_WAIT
    group_commit._MAX_WAIT = WAIT_S  # type: ignore[misc]
    try:
        yield
    finally:
        group_commit._MAX_WAIT = usual  # type: ignore[misc]


def _check_after(manager: MemoryManager, number: int, *, refused: bool, killed: bool, seen: str | None) -> list[str]:
    problems = []
    written = manager._components.open().store.get_meta(f"proof:{number}")
    if not killed and written is None:
        problems.append("the write of the process that went on is not there")
    if seen is not None and written is None:
        problems.append("a write that was seen is gone")
    started = time.monotonic()
    manager.add_memory(f"after {number}", user="other")
    if (waited := time.monotonic() - started) > BOUND_S:
        problems.append(f"the lock was free, and a write took {waited:.1f} s")
    # Only now: a refused write that is still in the queue comes before this one.
    if (f"during {number}" in contents_of(manager, "other")) == refused:
        problems.append("the write that was refused is there" if refused else "the write that succeeded is not there")
    return problems


def pause_lease_holder(manager: MemoryManager, path: Path, rng: random.Random, number: int) -> list[str]:
    """Stop the holder of a lease until the lease is over and another has it; its write must not land."""
    child = Child(partial(hold_lease, path, f"first {number}"))
    store = manager._components.open().store
    try:
        message = _wait(child, "holds")
        if not message.get("holds"):
            return [str(message.get("error", "the lease was not free"))]
        time.sleep(rng.uniform(0, 0.02))
        os.kill(child.pid, signal.SIGSTOP)
        later = Lease("proof", f"second {number}")

        def take_over(tx: Transaction) -> bool:
            # The time of the lease has passed, as this transaction sees it.
            tx.at += int(timedelta(minutes=6) / timedelta(microseconds=1))
            if get_meta(tx, "proof:holder") == f"first {number}":
                return False  # it was faster than the signal
            take_lease(tx, later)
            set_meta(tx, "proof:holder", later.holder)
            return True

        try:
            with _short_wait():
                taken = store.write(take_over)
        except Unavailable:  # it was stopped while it held the lock of the file as well
            taken = False
        os.kill(child.pid, signal.SIGCONT)
        ended = _wait(child, "ended")
        if "error" in ended:
            return [str(ended["error"])]
        holder = store.get_meta("proof:holder")
        if taken and (ended["ended"] != "refused" or holder != later.holder):
            return [f"a stale write landed: {ended['ended']}, the holder is {holder}"]
        return []
    finally:
        list(child.kill())
        store.write(lambda tx: set_meta(tx, "lease:proof", '["", 0]'))


def run(plan: Plan) -> Result:
    """Stop one process after another."""
    done, violations, kinds = 0, list[str](), {"lock": 0, "lease": 0}
    with scratch_folder() as folder:
        path = folder / "memories.db"
        open_manager(path).__enter__().close()
        while plan.goes_on(done, violations):
            rng = plan.rng(done)
            kind = rng.choice(list(kinds))
            pause = pause_lock_holder if kind == "lock" else pause_lease_holder
            with open_manager(path) as manager:
                violations += [f"pause {done}, {kind}: {line}" for line in pause(manager, path, rng, done)]
            kinds[kind] += 1
            done += 1
        with open_manager(path) as manager:
            violations += find_problems_of(manager, path)
    return result("pauses", plan, done, violations, {"stopped while holding": kinds})

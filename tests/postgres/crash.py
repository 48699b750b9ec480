"""Kill clients and the server over and over while clients write: what was acknowledged is there, exactly once.

    python -m tests.postgres.crash --clients 2000 --servers 200

A client writes each note to a pipe after the store has acknowledged it. Both numbers are of kills (SIGKILL; an
immediate stop). Clients are forked from this process, which has no connection: a new interpreter would import for
longer than it writes.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import IO

from memoranda.errors import Unavailable
from memoranda.storage import open_store
from memoranda.storage.read import find_memories
from memoranda.storage.write import MemoryWrite
from memoranda.testing.fakes import Samples
from memoranda.types import EVERYTHING, Scope
from tests.postgres.server import PostgresServer, run_server

ADA = Scope(user="ada")
WRITERS = 2


def write_notes(url: str, name: str, acknowledged: int) -> None:
    """Write notes until killed, and each one that was acknowledged to a pipe."""
    store = open_store(url)
    number = 0
    while True:
        number += 1
        note = f"{name} {number}"
        new = replace(Samples(0).new_memory(ADA, note), message=None, vector=None, generation=None)
        try:
            store.write(MemoryWrite([new]))
        except Unavailable:
            continue
        os.write(acknowledged, f"{note}\n".encode())


def run(server: PostgresServer, clients: int, servers: int, seed: int) -> tuple[int, int, list[str]]:
    """Return how many notes were acknowledged, how many are stored, and what is wrong."""
    choose, url, acknowledged = random.Random(seed), server.new_database(), list[str]()
    kills_of_server = set(choose.sample(range(clients), min(servers, clients)))
    started = 0
    for number in range(clients):
        writers = [_start(url, f"{started + n}") for n in range(WRITERS)]
        started += WRITERS
        for writer in writers:
            acknowledged.append(writer.notes.readline().strip())  # it has begun to write
        time.sleep(choose.uniform(0.0, 0.3))
        if number in kills_of_server:
            server.stop("immediate")
            server.start()
            time.sleep(choose.uniform(0.0, 0.5))
        for writer in writers:
            # A line that was cut by the kill was acknowledged as well, but nobody was told.
            acknowledged += [line for line in writer.kill().split("\n")[:-1] if line]
    return _compare(url, acknowledged)


@dataclass(frozen=True, slots=True)
class _Client:
    """A process that writes, and the notes that were acknowledged to it."""

    process: int
    notes: IO[str]

    def kill(self) -> str:
        """Kill the process, and return the notes that were not read yet."""
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        with self.notes:
            return self.notes.read()


def _start(url: str, name: str) -> _Client:
    source, target = os.pipe()
    process = os.fork()
    if process == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            write_notes(url, name, target)
        finally:
            os._exit(1)
    os.close(target)
    return _Client(process, os.fdopen(source))


def _compare(url: str, acknowledged: list[str]) -> tuple[int, int, list[str]]:
    store = open_store(url)
    try:
        found = store.read(lambda tx: find_memories(tx, ADA, EVERYTHING, 10_000_000), tenant=ADA.tenant)
        stored = Counter(memory.content for memory in found)
        problems = [f"{note!r} was acknowledged and is lost" for note in acknowledged if note not in stored]
        problems += [f"{note!r} is stored {count} times" for note, count in stored.items() if count > 1]
        return len(acknowledged), len(stored), problems + store.check()
    finally:
        store.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=100, help="how many times the clients are killed")
    parser.add_argument("--servers", type=int, default=10, help="how many times the server is killed")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    with run_server(durable=True) as server:
        acknowledged, stored, problems = run(server, options.clients // WRITERS, options.servers, options.seed)
    print(
        f"seed {options.seed}: {options.clients} clients and {options.servers} servers killed, "
        f"{acknowledged} writes acknowledged, {stored} stored, {len(problems)} problems"
    )
    for problem in problems[:20]:
        print(problem)
    return 1 if problems or not acknowledged else 0


if __name__ == "__main__":
    sys.exit(main())

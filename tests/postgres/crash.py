"""Kill clients and the server over and over while clients write: what was acknowledged is there, exactly once.

    python -m tests.postgres.crash --clients 2000 --servers 200

A client prints each note after the store has acknowledged it. Both numbers are of kills (SIGKILL; an immediate stop).
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace

from memoranda.errors import Unavailable
from memoranda.storage import open_store
from memoranda.storage.read import find_memories
from memoranda.storage.write import MemoryWrite
from memoranda.testing.fakes import Samples
from memoranda.types import EVERYTHING, Scope
from tests.postgres.server import PostgresServer, run_server

ADA = Scope(user="ada")
WRITERS = 2


def write_notes(url: str, name: str) -> None:
    """Write notes until killed, and print each one that was acknowledged."""
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
        print(note, flush=True)


def run(server: PostgresServer, clients: int, servers: int, seed: int) -> tuple[int, int, list[str]]:
    """Return how many notes were acknowledged, how many are stored, and what is wrong."""
    choose, url, acknowledged = random.Random(seed), server.new_database(), list[str]()
    kills_of_server = set(choose.sample(range(clients), min(servers, clients)))
    started = 0
    for number in range(clients):
        writers = [_start(url, f"{started + n}") for n in range(WRITERS)]
        started += WRITERS
        for writer in writers:
            assert writer.stdout is not None
            acknowledged.append(writer.stdout.readline().strip())  # it has begun to write
        time.sleep(choose.uniform(0.0, 0.3))
        if number in kills_of_server:
            server.stop("immediate")
            server.start()
            time.sleep(choose.uniform(0.0, 0.5))
        for writer in writers:
            writer.kill()
            output, _ = writer.communicate()
            # A line that was cut by the kill was acknowledged as well, but nobody was told.
            acknowledged += [line for line in output.split("\n")[:-1] if line]
    return _compare(url, acknowledged)


def _start(url: str, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.postgres.crash", "--write", url, "--name", name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


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
    parser.add_argument("--write", help=argparse.SUPPRESS)
    parser.add_argument("--name", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write_notes(options.write, options.name)
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

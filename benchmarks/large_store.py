"""A store with very many memories of very many users, on SQLite and on PostgreSQL, beside a small one.

    python benchmarks/large_store.py --memories 1000000 --users 10000 --largest 300000

Prints for each store the time to open it, the first and the median search of a user (and the time of the processor for
one, which a busy machine does not change), the same for the one user who has `largest` memories, the memory of the
process, and the time of a backup or dump. The small store has 10,000 memories of users of the same size. Texts are
random, and vectors are made from a hash: no model is measured. To fill a store sooner, texts are not searched for
secrets and for orders to a model, which takes longer than to store them.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final
from unittest.mock import patch

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.postgres.server import PostgresServer, run_server  # noqa: E402

from memoranda import MemoryConfig, MemoryManager  # noqa: E402
from memoranda.testing.fakes import HashEmbedder  # noqa: E402

_SMALL: Final = 10_000
_SEARCHES: Final = 300
_ROUNDS: Final = 3
"""How often each store is searched, in turn: a busy machine changes from minute to minute."""
_BATCH: Final = 1_000
_WORDS: Final = [f"word{number}" for number in range(4_000)]
_LARGEST: Final = "the largest"


def _open(url: str) -> MemoryManager:
    key = None if url.startswith("sqlite") else "a key for measurements"
    return MemoryManager(MemoryConfig(db_url=url, audit_key=key), embedder=HashEmbedder(384))


def _text(rng: random.Random, words: int = 14) -> str:
    return " ".join(rng.choices(_WORDS, k=words))


def fill(url: str, users: int, per_user: int, largest: int) -> float:
    """Add the memories, and return how many of them in a second."""
    rng, started = random.Random(1), time.perf_counter()
    sizes = {f"user-{number}": per_user for number in range(users)} | ({_LARGEST: largest} if largest else {})
    unchecked = patch.multiple("memoranda.remember.memories", redact_secrets=str, screen=len)
    with unchecked, _open(url) as manager:
        for user, size in sizes.items():
            for start in range(0, size, _BATCH):
                texts = [_text(rng) for _ in range(min(_BATCH, size - start))]
                manager.add_memories(texts, memory_type="semantic", user=user, importance=0.5)
    return sum(sizes.values()) / (time.perf_counter() - started)


def _milliseconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def search(url: str, users: int, largest: int) -> dict[str, float]:
    """Return the figures of a process that opens the store and searches in it."""
    rng, managers = random.Random(2), list[MemoryManager]()
    figures = {"open_ms": _milliseconds(lambda: managers.append(_open(url)))}
    [manager] = managers
    names = [f"user-{rng.randrange(users)}" for _ in range(min(users, 100))]

    def ask(user: str) -> float:
        return _milliseconds(lambda: manager.recall(_text(rng, 5), user=user))

    figures["first_ms"] = median(ask(name) for name in names)
    started = time.thread_time()
    figures["search_ms"] = median(ask(rng.choice(names)) for _ in range(_SEARCHES))
    figures["search_cpu_ms"] = (time.thread_time() - started) * 1000 / _SEARCHES
    if largest:
        figures["largest_first_ms"] = ask(_LARGEST)
        figures["largest_ms"] = median(ask(_LARGEST) for _ in range(30))
    figures["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    manager.close()
    return figures


def _in_process(*arguments: object) -> dict[str, float]:
    """Run `search` in a process of its own, whose memory is that of the search alone."""
    command = [sys.executable, __file__, "--search", json.dumps(arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _copy(url: str, server: PostgresServer, folder: Path) -> dict[str, float]:
    """Return how long a backup or dump takes, and how large it is."""
    target = folder / "copy"
    started = time.perf_counter()
    if url.startswith("sqlite"):
        with _open(url) as manager:
            manager.backup(target, force=True)
    else:
        name = url.rpartition("/")[2]
        program = str(server.binaries / "pg_dump")
        subprocess.run([program, "-Fc", "-Z1", "-f", str(target), server.url(name, "postgres")], check=True)
    return {"copy_s": time.perf_counter() - started, "copy_mb": target.stat().st_size / 1e6}


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="memoranda-large-") as folder:
        yield Path(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=1_000_000, help="of all users")
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--largest", type=int, default=300_000, help="memories of one user, out of all")
    parser.add_argument("--store", choices=["sqlite", "postgresql"], help="measure only this one")
    parser.add_argument("--search", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.search:
        print(json.dumps(search(*json.loads(arguments.search))))
        return
    per_user = (arguments.memories - arguments.largest) // arguments.users
    with run_server(durable=True) as server, _folder() as folder:
        for name, small, large in (
            ("SQLite", f"sqlite:///{folder}/small.db", f"sqlite:///{folder}/large.db"),
            ("PostgreSQL", server.new_database(), server.new_database()),
        ):
            if arguments.store not in (None, name.lower()):
                continue
            fill(small, _SMALL // per_user, per_user, 0)
            rate = fill(large, arguments.users, per_user, arguments.largest)
            if name == "PostgreSQL":
                server.execute("ANALYZE", large.rpartition("/")[2])
            for _ in range(_ROUNDS):
                _report(f"{name}, {_SMALL:,}", _in_process(small, _SMALL // per_user, 0))
                found = _in_process(large, arguments.users, arguments.largest)
                _report(f"{name}, {arguments.memories:,}", found)
            _report(f"{name}, {arguments.memories:,}", {"added_per_s": rate, **_copy(large, server, folder)})


def _report(name: str, figures: dict[str, Any]) -> None:
    print(name, "  ".join(f"{key} {value:,.1f}" for key, value in figures.items()), flush=True)


if __name__ == "__main__":
    main()

"""Microseconds of processor time that each operation takes, on SQLite and on PostgreSQL.

    python benchmarks/operations.py
    python benchmarks/operations.py --stores postgres --rounds 9 --talks

Other programs on the machine change processor time much less than the time on a clock, so that the figures before and
after a change of the code can be compared. Texts and vectors are those of `speed.py`, or with `--talks` real turns of
conversations, on which the rules that screen a text have more to do. Each figure is the best of several rounds, for
this process; that of the server of PostgreSQL is in brackets.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias, TypeVar

from peers.base import POSTGRES_URL, FloatArray, Item, Query
from peers.ours import Ours, OursPostgres
from peers.systems import CACHE, create_cache_folder
from peers.workload import Workload
from scale import PostgresServer, run_server, server_seconds

_T = TypeVar("_T")
Best: TypeAlias = dict[str, tuple[float, float]]
STORES: Final = ("sqlite", "postgres")
TALKS: Final = Path(__file__).parent / "data" / "talks.jsonl"
_SMALL, _LARGE = 100, 1_000
"""Memories of most users, and of one with many."""
_USERS: Final = 20
"""New users with few memories in each round."""
_TIMES: Final = 100
"""Operations of a kind in each round."""
_PER_ROUND: Final = _USERS * _SMALL + _LARGE + 3 * _TIMES


class Talks(Workload):
    """The same with real turns in place of made-up texts."""

    def __init__(self, count: int) -> None:
        talks = map(json.loads, TALKS.read_text(encoding="utf-8").splitlines())
        self._turns = [text for talk in talks for _, _, text in talk["turns"] if len(text.split()) > 9]
        self._by_number: dict[str, FloatArray] = {}
        super().__init__(count)

    def query(self, seed: int, low: int, high: int) -> Query:
        query = super().query(seed, low, high)
        self._by_number[_number_of(query.text)] = self.vector(query.text)
        return query

    def vector(self, text: str) -> FloatArray:
        # A question is embedded without the words that only lead to it; its number stays.
        vector = self._by_number.get(_number_of(text))
        return super().vector(text) if vector is None else vector

    def item(self, number: int) -> Item:
        turn = self._turns[number % len(self._turns)]
        return replace(super().item(number), text=f"{turn} {number}")


def _number_of(text: str) -> str:
    return text[text.rfind("(") :]


class Operations:
    """Measures each kind of operation on one open store."""

    def __init__(self, folder: Path, server: PostgresServer | None, workload: Workload) -> None:
        self._peer = (Ours if server is None else OursPostgres)(folder, workload.vector)
        self._server = server
        self._workload = workload
        self._used = 0
        self._asked = 0
        self.best: Best = {}

    def run_round(self) -> None:
        """Measure everything once, on new users."""
        add, search = self._peer.add, self._peer.search
        large, users = f"large {self._used}", [f"{number} of {self._used}" for number in range(_USERS)]
        items, of_large = self._take(_LARGE, large)
        self._measure("bulk add", _LARGE, partial(self._peer.add_many, items))
        items, alone = self._take(_TIMES, "one")
        self._measure("add", _TIMES, partial(_each, add, items))
        items, _ = self._take(_TIMES, "eight")
        with ThreadPoolExecutor(8) as pool:
            self._measure("add, 8 threads", _TIMES, lambda: list(pool.map(add, items)))
        known = {}
        for user in users:
            items, known[user] = self._take(_SMALL, user)
            self._peer.add_many(items)
        self._measure("first search", _USERS, partial(_each, search, [self._ask(user, known[user]) for user in users]))
        small = [self._ask(user, known[user]) for user in users for _ in range(_TIMES // _USERS)]
        self._measure("search of 100", _TIMES, partial(_each, search, small))
        self._measure("ledger, a recall", _TIMES, self._peer.write_ledger)
        search(self._ask(large, of_large))
        asked = [self._ask(large, of_large) for _ in range(_TIMES)]
        self._measure("search of 1,000", _TIMES, partial(_each, search, asked))
        search(self._ask("one", alone))
        items, added = self._take(_TIMES, users[0])
        asked = [self._ask(users[0], range(number, number + 1)) for number in added]
        self._measure(
            "add and search", _TIMES, partial(_each, self._add_and_search, list(zip(items, asked, strict=True)))
        )

    def _add_and_search(self, pair: tuple[Item, Query]) -> None:
        self._peer.add(pair[0])
        self._peer.search(pair[1])

    def _take(self, count: int, user: str) -> tuple[list[Item], range]:
        numbers = range(self._used, self._used + count)
        self._used += count
        return [replace(self._workload.item(number), user=user) for number in numbers], numbers

    def _ask(self, user: str, numbers: range) -> Query:
        self._asked += 1
        return replace(self._workload.query(self._asked, numbers.start, numbers.stop), user=user)

    def _measure(self, name: str, times: int, work: Callable[[], object]) -> None:
        if not name.startswith("ledger"):
            self._peer.write_ledger()  # or it would be written beside this
        server, started = self._read_server(), time.process_time()
        work()
        own = 1e6 * (time.process_time() - started) / times
        used = 1e6 * (self._read_server() - server) / times
        best = self.best.get(name, (own, used))
        self.best[name] = min(own, best[0]), min(used, best[1])

    def _read_server(self) -> float:
        return 0.0 if self._server is None else server_seconds(self._server)

    def close(self) -> None:
        self._peer.close()


def _each(call: Callable[[_T], object], values: Sequence[_T]) -> None:
    for value in values:
        call(value)


def measure(stores: Sequence[str], rounds: int, make_workload: Callable[[int], Workload]) -> dict[str, Best]:
    """Return the best times of each operation on each store, which take turns."""
    workload = make_workload(rounds * _PER_ROUND)
    create_cache_folder()
    with ExitStack() as stack:
        opened = {}
        for store in stores:
            # On the disk of the checkout, as in `speed.py`.
            folder, server = Path(stack.enter_context(TemporaryDirectory(dir=CACHE))), None
            if store == "postgres":
                server = stack.enter_context(run_server(durable=True))
                os.environ[POSTGRES_URL] = server.new_database()
            opened[store] = Operations(folder, server, workload)
            stack.callback(opened[store].close)
        for _ in range(rounds):
            for operations in opened.values():
                operations.run_round()
        return {store: operations.best for store, operations in opened.items()}


def format_table(found: dict[str, Best]) -> str:
    """Return a Markdown table, a line for each operation."""
    lines = ["| | " + " | ".join(found) + " |", "|---" * (len(found) + 1) + "|"]
    for name in next(iter(found.values())):
        cells = [
            f"{own:,.0f}" + (f" ({server:,.0f})" if server else "")
            for own, server in (each[name] for each in found.values())
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stores", nargs="+", choices=STORES, default=STORES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--talks", action="store_true", help="real turns of conversations")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    found = measure(arguments.stores, arguments.rounds, Talks if arguments.talks else Workload)
    print(format_table(found))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

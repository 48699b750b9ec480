"""What encryption costs: `python benchmarks/encryption.py [--memories 20000]`.

The same work on a plain and on an encrypted database, in turns, so that a slow minute of the machine affects both. The
vectors come from a fake embedder that takes no time: with a real one the ratios of writes are smaller. The time of the
processor is measured beside that of the clock: other programs on the machine hardly change it.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median

from memoranda import MemoryManager
from memoranda.security.encryption import EncryptionKey, random_key
from memoranda.storage.sqlite.conversion import convert
from memoranda.testing.fakes import HashEmbedder

KINDS = ("plain", "encrypted")
_DIMENSION = 384
_SINGLE = 100
_BULK = 1000

Times = dict[tuple[str, str], list[tuple[float, float]]]
"""What and kind of database → milliseconds on the clock and of the processor, for each time."""


class Measured:
    """One database of each kind."""

    def __init__(self, folder: Path, memories: int, rounds: int) -> None:
        self.folder = folder
        self.memories = memories
        self.rounds = rounds
        self.keys = {"plain": None, "encrypted": random_key()}
        self.times: Times = defaultdict(list)

    def open(self, kind: str) -> MemoryManager:
        path, key = self.folder / f"{kind}.db", self.keys[kind]
        return MemoryManager(path, embedder=HashEmbedder(_DIMENSION), encryption_key=key).__enter__()

    def time(self, what: str, kind: str, work: Callable[[], object]) -> None:
        started, used = time.perf_counter(), time.process_time()
        work()
        spent = (time.perf_counter() - started) * 1000, (time.process_time() - used) * 1000
        self.times[what, kind].append(spent)

    def run(self) -> None:
        for number in range(0, self.memories, _BULK):
            texts = [f"note {number + each} about {_topic(number + each)}" for each in range(_BULK)]
            for kind in _turns(number // _BULK):
                manager = self.open(kind)
                self.time("bulk add of 1,000", kind, lambda texts=texts, manager=manager: manager.add_memories(texts))
                manager.close()
        for turn in range(self.rounds):
            for kind in _turns(turn):
                self._run_round(kind, turn)

    def _run_round(self, kind: str, turn: int) -> None:
        opened: list[MemoryManager] = []
        self.time("open", kind, lambda: opened.append(self.open(kind)))
        manager = opened[0]
        self.time("first recall (loads the index)", kind, lambda: manager.recall(_topic(turn)))
        for each in range(_SINGLE // self.rounds):
            text = f"single note {turn} {each} about {_topic(each)}"
            self.time("add", kind, lambda text=text: manager.add_memory(text))
            self.time("recall", kind, lambda each=each: manager.recall(f"notes about {_topic(each)}"))
        self.time("backup", kind, lambda: manager.backup(self.folder / f"{kind}-{turn}.backup"))
        self.time("export", kind, lambda: manager.export_jsonl(self.folder / f"{kind}.export"))
        manager.add_memory("to be forgotten", user="gone")
        self.time("forget, file written anew or cleared", kind, lambda: manager.forget(user="gone"))
        manager.close()
        (self.folder / f"{kind}-{turn}.backup").unlink()


def _turns(number: int) -> tuple[str, ...]:
    return KINDS if number % 2 else KINDS[::-1]


def _topic(number: int) -> str:
    return f"topic{number % 97} and river{number % 31}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measured = Measured(Path(name), options.memories, options.rounds)
        measured.run()
        _print_table(measured)
        _print_conversion(measured)


def _print_table(measured: Measured) -> None:
    sizes = {kind: (measured.folder / f"{kind}.db").stat().st_size / 1e6 for kind in KINDS}
    print(f"{measured.memories:,} memories of {_DIMENSION} dimensions, Python {platform.python_version()}\n")
    print("| median, ms | plain | encrypted | ratio | processor, plain | encrypted | ratio |\n|" + "---|" * 7)
    for what in dict.fromkeys(what for what, _ in measured.times):
        cells = "".join(
            _cells([median(each[clock] for each in measured.times[what, kind]) for kind in KINDS]) for clock in (0, 1)
        )
        print(f"| {what} |{cells}")
    print(f"| size of the file, MB |{_cells(list(sizes.values()))} | | |\n")


def _cells(pair: list[float]) -> str:
    plain, encrypted = pair
    return f" {plain:.2f} | {encrypted:.2f} | {encrypted / plain:.2f} |"


def _print_conversion(measured: Measured) -> None:
    database, key = measured.folder / "plain.db", EncryptionKey(random_key())
    for what, current, new in (("encrypt", None, key), ("decrypt", key, None)):
        started = time.perf_counter()
        convert(database, current, new)
        print(f"{what}: {time.perf_counter() - started:.1f} s")
    started = time.perf_counter()
    EncryptionKey("a passphrase to stretch").derive(bytes(16))
    print(f"passphrase, once for each process: {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()

"""Count the files and folders that one `remember` and one `recall` pass through.

    python scripts/walk.py [--verbose] [--package NAME]

One `remember` of two messages and one `recall` run on a new store in a temporary folder, with the hash embedder of
`memoranda.testing`. Both run once before on another store, so that imports do not count, and the store is opened
before the counting starts.

Every call of a Python function whose file belongs to the package counts as one step, in the calling thread and in
threads that the call starts; a generator that is resumed is a step too. Two figures are printed for each operation:

files     the number of different files that the steps are in;
switches  how often the folder of a step differs from the folder of the step before it in the same thread. A module
          directly in the package counts as being in the folder "".

Returning to the caller is not a step: a function of another folder that is called and returns counts as one switch,
and a second one only when the caller then calls a function of its own folder.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple


class Walk(NamedTuple):
    """The files of an operation with the number of steps in each, and how often the folder changed."""

    steps: Counter[Path]
    switches: int


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the files and folders of one remember and one recall.")
    parser.add_argument("--package", default="memoranda", help="import name of the package to profile")
    parser.add_argument("--verbose", action="store_true", help="list the files with the number of calls in each")
    options = parser.parse_args()
    for name, walk in profile_package(options.package).items():
        print(f"{name}: {len(walk.steps)} files, {walk.switches} folder switches")
        if options.verbose:
            for file, count in sorted(walk.steps.items()):
                print(f"  {count:5}  {file}")


def profile_package(name: str) -> dict[str, Walk]:
    """Profile both operations of a package that has `MemoryManager` and `testing.fakes.HashEmbedder`."""
    package = import_module(name)
    embedder = import_module(f"{name}.testing.fakes").HashEmbedder()
    root = Path(str(package.__file__)).parent
    with tempfile.TemporaryDirectory() as folder:

        def walk(city: str) -> dict[str, Walk]:
            messages = [
                {"role": "user", "name": "Ana", "content": f"I moved to {city} last month with my sister Anna."},
                {"role": "assistant", "content": f"How nice! {city} is lovely in the spring."},
            ]
            question = f"When did my sister move to {city}, in May?"
            with package.MemoryManager(f"sqlite:///{folder}/{city}.db", embedder=embedder) as memory:
                remember = record(lambda: memory.remember(messages, user="ana", session="s"), root)
                recall = record(lambda: memory.recall(question, user="ana"), root)
            return {"remember": remember, "recall": recall}

        walk("Bergen")  # the warm-up has other texts: what the rules read from a text is cached
        return walk("Lisbon")


def record(operation: Callable[[], object], root: Path) -> Walk:
    """Run an operation and count the steps inside the folder `root`."""
    prefix = f"{root}/"
    calls: dict[int, list[str]] = defaultdict(list)

    def on_event(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(prefix):
            calls[threading.get_ident()].append(frame.f_code.co_filename)

    threading.setprofile(on_event)
    sys.setprofile(on_event)
    try:
        operation()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    threads = [[Path(file).relative_to(root) for file in files] for files in calls.values()]
    steps = Counter(file for files in threads for file in files)
    switches = sum(before.parent != after.parent for files in threads for before, after in pairwise(files))
    return Walk(steps, switches)


if __name__ == "__main__":
    main()

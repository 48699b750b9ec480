"""A progress bar on the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

_Item = TypeVar("_Item")
_WIDTH = 30


def bar(items: Iterable[_Item], total: int, label: str) -> Iterator[_Item]:
    """Yield the items with a progress bar on stderr; only one line at the end when stderr is not a terminal."""
    started, shown = time.monotonic(), 0.0
    for number, item in enumerate(items, start=1):
        yield item
        if sys.stderr.isatty() and (time.monotonic() - shown > 0.1 or number == total):
            shown = time.monotonic()
            full = _WIDTH * number // max(1, total)
            print(f"\r{label:32} {'█' * full}{'·' * (_WIDTH - full)} {number}/{total}", end="", file=sys.stderr)
    seconds = time.monotonic() - started
    print(f"\r{label:32} {total} in {seconds:.0f} s{' ' * (_WIDTH + 8)}", file=sys.stderr)

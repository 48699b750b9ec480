"""A bar on the terminal while long work goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

_Item = TypeVar("_Item")
_WIDTH = 30


def bar(items: Iterable[_Item], total: int, what: str) -> Iterator[_Item]:
    """The items, with a bar on the error stream; one line at the end when that is no terminal."""
    started, shown = time.monotonic(), 0.0
    for number, item in enumerate(items, start=1):
        yield item
        if sys.stderr.isatty() and (time.monotonic() - shown > 0.1 or number == total):
            shown = time.monotonic()
            full = _WIDTH * number // max(1, total)
            print(f"\r{what:32} {'█' * full}{'·' * (_WIDTH - full)} {number}/{total}", end="", file=sys.stderr)
    took = time.monotonic() - started
    print(f"\r{what:32} {total} in {took:.0f} s{' ' * (_WIDTH + 8)}", file=sys.stderr)

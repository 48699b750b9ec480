"""Forked processes that talk through a pipe: a fork costs milliseconds where a new interpreter costs a second."""

from __future__ import annotations

import json
import os
import select
import signal
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any


class Child:
    """A forked process and the lines it sends. Whatever a cut-off last line was, it was never sent."""

    def __init__(self, body: Callable[[int], None]) -> None:
        self._pipe, write_end = os.pipe()
        self._rest = b""
        self._lines: deque[bytes] = deque()
        with warnings.catch_warnings():
            # A fork beside other threads is warned of; the child only ever touches what it opens itself.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            os.close(self._pipe)
            _run(body, write_end)
        os.close(write_end)

    def messages(self, until: float) -> Iterator[dict[str, Any]]:
        """What arrives before the given moment of the monotonic clock, or until the child's end."""
        yield from self._arrived()
        while (left := until - time.monotonic()) > 0:
            if not select.select([self._pipe], [], [], min(left, 3600.0))[0] or not self._receive():
                return
            yield from self._arrived()

    def kill(self) -> Iterator[dict[str, Any]]:
        """Ends the child at once; gives what it had sent until then."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        while self._receive():
            pass
        os.close(self._pipe)
        yield from self._arrived()

    def _receive(self) -> bool:
        chunk = os.read(self._pipe, 1 << 16)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self._lines.extend(lines)
        return bool(chunk)

    def _arrived(self) -> Iterator[dict[str, Any]]:
        while self._lines:
            yield json.loads(self._lines.popleft())


def _run(body: Callable[[int], None], pipe: int) -> None:
    """The whole life of the forked process; it must never return into the parent's code."""
    status = 1
    try:
        body(pipe)
        status = 0
    except BaseException:  # noqa: BLE001 - told to the parent
        os.write(pipe, json.dumps({"error": traceback.format_exc()}).encode() + b"\n")
    finally:
        os._exit(status)

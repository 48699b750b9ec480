"""Forked processes that write to a pipe: a fork takes milliseconds, a new interpreter a second."""

from __future__ import annotations

import gc
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
    """A forked process and the lines of JSON it sends. An incomplete last line counts as not sent."""

    def __init__(self, body: Callable[[int], None]) -> None:
        self._pipe, write_end = os.pipe()
        self._rest = b""
        self._lines: deque[bytes] = deque()
        with warnings.catch_warnings():
            # Python warns of a fork with other threads running; the child only uses what it opens itself.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            os.close(self._pipe)
            _run_child(body, write_end)
        os.close(write_end)

    def messages(self, until: float) -> Iterator[dict[str, Any]]:
        """Yield the messages that arrive before this time of the monotonic clock, or until the child ends."""
        yield from self._take_lines()
        while (left := until - time.monotonic()) > 0:
            if not select.select([self._pipe], [], [], min(left, 3600.0))[0] or not self._receive():
                return
            yield from self._take_lines()

    def kill(self) -> Iterator[dict[str, Any]]:
        """Kill the child, and yield what it had sent."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        while self._receive():
            pass
        os.close(self._pipe)
        yield from self._take_lines()

    def _receive(self) -> bool:
        chunk = os.read(self._pipe, 1 << 16)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self._lines.extend(lines)
        return bool(chunk)

    def _take_lines(self) -> Iterator[dict[str, Any]]:
        while self._lines:
            yield json.loads(self._lines.popleft())


def send(pipe: int, **message: object) -> None:
    """Send one message to the parent."""
    os.write(pipe, json.dumps(message).encode() + b"\n")


def _run_child(body: Callable[[int], None], pipe: int) -> None:
    """Run the forked process; never return into the parent's code."""
    status = 1
    gc.freeze()  # a collection of what the parent made would copy every page of it
    try:
        body(pipe)
        status = 0
    except BaseException:  # noqa: BLE001 - sent to the parent
        os.write(pipe, json.dumps({"error": traceback.format_exc()}).encode() + b"\n")
    finally:
        os._exit(status)

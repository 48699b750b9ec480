"""Threads and flags that an interrupt (Ctrl-C) cannot leave unusable.

`threading.Event` and `Thread.start` take a lock in Python code. An interrupt between that and the block that releases
it leaves the lock taken: whoever sets the event next waits for ever, and a thread that was being started never runs.
"""

from __future__ import annotations

import _thread
import threading
from contextlib import suppress


class Flag:
    """An event. Only the lock that wakes up who waits is shared, and nobody waits for it to change the flag."""

    def __init__(self) -> None:
        self._set = False
        self._unset = threading.Lock()
        self._unset.acquire()

    def set(self) -> None:
        """Set it, and wake up all who wait."""
        self._set = True
        with suppress(RuntimeError):  # it was set already
            self._unset.release()

    def clear(self) -> None:
        self._set = False
        self._unset.acquire(blocking=False)

    def is_set(self) -> bool:
        return self._set

    def wait(self, seconds: float = -1) -> bool:
        """Wait until it is set, for at most so many seconds; return whether it is."""
        if not self.is_set() and self._unset.acquire(timeout=seconds) and self.is_set():
            self.set()  # for others who wait
        return self._set


def start(thread: threading.Thread) -> None:
    """Start a thread. When the system has no room for another one, it is not alive afterwards."""
    done = Flag()

    def start_it() -> None:
        try:
            with suppress(RuntimeError):
                thread.start()
        finally:
            done.set()

    with suppress(RuntimeError):
        _thread.start_new_thread(start_it, ())
        done.wait()

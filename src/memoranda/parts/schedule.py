"""Work that repeats in the background of a program until it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

from memoranda.errors import Closed, InvalidInput, MemorandaError


def check_interval(every: timedelta | float) -> float:
    """Seconds between two runs."""
    seconds = every.total_seconds() if isinstance(every, timedelta) else every
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < threading.TIMEOUT_MAX:
        raise InvalidInput(f"every must be a timedelta or a number of seconds above 0, not {every!r}")
    return float(seconds)


class Schedule:
    """At most one thread that calls its work again and again; the work gives what it could not do."""

    def __init__(self) -> None:
        self.problems: tuple[str, ...] = ()
        """What the latest run could not do, one sentence each."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def start(self, seconds: float, work: Callable[[], tuple[str, ...]]) -> None:
        """The first run comes after `seconds`; a schedule that was running ends."""
        self.stop()
        with self._lock:
            self._stopped = threading.Event()
            # A daemon: a program that forgets to close still ends. What it cuts short is done again the next time.
            self._thread = threading.Thread(
                target=self._repeat, args=(seconds, work, self._stopped), name="memoranda-upkeep", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Returns when no run is going on any more."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._stopped.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _repeat(self, seconds: float, work: Callable[[], tuple[str, ...]], stopped: threading.Event) -> None:
        while not stopped.wait(seconds):
            try:
                self.problems = work()
            except Closed:
                return
            except MemorandaError as error:
                self.problems = (f"upkeep in the background: {error}",)

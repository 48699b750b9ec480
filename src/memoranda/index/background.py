"""Work on partitions that no search waits for."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable
from typing import Final

from memoranda import uninterrupted
from memoranda.errors import MemorandaError
from memoranda.uninterrupted import Flag

_MAX_STOP_SECONDS: Final = 5.0
_PAUSE: Final = 0.001
"""Seconds between two steps, so that waiting searches get the locks."""


class BackgroundSteps:
    """Runs tasks step by step in one background thread, which runs only while there is work."""

    def __init__(self, name: str, report: Callable[[str], None]) -> None:
        self._name = name
        self._report = report
        self._lock = threading.Lock()
        self._queue: deque[tuple[Hashable, Callable[[], bool]]] = deque()
        self._thread: threading.Thread | None = None
        self._stopped = Flag()

    def add(self, key: Hashable, step: Callable[[], bool]) -> None:
        """Call `step` until it returns False, unless a task with this key is waiting already."""
        with self._lock:
            if self._stopped.is_set() or any(key == queued for queued, _ in self._queue):
                return
            self._queue.append((key, step))
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                uninterrupted.start(self._thread)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until all tasks are done."""
        thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join(seconds)

    def stop(self) -> None:
        """End the thread after the current step; nothing runs after this."""
        self._stopped.set()
        self.wait(_MAX_STOP_SECONDS)

    def _run(self) -> None:
        while (step := self._next()) is not None:
            try:
                while not self._stopped.wait(_PAUSE) and step():
                    pass
            except MemorandaError as error:
                if not self._stopped.is_set():
                    self._report(str(error))

    def _next(self) -> Callable[[], bool] | None:
        with self._lock:
            if self._queue and not self._stopped.is_set():
                return self._queue.popleft()[1]
            self._thread = None
            return None

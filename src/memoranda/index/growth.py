"""Graphs of large partitions, grown beside the questions and never in front of one."""

from __future__ import annotations

import threading
from collections import deque

from memoranda.index.faiss import FAISSIndex
from memoranda.index.partition import Partition

_ROWS_AT_ONCE = 32  # a few milliseconds, the longest that a question waits for the lock
_BREATH = 0.001  # seconds between two turns, so that waiting questions get the lock


class GraphGrowth:
    """One background thread, alive only while there is something to grow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Partition] = deque()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def offer(self, partition: Partition) -> None:
        """Grows this partition's graph in the background, if it wants one."""
        index = partition.index
        if not isinstance(index, FAISSIndex) or not index.pending or self._stopped.is_set():
            return
        with self._lock:
            if partition not in self._waiting:
                self._waiting.append(partition)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="memoranda-graph", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Returns when every graph is grown."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def stop(self) -> None:
        """Ends the thread after the rows in hand; nothing is grown any more."""
        self._stopped.set()
        self.wait()

    def _work(self) -> None:
        while (partition := self._next()) is not None:
            while not self._stopped.wait(_BREATH) and _grown_further(partition):
                pass

    def _next(self) -> Partition | None:
        with self._lock:
            if self._waiting and not self._stopped.is_set():
                return self._waiting.popleft()
            self._thread = None
            return None


def _grown_further(partition: Partition) -> bool:
    with partition.lock:
        return isinstance(partition.index, FAISSIndex) and partition.index.grow(_ROWS_AT_ONCE) > 0

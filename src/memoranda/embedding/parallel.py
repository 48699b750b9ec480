"""Run a model over several inputs, each alone, on a few threads."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from memoranda.threads import register_fork_handler

_MAX_THREADS: Final = 8
T = TypeVar("T")


def default_threads() -> int:
    """Return how many threads run a model: the cores that this process may use, at most eight."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MAX_THREADS)


def run_each(inputs: Sequence[T], work: Callable[[int, T], None], threads: int) -> None:
    """Call `work` with the number of each input and the input, on several threads; the first error ends the call.

    The thread of the caller is one of them. A thread takes the next input as soon as it has finished one: one task per
    input would make the threads compete for the interpreter lock several times per input.
    """
    pending = deque(enumerate(inputs))

    def run_pending() -> None:
        while True:
            try:
                number, each = pending.popleft()
            except IndexError:
                return
            try:
                work(number, each)
            except BaseException:
                pending.clear()  # the call fails, so the rest is not needed
                raise

    others = min(threads, len(inputs)) - 1
    if others < 1:
        run_pending()
        return
    # A pool for this call only: no thread is left running that a later fork would lose.
    with ThreadPoolExecutor(others, "memoranda-model") as pool:
        futures = [pool.submit(run_pending) for _ in range(others)]
        run_pending()
        for future in futures:
            future.result()


class FairSlots:
    """Lets so many threads in at a time, in the order in which they came.

    A `threading.Semaphore` keeps no order: a thread that comes back at once overtakes those that wait, so that a short
    call would wait for the end of a long one.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._start()
        register_fork_handler(self)

    def _start(self) -> None:
        self._free = self._count
        self._lock = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()

    def before_fork(self) -> None:
        """Do nothing: the threads that hold slots go on in the parent."""

    def after_fork(self, *, in_child: bool) -> None:
        """Free all slots in the child: the threads that held them do not exist there."""
        if in_child:
            self._start()

    def __enter__(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            turn.acquire()  # released by the thread that gives its slot to this one
        except BaseException:
            self._give_up(turn)
            raise

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1

    def _give_up(self, turn: threading.Lock) -> None:
        """Leave the line after an interrupt; give the slot on if this thread got one at that moment."""
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return
        self.__exit__()

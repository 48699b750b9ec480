"""Threads: flags that an interrupt (Ctrl-C) cannot leave unusable, work in the background or on several threads, forks.

`threading.Event` and `Thread.start` take a lock in Python code. An interrupt between that and the block that releases
it leaves the lock taken: whoever sets the event next waits for ever, and a thread that was being started never runs.

Registered objects are called before and after this process forks, so that parent and child share no open state.
"""

from __future__ import annotations

import _thread
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, Protocol, TypeVar
from weakref import WeakSet

from memoranda.errors import MemorandaError


class Flag:
    """An event that happens once. Only the lock that wakes up waiting threads is shared, and setting it never waits."""

    def __init__(self) -> None:
        self._set = False
        self._unset = threading.Lock()
        self._unset.acquire()

    def set(self) -> None:
        """Set it, and wake up all who wait."""
        self._set = True
        with suppress(RuntimeError):  # it was set already
            self._unset.release()

    def is_set(self) -> bool:
        return self._set

    def wait(self, seconds: float = -1) -> bool:
        """Wait until it is set, for at most so many seconds; return whether it is."""
        if not self.is_set() and self._unset.acquire(timeout=seconds) and self.is_set():
            self.set()  # for others who wait
        return self._set


def start_thread(thread: threading.Thread) -> None:
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


_log = logging.getLogger(__name__)


class ForkHandler(Protocol):
    """An object with internal state that parent and child must not share: locks, connections, threads."""

    def before_fork(self) -> None:
        """Reach a state that can be copied into the child."""

    def after_fork(self, *, in_child: bool) -> None:
        """Resume work. In the child no other thread exists, so a lock that one of them held is never released."""


_handlers: WeakSet[ForkHandler] = WeakSet()
_guard = threading.Lock()  # held from before a fork until after it, so that no two threads fork at once


def register_fork_handler(handler: ForkHandler) -> None:
    """Call the handler at every fork, for as long as something else keeps it alive."""
    with _guard:
        _handlers.add(handler)


def _before_fork() -> None:
    _guard.acquire()
    for handler in list(_handlers):
        try:
            handler.before_fork()
        except BaseException:  # noqa: BLE001 - a fork cannot be cancelled; `after_fork` has to cope with the state it finds
            _log.exception("could not prepare for a fork")


def _after_fork_in_parent() -> None:
    try:
        _resume(in_child=False)
    finally:
        _guard.release()


def _after_fork_in_child() -> None:
    global _guard
    _guard = threading.Lock()
    _resume(in_child=True)


def _resume(*, in_child: bool) -> None:
    for handler in list(_handlers):
        try:
            handler.after_fork(in_child=in_child)
        except BaseException:  # noqa: BLE001 - Python ignores it, Ctrl-C too, and the others wait for their locks
            _log.exception("could not go on after a fork")


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


MAX_STOP_SECONDS: Final = 5.0
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
                start_thread(self._thread)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until all tasks are done."""
        thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join(seconds)

    def stop(self) -> None:
        """End the thread after the current step; nothing runs after this."""
        self._stopped.set()
        self.wait(MAX_STOP_SECONDS)

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

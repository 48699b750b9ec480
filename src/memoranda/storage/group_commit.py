"""Group commit: writers that arrive while a commit runs share the next one."""

from __future__ import annotations

import _thread
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter, sleep
from typing import Any, Final, Generic, TypeAlias, TypeVar

from memoranda.errors import Conflict, OutcomeUnknown, Unavailable

Work = TypeVar("Work")
Result = TypeVar("Result")
_T = TypeVar("_T")
_LONGEST_GATHERING: Final = 0.001
_CHECK_SECONDS: Final = 0.2
"""How often a waiting writer looks whether the thread that commits is still there."""
_MAX_WAIT: Final = 120.0
"""How long a writer waits for its turn: another process can hold the lock of the file."""
_PREPARE_SECONDS: Final = 0.1
"""How long a writer may prepare its work while all others wait."""
_MAX_COMMIT: Final = 900.0
"""How long a writer waits for a commit that has begun: longer than the largest import takes."""


class _Ticket(Generic[Work]):
    """One work that waits. Each change of its state is one call of a C function, which no interrupt can split."""

    __slots__ = ("_begun", "_finished", "alone", "error", "result", "work")

    def __init__(self, work: Work, *, alone: bool = False) -> None:
        self.work = work
        self.alone = alone
        self.result: Any = None
        # Replaced by what really happened, unless the thread that commits is stopped before.
        self.error: BaseException | None = OutcomeUnknown("the commit was interrupted, it may have been written")
        self._begun = threading.Lock()
        self._finished = threading.Lock()
        self._finished.acquire()

    def begin(self) -> bool:
        """Return True to the first caller only: the thread that commits begins the work, or its writer withdraws it."""
        return self._begun.acquire(blocking=False)

    def succeed(self, result: object) -> None:
        self.result, self.error = result, None

    def finish(self) -> None:
        self._finished.release()

    @property
    def finished(self) -> bool:
        return not self._finished.locked()

    def wait(self, seconds: float) -> bool:
        return self._finished.acquire(timeout=seconds)


_Queue: TypeAlias = "SimpleQueue[_Ticket[Any] | None]"


class GroupCommit(Generic[Work, Result]):
    """Call `commit(works) -> results` with everything that is waiting, one call at a time.

    Commits run in one thread of their own, which the first writer starts. An interrupt (Ctrl-C) only ever reaches the
    main thread, so none can leave a commit half done or a lock taken, however many come and whenever they come; the
    interrupted writer withdraws its work, or leaves it to a commit that has begun. When several wrote a moment ago,
    the thread waits for them as long as they keep arriving: one commit of eight is cheaper than two of four. A single
    writer never waits. When a shared commit fails, each work is committed alone, so that an error reaches only the
    caller that caused it.

    Works are taken inside `turn()`, the lock of the file. A writer that has waited too long for it withdraws its work
    and raises `Unavailable`: nothing of it was written.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Work]], list[Result]],
        max_group: int = 256,
        *,
        turn: Callable[[], AbstractContextManager[object]] = nullcontext,
        blocked_by: Callable[[], str] = lambda: (
            "another process, or a write of this one, holds the lock of the database"
        ),
    ) -> None:
        self._commit = commit
        self._blocked_by = blocked_by
        self._max_group = max_group
        self._turn = turn
        self._queue: _Queue = SimpleQueue()
        self._serving = threading.Lock()  # held by the thread that commits, for as long as it lives
        self._stops = 0
        self._expected = 1
        self._patience = 0.0
        # The thread holds no reference to this object, and ends with it.
        weakref.finalize(self, self._queue.put, None).atexit = False

    def submit(self, work: Work) -> Result:
        """Return the result of the work once it is committed, or raise its error."""
        result: Result = self._run(_Ticket(work))
        return result

    def submit_prepared(self, prepare: Callable[[], Work]) -> Result:
        """Hold the turn while the caller prepares its work, and commit that: nobody writes in between.

        The caller prepares it in its own thread. When that takes too long, as when it waits for a write of its own,
        the turn passes on, and this raises `Conflict`.
        """
        turn: _Ticket[None] = _Ticket(None)
        prepared: SimpleQueue[Work | None] = SimpleQueue()
        ticket: _Ticket[Any] = _Ticket(lambda: self._commit_prepared(turn, prepared), alone=True)

        def prepare_in_turn() -> None:
            self._await_result(turn, or_until=ticket)
            work = None
            try:
                work = prepare()
            finally:
                prepared.put(work)

        result: Result = self._run(ticket, prepare_in_turn)
        return result

    def _commit_prepared(self, turn: _Ticket[None], prepared: SimpleQueue[Work | None]) -> Result | None:
        with self._turn():
            if not turn.begin():  # its writer has given up
                return None
            turn.finish()
            try:
                work = prepared.get(timeout=_PREPARE_SECONDS)
            except Empty:
                raise Conflict("the change took too long to make while others waited: try again") from None
            return None if work is None else self._commit([work])[0]

    def call(self, function: Callable[[], _T]) -> _T:
        """Return what the function returns, called by the thread that commits, between two commits."""
        result: _T = self._run(_Ticket(function, alone=True))
        return result

    def stop(self, seconds: float) -> None:
        """End the thread after what was submitted so far; the next writer starts another."""
        deadline = monotonic() + seconds
        self._stops += 1
        if self._serving.locked():
            self._queue.put(None)
        while self._serving.locked() and monotonic() < deadline:
            sleep(0.001)

    @property
    def waiting(self) -> bool:
        """Whether somebody waits for the next commit."""
        return not self._queue.empty()

    def _run(self, ticket: _Ticket[Any], meanwhile: Callable[[], None] = lambda: None) -> Any:
        try:
            self._ensure_thread()
            self._queue.put(ticket)
            self._ensure_thread()  # again, since the one before can have ended meanwhile
            meanwhile()
            self._await_result(ticket)
        except BaseException:
            ticket.begin()  # withdrawn, unless its commit has begun
            raise
        if ticket.error is not None:
            raise ticket.error
        return ticket.result

    def _await_result(self, ticket: _Ticket[Any], or_until: _Ticket[Any] | None = None) -> None:
        started = monotonic()
        while not ticket.wait(_CHECK_SECONDS):
            if or_until is not None and or_until.finished:
                return
            self._ensure_thread()
            waited = monotonic() - started
            if waited > _MAX_WAIT and ticket.begin():
                raise Unavailable(
                    f"no write was possible for {_MAX_WAIT:.0f} seconds, nothing was written: {self._blocked_by()}",
                    retry_after=1.0,
                )
            if waited > _MAX_WAIT + _MAX_COMMIT:
                raise OutcomeUnknown("the commit has not ended yet, it may still be written")

    def _ensure_thread(self) -> None:
        """Start the thread that commits unless there is one; commit here when none can be started."""
        if self._serving.locked():
            if sys.is_finalizing():  # no other thread runs any more
                raise Unavailable("Python is shutting down: write earlier, or close the manager")
            return
        try:
            # One call of a C function: `Thread.start` is Python code, which an interrupt can leave half done.
            _thread.start_new_thread(_start_thread, (weakref.ref(self), self._stops, self._queue, self._serving))
        except RuntimeError:  # too many threads, or the interpreter is shutting down
            self._serve_here()

    def _serve_here(self) -> None:
        while True:
            try:
                ticket = self._queue.get_nowait()
            except Empty:
                return
            if ticket is not None:
                self._serve(ticket)

    def _serve(self, first: _Ticket[Any]) -> None:
        """Commit everything that waits, beginning with this ticket."""
        group, others = self._gather(first)
        try:
            if group:
                self._serve_group(group)
            for ticket in others:
                _finish_alone(ticket)
        finally:
            for ticket in (*group, *others):
                ticket.finish()

    def _gather(self, first: _Ticket[Any]) -> tuple[list[_Ticket[Any]], list[_Ticket[Any]]]:
        """Return the tickets of the next commit, and those to run alone after it."""
        group, alone = ([], [first]) if first.alone else ([first], [])
        while not alone and len(group) < self._max_group:
            try:
                ticket = self._take(wait=len(group) < self._expected)
            except Empty:
                break
            if ticket is None:  # the thread ends after this commit
                self._queue.put(None)
                break
            (alone if ticket.alone else group).append(ticket)
        return group, alone

    def _take(self, *, wait: bool) -> _Ticket[Any] | None:
        return self._queue.get(timeout=self._patience) if wait else self._queue.get_nowait()

    def _serve_group(self, group: list[_Ticket[Any]]) -> None:
        started = perf_counter()
        try:
            with self._turn():
                if begun := [ticket for ticket in group if ticket.begin()]:
                    self._commit_group(begun)
        except BaseException as error:  # noqa: BLE001 - the lock could not be taken: raised in each writer's thread
            for ticket in group:
                if ticket.begin():
                    ticket.error = error
        self._expected = min(len(group) + self._queue.qsize(), self._max_group)
        self._patience = min((perf_counter() - started) / 2, _LONGEST_GATHERING)

    def _commit_group(self, group: list[_Ticket[Any]]) -> None:
        try:
            results = self._commit([ticket.work for ticket in group])
        except BaseException as error:  # noqa: BLE001 - raised by `submit` in the thread that passed the work
            if len(group) > 1 and not isinstance(error, OutcomeUnknown):
                for ticket in group:
                    self._commit_group([ticket])
                return
            for ticket in group:
                ticket.error = error
        else:
            for ticket, result in zip(group, results, strict=True):
                ticket.succeed(result)


def _finish_alone(ticket: _Ticket[Any]) -> None:
    try:
        if ticket.begin():
            ticket.succeed(ticket.work())
    except BaseException as error:  # noqa: BLE001 - raised by `call` in the thread that passed the function
        ticket.error = error


def _start_thread(*arguments: Any) -> None:
    """Start the thread that commits, from a thread that no interrupt reaches."""
    thread = threading.Thread(target=_serve, args=arguments, name="memoranda-commits", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no room for one more: serve in this one
        _serve(*arguments)


def _serve(owner: weakref.ref[GroupCommit[Any, Any]], stops: int, queue: _Queue, serving: threading.Lock) -> None:
    """Commit until the queue says stop. Not a method: the thread must not keep its owner alive."""
    if not serving.acquire(blocking=False):
        return  # another thread was started at the same moment
    try:
        # Writers can start two threads at once. When the first has already been told to end, so has this one: nobody
        # would tell it again.
        if (group_commit := owner()) is None or group_commit._stops != stops:
            return
        del group_commit
        while (ticket := queue.get()) is not None and (group_commit := owner()) is not None:
            group_commit._serve(ticket)
            del group_commit, ticket
    finally:
        serving.release()

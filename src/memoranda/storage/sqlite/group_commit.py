"""Group commit: writers that arrive while a commit runs share the next one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Generic, TypeVar

from memoranda.errors import Unavailable

Work = TypeVar("Work")
Result = TypeVar("Result")
_LONGEST_WAIT = 0.001


class _Ticket(Generic[Work, Result]):
    __slots__ = ("error", "finished", "result", "work")

    def __init__(self, work: Work) -> None:
        self.work = work
        self.finished = False
        self.result: Result | None = None
        self.error: BaseException | None = None


class GroupCommit(Generic[Work, Result]):
    """Call `commit(works) -> results` with everything that is waiting, one call at a time.

    It has no thread of its own: the first writer to arrive commits for all that wait. When several wrote a moment ago,
    it waits for them as long as they keep arriving: one commit of eight is cheaper than two of four. A single writer
    never waits. When a shared commit fails, each work is committed alone, so that an error reaches only the caller
    that caused it.
    """

    def __init__(self, commit: Callable[[Sequence[Work]], list[Result]], max_group: int = 256) -> None:
        self._commit = commit
        self._max_group = max_group
        self._waiting: list[_Ticket[Work, Result]] = []
        self._group: list[_Ticket[Work, Result]] = []
        self._leader: _Ticket[Work, Result] | None = None
        # Always acquired directly: a condition acquires it in Python code, which an interrupt can leave locked.
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)
        self._gathered = threading.Condition(self._lock)
        self._expected = 1
        self._patience = 0.0

    def submit(self, work: Work) -> Result:
        """Return the result of the work once it is committed, or raise its error."""
        ticket: _Ticket[Work, Result] = _Ticket(work)
        try:
            self._enqueue(ticket)
            while group := self._await_turn(ticket):
                self._lead(group)
        except BaseException:  # an interrupt at any point: no other thread may be left waiting for this one
            self._withdraw(ticket)
            raise
        if ticket.error is not None:
            raise ticket.error
        return ticket.result  # type: ignore[return-value]

    def _enqueue(self, ticket: _Ticket[Work, Result]) -> None:
        with self._lock:
            self._waiting.append(ticket)
            if len(self._waiting) == self._expected:
                self._gathered.notify()

    def _await_turn(self, ticket: _Ticket[Work, Result]) -> list[_Ticket[Work, Result]]:
        """Return the group that this writer now commits; empty when another writer has committed its work."""
        with self._lock:
            while self._leader is not None and not ticket.finished:
                self._turn.wait()
            if ticket.finished:
                return []
            self._leader = ticket
            self._gather()
            self._group, self._waiting = self._waiting[: self._max_group], self._waiting[self._max_group :]
            return self._group

    def _gather(self) -> None:
        """Wait for the writers of the last commit, until no more arrive."""
        arrived = 0
        while arrived < len(self._waiting) < self._expected:
            arrived = len(self._waiting)
            self._gathered.wait(self._patience)

    def _lead(self, group: list[_Ticket[Work, Result]]) -> None:
        started = perf_counter()
        self._commit_group(group)
        with self._lock:
            self._expected = min(len(group) + len(self._waiting), self._max_group)
            self._patience = min((perf_counter() - started) / 2, _LONGEST_WAIT)
            self._step_down()

    def _withdraw(self, ticket: _Ticket[Work, Result]) -> None:
        """Take back a work whose commit has not begun, and stop leading."""
        with self._lock:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
            if self._leader is ticket:
                self._step_down()

    def _step_down(self) -> None:
        for ticket in self._group:
            if not ticket.finished:
                ticket.error = Unavailable(
                    "the commit was interrupted: read before you write again, it may have been written"
                )
                ticket.finished = True
        self._group = []
        self._turn.notify_all()
        self._leader = None  # last: after an interrupt before this line, all of the above runs again

    def _commit_group(self, group: list[_Ticket[Work, Result]]) -> None:
        try:
            results = self._commit([ticket.work for ticket in group])
        except Exception as error:  # noqa: BLE001 - raised by `submit` in the thread that passed the work
            if len(group) > 1:
                for ticket in group:
                    self._commit_group([ticket])
                return
            group[0].error = error
        else:
            for ticket, result in zip(group, results, strict=True):
                ticket.result = result
        for ticket in group:
            ticket.finished = True

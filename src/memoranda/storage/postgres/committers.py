"""The threads of a process that commit: one for all writers, and some for those whose owners are locked elsewhere.

Writers share commits. The first thread waits only a moment for the row of an owner that another process has locked. The
writers of that owner then go on in another thread, where they wait as long as they must; nobody else waits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from memoranda.errors import Unavailable
from memoranda.storage.base import Owner, Tenant, Work
from memoranda.storage.group_commit import GroupCommit

Commit: TypeAlias = "Callable[[Sequence[Request], float | None], list[Any]]"
"""Commits requests; the second argument is how long it may wait for the locks of others, None for as long as usual."""
_PATIENCE: Final = 0.1
_NAMED: Final = 3
"""How many owners a message names."""


class OwnersLocked(Unavailable):
    """Somebody else holds what a commit needs, so that it was given up for now: nothing was written."""


class Request:
    """A work to be committed, and the tenant whose rows it may see."""

    __slots__ = ("owners", "tenant", "work")

    def __init__(self, work: Work[Any], tenant: Tenant) -> None:
        self.work = work
        self.owners: frozenset[Owner] | None = getattr(work, "owners", None)
        self.tenant: Tenant = getattr(work, "tenant", None) if tenant is None else tenant


def owners_of(requests: Sequence[Request]) -> list[Owner] | None:
    """Return the owners that all requests together write for, ascending; None when one of them names none."""
    found: set[Owner] = set()
    for request in requests:
        if request.owners is None:
            return None
        found |= request.owners
    return sorted(found)


def describe_owners(owners: Sequence[Owner] | None) -> str:
    """Return whose rows a commit locks, for a message."""
    if not owners:
        return "what this write needs"
    names = [f"user {user!r} of tenant {tenant!r}" for tenant, user in owners[:_NAMED]]
    return f"the row of {' or '.join(names)}{' or of others' if len(owners) > _NAMED else ''}"


class Committers:
    """Commits requests in the threads of a process."""

    def __init__(self, commit: Commit, pool_size: int) -> None:
        # A thread that waits for a lock keeps a connection: half of them are left for all others.
        others = pool_size // 2
        self._first = _Committer(commit, _PATIENCE if others else None)
        self._others = [_Committer(commit, None) for _ in range(others)]
        self._locked: list[frozenset[Owner]] = []
        """The owners whose writers wait now. Each change is one call of a C function, which no interrupt can split."""

    def submit(self, request: Request) -> Any:
        """Return the result of a work once it is committed, or raise its error."""
        owners = request.owners
        if owners is None or owners not in self._locked:
            try:
                return self._first.group.submit(request)
            except OwnersLocked:
                assert owners is not None
        self._locked.append(owners)
        try:
            return self._others[hash(owners) % len(self._others)].group.submit(request)
        finally:
            self._locked.remove(owners)

    def stop(self, seconds: float) -> None:
        """End the threads after what was submitted so far; the next writer starts another."""
        for committer in (self._first, *self._others):
            committer.group.stop(seconds)


class _Committer:
    def __init__(self, commit: Commit, patience: float | None) -> None:
        self._commit = commit
        self._patience = patience
        self._owners: list[Owner] | None = None
        self.group: GroupCommit[Request, Any] = GroupCommit(self._commit_now, blocked_by=self._describe)

    def _commit_now(self, requests: Sequence[Request]) -> list[Any]:
        self._owners = owners_of(requests)
        return self._commit(requests, None if self._owners is None else self._patience)

    def _describe(self) -> str:
        return f"another transaction holds {describe_owners(self._owners)}"

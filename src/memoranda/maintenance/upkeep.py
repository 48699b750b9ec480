"""A memory that keeps itself: when asked, or again and again in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from memoranda.errors import Closed, InvalidInput, InvalidType, MemorandaError
from memoranda.llm.base import LLM, MeteredLLM
from memoranda.maintenance.base import DEFAULT_POLICIES, POLICIES, UpkeepSettings
from memoranda.results import PolicyName, UpkeepReport
from memoranda.types import Clock, Progress, Scope

if TYPE_CHECKING:
    from memoranda.embedding.vectors import Vectors
    from memoranda.maintenance.upkeep_run import Tending
    from memoranda.recall.accesses import AccessCounter
    from memoranda.remember.pipeline import RememberPipeline
    from memoranda.storage.base import Store


@dataclass(frozen=True, slots=True)
class UpkeepOrder:
    """What one call asks for."""

    scope: Scope
    policies: tuple[PolicyName, ...]
    settings: UpkeepSettings
    llm: LLM | None = None
    dry_run: bool = False


class Upkeep:
    """Upkeep of one tenant's memories; only one process does it at a time."""

    def __init__(
        self,
        tenant: str,
        store: Store,
        vectors: Vectors,
        remember: RememberPipeline,
        accesses: AccessCounter,
        compact: Callable[[], bool],
        *,
        clock: Clock,
        session_timeout: timedelta,
        short_term_ttl: timedelta,
        llm: LLM | None,
    ) -> None:
        self._tenant = tenant
        self._store = store
        self._vectors = vectors
        self._remember = remember
        self._accesses = accesses
        self._compact = compact
        self._clock = clock
        self._session_timeout = session_timeout
        self._short_term_ttl = short_term_ttl
        self._llm = llm
        self._schedule = Schedule()

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong in the background, one sentence each."""
        return self._schedule.problems

    def order(
        self, scope: Scope, policies: object, settings: UpkeepSettings | None, llm: LLM | None, dry_run: bool
    ) -> UpkeepOrder:
        """The arguments of a call, checked. Without settings, the manager's own session timeout holds."""
        chosen = settings or UpkeepSettings(session_timeout=self._session_timeout)
        return UpkeepOrder(scope, _check_policies(policies), chosen, llm or self._llm, dry_run)

    def run(
        self, order: UpkeepOrder, every: timedelta | float | None = None, progress: Progress | None = None
    ) -> UpkeepReport:
        """One run now; with `every`, and again after each such time, until the manager is closed."""
        if every is None:
            return self._once(order, progress)
        seconds = check_interval(every)
        self._schedule.start(seconds, lambda: self._in_background(order))
        return self._once(order, progress)

    def stop(self) -> None:
        """Ends what runs in the background."""
        self._schedule.stop()

    def _in_background(self, order: UpkeepOrder) -> tuple[str, ...]:
        return self._once(order, None).problems

    def _once(self, order: UpkeepOrder, progress: Progress | None) -> UpkeepReport:
        # SQLAlchemy comes with these; a program that only imports the package never waits for it.
        from memoranda.maintenance.forget import is_erasure_pending
        from memoranda.maintenance.upkeep_run import Tending, Tools
        from memoranda.maintenance.upkeep_store import Keeper

        self._accesses.write()
        keeper = Keeper(self._store, self._tenant, self._clock)
        meter = None if order.llm is None else MeteredLLM(order.llm)
        tools = Tools(
            keeper,
            self._vectors,
            order.settings,
            self._clock,
            meter,
            order.dry_run,
            self._remember,
            self._short_term_ttl,
        )
        tending = Tending(tools)
        if order.dry_run:
            return self._tended(tending, keeper.users(order.scope), order, progress)
        with keeper:
            if keeper.held_until is not None:
                reason = f"another upkeep of these memories is under way (its lease ends {keeper.held_until:%H:%M:%S})"
                return UpkeepReport(0, (), order.dry_run, skipped=reason)
            if is_erasure_pending(self._store):
                self._compact()
            return self._tended(tending, keeper.users(order.scope), order, progress)

    def _tended(
        self, tending: Tending, users: Sequence[str | None], order: UpkeepOrder, progress: Progress | None
    ) -> UpkeepReport:
        for done, user in enumerate(users, 1):
            tending.tend(replace(order.scope, user=user), order.policies)
            if progress is not None:
                progress(done, len(users))
        return UpkeepReport(
            tending.examined, tuple(tending.decisions), order.dry_run, tuple(tending.problems), usage=tending.usage
        )


def _check_policies(names: object) -> tuple[PolicyName, ...]:
    """The policies by name; when None, those that cost no recall."""
    if names is None:
        return DEFAULT_POLICIES
    known = ", ".join(POLICIES)
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InvalidType(f"policies must be a list of names: {known}")
    unknown = [name for name in names if name not in POLICIES]
    if unknown:
        raise InvalidInput(f"unknown policy {unknown[0]!r}: use some of {known}")
    return tuple(name for name in POLICIES if name in names)


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

"""Count which memories recall returns: in memory, written once a minute, so that a recall itself writes nothing."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from memoranda.errors import MemorandaError
from memoranda.fork_safety import register_fork_handler
from memoranda.storage.lifecycle import count_accesses
from memoranda.types import Clock

if TYPE_CHECKING:
    from memoranda.storage.base import Store

_log = logging.getLogger(__name__)
_WRITE_INTERVAL: Final = timedelta(minutes=1)
_MAX_PENDING: Final = 10_000


class AccessCounter:
    """Counts accesses per memory. A crash loses the counts of the last minute."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._start()
        register_fork_handler(self)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[int] = Counter()
        self._since: datetime | None = None

    def before_fork(self) -> None:
        """Do nothing: the parent process writes its own counts."""

    def after_fork(self, *, in_child: bool) -> None:
        """Start from zero in the child, or accesses would be counted twice."""
        if in_child:
            self._start()

    def record(self, ids: Iterable[int]) -> None:
        """Count one access for each id."""
        now = self._clock()
        with self._lock:
            self._counts.update(ids)
            self._since = self._since or now
            due = now - self._since >= _WRITE_INTERVAL or len(self._counts) >= _MAX_PENDING
        if due:
            self.write()

    def write(self) -> None:
        """Write the counts to the store; drop them with a warning when the store cannot be written."""
        with self._lock:
            counts, self._counts, self._since = self._counts, Counter(), None
        if not counts:
            return
        now = self._clock()
        try:
            self._store.write(lambda tx: count_accesses(tx, counts, now))
        except MemorandaError as error:
            _log.warning("accesses could not be written: %s", error)

"""Which memories recall has given out: counted in this process, written now and then, so that reading stays reading."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from memoranda.errors import MemorandaError
from memoranda.fork_safety import register_fork_handler
from memoranda.memories.lifecycle import count_accesses
from memoranda.types import Clock

if TYPE_CHECKING:
    from memoranda.storage.base import Store

_log = logging.getLogger(__name__)
_EVERY: Final = timedelta(minutes=1)
_MOST: Final = 10_000


class Accesses:
    """Counts what was given out. A crash loses the last minute of it, and no memory."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._start()
        register_fork_handler(self)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._times: Counter[int] = Counter()
        self._since: datetime | None = None

    def before_fork(self) -> None:
        """Nothing: the parent writes what it has counted."""

    def after_fork(self, *, in_child: bool) -> None:
        """The child counts from nought, or everything would be counted twice."""
        if in_child:
            self._start()

    def note(self, ids: Iterable[int]) -> None:
        """These were found just now."""
        now = self._clock()
        with self._lock:
            self._times.update(ids)
            self._since = self._since or now
            due = now - self._since >= _EVERY or len(self._times) >= _MOST
        if due:
            self.write()

    def write(self) -> None:
        """Brings the counts to the store; where it cannot be written to, they are dropped and the log says so."""
        with self._lock:
            times, self._times, self._since = self._times, Counter(), None
        if not times:
            return
        now = self._clock()
        try:
            self._store.write(lambda tx: count_accesses(tx, times, now))
        except MemorandaError as error:
            _log.warning("what was recalled could not be counted: %s", error)

"""Remove the bytes of deleted rows from the file, in short steps between which others write."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Final, Literal, TypeAlias

from sqlalchemy.exc import DBAPIError

from memoranda.errors import Closed, MemorandaError
from memoranda.storage import meta
from memoranda.storage.schema import ERASURE_PENDING
from memoranda.storage.sqlite import integrity, scrub
from memoranda.storage.sqlite.connections import Connections
from memoranda.storage.sqlite.transaction import (
    SQLiteTransaction,
    begin_write,
    bump_user_version,
    commit,
    truncate_log,
)
from memoranda.threads import Flag, start_thread

Progress: TypeAlias = Literal["done", "more", "busy", "others write"]
_VACUUM_BYTES: Final = 2 * 1024 * 1024
"""A file up to this size is written anew in one step, which also makes it smaller."""
_QUIET_SECONDS: Final = 1.0
"""A larger encrypted file, whose pages cannot be cleared one by one, is written anew once nobody has written for so
long: all others wait meanwhile."""
_LONGEST_DELAY: Final = 600.0
"""After so long it is written anew although others write."""
_STEP_SECONDS: Final = 0.05
"""How long one step looks at pages while others wait."""
_BUSY_MS: Final = 100
"""How long a step waits for readers of old pages."""
_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 30.0
_STOP_SECONDS: Final = 5.0

logger = logging.getLogger("memoranda")


class Compaction:
    """The state of one compaction, which goes through the file page by page."""

    def __init__(self, connections: Connections, in_turn: Callable[[Callable[[], Progress]], Progress]) -> None:
        self._connections = connections
        self._in_turn = in_turn
        self._page = 1
        self._erasure: str | None = None
        self._in_place = False
        self._sync_failed = False
        self._waiting_since: float | None = None
        self._quiet_since = 0.0
        self._stopped = Flag()
        self._thread: threading.Thread | None = None
        self.problem: str | None = None
        """Why the latest step failed; None when it did not."""

    def run(self, seconds: float) -> bool:
        """Compact for at most about so long; return whether it is done. If not, a thread goes on with it.

        What fails for now, such as a full disk, is tried again later; `problem` says what it was.
        """
        deadline = monotonic() + seconds
        while (progress := self.try_step()) != "done":
            if self.problem is not None or monotonic() > deadline:
                self._start_thread()
                return False
            if progress != "more":
                self._stopped.wait(_PAUSE if progress == "busy" else _QUIET_SECONDS / 4)
        return True

    def try_step(self) -> Progress:
        """Run one step between two commits."""
        try:
            progress = self._in_turn(self._step)
        except Closed:
            raise
        except MemorandaError as error:
            self.problem = f"erased bytes are still in the file, their removal is tried again: {error}"
            logger.warning("%s", self.problem)
            return "busy"
        self.problem = None
        return progress

    def stop(self) -> bool:
        """End the thread; return whether there was one."""
        self._stopped.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive():
            thread.join(_STOP_SECONDS)
        return thread is not None

    def resume(self) -> None:
        self._start_thread()

    def _start_thread(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        self._stopped = Flag()
        # A daemon that does not keep the store alive. What it leaves undone, the next start of the store finishes.
        arguments = (weakref.ref(self), self._stopped)
        self._thread = threading.Thread(target=_finish, args=arguments, name="memoranda-compaction", daemon=True)
        start_thread(self._thread)  # without a thread, the next start or upkeep finishes the work

    def _step(self) -> Progress:
        with self._connections.maintaining() as connection:
            tx = SQLiteTransaction(connection)
            erasure = meta.get_meta(tx, ERASURE_PENDING)
            if self._page == 1 or erasure != self._erasure:  # rows erased during a pass can lie before its page
                self._page, self._erasure = 1, erasure
            was_quiet = self._is_quiet()
            if not truncate_log(tx, _BUSY_MS):
                return "busy"
            file = self._connections.file.open_pages()
            if self._sync_failed:
                return self._write_anew(tx)
            if file is None:
                small = self._connections.path.stat().st_size <= _VACUUM_BYTES
                return self._write_anew(tx) if small or was_quiet else "others write"
            if file.count * file.size <= _VACUUM_BYTES and not self._in_place:
                with suppress(DBAPIError):
                    return self._write_anew(tx)
                self._connections.drop_writer()
                self._in_place = True  # no space to write it anew: the pages need none
                return "more"
            return self._clear_pages(tx, file)

    def _is_quiet(self) -> bool:
        """Return whether nobody has written for a while: every step empties the log, and every commit adds to it."""
        now = monotonic()
        if self._waiting_since is None:
            self._waiting_since = self._quiet_since = now
        if self._connections.log_size():
            self._quiet_since = now
        return now - self._quiet_since >= _QUIET_SECONDS or now - self._waiting_since >= _LONGEST_DELAY

    def _write_anew(self, tx: SQLiteTransaction) -> Progress:
        tx.driver_sql("VACUUM")
        if not truncate_log(tx, _BUSY_MS):
            return "busy"
        meta.set_meta(tx, integrity.PASSED, integrity.passed_note(self._connections.fetch))
        meta.delete_meta(tx, ERASURE_PENDING)
        self._sync_failed, self._waiting_since = False, None
        return "done"

    def _clear_pages(self, tx: SQLiteTransaction, file: scrub.PagesOfFile) -> Progress:
        """Clear pages for a while, then commit, so that every other connection reads them again before it writes."""
        deadline = monotonic() + _STEP_SECONDS
        begin_write(tx.driver)
        try:
            if self._connections.log_size():  # another program has written since the checkpoint
                return "busy"
            free, page = scrub.free_pages(file), self._page
            while page <= file.count:
                scrub.scrub_page(file, page, free)
                page += 1
                if monotonic() >= deadline:
                    break
            self._sync(file)
            done = page > file.count
            if done:
                meta.delete_meta(tx, ERASURE_PENDING)
            bump_user_version(tx.driver)
            commit(tx.driver)
            self._page = page  # not before: after a failure these pages are cleared again
        finally:
            self._connections.drop_writer()  # it has the pages in its cache as they were
        if done:
            self._page, self._in_place = 1, False
        return "done" if done else "more"

    def _sync(self, file: scrub.PagesOfFile) -> None:
        try:
            os.fsync(file.fd)
        except OSError:
            # The system may have dropped what it could not write, and a second sync would not say so.
            self._sync_failed = True
            raise


def _finish(owner: weakref.ref[Compaction], stopped: Flag) -> None:
    """Run steps until the file is clean. Not a method: the thread must not keep its owner alive."""
    pause = _PAUSE
    while not stopped.wait(pause):
        compaction = owner()
        if compaction is None:
            return
        try:
            progress = compaction.try_step()
        except Closed:
            return
        if progress == "done":
            return
        # As long a pause as a step, so that others get at least half of the time.
        pauses = {"more": _STEP_SECONDS, "others write": _QUIET_SECONDS / 4}
        pause = pauses.get(progress, min(2 * pause, _LONGEST_PAUSE))
        del compaction

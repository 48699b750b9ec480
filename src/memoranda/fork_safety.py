"""Calls registered objects before and after this process forks, so that parent and child share no open state."""

from __future__ import annotations

import logging
import os
import threading
from typing import Protocol
from weakref import WeakSet

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
        except Exception:  # noqa: BLE001 - a fork cannot be cancelled; `after_fork` has to cope with the state it finds
            _log.exception("could not prepare for a fork")


def _after_fork_in_parent() -> None:
    _resume(in_child=False)
    _guard.release()


def _after_fork_in_child() -> None:
    global _guard
    _guard = threading.Lock()
    _resume(in_child=True)


def _resume(*, in_child: bool) -> None:
    for handler in list(_handlers):
        handler.after_fork(in_child=in_child)


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)

"""What a fork must not split in two: it is told before this process forks, and after it in both halves."""

from __future__ import annotations

import logging
import os
import threading
from typing import Protocol
from weakref import WeakSet

_log = logging.getLogger(__name__)


class Forkable(Protocol):
    """Something of which parent and child must not share the insides."""

    def before_fork(self) -> None:
        """Brings itself into a state that may be copied."""

    def after_fork(self, *, in_child: bool) -> None:
        """Goes on; in the child no other thread is left, and what one of them held is held for ever."""


_known: WeakSet[Forkable] = WeakSet()
_guard = threading.Lock()  # held from before a fork until after it, so that no two threads fork at once


def tell_of_forks(what: Forkable) -> None:
    """Has it told of every fork, for as long as somebody else holds on to it."""
    with _guard:
        _known.add(what)


def _before() -> None:
    _guard.acquire()
    for each in list(_known):
        try:
            each.before_fork()
        except Exception:  # noqa: BLE001 - a fork cannot be called off; `after_fork` finds out how far this one came
            _log.exception("could not get ready for a fork")


def _after_in_parent() -> None:
    _go_on(in_child=False)
    _guard.release()


def _after_in_child() -> None:
    global _guard
    _guard = threading.Lock()
    _go_on(in_child=True)


def _go_on(*, in_child: bool) -> None:
    for each in list(_known):
        each.after_fork(in_child=in_child)


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)

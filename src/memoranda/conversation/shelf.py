"""Conversations by name: the same object as long as anybody uses it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from memoranda.conversation.memory import ConversationMemory

_Name = TypeVar("_Name")
_MOST_LATEST = 1000


class Shelf(Generic[_Name]):
    """One that is kept in this process stays for good, as nothing else holds its messages.

    Of those elsewhere the latest stay open, the others until their last user lets them go: a process does not grow
    with the users that it talks to.
    """

    def __init__(self) -> None:
        self._live: WeakValueDictionary[_Name, ConversationMemory] = WeakValueDictionary()
        self._for_good: dict[_Name, ConversationMemory] = {}
        self._latest: OrderedDict[_Name, ConversationMemory] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: _Name) -> ConversationMemory | None:
        return self._live.get(name)

    def hold(self, name: _Name, conversation: ConversationMemory) -> ConversationMemory:
        """The one of this name, now the latest: the first that was held, whoever else opened one meanwhile."""
        with self._lock:
            held = self._live.setdefault(name, conversation)
            self._for_good.pop(name, None)
            self._latest.pop(name, None)
            (self._for_good if held.in_memory else self._latest)[name] = held
            if len(self._latest) > _MOST_LATEST:
                self._latest.popitem(last=False)
            return held

    def items(self) -> list[tuple[_Name, ConversationMemory]]:
        return list(self._live.items())

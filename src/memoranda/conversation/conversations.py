"""The conversations of one manager: in this process, or in the store where the policy says `persistent`."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakValueDictionary

from memoranda.conversation.base import ListLog, MessageLog
from memoranda.conversation.memory import ConversationMemory
from memoranda.errors import Closed, InvalidInput
from memoranda.types import ANY, RetentionPolicy, Scope
from memoranda.validation import check_retention_policy

if TYPE_CHECKING:
    from memoranda.storage.base import Store


_PERSISTENT = RetentionPolicy.PERSISTENT


class Conversations:
    """One conversation for each scope, the same object as long as anybody uses it."""

    def __init__(
        self,
        tenant: str,
        policy: RetentionPolicy,
        max_messages: int | None,
        *,
        open_store: Callable[[], Store],
        is_store_open: Callable[[], bool],
    ) -> None:
        self._tenant = tenant
        self._open_store = open_store
        self._is_store_open = is_store_open
        self._default = policy
        self._max = max_messages
        self._policies: dict[str, RetentionPolicy] = {}
        self._shelf: Shelf[Scope] = Shelf()
        self._runs: Counter[str] = Counter()
        self._lock = threading.RLock()
        self._closed = False

    def get(self, scope: Scope) -> ConversationMemory:
        if scope == Scope(self._tenant):
            raise InvalidInput("whose conversation? Name an agent, a user or a session")
        with self._lock:
            if self._closed:
                raise Closed("this MemoryManager is closed: make a new one")
            conversation = self._shelf.get(scope)
            if conversation is None:
                policy = self._policies.get(scope.agent or "", self._default)
                conversation = ConversationMemory(self._max, policy, log=self._log(scope, policy))
            return self._shelf.hold(scope, conversation)

    def set_policy(self, agent: str, policy: str) -> None:
        """For this agent's conversations from now on; those that are open move."""
        wanted = check_retention_policy(policy)
        with self._lock:
            for scope, conversation in self._of(agent):
                if (wanted is _PERSISTENT) is (conversation.retention_policy == _PERSISTENT):
                    conversation.retention_policy = wanted
                else:
                    conversation.move_to(self._log(scope, wanted), wanted)
                    self._shelf.hold(scope, conversation)
            self._policies[agent] = wanted

    def clear(self, agent: str | None = None) -> None:
        """Empties the conversations of one agent, or all; the stored ones too once this manager uses the store."""
        with self._lock:
            if self._uses_store():
                from memoranda.conversation.stored import clear

                self._open_store().write(lambda tx: clear(tx, self._tenant, agent))
            for _, conversation in self._of(agent):
                if conversation.in_memory:
                    conversation.clear()

    def clear_scope(self, scope: Scope) -> None:
        """Empties the conversations in this process that the scope reaches; those in the store are rows of it."""
        with self._lock:
            for mine, conversation in self._of(scope.agent):
                whose = scope.user is ANY or mine.user == scope.user
                if conversation.in_memory and whose and scope.session in (None, mine.session):
                    conversation.clear()

    @contextmanager
    def run(self, agent: str, scope: Scope) -> Iterator[ConversationMemory]:
        """One run of an agent. Runs inside a run, or beside it, belong to it: the last one out ends it."""
        conversation = self.get(scope)
        with self._lock:
            self._runs[agent] += 1
        try:
            yield conversation
        finally:
            with self._lock:
                self._runs[agent] -= 1
                if not self._runs[agent]:
                    self.end_run(agent)

    def end_run(self, agent: str) -> None:
        """Empties this agent's conversations whose policy is `single_run`."""
        with self._lock:
            for _, conversation in self._of(agent):
                if conversation.retention_policy == RetentionPolicy.SINGLE_RUN:
                    conversation.clear()

    def close(self) -> None:
        """The conversations kept in this process are gone; the stored ones stay stored."""
        with self._lock:
            self._closed = True
            for _, conversation in self._of(None):
                if conversation.in_memory:
                    conversation.clear()

    def _of(self, agent: str | None) -> list[tuple[Scope, ConversationMemory]]:
        return [(scope, memory) for scope, memory in self._shelf.items() if agent is None or scope.agent == agent]

    def _log(self, scope: Scope, policy: RetentionPolicy) -> MessageLog:
        if policy is not _PERSISTENT:
            return ListLog()
        from memoranda.conversation.stored import StoredLog

        return StoredLog(self._open_store, scope)

    def _uses_store(self) -> bool:
        return self._is_store_open() or _PERSISTENT in (self._default, *self._policies.values())


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

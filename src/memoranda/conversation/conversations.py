"""The conversations of one manager: in this process, or in the store where the policy is `persistent`.

Stored conversations are imported at their first use: they load SQLAlchemy, which the remote client does without.
"""

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
_MAX_RECENT = 1000
_Key = TypeVar("_Key")


class Conversations:
    """One conversation for each scope: the same object as long as anybody uses it."""

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
        self._cache: ConversationCache[Scope] = ConversationCache()
        self._runs: Counter[str] = Counter()
        self._lock = threading.RLock()
        self._closed = False

    def get(self, scope: Scope) -> ConversationMemory:
        if scope == Scope(self._tenant):
            raise InvalidInput("Name an agent, a user or a session: a conversation belongs to at least one of them")
        with self._lock:
            if self._closed:
                raise Closed("this MemoryManager is closed: make a new one")
            conversation = self._cache.get(scope)
            if conversation is None:
                policy = self._policies.get(scope.agent or "", self._default)
                conversation = ConversationMemory(self._max, policy, log=self._create_log(scope, policy))
            return self._cache.add(scope, conversation)

    def set_policy(self, agent: str, policy: str) -> None:
        """Set the policy of an agent's conversations, open ones and future ones."""
        new_policy = check_retention_policy(policy)
        with self._lock:
            for scope, conversation in self._find(agent):
                if (new_policy is _PERSISTENT) is (conversation.retention_policy == _PERSISTENT):
                    conversation.retention_policy = new_policy
                else:
                    conversation.move_to(self._create_log(scope, new_policy), new_policy)
                    self._cache.add(scope, conversation)
            self._policies[agent] = new_policy

    def clear(self, agent: str | None = None) -> None:
        """Empty the conversations of one agent, or all; the stored ones too if this manager uses the store."""
        with self._lock:
            if self._is_store_open() or _PERSISTENT in (self._default, *self._policies.values()):
                from memoranda.conversation.stored import clear

                self._open_store().write(lambda tx: clear(tx, self._tenant, agent), tenant=self._tenant)
            self._clear_in_memory(self._find(agent))

    def clear_scope(self, scope: Scope) -> None:
        """Empty the conversations in this process that the scope covers. Stored ones are deleted with their rows."""
        with self._lock:
            covered = [
                (other, conversation)
                for other, conversation in self._find(scope.agent)
                if (scope.user is ANY or other.user == scope.user) and scope.session in (None, other.session)
            ]
            self._clear_in_memory(covered)

    @contextmanager
    def run(self, agent: str, scope: Scope) -> Iterator[ConversationMemory]:
        """Mark one run of an agent. Nested and parallel runs count as one, which ends with the last of them."""
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
        """Empty this agent's conversations with the policy `single_run`."""
        with self._lock:
            for _, conversation in self._find(agent):
                if conversation.retention_policy == RetentionPolicy.SINGLE_RUN:
                    conversation.clear()

    def close(self) -> None:
        """Empty the conversations in this process; the stored ones stay."""
        with self._lock:
            self._closed = True
            self._clear_in_memory(self._find(None))

    def _find(self, agent: str | None) -> list[tuple[Scope, ConversationMemory]]:
        return [(scope, memory) for scope, memory in self._cache.items() if agent is None or scope.agent == agent]

    def _clear_in_memory(self, conversations: list[tuple[Scope, ConversationMemory]]) -> None:
        for _, conversation in conversations:
            if conversation.in_memory:
                conversation.clear()

    def _create_log(self, scope: Scope, policy: RetentionPolicy) -> MessageLog:
        if policy is not _PERSISTENT:
            return ListLog()
        from memoranda.conversation.stored import StoredLog

        return StoredLog(self._open_store, scope)


class ConversationCache(Generic[_Key]):
    """Open conversations by key.

    Those in this process are kept for good, as nothing else holds their messages. Of the others, the most recently
    used are kept, the rest only while somebody uses them, so that a process does not grow with the number of users.
    """

    def __init__(self) -> None:
        self._open: WeakValueDictionary[_Key, ConversationMemory] = WeakValueDictionary()
        self._in_memory: dict[_Key, ConversationMemory] = {}
        self._recent: OrderedDict[_Key, ConversationMemory] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _Key) -> ConversationMemory | None:
        return self._open.get(key)

    def add(self, key: _Key, conversation: ConversationMemory) -> ConversationMemory:
        """Return the conversation of this key, now the most recently used: the first one added, if others raced."""
        with self._lock:
            cached = self._open.setdefault(key, conversation)
            self._in_memory.pop(key, None)
            self._recent.pop(key, None)
            (self._in_memory if cached.in_memory else self._recent)[key] = cached
            if len(self._recent) > _MAX_RECENT:
                self._recent.popitem(last=False)
            return cached

    def items(self) -> list[tuple[_Key, ConversationMemory]]:
        return list(self._open.items())

"""The conversations of one manager: in this process, or in the store where the policy says `persistent`."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoranda.conversation.base import MessageLog
from memoranda.conversation.log import ListLog
from memoranda.conversation.memory import ConversationMemory
from memoranda.conversation.retention import RetentionPolicy, retention_policy
from memoranda.conversation.shelf import Shelf
from memoranda.errors import Closed, InvalidInput
from memoranda.types import ANY, Scope

if TYPE_CHECKING:
    from memoranda.parts.foundation import Foundation
    from memoranda.storage.sqlite import SQLiteStore

_PERSISTENT = RetentionPolicy.PERSISTENT


class Conversations:
    """One conversation for each scope, the same object as long as anybody uses it."""

    def __init__(self, tenant: str, parts: Foundation, policy: RetentionPolicy, max_messages: int | None) -> None:
        self._tenant = tenant
        self._parts = parts
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
        self._parts.ensure_open()
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
        wanted = retention_policy(policy)
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
                from memoranda.storage.conversations import clear

                self._store().write(lambda connection, _: clear(connection, self._tenant, agent))
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
        from memoranda.storage.log import StoredLog

        return StoredLog(self._store, scope)

    def _uses_store(self) -> bool:
        return self._parts.engine is not None or _PERSISTENT in (self._default, *self._policies.values())

    def _store(self) -> SQLiteStore:
        return self._parts.open().store

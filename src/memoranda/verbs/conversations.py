"""An agent's conversation, and how long it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoranda.arguments import make_scope
from memoranda.text import clean_text
from memoranda.verbs.base import Verbs

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from memoranda.conversation.memory import ConversationMemory


class ConversationVerbs(Verbs):
    """Conversations by agent."""

    def get_memory(
        self, agent_name: str | None = None, *, user: str | None = None, session: str | None = None
    ) -> ConversationMemory:
        """The conversation of an agent, with a user or in a session where named: the same object at each call."""
        return self._parts.conversations.get(make_scope(self._tenant, agent_name, user, session))

    def clear_agent_memory(self, agent_name: str) -> None:
        """Empties an agent's conversations, the stored ones too once this manager uses the store."""
        self._parts.conversations.clear(clean_text(agent_name, "agent_name"))

    def clear_all(self) -> None:
        """Empties every conversation of this tenant, the stored ones too once this manager uses the store."""
        self._parts.conversations.clear()

    def set_retention_policy(self, agent_name: str, policy: str) -> None:
        """How long an agent's conversations are kept: single_run, session or persistent. Open ones move."""
        self._parts.conversations.set_policy(clean_text(agent_name, "agent_name"), policy)

    def run(self, agent_name: str) -> AbstractContextManager[ConversationMemory]:
        """One run of an agent, for `with`; when it ends, a `single_run` conversation is emptied."""
        name = clean_text(agent_name, "agent_name")
        return self._parts.conversations.run(name, make_scope(self._tenant, name))

    def end_run(self, agent_name: str) -> None:
        """Ends a run that no `with` marks: a `single_run` conversation is emptied."""
        self._parts.conversations.end_run(clean_text(agent_name, "agent_name"))

"""A context provider for Microsoft's Agent Framework: recalls before a run, remembers after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memoranda.errors import MissingExtra
from memoranda.integrations.managers import AsyncOpenedSource, Source, open_async

try:
    from agent_framework import ContextProvider, Message
except ModuleNotFoundError as error:
    raise MissingExtra("the Agent Framework adapter", "agent-framework") from error

if TYPE_CHECKING:
    from agent_framework import AgentSession, SessionContext, SupportsAgentRun

_ROLES = ("user", "assistant")
"""Whose words are remembered. Results of tools are left out: they can be asked for again."""


class MemorandaContextProvider(AsyncOpenedSource, ContextProvider):
    """Long-term memory of an agent, for `Agent(context_providers=[...])`.

    Before a run, it adds what earlier sessions say about the question; after it, it remembers what was said. One agent
    can serve many users: `session.state["memoranda"] = {"user": "ann"}` names the user of a session.
    """

    def __init__(
        self,
        memory: Source = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        budget: int = 1500,
        source_id: str = "memoranda",
    ) -> None:
        """Create a provider.

        Args:
            memory: The manager, or the path or URL of the database; None for the settings of the environment.
            user: Whose memory it is, unless the state of a session names another user.
            agent: The agent that the memories belong to; None for memories of every agent.
            budget: The maximum number of tokens of the recalled text.
            source_id: The name of the provider in Agent Framework, and of its state in a session.
        """
        super().__init__(source_id)
        self.memory, self._owns_memory = open_async(memory)
        self.user = user
        self.agent = agent
        self.budget = budget

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add what memory says about the new messages of the user, as a message that is marked as data."""
        question = "\n".join(text for role, text, _ in _spoken(context.input_messages) if role == "user")
        if not question:
            return
        found = await self.memory.context(question, user=self._user(state), agent=self.agent, budget=self.budget)
        if found:
            sessions = [hit.session for hit in found.hits if hit.session]
            context.extend_messages(self, [Message("user", [str(found)])], origin_session_ids=sessions)

    async def after_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Remember what the user and the agent said in this run."""
        answers = context.response.messages if context.response else ()
        spoken = [*_spoken(context.input_messages), *_spoken(answers)]
        if spoken:
            messages = [{"role": role, "content": text, "name": name} for role, text, name in spoken]
            await self.memory.remember(messages, user=self._user(state), agent=self.agent, session=context.session_id)

    def _user(self, state: Mapping[str, Any]) -> str | None:
        user: str | None = state.get("user", self.user)
        return user


def _spoken(messages: Iterable[Message]) -> list[tuple[str, str, str | None]]:
    """Return role, text and speaker of what was said in words."""
    return [
        (message.role, message.text, message.author_name)
        for message in messages
        if message.role in _ROLES and message.text.strip()
    ]

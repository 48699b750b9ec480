"""Whose memory a door serves: set when it is opened, never by the model that uses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from memoranda.types import DEFAULT_TENANT


class ScopeArguments(TypedDict):
    """A scope as the manager's arguments."""

    agent: str | None
    user: str | None
    session: str | None


@dataclass(frozen=True, slots=True)
class Whose:
    """The tenant, user, agent and session whose memories the tools read and write."""

    tenant: str = DEFAULT_TENANT
    user: str | None = None
    agent: str | None = None
    session: str | None = None

    def scope(self, session: str | None = None) -> ScopeArguments:
        """The scope of one call; a session may be named only where the door has none of its own."""
        return {"agent": self.agent, "user": self.user, "session": self.session or session}

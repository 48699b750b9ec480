"""Decide whose word a text is, by its source: its trust, and the channel as which it is screened. Pure."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Channel: TypeAlias = Literal["user", "agent", "outside"]
"""Who wrote a text: the user, an agent, or something outside: a tool, a document, a web page."""
_USER_SOURCES: Final = frozenset(("user", "user_input", "conversation", "chat", "chat import"))
_AGENT_SOURCES: Final = frozenset(("agent", "assistant", "note", "notes"))
"""Sources of an agent's own notes, as `save_to_memory` writes them."""
_UPKEEP_SOURCES: Final = frozenset(("summary", "upkeep"))
"""Sources that upkeep writes: a document's trust, but an agent's text."""


def trust_of_source(source: str | None, session: str | None = None) -> str:
    """Return the trust of a text by its source: the user's without one, or if it is the session itself."""
    folded = (source or "").casefold()
    if source is None or source == session or folded in _USER_SOURCES:
        return "user"
    return "assistant" if folded in _AGENT_SOURCES else "document"


def find_channel(trust: str, source: str | None, session: str | None = None) -> Channel:
    """Return who wrote a text: the user where trust and source are the user's, an agent, or else somebody outside."""
    if trust == "user":
        trust = trust_of_source(source, session)
    is_agent = trust in ("assistant", "agent") or (source or "").casefold() in _UPKEEP_SOURCES
    return "user" if trust == "user" else "agent" if is_agent else "outside"

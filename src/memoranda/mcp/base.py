"""The owner whose memories the tools use, and the groups of tools. The extra is not needed to import them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

from memoranda.errors import InvalidInput
from memoranda.types import DEFAULT_TENANT

TOOL_GROUPS: Final = {
    "core": ("remember", "recall", "context", "list", "update", "forget"),
    "facts": ("facts", "conflicts", "history", "replay"),
    "quarantine": ("quarantine", "discard"),
    "connector": ("search", "fetch"),
    "sessions": ("session_say", "session_history", "session_end"),
    "graph": (
        "create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations",
        "delete_relations", "read_graph", "search_nodes", "open_nodes",
    ),
}  # fmt: skip
"""The tools by the group that `--tools` can name. A model reads every definition, so only the core is on by default."""


class OwnerArguments(TypedDict):
    """An owner as arguments of the manager's methods."""

    agent: str | None
    user: str | None
    session: str | None


@dataclass(frozen=True, slots=True)
class Owner:
    """The tenant, user, agent and session whose memories the tools read and write."""

    tenant: str = DEFAULT_TENANT
    user: str | None = None
    agent: str | None = None
    session: str | None = None

    def arguments(self, session: str | None = None) -> OwnerArguments:
        """Return the scope of one call; `session` counts only where the owner has none."""
        return {"agent": self.agent, "user": self.user, "session": self.session or session}


def choose_tools(wanted: str | Sequence[str]) -> frozenset[str]:
    """Return the names of the tools that are named by themselves or by a group; "all" names all of them."""
    known = {name for group in TOOL_GROUPS.values() for name in group}
    parts = wanted.split(",") if isinstance(wanted, str) else wanted
    names = [part.strip().lower() for part in parts if part.strip()]
    unknown = [name for name in names if name not in known and name not in TOOL_GROUPS and name != "all"]
    if unknown or not names:
        raise InvalidInput(
            f"{', '.join(unknown) or 'an empty list'} names no tools: use all, {', '.join(TOOL_GROUPS)}, "
            f"or names of tools: {', '.join(sorted(known))}"
        )
    # Where a group has the name of one of its tools, the group is meant.
    chosen = {tool for name in names for tool in TOOL_GROUPS.get(name, (name,))}
    return frozenset(known if "all" in chosen else chosen)

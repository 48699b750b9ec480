"""What the sessions of one workflow share in a value store: who is in it, and what was said.

All of it lies under the workflow's own namespace, one key each, so that several processes can add to it
without reading it first:

    member:<session>        a session that is open, with what it has done; renewed at every use, else it expires
    left:<session>          what a session had done when it ended while others went on
    said:<time>:<session>   a message; the keys sort as the messages were said
    kept                    the last one out left the data on purpose
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast

from memoranda.errors import InvalidInput
from memoranda.messages.message import Message
from memoranda.results import SessionMessage, SessionSummary
from memoranda.sessions.base import Namespace, ValueStore, Workflow
from memoranda.text import clean_text
from memoranda.types import JSON
from memoranda.validation import copy_json_object

_MEMBER: Final = "member:"
_LEFT: Final = "left:"
_SAID: Final = "said:"
_KEPT: Final = "kept"
REGISTER_SLACK: Final = 0.25
"""The register is renewed less often than the session: it may count an idle one for this part of the timeout."""
_TRIM_EVERY: Final = 16
"""Messages of one session between two looks at whether old ones must go; reading never shows more than the limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how much."""

    timeout: float
    """Seconds that a session may go unused."""
    max_messages: int


@dataclass(slots=True)
class Presence:
    """One session's part in its workflow."""

    session_id: str
    opened_at: datetime
    metadata: dict[str, JSON]
    agents: dict[str, dict[str, int]] = field(default_factory=dict)
    """For each agent, how often it did what."""

    def count(self, agent: str, deed: str) -> None:
        done = self.agents.setdefault(agent, {})
        done[deed] = done.get(deed, 0) + 1

    def to_json(self) -> JSON:
        agents = cast("dict[str, JSON]", self.agents)
        return {"opened_at": self.opened_at.isoformat(), "metadata": self.metadata, "agents": agents}

    @classmethod
    def from_json(cls, session_id: str, value: Any) -> Presence:
        return cls(session_id, datetime.fromisoformat(value["opened_at"]), value["metadata"], value["agents"])


class Room:
    """One workflow's shared data."""

    def __init__(self, store: ValueStore, tenant: str, workflow: str, limits: Limits) -> None:
        self._store = store
        self._tenant = tenant
        self._workflow = workflow
        self._limits = limits
        self._whole = Workflow(tenant, workflow)
        self._own = Namespace(tenant, workflow)
        # Outside of every workflow and agent: one key an open session, so that they can be counted.
        self._register = Namespace(tenant)
        self._since_trim = 0

    def agent(self, name: str) -> Namespace:
        """Where an agent's values lie in this workflow."""
        return Namespace(self._tenant, self._workflow, name)

    def values(self, agent: str, key: str) -> dict[str, JSON]:
        return self._store.get(self.agent(agent), [key])

    def set_value(self, agent: str, key: str, value: JSON, ttl: float | None) -> None:
        self._store.set(self.agent(agent), {key: value}, ttl=ttl)

    def drop_leftovers(self) -> None:
        """Removes what a session left that was never ended: it went idle, or its process died."""
        # Counted first: a workflow that is new to this store is never cleared, whoever else is opening it.
        if self._store.count(self._whole) and not self._is_in_use():
            self._store.clear(self._whole)

    def _is_in_use(self) -> bool:
        return any(key.startswith(_MEMBER) or key == _KEPT for key in self._store.keys(self._own))

    def enter(self, presence: Presence) -> None:
        self.register(presence)
        self.renew(presence)

    def renew(self, presence: Presence) -> None:
        """Says that the session is in use, and what it has done up to now."""
        self._store.set(self._own, {_MEMBER + presence.session_id: presence.to_json()}, ttl=self._limits.timeout)

    def register(self, presence: Presence) -> None:
        """Puts the session, or keeps it, among those that are counted."""
        lifetime = self._limits.timeout * (1 + REGISTER_SLACK)
        self._store.set(self._register, {presence.session_id: self._workflow}, ttl=lifetime)

    def holds(self, presence: Presence) -> bool:
        """Whether the session is still open: not idle for too long, and not cleared."""
        return bool(self._store.get(self._own, [_MEMBER + presence.session_id]))

    def leave(self, presence: Presence, *, clean_up: bool) -> None:
        """Takes a session out; the last one out clears the workflow, or leaves it as it is."""
        self._store.delete(self._register, [presence.session_id])
        self._store.delete(self._own, [_MEMBER + presence.session_id])
        others = any(key.startswith(_MEMBER) for key in self._store.keys(self._own))
        if others or not clean_up:
            self._store.set(self._own, {_LEFT + presence.session_id: presence.to_json()})
        if others:
            return
        if clean_up:
            self._store.clear(self._whole)
        else:
            self._store.set(self._own, {_KEPT: True})

    def presences(self) -> list[Presence]:
        """The sessions of this workflow, open ones and those that have left, in the order they were opened."""
        keys = [key for key in self._store.keys(self._own) if key.startswith((_MEMBER, _LEFT))]
        found = self._store.get(self._own, keys) if keys else {}
        known = [Presence.from_json(key.partition(":")[2], value) for key, value in found.items()]
        return sorted(known, key=lambda each: (each.opened_at, each.session_id))

    def open_sessions(self) -> list[str]:
        return [key.removeprefix(_MEMBER) for key in self._store.keys(self._own) if key.startswith(_MEMBER)]

    def say(self, moment: int, session_id: str, message: Mapping[str, JSON]) -> None:
        """Adds a message said at `moment`, in microseconds; nobody else may use the same one."""
        self._store.set(self._own, {f"{_SAID}{moment:020d}:{session_id}": dict(message)})
        self._since_trim += 1
        if self._since_trim >= _TRIM_EVERY:
            self._since_trim = 0
            self._trim()

    def history(self, limit: int | None) -> list[dict[str, Any]]:
        """The latest messages, oldest first."""
        most = min(limit or self._limits.max_messages, self._limits.max_messages)
        keys = self._said()[-most:]
        found = self._store.get(self._own, keys) if keys else {}
        return [cast("dict[str, Any]", message) for message in found.values()]

    def clear(self) -> bool:
        """Removes the workflow's data and ends its sessions; whether there was anything."""
        open_sessions = self.open_sessions()
        if open_sessions:
            self._store.delete(self._register, open_sessions)
        return self._store.clear(self._whole) > 0

    def _said(self) -> list[str]:
        return [key for key in self._store.keys(self._own) if key.startswith(_SAID)]

    def _trim(self) -> None:
        too_old = self._said()[: -self._limits.max_messages]
        if too_old:
            self._store.delete(self._own, too_old)


def count_open(store: ValueStore, tenant: str) -> int:
    """How many sessions of a tenant are open, in all processes that share the store."""
    return store.count(Namespace(tenant))


MESSAGE: Final = "messages"
SAVE: Final = "saves"
READ: Final = "reads"
EXECUTION: Final = "executions"


def make_message(agent: object, role: str, content: object, now: datetime, metadata: object) -> SessionMessage:
    """A message, checked."""
    if not Message.is_valid_role(role):
        raise InvalidInput(f"unknown role {role!r}: use system, user, assistant or tool")
    text, extra = clean_text(content), copy_json_object(metadata, "metadata")
    return SessionMessage(clean_text(agent, "agent_id"), role, text, now, extra)


def summarize(
    workflow: str, session_id: str, presences: Iterable[Presence], now: datetime, *, ended: bool = False
) -> SessionSummary:
    """One summary of all that took part."""
    parts = sorted(presences, key=lambda each: each.opened_at)
    activity: dict[str, dict[str, int]] = {}
    metadata: dict[str, JSON] = {}
    for part in parts:
        metadata |= part.metadata
        for agent, deeds in part.agents.items():
            total = activity.setdefault(agent, {})
            total.update({deed: total.get(deed, 0) + count for deed, count in deeds.items()})
    opened_at = min((part.opened_at for part in parts), default=now)
    return SessionSummary(
        workflow_id=workflow,
        session_id=session_id,
        metadata=metadata,
        agents=tuple(sorted(activity)),
        activity=activity,
        interactions=sum(sum(deeds.values()) for deeds in activity.values()),
        messages=_total(activity, MESSAGE),
        executions=_total(activity, EXECUTION),
        sessions=len(parts),
        opened_at=opened_at,
        ended_at=now if ended else None,
        duration_seconds=(now - opened_at).total_seconds(),
    )


def _total(activity: Mapping[str, Mapping[str, int]], deed: str) -> int:
    return sum(deeds.get(deed, 0) for deeds in activity.values())

"""What sessions tell: their messages, and a summary of what took place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from memoranda.errors import InvalidInput
from memoranda.jsonvalue import copy_json_object
from memoranda.messages.message import Message
from memoranda.session.room import Presence
from memoranda.text import clean_text
from memoranda.types import JSON, Record

MESSAGE: Final = "messages"
SAVE: Final = "saves"
READ: Final = "reads"
EXECUTION: Final = "executions"


@dataclass(frozen=True, slots=True)
class SessionMessage(Record):
    """One message of a workflow's conversation."""

    agent_id: str
    role: str
    content: str
    timestamp: datetime
    metadata: dict[str, JSON]

    def to_json(self) -> dict[str, JSON]:
        return {
            "agent_id": self.agent_id,
            "role": self.role,
            "content": self.content,
            "timestamp": self.timestamp.isoformat(),
            "metadata": self.metadata,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SessionMessage:
        said_at = datetime.fromisoformat(value["timestamp"])
        return cls(value["agent_id"], value["role"], value["content"], said_at, value["metadata"])


def make_message(agent: object, role: str, content: object, now: datetime, metadata: object) -> SessionMessage:
    """A message, checked."""
    if not Message.is_valid_role(role):
        raise InvalidInput(f"unknown role {role!r}: use system, user, assistant or tool")
    text, extra = clean_text(content), copy_json_object(metadata, "metadata")
    return SessionMessage(clean_text(agent, "agent_id"), role, text, now, extra)


@dataclass(frozen=True, slots=True)
class SessionSummary(Record):
    """What took place in a workflow's sessions."""

    workflow_id: str
    session_id: str
    """The session that was asked."""
    metadata: dict[str, JSON]
    """Of all sessions; where they differ, the one opened last counts."""
    agents: tuple[str, ...]
    activity: dict[str, dict[str, int]]
    """For each agent, how often it saved, read, spoke and recorded an execution."""
    interactions: int
    """All of that together."""
    messages: int
    executions: int
    sessions: int
    """How many sessions took part."""
    opened_at: datetime
    ended_at: datetime | None
    duration_seconds: float

    _aliases = ("duration",)

    @property
    def duration(self) -> float:
        """Seconds from the first opening to the end, or to now."""
        return self.duration_seconds


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

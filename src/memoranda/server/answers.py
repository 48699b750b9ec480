"""What the REST door gives back beside the manager's own values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memoranda.types import Hit, Memory


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Memories in the order of their ids, and where the next ones begin."""

    items: list[Memory]
    next_cursor: str | None
    """Send it as `cursor`; null when these were the last."""


@dataclass(frozen=True, slots=True)
class ContextText:
    """Recalled text for a prompt, and what it is made of."""

    text: str
    hits: list[Hit]
    left_out: int
    tokens: int
    recall_id: str
    answerable: float
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A value that was kept under a key; null when there is none."""

    value: Any


@dataclass(frozen=True, slots=True)
class Done:
    """How many were touched."""

    count: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as a whole."""

    size: int
    max_messages: int | None
    retention_policy: str


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages, oldest first, each as `Message.to_dict()` gives it."""

    messages: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """A session that is open; its id is part of the addresses of what it does."""

    session_id: str
    workflow_id: str
    metadata: dict[str, Any]
    auto_cleanup: bool | None


@dataclass(frozen=True, slots=True)
class RecordId:
    """The id of an execution record that is on disk."""

    id: str


@dataclass(frozen=True, slots=True)
class Alive:
    """The server answers."""

    status: str

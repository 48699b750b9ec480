"""`SessionContext`: a workflow's own memory, from its opening to its end."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Protocol, Self

from memoranda.errors import Closed, MemorandaError
from memoranda.results import SessionMessage, SessionSummary
from memoranda.sessions.base import is_short_term
from memoranda.sessions.workflow_state import (
    EXECUTION,
    MESSAGE,
    READ,
    REGISTER_SLACK,
    SAVE,
    Presence,
    Room,
    make_message,
    summarize,
)
from memoranda.text import clean_text
from memoranda.types import JSON, Clock, MemoryType
from memoranda.validation import check_integer


class Backing(Protocol):
    """What outlives a session: values for good, the audit trail, and the note that the session took place."""

    def save_value(self, agent: str, key: str, value: JSON, workflow: str) -> None: ...

    def value(self, agent: str, key: str, workflow: str) -> JSON: ...

    def save_execution(self, agent: str, record: Mapping[str, JSON], workflow: str, session: str) -> str: ...

    def note_end(self, workflow: str, presence: Presence, now: datetime) -> None: ...


@dataclass(frozen=True, slots=True)
class Desk:
    """What all sessions of one manager have in common."""

    clock: Clock
    timeout: timedelta
    backing: Backing
    moments: Moments
    door: threading.Lock
    """Held while a session comes or goes, so that two of one process cannot miss each other."""


class Moments:
    """Microseconds that only ever grow, so that messages keep their order when the clock stands still."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0
        self._lock = threading.Lock()

    def next(self) -> int:
        now = self._clock()
        micros = int(now.timestamp()) * 1_000_000 + now.microsecond
        with self._lock:
            self._last = max(micros, self._last + 1)
            return self._last


class SessionContext:
    """What the agents of one workflow do together; its short-term data goes with it.

    Made by `create_session`. Safe to share between threads. Every use keeps it open for another
    `MEMORY_SESSION_TIMEOUT` seconds; after that, and after `end_session`, it raises `Closed`.
    """

    def __init__(self, workflow_id: str, room: Room, presence: Presence, desk: Desk, *, auto_cleanup: bool) -> None:
        self.workflow_id = workflow_id
        self.auto_cleanup = auto_cleanup
        self._room = room
        self._me = presence
        self._desk = desk
        self._lock = threading.RLock()
        self._seen_at = self._registered_at = presence.opened_at
        self._final: SessionSummary | None = None
        with desk.door:
            room.drop_leftovers()
            room.enter(presence)

    @property
    def session_id(self) -> str:
        """The name of this session, as execution records carry it."""
        return self._me.session_id

    @property
    def metadata(self) -> dict[str, JSON]:
        return dict(self._me.metadata)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.end_session()
        except MemorandaError as failure:
            if error is None:
                raise
            # What went wrong first is what the caller must see.
            error.add_note(f"and session {self.workflow_id!r} could not be cleaned up: {failure}")

    def save_agent_memory(
        self,
        agent_id: str,
        key: str,
        value: JSON,
        memory_type: MemoryType | str = MemoryType.SHORT_TERM,
        ttl: float | None = None,
    ) -> bool:
        """True once the value is stored: short-term until the session ends, long-term for good."""
        if is_short_term(memory_type, ttl):
            with self._lock:
                self._ensure_open()
                self._room.set_value(agent_id, key, value, ttl)
                self._used(agent_id, SAVE)
            return True
        self._ensure_open()
        self._desk.backing.save_value(agent_id, key, value, self.workflow_id)
        self._used(agent_id, SAVE)
        return True

    def retrieve_agent_memory(
        self, agent_id: str, key: str, memory_type: MemoryType | str = MemoryType.SHORT_TERM
    ) -> JSON:
        """The value saved in this workflow; None when there is none."""
        short = is_short_term(memory_type)
        with self._lock:
            self._ensure_open()
            found = self._room.values(agent_id, key).get(key) if short else None
            self._used(agent_id, READ)
        return found if short else self._desk.backing.value(agent_id, key, self.workflow_id)

    def add_conversation_message(
        self, agent_id: str, role: str, content: str, metadata: Mapping[str, JSON] | None = None
    ) -> SessionMessage:
        """The message as it stands in the workflow's conversation."""
        extra = None if metadata is None else dict(metadata)
        message = make_message(agent_id, role, content, self._desk.clock(), extra)
        with self._lock:
            self._ensure_open()
            self._room.say(self._desk.moments.next(), self.session_id, message.to_json())
            self._used(agent_id, MESSAGE)
        return message

    def get_conversation_history(self, limit: int | None = None) -> list[SessionMessage]:
        """The latest messages of all agents in the order they were said."""
        most = None if limit is None else check_integer(limit, "limit")
        with self._lock:
            self._ensure_open()
            found = self._room.history(most)
            self._renew()
        return [SessionMessage.from_json(message) for message in found]

    def save_execution_record(self, agent_id: str, record: Mapping[str, JSON]) -> str:
        """The id of the record in the audit trail, which names this workflow and session."""
        self._ensure_open()
        record_id = self._desk.backing.save_execution(agent_id, record, self.workflow_id, self.session_id)
        self._used(agent_id, EXECUTION)
        return record_id

    def get_session_summary(self) -> SessionSummary:
        """Who took part, how much was done, since when; over all sessions of this workflow."""
        with self._lock:
            self._ensure_open()
            self._renew()
            return self._summary(ended=False)

    def end_session(self) -> SessionSummary:
        """The last summary. The workflow's short-term data goes when its last session ends; may be called twice."""
        with self._lock:
            if self._final is None:
                summary = self._summary(ended=True)
                try:
                    if self._me.agents:
                        self._desk.backing.note_end(self.workflow_id, self._me, self._desk.clock())
                finally:
                    with self._desk.door:
                        self._room.leave(self._me, clean_up=self.auto_cleanup)
                self._final = summary
            return self._final

    def _summary(self, *, ended: bool) -> SessionSummary:
        others = [each for each in self._room.presences() if each.session_id != self.session_id]
        return summarize(self.workflow_id, self.session_id, [*others, self._me], self._desk.clock(), ended=ended)

    def _ensure_open(self) -> None:
        if self._final is not None:
            raise Closed(f"session {self.workflow_id!r} has ended: open it again with create_session()")
        with self._lock:
            if self._room.holds(self._me):
                return
            if self._me.agents or self._idle():
                raise Closed(
                    f"session {self.workflow_id!r} has ended: it was cleared, or not used for "
                    f"{self._desk.timeout.total_seconds():g} seconds (MEMORY_SESSION_TIMEOUT); "
                    "open it again with create_session()"
                )
            # Cleared by the last one out while we came in: we had nothing there yet, so nothing is lost.
            self._room.enter(self._me)

    def _idle(self) -> bool:
        return self._desk.clock() - self._seen_at >= self._desk.timeout

    def _used(self, agent: str, deed: str) -> None:
        with self._lock:
            if self._final is not None:
                return
            self._me.count(clean_text(agent, "agent_id"), deed)
            self._renew()

    def _renew(self) -> None:
        self._room.renew(self._me)
        self._seen_at = self._desk.clock()
        if self._seen_at - self._registered_at > self._desk.timeout * REGISTER_SLACK:
            self._room.register(self._me)
            self._registered_at = self._seen_at

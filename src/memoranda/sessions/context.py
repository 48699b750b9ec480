"""`SessionContext`, the shared memory of one workflow, and `Sessions`, which opens them for a manager."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from memoranda.errors import Closed, InvalidInput, InvalidType, MemorandaError
from memoranda.messages.message import Message, VendorMessage, check_role
from memoranda.messages.parsing import vendor_text
from memoranda.results.workflows import SessionMessage, SessionSummary
from memoranda.sessions.base import is_short_term
from memoranda.sessions.workflow_state import (
    EXECUTION,
    MESSAGE,
    READ,
    REGISTER_SLACK,
    SAVE,
    SessionRecord,
    WorkflowState,
    count_open,
    find_all_open,
    find_open,
    summarize_sessions,
)
from memoranda.text.checks import clean_text
from memoranda.types import JSON, Clock, MemoryType
from memoranda.validation import (
    check_integer,
    check_limit,
    check_name,
    check_offset,
    copy_json,
    copy_json_object,
    encode_json,
)

if TYPE_CHECKING:
    from memoranda.executions.executions import Executions
    from memoranda.sessions.base import ValueStore
    from memoranda.sessions.database import SessionLog
    from memoranda.sessions.values import Values
    from memoranda.settings import MemoryConfig

_MAX_METADATA = 50_000
"""Characters. The metadata is written again at every use of the session."""
_ACTIONS: Final = {SAVE: "save", READ: "retrieve", MESSAGE: "message", EXECUTION: "execution"}
"""How each counted action is called in `agent_interactions`: as the method that counts it."""


class SessionManager(Protocol):
    """A `MemoryManager`, as a session needs it."""

    _components: Any


def list_interactions(summary: SessionSummary) -> list[dict[str, str]]:
    """Return each thing that an agent did, by the counts of a summary."""
    return [
        {"agent_id": agent, "action": _ACTIONS.get(action, action)}
        for agent, actions in summary.activity.items()
        for action, count in actions.items()
        for _ in range(count)
    ]


class SessionContext:
    """The shared messages, values and records of the agents of one workflow; its short-term data ends with it.

    Created like `create_session`, with the same arguments. Safe to share between threads. Every use keeps it open for
    another `MEMORY_SESSION_TIMEOUT` seconds; after that, and after `end_session`, every call raises `Closed`.
    """

    def __init__(
        self,
        workflow_id: str,
        memory_manager: SessionManager,
        metadata: Mapping[str, JSON] | None = None,
        auto_cleanup: bool | None = None,
    ) -> None:
        sessions: Sessions = memory_manager._components.sessions
        state, record = sessions.prepare(workflow_id, metadata, auto_cleanup)
        self._open(workflow_id, state, record, sessions)

    @classmethod
    def _join(cls, workflow_id: str, state: WorkflowState, record: SessionRecord, sessions: Sessions) -> Self:
        """Return a session that is open already, for this process."""
        session = cls.__new__(cls)
        session._open(workflow_id, state, record, sessions)
        return session

    def _open(self, workflow_id: str, state: WorkflowState, record: SessionRecord, sessions: Sessions) -> None:
        self.workflow_id = workflow_id
        self.auto_cleanup = record.auto_cleanup
        self._state = state
        self._record = record
        self._sessions = sessions
        self._lock = threading.RLock()
        self._used_at = self._registered_at = record.opened_at
        self._final: SessionSummary | None = None
        if record.process is not None:
            state.register(record)
            return
        with sessions.lock:
            state.clear_abandoned()
            state.join(record)

    @property
    def session_id(self) -> str:
        """The id of this session, as in execution records."""
        return self._record.session_id

    @property
    def metadata(self) -> dict[str, JSON]:
        return dict(self._record.metadata)

    @property
    def is_active(self) -> bool:
        """Whether it has neither ended nor been cleared."""
        with self._lock:
            return self._final is None and self._state.is_open(self._record)

    @property
    def started_at(self) -> datetime:
        return self._record.opened_at

    @property
    def ended_at(self) -> datetime | None:
        """When `end_session` was called; None while it has not been."""
        return None if self._final is None else self._final.ended_at

    @property
    def active_agents(self) -> list[str]:
        """The agents that did something in the workflow."""
        return list(self._latest_summary().active_agents)

    @property
    def agent_interactions(self) -> list[dict[str, str]]:
        """Each thing that an agent did in the workflow: its `agent_id` and its `action`."""
        return list_interactions(self._latest_summary())

    def _latest_summary(self) -> SessionSummary:
        with self._lock:
            return self._final or self._summarize(ended=False)

    def get_session_duration(self) -> timedelta:
        """Return the time since it was opened, until its end or now."""
        return (self.ended_at or self._sessions.clock()) - self.started_at

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
            # The caller must see the first error.
            error.add_note(f"and session {self.workflow_id!r} could not be cleaned up: {failure}")

    def save_agent_memory(
        self,
        agent_id: str,
        key: str,
        value: JSON,
        memory_type: MemoryType | str = MemoryType.SHORT_TERM,
        ttl: float | None = None,
    ) -> bool:
        """Save a value of an agent; return True once it is stored.

        Args:
            agent_id: Whose value it is.
            key: The name of the value.
            value: Any JSON value.
            memory_type: `short_term` until the session ends, `long_term` until it is deleted.
            ttl: Seconds until a short-term value expires.
        """
        if is_short_term(memory_type, ttl):
            with self._lock:
                self._ensure_open()
                self._state.set_value(agent_id, key, value, ttl)
                self._count_action(agent_id, SAVE)
            return True
        self._ensure_open()
        self._sessions.values.save(agent_id, key, value, MemoryType.LONG_TERM, None, session=self.workflow_id)
        self._count_action(agent_id, SAVE)
        return True

    def retrieve_agent_memory(
        self, agent_id: str, key: str, memory_type: MemoryType | str = MemoryType.SHORT_TERM
    ) -> JSON:
        """Return the value that was saved in this workflow; None when there is none."""
        short_term = is_short_term(memory_type)
        with self._lock:
            self._ensure_open()
            value = self._state.get_value(agent_id, key) if short_term else None
            self._count_action(agent_id, READ)
        if short_term:
            return value
        return self._sessions.values.retrieve(agent_id, key, MemoryType.LONG_TERM, session=self.workflow_id)

    def add_conversation_message(
        self, agent_id: str, role: str, content: JSON | VendorMessage, metadata: Mapping[str, JSON] | None = None
    ) -> SessionMessage:
        """Add a message to the workflow's conversation and return it.

        Args:
            agent_id: Who says it.
            role: `system`, `user`, `assistant` or `tool`, or what the agents agree on; `developer` becomes `system`.
            content: The text, which may be empty, any other JSON value, or a reply of a vendor's SDK, for its text.
            metadata: Anything else to keep with the message.
        """
        role = check_role(role) if Message.is_valid_role(role) else clean_text(role, "role")
        text = copy_json(vendor_text(content), "content")
        extra = copy_json_object(None if metadata is None else dict(metadata), "metadata")
        message = SessionMessage(
            clean_text(agent_id, "agent_id"), role, text, self._sessions.clock(), extra, self.workflow_id
        )
        with self._lock:
            self._ensure_open()
            self._state.add_message(self._sessions.next_timestamp(), self.session_id, message.to_json())
            self._count_action(agent_id, MESSAGE)
        return message

    def get_conversation_history(self, limit: int | None = None, offset: int = 0) -> list[SessionMessage]:
        """Return the newest messages of all agents, oldest first; all that are kept without a limit.

        Args:
            limit: The maximum number of messages.
            offset: How many of the newest to leave out.
        """
        count = None if limit is None else check_integer(limit, "limit", minimum=0) or None
        newest = check_offset(offset)
        with self._lock:
            self._ensure_open()
            messages = self._state.load_messages(count, newest)
            self._renew()
        return messages

    def save_execution_record(self, agent_id: str, record: Mapping[str, JSON]) -> str:
        """Add a record to the audit trail, with this workflow and session; return its id."""
        self._ensure_open()
        record_id = self._sessions.executions.save(agent_id, record, workflow=self.workflow_id, session=self.session_id)
        self._count_action(agent_id, EXECUTION)
        return record_id

    def get_session_summary(self) -> SessionSummary:
        """Return the agents, actions and duration of all sessions of this workflow; after the end, the last summary."""
        with self._lock:
            if self._final is not None:
                return self._final
            self._ensure_open()
            self._renew()
            return self._summarize(ended=False)

    def end_session(self) -> SessionSummary:
        """End the session and return the last summary; calling it twice is allowed.

        The workflow's short-term data is removed when its last session ends.
        """
        with self._lock:
            if self._final is None:
                summary = self._summarize(ended=True)
                whole = self._state.load_actions(self._record)
                try:
                    if whole.agents:
                        self._sessions.log_end(self.workflow_id, whole)
                finally:
                    with self._sessions.lock:
                        self._state.leave(whole, clean_up=self.auto_cleanup)
                self._final = summary
            return self._final

    def cleanup(self) -> bool:
        """Delete the messages and short-term values of the workflow and return True; its other sessions end.

        A session that has not ended goes on, empty.
        """
        with self._lock:
            goes_on = self.is_active
            self._sessions.clear(self.workflow_id)
            if goes_on:
                self._state.join(self._record)
        return True

    def _log_if_abandoned(self) -> bool:
        """Return whether the session is no longer open; if it was never ended, store what is known of it."""
        with self._lock:
            if self._final is not None or self._state.is_open(self._record):
                return self._final is not None
            whole = self._state.load_actions(self._record)
            if whole.agents:
                self._sessions.log_end(self.workflow_id, whole)
            return True

    def _summarize(self, *, ended: bool) -> SessionSummary:
        others = [record for record in self._state.load_records() if record.session_id != self.session_id]
        records = [*others, self._state.load_actions(self._record)]
        return summarize_sessions(self.workflow_id, self.session_id, records, self._sessions.clock(), ended=ended)

    def _ensure_open(self) -> None:
        if self._final is not None:
            raise Closed(f"session {self.workflow_id!r} has ended: open it again with create_session()")
        with self._lock:
            if self._state.is_open(self._record):
                return
            timeout = self._sessions.timeout
            shared = self._record.process is not None
            if shared or self._record.agents or self._sessions.clock() - self._used_at >= timeout:
                raise Closed(
                    f"session {self.workflow_id!r} has ended: it was cleared, or not used for "
                    f"{timeout.total_seconds():g} seconds (MEMORY_SESSION_TIMEOUT); "
                    "open it again with create_session()"
                )
            # The last session cleared the workflow while this one opened. It has no data yet, so nothing is lost.
            self._state.join(self._record)

    def _count_action(self, agent: str, action: str) -> None:
        with self._lock:
            if self._final is not None:
                return
            self._record.count(clean_text(agent, "agent_id"), action)
            self._renew()

    def _renew(self) -> None:
        self._state.renew(self._record)
        self._used_at = self._sessions.clock()
        if self._used_at - self._registered_at > self._sessions.timeout * REGISTER_SLACK:
            self._state.register(self._record)
            self._registered_at = self._used_at


class Sessions:
    """The sessions of one manager, open and ended ones."""

    def __init__(
        self,
        tenant: str,
        config: MemoryConfig,
        clock: Clock,
        *,
        store: Callable[[], ValueStore],
        log: Callable[[], SessionLog],
        values: Values,
        executions: Executions,
    ) -> None:
        self.clock = clock
        self.timeout = timedelta(seconds=config.session_timeout)
        self.values = values
        self.executions = executions
        self.lock = threading.Lock()
        """Held while a session opens or ends, so that two in one process always see each other."""
        self._tenant = tenant
        self._config = config
        self._store = store
        self._log = log
        self._last_timestamp = 0
        self._timestamp_lock = threading.Lock()

    def prepare(
        self, workflow_id: str, metadata: Mapping[str, JSON] | None, auto_cleanup: bool | None
    ) -> tuple[WorkflowState, SessionRecord]:
        """Return what a new session begins with."""
        if auto_cleanup is not None and not isinstance(auto_cleanup, bool):
            raise InvalidType(f"auto_cleanup must be True or False, not {type(auto_cleanup).__name__}")
        extra = copy_json_object(None if metadata is None else dict(metadata), "metadata")
        if len(encode_json(extra, "metadata")) > _MAX_METADATA:
            raise InvalidInput(f"metadata takes more than {_MAX_METADATA:,} characters: save it as a value instead")
        clean_up = self._config.auto_cleanup if auto_cleanup is None else auto_cleanup
        record = SessionRecord(uuid.uuid4().hex, self.clock(), extra, auto_cleanup=clean_up)
        return self._state(workflow_id), record

    def share(self, session_id: str) -> SessionContext | None:
        """Return an open session that other processes may use as well; None when it is not open.

        What was done in it is counted for each process, so that none overwrites the counts of another.
        """
        found = find_open(self._store(), self._tenant, session_id)
        if found is None:
            return None
        workflow, record = found
        shared = replace(record, process=uuid.uuid4().hex[:12])
        return SessionContext._join(workflow, self._state(workflow), shared, self)

    @staticmethod
    def log_if_abandoned(session: SessionContext) -> bool:
        """Return whether a session is no longer open; if it was never ended, store what is known of it."""
        return session._log_if_abandoned()

    def summarize_open(self, limit: int) -> list[SessionSummary]:
        """Return the open sessions, of all processes that share them, the one opened last first."""
        found = find_all_open(self._store(), self._tenant)
        newest = sorted(found, key=lambda each: each[1].opened_at, reverse=True)[:limit]
        states = {workflow: self._state(workflow).load_records() for workflow, _ in newest}
        now = self.clock()
        return [
            summarize_sessions(workflow, record.session_id, states[workflow] or [record], now, ended=False)
            for workflow, record in newest
        ]

    def history(self, workflow_id: str, limit: int | None, offset: int) -> list[SessionMessage]:
        count = None if limit is None else check_integer(limit, "limit", minimum=0) or None
        return self._state(workflow_id).load_messages(count, check_offset(offset))

    def clear(self, workflow_id: str) -> bool:
        with self.lock:
            self._state(workflow_id).clear()
        return True

    def count_open(self) -> int:
        return count_open(self._store(), self._tenant)

    def count_messages(self) -> int:
        """Return how many messages the workflows with an open session have."""
        workflows = {workflow for workflow, _ in find_all_open(self._store(), self._tenant)}
        return sum(self._state(workflow).count_messages() for workflow in workflows)

    def find_ended(self, workflow_id: str | None, limit: int, offset: int = 0) -> list[SessionSummary]:
        """Return the sessions that ended last, newest first."""
        workflow, start = check_name(workflow_id, "workflow_id"), check_offset(offset)
        return self._log().find(self._tenant, workflow, limit=check_limit(limit), offset=start)

    def log_end(self, workflow: str, record: SessionRecord) -> None:
        """Store the record of a session that ended; it is kept when the data of the session is removed."""
        redacted = replace(record, metadata=self.executions.redact(record.metadata))
        self._log().add(self._tenant, workflow, redacted, self.clock())

    def next_timestamp(self) -> int:
        """Return microseconds that always increase, so that messages keep their order when the clock does not move."""
        now = self.clock()
        micros = int(now.timestamp()) * 1_000_000 + now.microsecond
        with self._timestamp_lock:
            self._last_timestamp = max(micros, self._last_timestamp + 1)
            return self._last_timestamp

    def _state(self, workflow_id: str) -> WorkflowState:
        return WorkflowState(
            self._store(),
            self._tenant,
            clean_text(workflow_id, "workflow_id"),
            timeout=self._config.session_timeout,
            max_messages=self._config.max_conversation_history,
        )

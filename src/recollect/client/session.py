"""A workflow's session on the server, with the methods of the embedded one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

from recollect.client import flows
from recollect.client.call import Call, answer_of, encode, field_of, query
from recollect.client.manager import MemoryManager
from recollect.errors import Closed, NotFound, RecollectError
from recollect.session.history import SessionMessage, SessionSummary
from recollect.types import JSON, MemoryType

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class SessionCalls:
    """The requests of one session."""

    session_id: str

    def at(self, what: str = "") -> str:
        return f"/v1/sessions/{self.session_id}{what}"

    def save(
        self, agent_id: str, key: str, value: JSON, memory_type: MemoryType | str, ttl: float | None
    ) -> Call[bool]:
        return flows.save_at(self.at("/values"), agent_id, key, value, memory_type, ttl)

    def retrieve(self, agent_id: str, key: str, memory_type: MemoryType | str) -> Call[JSON]:
        params = flows.value_query(agent_id, key, memory_type)
        return Call("GET", self.at("/values"), field_of("value"), params=params)

    def say(self, agent_id: str, role: str, content: str, metadata: Mapping[str, JSON] | None) -> Call[SessionMessage]:
        body = encode({"agent_id": agent_id, "role": role, "content": content, "metadata": metadata})
        return Call("POST", self.at("/messages"), answer_of(SessionMessage), body)

    def history(self, limit: int | None) -> Call[list[SessionMessage]]:
        return Call("GET", self.at("/messages"), answer_of(list[SessionMessage]), params=query({"limit": limit}))

    def execution(self, agent_id: str, record: Mapping[str, JSON]) -> Call[str]:
        body = encode({"agent_id": agent_id, "record": record})
        return Call("POST", self.at("/executions"), field_of("id"), body)

    def summary(self) -> Call[SessionSummary]:
        return Call("GET", self.at(), answer_of(SessionSummary))

    def end(self) -> Call[SessionSummary]:
        return Call("POST", self.at("/end"), answer_of(SessionSummary))


def opening(workflow_id: str, metadata: Mapping[str, JSON] | None, auto_cleanup: bool | None) -> Call[dict[str, Any]]:
    """The request that opens a session."""
    body = encode({"workflow_id": workflow_id, "metadata": metadata, "auto_cleanup": auto_cleanup})
    return Call("POST", "/v1/sessions", lambda answer: answer, body)


class SessionContext:
    """What the agents of one workflow do together; made by `create_session`."""

    def __init__(self, manager: MemoryManager, opened: Mapping[str, Any]) -> None:
        self.workflow_id: str = opened["workflow_id"]
        self.metadata: dict[str, JSON] = opened["metadata"]
        self._transport = manager._transport
        self._calls = SessionCalls(opened["session_id"])
        self._final: SessionSummary | None = None

    @property
    def session_id(self) -> str:
        """The name of this session, as execution records carry it."""
        return self._calls.session_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.end_session()
        except RecollectError as failure:
            if error is None:
                raise
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
        return self._send(self._calls.save(agent_id, key, value, memory_type, ttl))

    def retrieve_agent_memory(
        self, agent_id: str, key: str, memory_type: MemoryType | str = MemoryType.SHORT_TERM
    ) -> JSON:
        """The value saved in this workflow; None when there is none."""
        return self._send(self._calls.retrieve(agent_id, key, memory_type))

    def add_conversation_message(
        self, agent_id: str, role: str, content: str, metadata: Mapping[str, JSON] | None = None
    ) -> SessionMessage:
        """The message as it stands in the workflow's conversation."""
        return self._send(self._calls.say(agent_id, role, content, metadata))

    def get_conversation_history(self, limit: int | None = None) -> list[SessionMessage]:
        """The latest messages of all agents in the order they were said."""
        return self._send(self._calls.history(limit))

    def save_execution_record(self, agent_id: str, record: Mapping[str, JSON]) -> str:
        """The id of the record in the audit trail, which names this workflow and session."""
        return self._send(self._calls.execution(agent_id, record))

    def get_session_summary(self) -> SessionSummary:
        """Who took part, how much was done, since when; over all sessions of this workflow."""
        return self._send(self._calls.summary())

    def end_session(self) -> SessionSummary:
        """The last summary; may be called twice."""
        if self._final is None:
            self._final = self._send(self._calls.end())
        return self._final

    def _send(self, call: Call[R]) -> R:
        ended = f"session {self.workflow_id!r} has ended: open it again with create_session()"
        if self._final is not None:
            raise Closed(ended)
        try:
            return self._transport.send(call)
        except NotFound as error:
            raise Closed(ended) from error


def create_session(
    workflow_id: str,
    memory_manager: MemoryManager,
    metadata: Mapping[str, JSON] | None = None,
    auto_cleanup: bool | None = None,
) -> SessionContext:
    """A session of a workflow on the server, open at once; for `with`, or until `end_session()`."""
    opened = memory_manager._transport.send(opening(workflow_id, metadata, auto_cleanup))
    return SessionContext(memory_manager, opened)

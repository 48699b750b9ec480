"""A session of a workflow on the server, with the methods of the embedded session."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from memoranda.client import requests
from memoranda.client.manager import MemoryManager
from memoranda.client.requests import (
    Arguments,
    HttpCall,
    bind_arguments,
    build_call,
    encode_body,
    parse_as,
    parse_field,
)
from memoranda.errors import Closed, MemorandaError, NotFound
from memoranda.results import SessionMessage, SessionSummary
from memoranda.sessions.context import SessionContext as Embedded
from memoranda.types import JSON

P = ParamSpec("P")
R = TypeVar("R")


def _method(
    embedded: Callable[Concatenate[Embedded, P], R], build: Callable[[str, Arguments], HttpCall[R]]
) -> Callable[Concatenate[SessionContext, P], R]:
    """Return a method with an embedded method's signature that sends the call built from path and arguments."""

    @functools.wraps(embedded)
    def send(self: SessionContext, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._send(build(self._path, bind_arguments(embedded, *args, **kwargs)))

    return send


class SessionContext:
    """The shared messages, values and records of the agents of one workflow; created by `create_session`."""

    def __init__(self, manager: MemoryManager, opened: Mapping[str, Any]) -> None:
        self.workflow_id: str = opened["workflow_id"]
        self.session_id: str = opened["session_id"]
        """The id of this session, as in execution records."""
        self.metadata: dict[str, JSON] = opened["metadata"]
        self._transport = manager._transport
        self._path = f"/v1/sessions/{self.session_id}"
        self._final: SessionSummary | None = None

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
            error.add_note(f"and session {self.workflow_id!r} could not be cleaned up: {failure}")

    save_agent_memory = _method(
        Embedded.save_agent_memory, lambda path, arguments: requests.save_value(f"{path}/values", arguments)
    )
    retrieve_agent_memory = _method(
        Embedded.retrieve_agent_memory, lambda path, arguments: requests.retrieve_value(f"{path}/values", arguments)
    )
    add_conversation_message = _method(
        Embedded.add_conversation_message,
        lambda path, arguments: build_call("POST", f"{path}/messages", parse_as(SessionMessage), arguments),
    )
    get_conversation_history = _method(
        Embedded.get_conversation_history,
        lambda path, arguments: build_call("GET", f"{path}/messages", parse_as(list[SessionMessage]), arguments),
    )
    save_execution_record = _method(
        Embedded.save_execution_record,
        lambda path, arguments: build_call("POST", f"{path}/executions", parse_field("id"), arguments),
    )
    get_session_summary = _method(
        Embedded.get_session_summary,
        lambda path, arguments: build_call("GET", path, parse_as(SessionSummary), arguments),
    )

    def end_session(self) -> SessionSummary:
        """End the session and return its final summary; calling it twice is allowed."""
        if self._final is None:
            self._final = self._send(HttpCall("POST", f"{self._path}/end", parse_as(SessionSummary)))
        return self._final

    def _send(self, call: HttpCall[R]) -> R:
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
    """Open a session of a workflow on the server, for `with` or until `end_session()`.

    Args:
        workflow_id: The workflow.
        memory_manager: The client.
        metadata: Data to store with the session.
        auto_cleanup: False to keep the session's values until they expire; None for the server's setting.
    """
    body = encode_body({"workflow_id": workflow_id, "metadata": metadata, "auto_cleanup": auto_cleanup})
    opened = memory_manager._transport.send(HttpCall("POST", "/v1/sessions", lambda response: response, body))
    return SessionContext(memory_manager, opened)

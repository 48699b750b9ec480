"""`SessionContext` over the network: the methods of the embedded one, with the data on the server."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from memoranda.client import requests
from memoranda.client.calls import (
    Arguments,
    HttpCall,
    bind_arguments,
    build_call,
    encode_body,
    parse_as,
    parse_field,
    parse_list,
)
from memoranda.client.manager import MemoryManager
from memoranda.errors import Closed, MemorandaError, NotFound
from memoranda.messages.parsing import vendor_text
from memoranda.results.workflows import SessionMessage, SessionSummary
from memoranda.sessions.context import SessionContext as Embedded
from memoranda.sessions.workflow_state import SessionRecord
from memoranda.types import JSON

P = ParamSpec("P")
R = TypeVar("R")


def _method(
    embedded: Callable[Concatenate[Embedded, P], R], build: Callable[[str, Arguments], HttpCall[R]]
) -> Callable[Concatenate[Any, P], R]:
    """Return a method with an embedded method's signature that sends the call built from path and arguments."""

    @functools.wraps(embedded)
    def send(self: SessionContext, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._send(build(self._path, bind_arguments(embedded, *args, **kwargs)))

    return send


class SessionContext(Embedded):
    """The shared messages, values and records of the agents of one workflow.

    Args:
        workflow_id: The workflow.
        memory_manager: The client.
        metadata: Data to store with the session.
        auto_cleanup: False to keep the session's values until they expire; None for the server's setting.
    """

    def __init__(
        self,
        workflow_id: str,
        memory_manager: MemoryManager,
        metadata: Mapping[str, JSON] | None = None,
        auto_cleanup: bool | None = None,
    ) -> None:
        self.workflow_id = workflow_id
        self._transport = memory_manager._transport
        self._begin(metadata, auto_cleanup)

    def _begin(self, metadata: Mapping[str, JSON] | None, auto_cleanup: bool | None) -> None:
        body = encode_body({"workflow_id": self.workflow_id, "metadata": metadata, "auto_cleanup": auto_cleanup})
        opened = self._transport.send(HttpCall("POST", "/v1/sessions", parse_as(dict[str, Any]), body))
        self.auto_cleanup = opened["auto_cleanup"]
        self._record = SessionRecord(
            opened["session_id"], datetime.fromisoformat(opened["started_at"]), opened["metadata"]
        )
        self._path = f"/v1/sessions/{self.session_id}"
        self._final = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.end_session()
        except Closed:
            pass  # it was cleared, or ended by another process: nothing is left to clean up
        except MemorandaError as failure:
            if error is None:
                raise
            error.add_note(f"and session {self.workflow_id!r} could not be cleaned up: {failure}")

    @property
    def is_active(self) -> bool:
        """Whether it has neither ended nor been cleared."""
        try:
            return self.get_session_summary().is_active
        except Closed:
            return False

    def _latest_summary(self) -> SessionSummary:
        return self.get_session_summary()

    def get_session_duration(self) -> timedelta:
        """Return the time since it was opened, until its end or now."""
        return (self.ended_at or datetime.now(UTC)) - self.started_at

    save_agent_memory = _method(
        Embedded.save_agent_memory, lambda path, arguments: requests.save_value(f"{path}/values", arguments)
    )
    retrieve_agent_memory = _method(
        Embedded.retrieve_agent_memory, lambda path, arguments: requests.retrieve_value(f"{path}/values", arguments)
    )
    add_conversation_message = _method(
        Embedded.add_conversation_message,
        lambda path, arguments: build_call(
            "POST",
            f"{path}/messages",
            parse_as(SessionMessage),
            arguments | {"content": vendor_text(arguments["content"])},
        ),
    )
    get_conversation_history = _method(
        Embedded.get_conversation_history,
        lambda path, arguments: build_call(
            "GET", f"{path}/messages", parse_list(list[SessionMessage], "message"), arguments
        ),
    )
    save_execution_record = _method(
        Embedded.save_execution_record,
        lambda path, arguments: build_call("POST", f"{path}/executions", parse_field("id"), arguments),
    )

    def get_session_summary(self) -> SessionSummary:
        """Return the agents, actions and duration of all sessions of this workflow; after the end, the last summary."""
        return self._final or self._send(HttpCall("GET", self._path, parse_as(SessionSummary)))

    def end_session(self) -> SessionSummary:
        """End the session and return its final summary; calling it twice is allowed."""
        if self._final is None:
            self._final = self._send(HttpCall("POST", f"{self._path}/end", parse_as(SessionSummary)))
        return self._final

    def cleanup(self) -> bool:
        """Delete the messages and short-term values of the workflow and return True; its other sessions end.

        A session that has not ended goes on, empty and with a new `session_id`.
        """
        goes_on = self.is_active
        self._transport.send(requests.clear_session(self.workflow_id))
        if goes_on:
            self._begin(self.metadata, self.auto_cleanup)
        return True

    def _send(self, call: HttpCall[R]) -> R:
        ended = f"session {self.workflow_id!r} has ended: open it again with create_session()"
        if self._final is not None:
            raise Closed(ended)
        try:
            return self._transport.send(call)
        except NotFound as error:
            raise Closed(ended) from error


create_session = SessionContext
"""Open a session of a workflow on the server, for `with` or until `end_session()`."""

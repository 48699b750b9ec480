"""A workflow's session on the server, with the methods of the embedded one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from memoranda.client import requests
from memoranda.client.manager import MemoryManager
from memoranda.client.requests import Call, Given, answer_of, encode, field_of, given_to, request
from memoranda.errors import Closed, MemorandaError, NotFound
from memoranda.results import SessionMessage, SessionSummary
from memoranda.sessions.context import SessionContext as Embedded
from memoranda.types import JSON

P = ParamSpec("P")
R = TypeVar("R")


def _sent(
    method: Callable[Concatenate[Embedded, P], R], call: Callable[[str, Given], Call[R]]
) -> Callable[Concatenate[SessionContext, P], R]:
    """The method of the embedded session as a request, made from this session's address and the arguments."""

    @functools.wraps(method)
    def send(self: SessionContext, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._send(call(self._address, given_to(method, *args, **kwargs)))

    return send


class SessionContext:
    """What the agents of one workflow do together; made by `create_session`."""

    def __init__(self, manager: MemoryManager, opened: Mapping[str, Any]) -> None:
        self.workflow_id: str = opened["workflow_id"]
        self.session_id: str = opened["session_id"]
        """The name of this session, as execution records carry it."""
        self.metadata: dict[str, JSON] = opened["metadata"]
        self._transport = manager._transport
        self._address = f"/v1/sessions/{self.session_id}"
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

    save_agent_memory = _sent(Embedded.save_agent_memory, lambda at, given: requests.value_saved(f"{at}/values", given))
    retrieve_agent_memory = _sent(
        Embedded.retrieve_agent_memory, lambda at, given: requests.value_read(f"{at}/values", given)
    )
    add_conversation_message = _sent(
        Embedded.add_conversation_message,
        lambda at, given: request("POST", f"{at}/messages", answer_of(SessionMessage), given),
    )
    get_conversation_history = _sent(
        Embedded.get_conversation_history,
        lambda at, given: request("GET", f"{at}/messages", answer_of(list[SessionMessage]), given),
    )
    save_execution_record = _sent(
        Embedded.save_execution_record,
        lambda at, given: request("POST", f"{at}/executions", field_of("id"), given),
    )
    get_session_summary = _sent(
        Embedded.get_session_summary, lambda at, given: request("GET", at, answer_of(SessionSummary), given)
    )

    def end_session(self) -> SessionSummary:
        """The last summary; may be called twice."""
        if self._final is None:
            self._final = self._send(Call("POST", f"{self._address}/end", answer_of(SessionSummary)))
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
    body = encode({"workflow_id": workflow_id, "metadata": metadata, "auto_cleanup": auto_cleanup})
    opened = memory_manager._transport.send(Call("POST", "/v1/sessions", lambda answer: answer, body))
    return SessionContext(memory_manager, opened)

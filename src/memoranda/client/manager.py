"""`MemoryManager` over the network: the methods, arguments and results of the embedded manager.

Its conversations and sessions are those of the embedded manager too; the messages are stored on the server.

What explains a recall and reads documents is imported at its first use: the client itself loads neither SQLAlchemy nor
numpy.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx2

from memoranda.client import requests
from memoranda.client.calls import (
    Arguments,
    HttpCall,
    bind_arguments,
    build_call,
    encode_body,
    encode_query,
    parse_as,
    parse_field,
    to_server_arguments,
)
from memoranda.client.responses import deserialize, parse_list
from memoranda.client.transport import HttpTransport, sync_calls, sync_method
from memoranda.conversation.conversations import ConversationCache
from memoranda.conversation.memory import ConversationMemory
from memoranda.errors import Closed, InvalidInput, MemorandaError, NotFound, Unavailable
from memoranda.files import atomic_replace, open_to_read, open_to_write
from memoranda.messages.message import Message, vendor_text
from memoranda.results.transfer import ExportReport, ImportReport
from memoranda.results.workflows import SessionMessage, SessionSummary
from memoranda.security.encryption import EncryptionKey, make_key
from memoranda.sessions.context import SessionContext as Embedded
from memoranda.sessions.context import list_interactions
from memoranda.types import ANY, JSON, AnyUser, ArmScore, Progress, Recall
from memoranda.validation import check_integer

_PAGE = 10_000
_MESSAGES = "/v1/conversation/messages"


class RemoteLog:
    """The message log of the server's conversation with the same scope."""

    def __init__(self, transport: HttpTransport, scope: dict[str, object]) -> None:
        self._transport = transport
        self._scope = scope

    def __len__(self) -> int:
        call: HttpCall[int] = HttpCall("GET", "/v1/conversation", parse_field("size"), params=encode_query(self._scope))
        return self._transport.send(call)

    def read(self, start: int, stop: int) -> list[Message]:
        messages: list[Message] = []
        while start < stop:
            params = encode_query(self._scope | {"start": start, "stop": min(stop, start + _PAGE)})
            page = self._transport.send(HttpCall("GET", _MESSAGES, _parse_messages, params=params))
            messages += page
            if not page:
                break
            start += len(page)
        return messages

    def append(self, messages: Sequence[Message], *, keep: int | None, skip_duplicates: bool = False) -> None:
        self._write("POST", messages=_to_dicts(messages), allow_duplicates=not skip_duplicates, keep=keep)

    def find_ids(self, message_ids: Iterable[str]) -> set[str]:
        return {message.message_id for message in self.read(0, len(self))} & set(message_ids)

    def delete(self, positions: Sequence[int]) -> None:
        if positions:
            self._write("POST", "/delete", positions=list(positions))

    def pop(self) -> Message | None:
        call = HttpCall("POST", _MESSAGES + "/pop", _parse_messages, encode_body(self._scope))
        popped = self._transport.send(call)
        return popped[0] if popped else None

    def replace(self, messages: Sequence[Message]) -> None:
        self._write("PUT", messages=_to_dicts(messages))

    def _write(self, http_method: str, suffix: str = "", **values: object) -> None:
        body = encode_body(self._scope | values)
        self._transport.send(HttpCall(http_method, _MESSAGES + suffix, parse_field("size"), body))


def open_conversation(
    transport: HttpTransport, agent: str | None, user: str | None, session: str | None
) -> ConversationMemory:
    """Return the conversation of this scope, with the size and retention that the server sets.

    Args:
        transport: The connection to the server.
        agent: The agent whose conversation it is.
        user: The user it is with.
        session: The session it belongs to.
    """
    scope: dict[str, object] = {"agent": agent, "user": user, "session": session}
    call = HttpCall("GET", "/v1/conversation", parse_as(dict[str, Any]), params=encode_query(scope))
    info = transport.send(call)
    return ConversationMemory(info["max_messages"], info["retention_policy"], log=RemoteLog(transport, scope))


def _to_dicts(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [message.to_dict() for message in messages]


def _parse_messages(response: dict[str, list[dict[str, object]]]) -> list[Message]:
    return [Message.from_dict(item) for item in response["messages"]]


class MemoryManager:
    """The memory of a Memoranda server. The key decides the tenant.

    Args:
        url: The address of the server, for example `http://127.0.0.1:8700`.
        api_key: The API key, if the server has keys.
        timeout: The seconds to wait for a response.
        client: The HTTP client to send requests with; it is closed with this manager.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = 60.0,
        client: httpx2.Client | None = None,
    ) -> None:
        self._transport = HttpTransport(url, api_key, timeout, client)
        self._conversations: ConversationCache[tuple[str | None, str | None, str | None]] = ConversationCache()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; calling it twice is allowed."""
        self._transport.close()

    remember = sync_method(requests.remember)
    recall = sync_method(requests.recall)
    why_not = sync_method(requests.why_not)

    replay = sync_method(requests.replay)

    def why(
        self,
        recall: Recall | str,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> tuple[ArmScore, ...]:
        """Return what each arm and boost contributed to one hit of a recall, or of a past one by its id."""
        from memoranda.recall.explain import why  # loads numpy

        past = self.replay(recall, agent=agent, user=user, session=session) if isinstance(recall, str) else recall
        return why(past, check_integer(memory_id, "a memory id"))

    context = sync_method(requests.context)

    add_memory = sync_method(requests.add_memory)
    add_memories = sync_method(requests.add_memories)
    get = sync_method(requests.get)
    update = sync_calls(requests.update)
    delete = sync_method(requests.delete)
    list_memories = sync_method(requests.list_memories)
    search_memories = sync_method(requests.search_memories)
    search_memory = sync_method(requests.search_memory)
    add_memory_association = sync_method(requests.add_memory_association)
    get_related_memories = sync_method(requests.get_related_memories)
    facts = sync_method(requests.facts)
    conflicts = sync_method(requests.conflicts)
    history = sync_method(requests.history)
    release = sync_method(requests.release)
    quarantine = sync_method(requests.quarantine)
    discard = sync_method(requests.discard)
    archive = sync_method(requests.archive)
    restore = sync_method(requests.restore)
    pin = sync_method(requests.pin)
    unpin = sync_method(requests.unpin)
    cleanup_old_memories = sync_method(requests.cleanup_old_memories)
    upkeep = sync_method(requests.upkeep)
    forget = sync_method(requests.forget)
    receipts = sync_method(requests.receipts)
    receipt = sync_method(requests.receipt)
    verify_receipt = sync_method(requests.verify_receipt)

    save = sync_method(requests.save)
    retrieve = sync_method(requests.retrieve)
    delete_value = sync_method(requests.delete_value)
    search_similar = sync_method(requests.search_similar)

    put = sync_method(requests.put)
    put_many = sync_method(requests.put_many)
    get_item = sync_method(requests.get_item)
    delete_item = sync_method(requests.delete_item)
    search_items = sync_method(requests.search_items)
    namespaces = sync_method(requests.namespaces)

    get_conversation_history = sync_method(requests.get_conversation_history)
    clear_session = sync_method(requests.clear_session)
    get_sessions = sync_method(requests.get_sessions)

    save_execution_record = sync_method(requests.save_execution_record)
    get_execution_records = sync_method(requests.get_execution_records)
    get_execution_stats = sync_method(requests.get_execution_stats)
    verify_executions = sync_method(requests.verify_executions)

    add_knowledge = sync_method(requests.add_knowledge)
    remove_knowledge = sync_method(requests.remove_knowledge)
    get_knowledge_sources = sync_method(requests.get_knowledge_sources)

    def get_memory(
        self, agent_name: str | None = None, *, user: str | None = None, session: str | None = None
    ) -> ConversationMemory:
        """Return the conversation of an agent, optionally with a user or in a session: the same object at each call."""
        scope = (agent_name, user, session)
        conversation = self._conversations.get(scope)
        if conversation is None:
            conversation = open_conversation(self._transport, *scope)
        return self._conversations.add(scope, conversation)

    @contextmanager
    def run(self, agent_name: str) -> Iterator[ConversationMemory]:
        """Run an agent, for `with`; at the end, a `single_run` conversation is emptied."""
        conversation = self.get_memory(agent_name)
        try:
            yield conversation
        finally:
            self.end_run(agent_name)

    def set_retention_policy(self, agent_name: str, policy: str) -> None:
        """Set how long an agent's conversations are kept: single_run, session or persistent."""
        self._transport.send(requests.set_retention_policy(agent_name, policy))
        for (agent, _, _), conversation in self._conversations.items():
            if agent == agent_name:
                conversation.retention_policy = policy

    clear_agent_memory = sync_method(requests.clear_agent_memory)
    clear_all = sync_method(requests.clear_all)
    end_run = sync_method(requests.end_run)

    def export_jsonl(
        self,
        target: str | PathLike[str],
        *,
        agent: str | None = None,
        user: str | AnyUser | None = ANY,
        session: str | None = None,
        progress: Progress | None = None,
        encryption_key: str | None = None,
        plain: bool = False,
    ) -> ExportReport:
        """Export messages, memories and associations as a file of JSON lines; all users need the admin scope.

        Args:
            target: The file to write.
            agent: Only this agent's.
            user: Only this user's; None for those of no user, ANY for all.
            session: Only this session's.
            progress: Called with the number of memories done and in total.
            encryption_key: Encrypts the file with this key, here: the server never sees it.
            plain: Not needed here: without a key the file is not encrypted.
        """
        if plain and encryption_key is not None:
            raise InvalidInput("an export is plain or encrypted with a key: give plain or encryption_key, not both")
        params = encode_query(to_server_arguments({"agent": agent, "user": user, "session": session}))
        key = make_key(encryption_key)
        with atomic_replace(Path(target)) as temporary:
            with open_to_write(temporary, key) as file:
                self._transport.download("/v1/export", params, file)
            report = _read_export(temporary, Path(target), key)
            if progress is not None:
                progress(report.memories, report.memories)
            return report

    def import_jsonl(
        self,
        source: str | PathLike[str],
        *,
        include_forgotten: bool = False,
        progress: Progress | None = None,
        encryption_key: str | None = None,
    ) -> ImportReport:
        """Import an export; existing data stays, and what was forgotten since is left out unless it is included.

        Args:
            source: The file.
            include_forgotten: Also load what was forgotten since the export.
            progress: Called with the number of memories done and in total.
            encryption_key: The key of an encrypted file, which is decrypted here.
        """
        path = "/v1/import?include_forgotten=true" if include_forgotten else "/v1/import"
        with open_to_read(Path(source), make_key(encryption_key)) as file:
            report = deserialize(ImportReport, self._transport.upload(path, file))
        if progress is not None:
            progress(report.memories, report.memories)
        return report

    get_stats = sync_method(requests.get_stats)
    users = sync_method(requests.users)
    agents = sync_method(requests.agents)
    sessions = sync_method(requests.sessions)
    health = sync_method(requests.health)


def _read_export(file_path: Path, target: Path, key: EncryptionKey | None) -> ExportReport:
    """Count the lines of an export; raise `Unavailable` when its last line, the end record, is missing."""
    lines, last = 0, b""
    with open_to_read(file_path, key) as file:
        for line in file:
            lines, last = lines + 1, line
    try:
        end = json.loads(last)
        memories = int(end["memory"]) if end["kind"] == "end" else -1
    except (ValueError, KeyError, TypeError):
        memories = -1
    if memories < 0:
        raise Unavailable("the export broke off before its end: try again")
    return ExportReport(target, memories, lines, encrypted=key is not None)


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
    """The shared messages, values and records of the agents of one workflow; created like `create_session`."""

    def __init__(
        self,
        workflow_id: str,
        memory_manager: MemoryManager,
        metadata: Mapping[str, JSON] | None = None,
        auto_cleanup: bool | None = None,
    ) -> None:
        body = encode_body({"workflow_id": workflow_id, "metadata": metadata, "auto_cleanup": auto_cleanup})
        self._transport = memory_manager._transport
        opened = self._transport.send(HttpCall("POST", "/v1/sessions", parse_as(dict[str, Any]), body))
        self.workflow_id = workflow_id
        self.session_id: str = opened["session_id"]
        """The id of this session, as in execution records."""
        self.metadata: dict[str, JSON] = opened["metadata"]
        self.auto_cleanup: bool = opened["auto_cleanup"]
        self.started_at = datetime.fromisoformat(opened["started_at"])
        self._path = f"/v1/sessions/{self.session_id}"
        self._final: SessionSummary | None = None

    def __enter__(self) -> Self:
        return self

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

    @property
    def ended_at(self) -> datetime | None:
        """When `end_session` was called; None while it has not been."""
        return None if self._final is None else self._final.ended_at

    @property
    def active_agents(self) -> list[str]:
        """The agents that did something in the workflow."""
        return list(self.get_session_summary().active_agents)

    @property
    def agent_interactions(self) -> list[dict[str, str]]:
        """Each thing that an agent did in the workflow: its `agent_id` and its `action`."""
        return list_interactions(self.get_session_summary())

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
    return SessionContext(workflow_id, memory_manager, metadata, auto_cleanup)

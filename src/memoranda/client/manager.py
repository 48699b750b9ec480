"""`MemoryManager` over the network: the methods, arguments and results of the embedded manager.

Its conversations and sessions are those of the embedded manager too; the messages are stored on the server.

What explains a recall and reads documents is imported at its first use: the client itself loads neither SQLAlchemy nor
numpy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

import httpx2

from memoranda.client import requests
from memoranda.client.calls import (
    HttpCall,
    deserialize,
    encode_body,
    encode_query,
    parse_as,
    parse_field,
    to_server_arguments,
)
from memoranda.client.transport import HttpTransport, sync_calls, sync_method
from memoranda.conversation.conversations import ConversationCache
from memoranda.conversation.memory import ConversationMemory
from memoranda.errors import InvalidInput, NotFound, Unavailable
from memoranda.files import atomic_replace, open_to_read, open_to_write
from memoranda.messages.message import Message
from memoranda.records import Closing
from memoranda.results.workflows import ExportReport, ImportReport
from memoranda.security.encryption import EncryptionKey, make_key
from memoranda.types import ANY, AnyUser, Memory, Progress

P = ParamSpec("P")
R = TypeVar("R")
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


def _reuse(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Return a method of the embedded manager that calls nothing but its other methods."""
    return method


class MemoryManager(Closing):
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

    def close(self) -> None:
        """Close the connections; calling it twice is allowed."""
        self._transport.close()

    remember = sync_method(requests.remember)
    recall = sync_method(requests.recall)
    why_not = sync_method(requests.why_not)
    replay = sync_method(requests.replay)
    why = _reuse(requests.Embedded.why)
    context = sync_method(requests.context)

    add_memory = sync_method(requests.add_memory)
    add_memories = sync_method(requests.add_memories)
    get = sync_method(requests.get)
    update = sync_calls(requests.update)
    delete = sync_method(requests.delete)
    delete_memory = _reuse(requests.Embedded.delete_memory)
    list_memories = sync_calls(requests.list_memories)
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

    @overload
    def get_memory(self, agent_name: int, *, user: str | None = None, session: str | None = None) -> Memory | None: ...

    @overload
    def get_memory(
        self, agent_name: str | None = None, *, user: str | None = None, session: str | None = None
    ) -> ConversationMemory: ...

    def get_memory(
        self, agent_name: str | int | None = None, *, user: str | None = None, session: str | None = None
    ) -> ConversationMemory | Memory | None:
        """Return the conversation of an agent, optionally with a user or in a session: the same object at each call.

        With a number, return the memory with this id; None when there is none.
        """
        if isinstance(agent_name, int):
            try:
                return self.get(agent_name, user=user, session=session)
            except NotFound:
                return None
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

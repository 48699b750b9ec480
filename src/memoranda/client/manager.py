"""`MemoryManager` over the network: the methods, arguments and results of the embedded manager."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from memoranda.client import requests
from memoranda.client.conversation import open_conversation
from memoranda.client.requests import encode_query, to_server_arguments
from memoranda.client.responses import deserialize
from memoranda.client.transport import HttpTransport, sync_method
from memoranda.conversation.conversations import ConversationCache
from memoranda.conversation.memory import ConversationMemory
from memoranda.errors import Unavailable
from memoranda.files import atomic_replace
from memoranda.results import ExportReport, ImportReport
from memoranda.types import ANY, AnyUser, ArmScore, Progress, Recall
from memoranda.validation import check_integer


class MemoryManager:
    """The memory of a Memoranda server. The key decides the tenant."""

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
    update = sync_method(requests.update)
    delete = sync_method(requests.delete)
    list_memories = sync_method(requests.list_memories)
    search_memories = sync_method(requests.search_memories)
    search_memory = sync_method(requests.search_memory)
    add_memory_association = sync_method(requests.add_memory_association)
    get_related_memories = sync_method(requests.get_related_memories)
    history = sync_method(requests.history)
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
    search_similar = sync_method(requests.search_similar)

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
    ) -> ExportReport:
        """Export messages, memories and associations as a file of JSON lines; all users need the admin scope.

        Args:
            target: The file to write.
            agent: Only this agent's.
            user: Only this user's; None for those of no user, ANY for all.
            session: Only this session's.
            progress: Called with the number of memories done and in total.
        """
        params = encode_query(to_server_arguments({"agent": agent, "user": user, "session": session}))
        with atomic_replace(Path(target)) as temporary:
            self._transport.download("/v1/export", params, temporary)
            report = _read_export(temporary, Path(target))
            if progress is not None:
                progress(report.memories, report.memories)
            return report

    def import_jsonl(
        self, source: str | PathLike[str], *, include_forgotten: bool = False, progress: Progress | None = None
    ) -> ImportReport:
        """Import an export; existing data stays, and what was forgotten since is left out unless it is included."""
        path = "/v1/import?include_forgotten=true" if include_forgotten else "/v1/import"
        report = deserialize(ImportReport, self._transport.upload(path, Path(source)))
        if progress is not None:
            progress(report.memories, report.memories)
        return report

    get_stats = sync_method(requests.get_stats)
    health = sync_method(requests.health)


def _read_export(file_path: Path, target: Path) -> ExportReport:
    """Count the lines of an export; raise `Unavailable` when its last line, the end record, is missing."""
    lines, last = 0, b""
    with file_path.open("rb") as file:
        for line in file:
            lines, last = lines + 1, line
    try:
        end = json.loads(last)
        memories = int(end["memory"]) if end["kind"] == "end" else -1
    except (ValueError, KeyError, TypeError):
        memories = -1
    if memories < 0:
        raise Unavailable("the export broke off before its end: try again")
    return ExportReport(target, memories, lines)

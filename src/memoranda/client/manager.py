"""`MemoryManager` over the network: the embedded manager's own methods, arguments and results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from memoranda.client import requests
from memoranda.client.conversation import open_conversation
from memoranda.client.requests import as_sent, export_report, query
from memoranda.client.responses import build
from memoranda.client.transport import Transport, sent
from memoranda.conversation.conversations import Shelf
from memoranda.conversation.memory import ConversationMemory
from memoranda.files import atomic_replace
from memoranda.results import ExportReport, ImportReport
from memoranda.types import ANY, AnyUser, ArmScore, Progress, Recall
from memoranda.validation import check_integer


class MemoryManager:
    """The memory of a Memoranda server. The tenant is the key's."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = 60.0,
        client: httpx2.Client | None = None,
    ) -> None:
        self._transport = Transport(url, api_key, timeout, client)
        self._conversations: Shelf[tuple[str | None, str | None, str | None]] = Shelf()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections; may be called twice."""
        self._transport.close()

    remember = sent(requests.remember)
    recall = sent(requests.recall)
    why_not = sent(requests.why_not)

    def why(self, recall: Recall, memory_id: int) -> tuple[ArmScore, ...]:
        """What each arm and boost said of one hit of a recall."""
        from memoranda.recall.explain import why  # numpy comes with it

        return why(recall, check_integer(memory_id, "a memory id"))

    context = sent(requests.context)

    add_memory = sent(requests.add_memory)
    add_memories = sent(requests.add_memories)
    get = sent(requests.get)
    update = sent(requests.update)
    delete = sent(requests.delete)
    list_memories = sent(requests.list_memories)
    search_memories = sent(requests.search_memories)
    search_memory = sent(requests.search_memory)
    add_memory_association = sent(requests.add_memory_association)
    get_related_memories = sent(requests.get_related_memories)
    history = sent(requests.history)
    archive = sent(requests.archive)
    restore = sent(requests.restore)
    pin = sent(requests.pin)
    unpin = sent(requests.unpin)
    cleanup_old_memories = sent(requests.cleanup_old_memories)
    upkeep = sent(requests.upkeep)
    forget = sent(requests.forget)

    save = sent(requests.save)
    retrieve = sent(requests.retrieve)
    search_similar = sent(requests.search_similar)

    get_conversation_history = sent(requests.get_conversation_history)
    clear_session = sent(requests.clear_session)
    get_sessions = sent(requests.get_sessions)

    save_execution_record = sent(requests.save_execution_record)
    get_execution_records = sent(requests.get_execution_records)
    get_execution_stats = sent(requests.get_execution_stats)
    verify_executions = sent(requests.verify_executions)

    add_knowledge = sent(requests.add_knowledge)
    remove_knowledge = sent(requests.remove_knowledge)
    get_knowledge_sources = sent(requests.get_knowledge_sources)

    def get_memory(
        self, agent_name: str | None = None, *, user: str | None = None, session: str | None = None
    ) -> ConversationMemory:
        """The conversation of an agent, with a user or in a session where named: the same object at each call."""
        whose = (agent_name, user, session)
        known = self._conversations.get(whose)
        return self._conversations.hold(whose, open_conversation(self._transport, *whose) if known is None else known)

    @contextmanager
    def run(self, agent_name: str) -> Iterator[ConversationMemory]:
        """One run of an agent, for `with`; when it ends, a `single_run` conversation is emptied."""
        conversation = self.get_memory(agent_name)
        try:
            yield conversation
        finally:
            self.end_run(agent_name)

    def set_retention_policy(self, agent_name: str, policy: str) -> None:
        """How long an agent's conversations are kept: single_run, session or persistent. Open ones move."""
        self._transport.send(requests.set_retention_policy(agent_name, policy))
        for (agent, _, _), conversation in self._conversations.items():
            if agent == agent_name:
                conversation.retention_policy = policy

    clear_agent_memory = sent(requests.clear_agent_memory)
    clear_all = sent(requests.clear_all)
    end_run = sent(requests.end_run)

    def export_jsonl(
        self,
        target: str | PathLike[str],
        *,
        agent: str | None = None,
        user: str | AnyUser | None = ANY,
        session: str | None = None,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Messages, memories and associations as a file of JSON lines; all users' take the admin scope."""
        whose = query(as_sent({"agent": agent, "user": user, "session": session}))
        with atomic_replace(Path(target)) as draft:
            self._transport.download("/v1/export", whose, draft)
            return export_report(draft, Path(target), progress)

    def import_jsonl(self, source: str | PathLike[str], *, progress: Progress | None = None) -> ImportReport:
        """Loads an export; what is there already stays, and running it again adds nothing."""
        report = build(ImportReport, self._transport.upload("/v1/import", Path(source)))
        if progress is not None:
            progress(report.memories, report.memories)
        return report

    get_stats = sent(requests.get_stats)
    health = sent(requests.health)

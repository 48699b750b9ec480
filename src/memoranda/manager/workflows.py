"""Values under a key."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Any

from memoranda.manager.base import Verbs
from memoranda.manager.recall import RecallVerbs
from memoranda.text import clean_text
from memoranda.types import JSON, Hit, MemoryType, Progress
from memoranda.validation import check_type, check_writable_type, make_scope

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from memoranda.conversation.memory import ConversationMemory
    from memoranda.results import (
        ExecutionPage,
        ExecutionStats,
        FileReport,
        Knowledge,
        KnowledgeReport,
        KnowledgeSource,
        SessionMessage,
        SessionSummary,
        VerificationReport,
    )


class ValueVerbs(RecallVerbs):
    """What an agent keeps under a key, for a while or for good."""

    def save(
        self,
        agent_id: str,
        key: str,
        value: JSON,
        memory_type: MemoryType | str = MemoryType.SHORT_TERM,
        ttl: float | None = None,
    ) -> bool:
        """True once the value is stored; anything else raises."""
        return self._components.values.save(agent_id, key, value, check_writable_type(memory_type), ttl)

    def retrieve(self, agent_id: str, key: str, memory_type: MemoryType | str = MemoryType.SHORT_TERM) -> JSON:
        """The value; None when there is none."""
        return self._components.values.retrieve(agent_id, key, check_type(memory_type))

    def search_similar(
        self,
        agent_id: str,
        query: str,
        top_k: int = 5,
        filter_metadata: Mapping[str, Any] | None = None,
        *,
        shared: bool = False,
    ) -> list[Hit]:
        """An agent's memories that fit a question, best first; with `shared`, the shared knowledge as well."""
        where = None if filter_metadata is None else {"metadata": filter_metadata}
        agent = clean_text(agent_id, "agent_id")
        return list(self.recall(query, agent=agent, where=where, limit=top_k, shared=shared))


class WorkflowVerbs(Verbs):
    """Sessions, executions and shared knowledge."""

    def get_conversation_history(self, workflow_id: str, limit: int | None = None) -> list[SessionMessage]:
        """The latest messages of a workflow's open sessions, in the order they were said."""
        return self._components.sessions.history(workflow_id, limit)

    def clear_session(self, workflow_id: str) -> bool:
        """Removes a workflow's session data and ends its sessions; False when there was none."""
        return self._components.sessions.clear(workflow_id)

    def get_sessions(self, workflow_id: str | None = None, limit: int = 50) -> list[SessionSummary]:
        """What took place in sessions that have ended, the latest first."""
        return self._components.sessions.find_ended(workflow_id, limit)

    def save_execution_record(self, agent_id: str, record: Mapping[str, JSON]) -> str:
        """The id of the record, which is on disk, without its secrets, when this returns."""
        return self._components.executions.save(agent_id, record)

    def get_execution_records(
        self,
        agent_id: str | None = None,
        limit: int = 100,
        status_filter: str | None = None,
        *,
        workflow: str | None = None,
        session: str | None = None,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
        cursor: str | None = None,
    ) -> ExecutionPage:
        """Records that fit, newest first, and the cursor of the next page."""
        from memoranda.executions.executions import query

        which = query(agent_id, status_filter, workflow=workflow, session=session, after=after, before=before)
        return self._components.executions.find(which, limit, cursor)

    def get_execution_stats(
        self,
        agent_id: str | None = None,
        *,
        workflow: str | None = None,
        session: str | None = None,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
    ) -> ExecutionStats:
        """How many executions there were, how they ended, and how long they took."""
        from memoranda.executions.executions import query

        which = query(agent_id, workflow=workflow, session=session, after=after, before=before)
        return self._components.executions.stats(which)

    def verify_executions(self, head: str | None = None) -> VerificationReport:
        """Whether every record is there, unchanged and in its place; `head` is one that an earlier report gave."""
        return self._components.executions.verify(head)

    def export_files(self, folder: str | PathLike[str]) -> FileReport:
        """Writes saved long-term values and execution records as plain files."""
        from memoranda.transfer.files import export_files

        return export_files(self._components.open().store, self._components.executions, self._tenant, folder)

    def import_files(self, folder: str | PathLike[str]) -> FileReport:
        """Takes such files in; what is there already is replaced (values) or left (records)."""
        from memoranda.transfer.files import Defaults, import_files

        components, opened = self._components, self._components.open()
        defaults = Defaults(self._tenant, components.clock(), components.short_term_ttl)
        return import_files(opened.store, opened.vectors, components.executions, components.mirror, defaults, folder)

    def add_knowledge(
        self,
        documents: Knowledge,
        *,
        source: str | None = None,
        version: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
        progress: Progress | None = None,
    ) -> list[KnowledgeReport]:
        """Shares a text, a file or folder (as a `Path`) or documents; a source given again is replaced."""
        from memoranda.knowledge.knowledge import documents_of

        return self._components.knowledge.add(documents_of(documents, source, version, metadata), progress)

    def remove_knowledge(self, source: str) -> int:
        """Takes a document out of the shared knowledge; how many pieces it had."""
        return self._components.knowledge.remove(source)

    def get_knowledge_sources(self) -> list[KnowledgeSource]:
        """The documents that are shared, by name."""
        return self._components.knowledge.sources()


class ConversationVerbs(Verbs):
    """Conversations by agent."""

    def get_memory(
        self, agent_name: str | None = None, *, user: str | None = None, session: str | None = None
    ) -> ConversationMemory:
        """The conversation of an agent, with a user or in a session where named: the same object at each call."""
        return self._components.conversations.get(make_scope(self._tenant, agent_name, user, session))

    def clear_agent_memory(self, agent_name: str) -> None:
        """Empties an agent's conversations, the stored ones too once this manager uses the store."""
        self._components.conversations.clear(clean_text(agent_name, "agent_name"))

    def clear_all(self) -> None:
        """Empties every conversation of this tenant, the stored ones too once this manager uses the store."""
        self._components.conversations.clear()

    def set_retention_policy(self, agent_name: str, policy: str) -> None:
        """How long an agent's conversations are kept: single_run, session or persistent. Open ones move."""
        self._components.conversations.set_policy(clean_text(agent_name, "agent_name"), policy)

    def run(self, agent_name: str) -> AbstractContextManager[ConversationMemory]:
        """One run of an agent, for `with`; when it ends, a `single_run` conversation is emptied."""
        name = clean_text(agent_name, "agent_name")
        return self._components.conversations.run(name, make_scope(self._tenant, name))

    def end_run(self, agent_name: str) -> None:
        """Ends a run that no `with` marks: a `single_run` conversation is emptied."""
        self._components.conversations.end_run(clean_text(agent_name, "agent_name"))

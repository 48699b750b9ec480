"""Values under a key, conversations, sessions, executions and shared knowledge.

What only one method needs is imported there: the remote client imports this module, and it must load no engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

from memoranda.errors import NotFound
from memoranda.manager.recall import ManagerMethods, RecallMethods
from memoranda.records import ResultList
from memoranda.text.checks import clean_text
from memoranda.types import JSON, Hit, Memory, MemoryType, Progress
from memoranda.validation import (
    check_flag,
    check_id,
    check_mapping,
    check_path,
    check_progress,
    check_type,
    check_writable_type,
    flatten_conditions,
    page_of,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from memoranda.conversation.memory import ConversationMemory
    from memoranda.remember.pipeline import Content
    from memoranda.results.workflows import (
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


class ValueMethods(RecallMethods):
    """Store JSON values under a key of an agent, for a limited time or permanently."""

    def save(
        self,
        agent_id: str,
        key: str,
        value: JSON,
        memory_type: MemoryType | str = MemoryType.SHORT_TERM,
        ttl: float | None = None,
    ) -> bool:
        """Store a value and return True; a failure raises.

        Args:
            agent_id: The agent that the value belongs to.
            key: The key; saving again under the same key replaces the value.
            value: Any JSON value.
            memory_type: `short_term` expires; `long_term` is permanent and can be searched.
            ttl: Seconds until a short-term value expires; `MEMORY_SHORT_TERM_TTL` when None.
        """
        return self._components.values.save(
            agent_id, clean_text(key, "key"), value, check_writable_type(memory_type), ttl
        )

    def retrieve(self, agent_id: str, key: str, memory_type: MemoryType | str = MemoryType.SHORT_TERM) -> JSON:
        """Return a saved value, or None when there is none."""
        return self._components.values.retrieve(agent_id, key, check_type(memory_type))

    def delete_value(self, agent_id: str, key: str, memory_type: MemoryType | str = MemoryType.SHORT_TERM) -> bool:
        """Delete a saved value and return whether there was one."""
        return self._components.values.delete(agent_id, key, check_type(memory_type))

    def search_similar(
        self,
        agent_id: str,
        query: Content,
        top_k: int = 5,
        filter_metadata: Mapping[str, Any] | None = None,
        *,
        shared: bool = False,
    ) -> list[Hit]:
        """Return an agent's memories that answer a question, best first.

        Args:
            agent_id: The agent.
            query: The question.
            top_k: The maximum number of hits.
            filter_metadata: Conditions on the metadata, such as `{"topic": "drinks"}`. A saved value has its fields
                there, `{"from": {"city": "Rome"}}` or `{"from.city": "Rome"}`, its `key`, `agent_id` and
                `memory_type`, and the `workflow_id` of the session that saved it; values of a workflow are found
                only when this names it.
            shared: Also search the shared knowledge.
        """
        from memoranda.sessions.values import match_long_fields

        conditions = flatten_conditions(check_mapping(filter_metadata, "filter_metadata"))
        own = {} if "workflow_id" in conditions else {"workflow_id": {"exists": False}}
        where = {"metadata": own | {name: match_long_fields(wanted) for name, wanted in conditions.items()}}
        agent = clean_text(agent_id, "agent_id")
        return ResultList(self.recall(query, agent=agent, where=where, limit=top_k, shared=shared), "hit")


class WorkflowMethods(ManagerMethods):
    """Read the sessions of workflows, keep execution records, and manage the shared knowledge."""

    def get_conversation_history(
        self, workflow_id: str, limit: int | None = None, offset: int = 0
    ) -> list[SessionMessage]:
        """Return the latest messages of a workflow's open sessions, oldest first.

        Args:
            workflow_id: The workflow.
            limit: The maximum number of messages; all that are kept when None.
            offset: How many of the latest to leave out.
        """
        return ResultList(self._components.sessions.history(workflow_id, limit, offset), "message")

    def clear_session(self, workflow_id: str) -> bool:
        """End a workflow's sessions and delete their data; return True once none is left. A failure raises."""
        return self._components.sessions.clear(workflow_id)

    def get_sessions(self, workflow_id: str | None = None, limit: int = 50, offset: int = 0) -> list[SessionSummary]:
        """Return summaries of ended sessions, the latest first: `limit` of them after the first `offset`."""
        return ResultList(self._components.sessions.find_ended(workflow_id, limit, offset), "session")

    def save_execution_record(self, agent_id: str, record: Mapping[str, JSON]) -> str:
        """Append a record of what an agent did, without its secrets, and return its id. It is on disk by then."""
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
        offset: int = 0,
    ) -> ExecutionPage:
        """Return a page of execution records, newest first.

        Args:
            agent_id: Only records of this agent.
            limit: The maximum number of records.
            status_filter: Only records with this status.
            workflow: Only records of this workflow.
            session: Only records of this session.
            after: Only records written at or after this time.
            before: Only records written before this time.
            cursor: The `next_cursor` of the previous page.
            offset: How many to leave out at the beginning; in long lists, `cursor` is faster.
        """
        from memoranda.executions.executions import make_query

        query = make_query(agent_id, status_filter, workflow=workflow, session=session, after=after, before=before)
        return self._components.executions.find(query, limit, cursor, offset)

    def get_execution_stats(
        self,
        agent_id: str | None = None,
        *,
        workflow: str | None = None,
        session: str | None = None,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
    ) -> ExecutionStats:
        """Count executions by status and summarize their durations.

        Args:
            agent_id, workflow, session, after, before: As in `get_execution_records`.
        """
        from memoranda.executions.executions import make_query

        query = make_query(agent_id, workflow=workflow, session=session, after=after, before=before)
        return self._components.executions.stats(query)

    def verify_executions(self, head: str | None = None) -> VerificationReport:
        """Check that no record was changed, moved, removed or inserted.

        With the `head` of an earlier report, an older copy of the whole database is found too.
        """
        return self._components.executions.verify(head)

    def export_files(self, folder: str | PathLike[str], *, plain: bool = False) -> FileReport:
        """Write saved long-term values and execution records to a folder, as JSON.

        Args:
            folder: The folder; missing folders are created.
            plain: Needed for an encrypted database: these files are not encrypted.
        """
        from memoranda.transfer.files import export_files

        opened = self._components.open()
        return export_files(
            opened.store,
            self._components.executions,
            self._tenant,
            check_path(folder, "folder"),
            plain=check_flag(plain, "plain"),
        )

    def import_files(self, folder: str | PathLike[str]) -> FileReport:
        """Load the files of `export_files`. Values replace existing ones; records that exist are skipped."""
        from memoranda.transfer.files import ImportDefaults, import_files

        components, opened = self._components, self._components.open()
        defaults = ImportDefaults(self._tenant, components.clock(), components.short_term_ttl)
        return import_files(opened.store, opened.vectors, components.executions, defaults, check_path(folder, "folder"))

    def add_knowledge(
        self,
        documents: Knowledge,
        *,
        source: str | None = None,
        version: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
        progress: Progress | None = None,
    ) -> list[KnowledgeReport]:
        """Add documents to the shared knowledge. A document replaces the one with the same source.

        Args:
            documents: A text, the `Path` of a file or folder, a `Document`, or a list of them.
            source: The name of the document. A text needs one; a file has its path in the folder when None.
            version: The version of the documents that name none.
            metadata: A JSON object stored with each document.
            progress: Called with (done, total) while texts are embedded.
        """
        from memoranda.knowledge import parse_documents

        return ResultList(
            self._components.knowledge.add(
                parse_documents(documents, source, version, metadata), check_progress(progress)
            ),
            "document",
        )

    def remove_knowledge(self, source: str) -> int:
        """Remove a document from the shared knowledge and return how many chunks it had."""
        return self._components.knowledge.remove(source)

    def get_knowledge_sources(self, limit: int | None = None, offset: int = 0) -> list[KnowledgeSource]:
        """Return the documents of the shared knowledge, sorted by source; `limit` of them after the first `offset`."""
        return ResultList(page_of(self._components.knowledge.sources(), limit, offset), "document")


class ConversationMethods(ManagerMethods):
    """Open, clear and retain the conversations of agents."""

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
        if not isinstance(agent_name, int):
            return self._components.conversations.get(self._scope(agent_name, user, session))
        try:
            return self._components.memories.get(self._scope(None, user, session), check_id(agent_name))
        except NotFound:
            return None

    def clear_agent_memory(self, agent_name: str) -> None:
        """Clear an agent's conversations, and the stored ones too once this manager has opened the store."""
        self._components.conversations.clear(clean_text(agent_name, "agent_name"))

    def clear_all(self) -> None:
        """Clear every conversation of this tenant, and the stored ones too once this manager has opened the store."""
        self._components.conversations.clear()

    def set_retention_policy(self, agent_name: str, policy: str) -> None:
        """Set how long an agent's conversations are kept: `single_run`, `session` or `persistent`."""
        self._components.conversations.set_policy(clean_text(agent_name, "agent_name"), policy)

    def run(self, agent_name: str) -> AbstractContextManager[ConversationMemory]:
        """Run an agent, for `with`. At the end, a `single_run` conversation is cleared."""
        name = clean_text(agent_name, "agent_name")
        return self._components.conversations.run(name, self._scope(name, None))

    def end_run(self, agent_name: str) -> None:
        """End a run that was not started by `with run(...)`: a `single_run` conversation is cleared."""
        self._components.conversations.end_run(clean_text(agent_name, "agent_name"))

"""A workflow's sessions, its audit trail, and the knowledge all agents share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING

from memoranda import parts
from memoranda.types import JSON, Progress
from memoranda.verbs.base import Verbs

if TYPE_CHECKING:
    from memoranda.parts.executions import ExecutionPage, ExecutionStats
    from memoranda.parts.files import FileReport
    from memoranda.parts.knowledge import Knowledge, KnowledgeReport, KnowledgeSource
    from memoranda.session.history import SessionMessage, SessionSummary
    from memoranda.storage.base import VerificationReport


class WorkflowVerbs(Verbs):
    """Sessions, executions and shared knowledge."""

    def get_conversation_history(self, workflow_id: str, limit: int | None = None) -> list[SessionMessage]:
        """The latest messages of a workflow's open sessions, in the order they were said."""
        return self._parts.sessions.history(workflow_id, limit)

    def clear_session(self, workflow_id: str) -> bool:
        """Removes a workflow's session data and ends its sessions; False when there was none."""
        return self._parts.sessions.clear(workflow_id)

    def get_sessions(self, workflow_id: str | None = None, limit: int = 50) -> list[SessionSummary]:
        """What took place in sessions that have ended, the latest first."""
        return self._parts.sessions.ended(workflow_id, limit)

    def save_execution_record(self, agent_id: str, record: Mapping[str, JSON]) -> str:
        """The id of the record, which is on disk, without its secrets, when this returns."""
        return self._parts.executions.save(agent_id, record)

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
        which = parts.executions.query(
            agent_id, status_filter, workflow=workflow, session=session, after=after, before=before
        )
        return self._parts.executions.find(which, limit, cursor)

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
        which = parts.executions.query(agent_id, workflow=workflow, session=session, after=after, before=before)
        return self._parts.executions.stats(which)

    def verify_executions(self, head: str | None = None) -> VerificationReport:
        """Whether every record is there, unchanged and in its place; `head` is one that an earlier report gave."""
        return self._parts.executions.verify(head)

    def export_files(self, folder: str | PathLike[str]) -> FileReport:
        """Writes saved long-term values and execution records as plain files."""
        return parts.files.export_files(self._parts, self._tenant, folder)

    def import_files(self, folder: str | PathLike[str]) -> FileReport:
        """Takes such files in; what is there already is replaced (values) or left (records)."""
        return parts.files.import_files(self._parts, self._tenant, folder)

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
        return self._parts.knowledge.add(parts.knowledge.documents_of(documents, source, version, metadata), progress)

    def remove_knowledge(self, source: str) -> int:
        """Takes a document out of the shared knowledge; how many pieces it had."""
        return self._parts.knowledge.remove(source)

    def get_knowledge_sources(self) -> list[KnowledgeSource]:
        """The documents that are shared, by name."""
        return self._parts.knowledge.sources()

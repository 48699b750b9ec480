"""`MemoryManager`: the front door, one line per verb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from recollect.arguments import (
    check_id,
    check_ids,
    check_limit,
    check_moment,
    check_name,
    check_own_type,
    check_type,
    check_unit,
    check_whole,
    make_filter,
    make_scope,
)
from recollect.context.base import Context
from recollect.conversation.memory import ConversationMemory
from recollect.embedding.base import Embedder
from recollect.index.base import VectorEngine
from recollect.jsonvalue import copy_json_object
from recollect.lifecycle.base import PolicyName, UpkeepSettings
from recollect.llm.base import LLM
from recollect.parts.drafts import Common, Content, common
from recollect.parts.executions import ExecutionFilter, ExecutionPage, ExecutionStats, VerificationReport
from recollect.parts.files import FileReport, export_files, import_files
from recollect.parts.forgetting import ForgetReceipt
from recollect.parts.foundation import Foundation
from recollect.parts.knowledge import Knowledge, KnowledgeReport, KnowledgeSource, documents_of
from recollect.parts.memories import CleanupReport, Patch
from recollect.parts.past import History
from recollect.parts.prompting import prompt_context
from recollect.parts.status import Health, Stats, health, stats
from recollect.parts.upkeep import UpkeepReport
from recollect.redaction import Redactor
from recollect.session.base import ValueStore
from recollect.session.context import SessionContext
from recollect.session.history import SessionMessage, SessionSummary
from recollect.settings import MemoryConfig, get_settings
from recollect.text import clean_text
from recollect.types import (
    ANY,
    DEFAULT_TENANT,
    JSON,
    AnyUser,
    ArmScore,
    Association,
    Clock,
    Hit,
    Memory,
    MemoryType,
    Outcome,
    Progress,
    Recall,
    Related,
    WhyNot,
)

if TYPE_CHECKING:
    from recollect.parts.checking import CheckReport, RepairReport
    from recollect.parts.importing import ImportReport
    from recollect.parts.transfer import ExportReport
    from recollect.storage.backup import Backup


class MemoryManager:
    """Memory for agents: remembers, keeps, finds again, and says why.

    With no arguments, everything comes from the environment and `.env`; an argument wins over both.
    Nothing is opened before it is needed; entering it as a context manager opens the database at once.
    """

    def __init__(
        self,
        config: MemoryConfig | str | None = None,
        *,
        db_url: str | None = None,
        faiss_index_path: str | None = None,
        embedder: Embedder | None = None,
        index: VectorEngine | None = None,
        short_term: ValueStore | None = None,
        clock: Clock | None = None,
        tenant: str = DEFAULT_TENANT,
        retention_policy: str = "session",
        max_messages_per_agent: int | None = 1000,
        redactor: Redactor | None = None,
    ) -> None:
        url = config if isinstance(config, str) else db_url
        settings = config if isinstance(config, MemoryConfig) else get_settings().memory
        settings = replace(
            settings,
            db_url=url or settings.db_url,
            faiss_index_path=faiss_index_path or settings.faiss_index_path,
        )
        self._tenant = clean_text(tenant, "tenant")
        self._parts = Foundation(
            settings,
            self._tenant,
            embedder=embedder,
            index=index,
            short_term=short_term,
            clock=clock,
            retention_policy=retention_policy,
            max_messages=max_messages_per_agent,
            redactor=redactor,
        )

    def __enter__(self) -> Self:
        self._parts.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Saves the index and lets go of the file; may be called twice."""
        self._parts.close()

    def for_tenant(self, tenant: str) -> MemoryManager:
        """A manager of another tenant over the same store and models; it ends when this one is closed."""
        other = copy(self)
        other._tenant = clean_text(tenant, "tenant")
        other._parts = self._parts.for_tenant(other._tenant)
        return other

    # Our own verbs

    def remember(
        self,
        content: Content | Sequence[Content],
        *,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
        type: MemoryType | str | None = None,
        source: str | None = None,
        importance: float | None = None,
        metadata: Mapping[str, JSON] | None = None,
        at: datetime | str | None = None,
        idempotency_key: str | None = None,
        progress: Progress | None = None,
    ) -> list[Outcome]:
        """One outcome per text or message, all in one commit; what is known already is not stored again."""
        call = self._call(agent, user, session, type, source, metadata, importance=importance, at=at)
        return self._parts.memories.remember(content, call, idempotency_key, progress)

    def recall(
        self,
        query: str,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int = 10,
        now: datetime | str | None = None,
        mode: str | None = None,
        explain: bool = False,
        shared: bool = False,
    ) -> Recall:
        """The memories that fit a question, best first, and why each was found.

        With `shared`, what the shared knowledge says comes among them, its source named in each hit. `now` is the
        asker's clock for words like "last week". Mode `fast` runs no neural model, `best` reads the best hits once
        more with a reranker.
        """
        scope, kept = make_scope(self._tenant, agent, user, session), make_filter(where, types)
        ask = partial(self._parts.recaller.recall, query, limit=check_limit(limit), now=now, mode=mode, explain=explain)
        wanted = shared or MemoryType.SHARED in kept.types
        return self._parts.knowledge.recall(ask, scope, kept, limit) if wanted else ask(scope, kept)

    def why(self, recall: Recall, memory_id: int) -> tuple[ArmScore, ...]:
        """What each arm and boost said of one hit of a recall."""
        from recollect.retrieval.explain import why  # numpy comes with it

        return why(recall, check_whole(memory_id, "a memory id"))

    def why_not(
        self,
        query: str,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int = 10,
        now: datetime | str | None = None,
    ) -> WhyNot:
        """Which step left out a memory that one expected, or where it stands."""
        scope, kept = make_scope(self._tenant, agent, user, session), make_filter(where, types)
        expected = check_whole(memory_id, "a memory id")
        return self._parts.recaller.why_not(query, expected, scope, kept, check_limit(limit), now=now)

    def context(
        self,
        query: str,
        *,
        budget: int = 1500,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int = 30,
        now: datetime | str | None = None,
        mode: str | None = None,
    ) -> Context:
        """What is remembered on a question as text for a prompt, at most `budget` tokens; "" when nothing was found."""
        room, moment = check_whole(budget, "budget"), self._parts.now() if now is None else check_moment(now, "now")
        found = self.recall(
            query, agent=agent, user=user, session=session, types=types, where=where, limit=limit, now=moment, mode=mode
        )
        return prompt_context(found, room, moment)

    # Memories

    def add_memory(
        self,
        content: str,
        memory_type: MemoryType | str = MemoryType.SEMANTIC,
        source: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
        importance: float | None = None,
        at: datetime | str | None = None,
    ) -> Memory:
        """The memory that was stored. Its importance may also stand in the metadata."""
        call = self._call(agent, user, session, memory_type, source, metadata, importance=importance, at=at)
        return self._parts.memories.add([content], call)[0]

    def add_memories(
        self,
        contents: Sequence[str],
        memory_type: MemoryType | str = MemoryType.SEMANTIC,
        source: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
        importance: float | None = None,
        at: datetime | str | None = None,
        progress: Progress | None = None,
    ) -> list[Memory]:
        """Many memories in one commit."""
        call = self._call(agent, user, session, memory_type, source, metadata, importance=importance, at=at)
        return self._parts.memories.add(contents, call, progress)

    def get(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """The memory of this id; `NotFound` when the scope has none."""
        return self._parts.memories.get(make_scope(self._tenant, agent, user, session), check_id(memory_id))

    def update(
        self,
        memory_id: int,
        content: str | None = None,
        *,
        memory_type: MemoryType | str | None = None,
        source: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
        importance: float | None = None,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """The memory as it is now. What is not given stays; metadata is replaced as a whole."""
        patch = Patch(
            content=None if content is None else clean_text(content),
            type=None if memory_type is None else check_own_type(memory_type),
            source=check_name(source, "source"),
            metadata=None if metadata is None else copy_json_object(metadata, "metadata"),
            importance=None if importance is None else check_unit(importance, "importance"),
        )
        scope = make_scope(self._tenant, agent, user, session)
        return self._parts.memories.update(scope, check_id(memory_id), patch)

    def delete(
        self,
        memory_id: int | Sequence[int],
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> int:
        """How many memories went: all that were named, or none and `NotFound`."""
        return self._parts.memories.delete(make_scope(self._tenant, agent, user, session), check_ids(memory_id))

    def list_memories(
        self,
        limit: int = 100,
        after: int = 0,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[Memory]:
        """Memories in the order of their ids; to go on, give the last id as `after`."""
        scope, start = make_scope(self._tenant, agent, user, session), check_whole(after, "after", least=0)
        return self._parts.memories.page(scope, make_filter(where, types), check_limit(limit), start)

    def search_memories(
        self,
        query: str,
        memory_types: Sequence[MemoryType | str] | None = None,
        limit: int = 5,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[Hit]:
        """The hits alone, best first."""
        found = self.recall(
            query, agent=agent, user=user, session=session, types=memory_types, where=where, limit=limit
        )
        return list(found)

    def search_memory(
        self,
        query: str,
        memory_type: MemoryType | str | None = None,
        limit: int = 5,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> list[Hit]:
        """The hits of one memory type, best first."""
        types = None if memory_type is None else [memory_type]
        return self.search_memories(query, types, limit, agent=agent, user=user, session=session)

    def add_memory_association(
        self,
        memory_id: int,
        related_memory_id: int,
        relationship_type: str = "related_to",
        strength: float = 1.0,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
    ) -> Association:
        """A directed link between two memories of one scope; a repeated one takes the new strength."""
        link = Association(
            check_id(memory_id, "memory_id"),
            check_id(related_memory_id, "related_memory_id"),
            clean_text(relationship_type, "relationship_type"),
            check_unit(strength, "strength"),
        )
        return self._parts.memories.associate(make_scope(self._tenant, agent, user), link)

    def get_related_memories(
        self,
        memory_id: int,
        relationship_type: str | None = None,
        depth: int = 1,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
    ) -> list[Related]:
        """Memories up to `depth` links away in either direction, nearest and strongest first."""
        scope = make_scope(self._tenant, agent, user)
        kind = check_name(relationship_type, "relationship_type")
        return self._parts.memories.related(scope, check_id(memory_id, "memory_id"), kind, depth)

    def cleanup_old_memories(
        self,
        max_age_days: float = 30,
        min_importance: float = 0.3,
        dry_run: bool = False,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
    ) -> CleanupReport:
        """Removes memories recorded more than `max_age_days` ago whose importance is below the minimum."""
        age = timedelta(days=check_whole(max_age_days, "max_age_days", least=0))
        scope = make_scope(self._tenant, agent, user)
        return self._parts.memories.cleanup(scope, age, check_unit(min_importance, "min_importance"), dry_run)

    # Values under a key

    def save(
        self,
        agent_id: str,
        key: str,
        value: JSON,
        memory_type: MemoryType | str = MemoryType.SHORT_TERM,
        ttl: float | None = None,
    ) -> bool:
        """True once the value is stored; anything else raises."""
        return self._parts.values.save(agent_id, key, value, check_own_type(memory_type), ttl)

    def retrieve(self, agent_id: str, key: str, memory_type: MemoryType | str = MemoryType.SHORT_TERM) -> JSON:
        """The value; None when there is none."""
        return self._parts.values.retrieve(agent_id, key, check_type(memory_type))

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

    # Sessions

    def get_conversation_history(self, workflow_id: str, limit: int | None = None) -> list[SessionMessage]:
        """The latest messages of a workflow's open sessions, in the order they were said."""
        return self._parts.sessions.history(workflow_id, limit)

    def clear_session(self, workflow_id: str) -> bool:
        """Removes a workflow's session data and ends its sessions; False when there was none."""
        return self._parts.sessions.clear(workflow_id)

    def get_sessions(self, workflow_id: str | None = None, limit: int = 50) -> list[SessionSummary]:
        """What took place in sessions that have ended, the latest first."""
        return self._parts.sessions.ended(workflow_id, limit)

    # Executions

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
        which = ExecutionFilter.of(
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
        which = ExecutionFilter.of(agent_id, workflow=workflow, session=session, after=after, before=before)
        return self._parts.executions.stats(which)

    def verify_executions(self, head: str | None = None) -> VerificationReport:
        """Whether every record is there, unchanged and in its place; `head` is one that an earlier report gave."""
        return self._parts.executions.verify(head)

    def export_files(self, folder: str | PathLike[str]) -> FileReport:
        """Writes saved long-term values and execution records as plain files."""
        return export_files(self._parts, self._tenant, folder)

    def import_files(self, folder: str | PathLike[str]) -> FileReport:
        """Takes such files in; what is there already is replaced (values) or left (records)."""
        return import_files(self._parts, self._tenant, folder)

    # Shared knowledge

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
        return self._parts.knowledge.add(documents_of(documents, source, version, metadata), progress)

    def remove_knowledge(self, source: str) -> int:
        """Takes a document out of the shared knowledge; how many pieces it had."""
        return self._parts.knowledge.remove(source)

    def get_knowledge_sources(self) -> list[KnowledgeSource]:
        """The documents that are shared, by name."""
        return self._parts.knowledge.sources()

    # Conversations

    def get_memory(
        self, agent_name: str | None = None, *, user: str | None = None, session: str | None = None
    ) -> ConversationMemory:
        """The conversation of an agent, with a user or in a session where named: the same object at each call."""
        return self._parts.conversations.get(make_scope(self._tenant, agent_name, user, session))

    def clear_agent_memory(self, agent_name: str) -> None:
        """Empties an agent's conversations, the stored ones too once this manager uses the store."""
        self._parts.conversations.clear(clean_text(agent_name, "agent_name"))

    def clear_all(self) -> None:
        """Empties every conversation of this tenant, the stored ones too once this manager uses the store."""
        self._parts.conversations.clear()

    def set_retention_policy(self, agent_name: str, policy: str) -> None:
        """How long an agent's conversations are kept: single_run, session or persistent. Open ones move."""
        self._parts.conversations.set_policy(clean_text(agent_name, "agent_name"), policy)

    def run(self, agent_name: str) -> AbstractContextManager[ConversationMemory]:
        """One run of an agent, for `with`; when it ends, a `single_run` conversation is emptied."""
        name = clean_text(agent_name, "agent_name")
        return self._parts.conversations.run(name, make_scope(self._tenant, name))

    def end_run(self, agent_name: str) -> None:
        """Ends a run that no `with` marks: a `single_run` conversation is emptied."""
        self._parts.conversations.end_run(clean_text(agent_name, "agent_name"))

    # Copies, exports, checks

    def backup(self, target: str | PathLike[str], *, force: bool = False, progress: Progress | None = None) -> Backup:
        """A copy of the database with all that was acknowledged before the call; others may write meanwhile."""
        return self._parts.open().back_up(target, force, progress)

    def check(self) -> CheckReport:
        """Whether file, rows, full text, vectors and search index agree."""
        return self._parts.open().check()

    def repair(self, progress: Progress | None = None) -> RepairReport:
        """Makes again what derives from the rows; no memory is ever deleted by it."""
        return self._parts.open().repair(progress)

    def export_jsonl(
        self,
        target: str | PathLike[str],
        *,
        agent: str | None = None,
        user: str | AnyUser | None = ANY,
        session: str | None = None,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Messages, memories and associations as a file of JSON lines; all of this tenant unless a scope is named."""
        return self._parts.open().export(make_scope(self._tenant, agent, user, session), target, progress)

    def import_jsonl(self, source: str | PathLike[str], *, progress: Progress | None = None) -> ImportReport:
        """Loads an export; what is there already stays, and running it again adds nothing."""
        return self._parts.open().load(self._tenant, source, progress)

    # Upkeep and state

    def upkeep(
        self,
        *,
        policies: Sequence[PolicyName] | None = None,
        settings: UpkeepSettings | None = None,
        agent: str | None = None,
        user: str | AnyUser | None = ANY,
        session: str | None = None,
        llm: LLM | None = None,
        dry_run: bool = False,
        every: timedelta | float | None = None,
        progress: Progress | None = None,
    ) -> UpkeepReport:
        """What was tidied, merged, summarised and put away, and why; all of this tenant unless a scope is named.

        With `every` (a timedelta or seconds), it runs now and again after each such time, until `close()`.
        """
        scope = make_scope(self._tenant, agent, user, session)
        order = self._parts.upkeep.order(scope, policies, settings, llm, dry_run)
        return self._parts.upkeep.run(order, every, progress)

    def forget(
        self,
        ids: int | Sequence[int] | None = None,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
        containing: str | None = None,
        dry_run: bool = False,
    ) -> ForgetReceipt:
        """Erases memories and all that tells of them, down to the bytes of the file; a receipt for each store.

        Named by id, by filter, by a text they contain, or as a whole scope: then what was said goes as well. What
        was made from them, and what came from the same messages, goes with them.
        """
        return self._parts.forgetting.forget(
            make_scope(self._tenant, agent, user, session),
            () if ids is None else tuple(check_ids(ids)),
            make_filter(where, types),
            None if containing is None else clean_text(containing, "containing"),
            dry_run,
        )

    def history(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> History:
        """What a memory was before, what it was made from, and what took its place."""
        return self._parts.past.history(make_scope(self._tenant, agent, user, session), check_id(memory_id))

    def archive(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Takes a memory out of recall; `get` and `history` still have it, `restore` brings it back."""
        return self._parts.past.archive(make_scope(self._tenant, agent, user, session), check_id(memory_id))

    def restore(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Brings an archived memory back into recall."""
        return self._parts.past.restore(make_scope(self._tenant, agent, user, session), check_id(memory_id))

    def pin(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """The memory, from now on never tidied away by upkeep."""
        return self._parts.past.pin(make_scope(self._tenant, agent, user, session), check_id(memory_id), True)

    def unpin(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """The memory, from now on like any other."""
        return self._parts.past.pin(make_scope(self._tenant, agent, user, session), check_id(memory_id), False)

    def reembed(self, progress: Progress | None = None) -> int:
        """Moves every memory to this manager's embedding model; how many were embedded."""
        return self._parts.open().reembed(progress)

    def get_stats(self) -> Stats:
        """Counts of what this tenant has."""
        return stats(self._parts, self._tenant)

    def health(self) -> Health:
        """Whether everything works, and on what it runs."""
        return health(self._parts)

    def _call(
        self,
        agent: str | None,
        user: str | None,
        session: str | None,
        kind: MemoryType | str | None,
        source: str | None,
        metadata: Mapping[str, JSON] | None,
        *,
        importance: float | None,
        at: datetime | str | None,
    ) -> Common:
        return common(
            make_scope(self._tenant, agent, user, session),
            self._parts.now(),
            self._parts.short_term_ttl,
            type=kind,
            source=source,
            metadata=metadata,
            importance=importance,
            at=at,
        )


def create_session(
    workflow_id: str,
    memory_manager: MemoryManager,
    metadata: Mapping[str, JSON] | None = None,
    auto_cleanup: bool | None = None,
) -> SessionContext:
    """A session of a workflow, open at once; for `with`, or until `end_session()`.

    The same workflow opened twice is one workflow: both see its data, which goes when the last one ends.
    With `auto_cleanup=False` it stays until its values expire (default: `MEMORY_AUTO_CLEANUP`).
    """
    return memory_manager._parts.sessions.open(workflow_id, metadata, auto_cleanup)

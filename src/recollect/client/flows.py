"""The verbs of workflows as requests: values, sessions, executions, knowledge, conversations."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from recollect.arguments import check_type
from recollect.client.call import Call, answer_of, encode, field_of, query
from recollect.parts.executions import ExecutionPage, ExecutionStats, VerificationReport
from recollect.parts.knowledge import Document, Knowledge, KnowledgeReport, KnowledgeSource, documents_of
from recollect.session.history import SessionMessage, SessionSummary
from recollect.types import JSON, MemoryType, Progress


def save(
    agent_id: str,
    key: str,
    value: JSON,
    memory_type: MemoryType | str = MemoryType.SHORT_TERM,
    ttl: float | None = None,
) -> Call[bool]:
    """True once the value is stored; anything else raises."""
    return save_at("/v1/values", agent_id, key, value, memory_type, ttl)


def save_at(
    path: str, agent_id: str, key: str, value: JSON, memory_type: MemoryType | str, ttl: float | None
) -> Call[bool]:
    """The same for the values of a session, which have an address of their own."""
    given = {"agent_id": agent_id, "key": key, "memory_type": memory_type, "ttl": ttl, "value": value}
    return Call("PUT", path, _touched, encode(given, nullable="value"))


def retrieve(agent_id: str, key: str, memory_type: MemoryType | str = MemoryType.SHORT_TERM) -> Call[JSON]:
    """The value; None when there is none."""
    return Call("GET", "/v1/values", field_of("value"), params=value_query(agent_id, key, memory_type))


def get_conversation_history(workflow_id: str, limit: int | None = None) -> Call[list[SessionMessage]]:
    """The latest messages of a workflow's open sessions, in the order they were said."""
    params = query({"workflow_id": workflow_id, "limit": limit})
    return Call("GET", "/v1/sessions/history", answer_of(list[SessionMessage]), params=params)


def clear_session(workflow_id: str) -> Call[bool]:
    """Removes a workflow's session data and ends its sessions; False when there was none."""
    return Call("POST", "/v1/sessions/clear", _touched, encode({"workflow_id": workflow_id}))


def get_sessions(workflow_id: str | None = None, limit: int = 50) -> Call[list[SessionSummary]]:
    """What took place in sessions that have ended, the latest first."""
    params = query({"workflow_id": workflow_id, "limit": limit})
    return Call("GET", "/v1/sessions", answer_of(list[SessionSummary]), params=params)


def save_execution_record(agent_id: str, record: Mapping[str, JSON]) -> Call[str]:
    """The id of the record, which is on disk, without its secrets, when this returns."""
    return Call("POST", "/v1/executions", field_of("id"), encode({"agent_id": agent_id, "record": record}))


def get_execution_records(
    agent_id: str | None = None,
    limit: int = 100,
    status_filter: str | None = None,
    *,
    workflow: str | None = None,
    session: str | None = None,
    after: datetime | str | None = None,
    before: datetime | str | None = None,
    cursor: str | None = None,
) -> Call[ExecutionPage]:
    """Records that fit, newest first, and the cursor of the next page."""
    given = {"agent_id": agent_id, "limit": limit, "status_filter": status_filter, "workflow": workflow}
    params = query(given | {"session": session, "after": after, "before": before, "cursor": cursor})
    return Call("GET", "/v1/executions", answer_of(ExecutionPage), params=params)


def get_execution_stats(
    agent_id: str | None = None,
    *,
    workflow: str | None = None,
    session: str | None = None,
    after: datetime | str | None = None,
    before: datetime | str | None = None,
) -> Call[ExecutionStats]:
    """How many executions there were, how they ended, and how long they took."""
    given = {"agent_id": agent_id, "workflow": workflow, "session": session, "after": after, "before": before}
    return Call("GET", "/v1/executions/stats", answer_of(ExecutionStats), params=query(given))


def verify_executions(head: str | None = None) -> Call[VerificationReport]:
    """Whether every record is there, unchanged and in its place; `head` is one that an earlier report gave."""
    return Call("GET", "/v1/executions/verify", answer_of(VerificationReport), params=query({"head": head}))


def add_knowledge(
    documents: Knowledge,
    *,
    source: str | None = None,
    version: str | None = None,
    metadata: Mapping[str, JSON] | None = None,
    progress: Progress | None = None,
) -> Call[list[KnowledgeReport]]:
    """Shares a text, a file or folder (as a `Path`) or documents; a source given again is replaced."""
    # Files are read here, on the client's machine: the server opens none that a caller names.
    several = [_document(each) for each in documents_of(documents, source, version, metadata)]
    body = encode({"documents": several})
    return Call("POST", "/v1/knowledge", answer_of(list[KnowledgeReport]), body, progress=progress, total=len(several))


def remove_knowledge(source: str) -> Call[int]:
    """Takes a document out of the shared knowledge; how many pieces it had."""
    return Call("POST", "/v1/knowledge/remove", field_of("count"), encode({"source": source}))


def get_knowledge_sources() -> Call[list[KnowledgeSource]]:
    """The documents that are shared, by name."""
    return Call("GET", "/v1/knowledge", answer_of(list[KnowledgeSource]))


def clear_agent_memory(agent_name: str) -> Call[None]:
    """Empties an agent's conversations; takes a key with the admin scope."""
    return Call("POST", "/v1/conversations/clear-agent", _nothing, encode({"agent_name": agent_name}))


def clear_all() -> Call[None]:
    """Empties every conversation of this tenant; takes a key with the admin scope."""
    return Call("POST", "/v1/conversations/clear", _nothing)


def set_retention_policy(agent_name: str, policy: str) -> Call[None]:
    """How long an agent's conversations are kept: single_run, session or persistent. Open ones move."""
    body = encode({"agent_name": agent_name, "policy": policy})
    return Call("PUT", "/v1/conversations/retention", _nothing, body)


def end_run(agent_name: str) -> Call[None]:
    """Ends a run that no `with` marks: a `single_run` conversation is emptied."""
    return Call("POST", "/v1/conversations/end-run", _nothing, encode({"agent_name": agent_name}))


def value_query(agent_id: str, key: str, memory_type: MemoryType | str) -> dict[str, str | int]:
    """Which value is meant."""
    return query({"agent_id": agent_id, "key": key, "memory_type": check_type(memory_type).value})


def _document(document: Document) -> dict[str, object]:
    given = dict(document)
    return {name: value for name, value in given.items() if value is not None}


def _touched(answer: dict[str, int]) -> bool:
    return bool(answer["count"])


def _nothing(_: object) -> None:
    return None

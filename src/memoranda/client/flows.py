"""The verbs of workflows as requests: values, sessions, executions, knowledge, conversations."""

from __future__ import annotations

from typing import Any

from memoranda.arguments import check_type
from memoranda.client.call import Call, Given, answer_of, as_in, encode, field_of, query, request
from memoranda.manager import MemoryManager as Embedded
from memoranda.parts.executions import ExecutionPage, ExecutionStats
from memoranda.parts.knowledge import KnowledgeReport, KnowledgeSource, documents_of
from memoranda.session.history import SessionMessage, SessionSummary
from memoranda.storage.base import VerificationReport
from memoranda.types import JSON


@as_in(Embedded.save)
def save(given: Given) -> Call[bool]:
    return value_saved("/v1/values", given)


@as_in(Embedded.retrieve)
def retrieve(given: Given) -> Call[JSON]:
    return value_read("/v1/values", given)


def value_saved(path: str, given: Given) -> Call[bool]:
    """Keeps a value; those of a session have an address of their own."""
    return Call("PUT", path, touched, encode(given, nullable="value"))


def value_read(path: str, given: Given) -> Call[JSON]:
    params = query(given | {"memory_type": check_type(given["memory_type"]).value})
    return Call("GET", path, field_of("value"), params=params)


@as_in(Embedded.get_conversation_history)
def get_conversation_history(given: Given) -> Call[list[SessionMessage]]:
    return request("GET", "/v1/sessions/history", answer_of(list[SessionMessage]), given)


@as_in(Embedded.clear_session)
def clear_session(given: Given) -> Call[bool]:
    return request("POST", "/v1/sessions/clear", touched, given)


@as_in(Embedded.get_sessions)
def get_sessions(given: Given) -> Call[list[SessionSummary]]:
    return request("GET", "/v1/sessions", answer_of(list[SessionSummary]), given)


@as_in(Embedded.save_execution_record)
def save_execution_record(given: Given) -> Call[str]:
    return request("POST", "/v1/executions", field_of("id"), given)


@as_in(Embedded.get_execution_records)
def get_execution_records(given: Given) -> Call[ExecutionPage]:
    return request("GET", "/v1/executions", answer_of(ExecutionPage), given)


@as_in(Embedded.get_execution_stats)
def get_execution_stats(given: Given) -> Call[ExecutionStats]:
    return request("GET", "/v1/executions/stats", answer_of(ExecutionStats), given)


@as_in(Embedded.verify_executions)
def verify_executions(given: Given) -> Call[VerificationReport]:
    return request("GET", "/v1/executions/verify", answer_of(VerificationReport), given)


@as_in(Embedded.add_knowledge)
def add_knowledge(given: Given) -> Call[list[KnowledgeReport]]:
    # Files are read here, on the client's machine: the server opens none that a caller names.
    progress = given.pop("progress")
    several = [
        {name: value for name, value in document.items() if value is not None}
        for document in map(dict, documents_of(given.pop("documents"), **given))
    ]
    sent = {"documents": several, "progress": progress}
    return request("POST", "/v1/knowledge", answer_of(list[KnowledgeReport]), sent, total=len(several))


@as_in(Embedded.remove_knowledge)
def remove_knowledge(given: Given) -> Call[int]:
    return request("POST", "/v1/knowledge/remove", field_of("count"), given)


@as_in(Embedded.get_knowledge_sources)
def get_knowledge_sources(given: Given) -> Call[list[KnowledgeSource]]:
    return request("GET", "/v1/knowledge", answer_of(list[KnowledgeSource]), given)


@as_in(Embedded.clear_agent_memory)
def clear_agent_memory(given: Given) -> Call[None]:
    """Empties an agent's conversations; takes a key with the admin scope."""
    return request("POST", "/v1/conversations/clear-agent", _nothing, given)


@as_in(Embedded.clear_all)
def clear_all(_: Given) -> Call[None]:
    """Empties every conversation of this tenant; takes a key with the admin scope."""
    return Call("POST", "/v1/conversations/clear", _nothing)


@as_in(Embedded.set_retention_policy)
def set_retention_policy(given: Given) -> Call[None]:
    return request("PUT", "/v1/conversations/retention", _nothing, given)


@as_in(Embedded.end_run)
def end_run(given: Given) -> Call[None]:
    return request("POST", "/v1/conversations/end-run", _nothing, given)


def touched(answer: Any) -> bool:
    """Whether anything was."""
    return bool(answer["count"])


def _nothing(_: object) -> None:
    return None

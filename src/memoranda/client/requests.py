"""One request as a value: what is asked, and how the answer is read. Sending it is somebody else's work.

What a verb takes is said once, by the embedded manager's own method: `as_in` makes its arguments those of the request.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar

from memoranda.client import responses
from memoranda.client.responses import build
from memoranda.errors import InvalidInput, InvalidType, Unavailable
from memoranda.knowledge.knowledge import documents_of
from memoranda.maintenance.base import UpkeepSettings
from memoranda.manager.manager import MemoryManager as Embedded
from memoranda.messages.message import Message
from memoranda.results import (
    CleanupReport,
    Context,
    ExecutionPage,
    ExecutionStats,
    ExportReport,
    ForgetReceipt,
    Health,
    History,
    KnowledgeReport,
    KnowledgeSource,
    SessionMessage,
    SessionSummary,
    Stats,
    UpkeepReport,
    VerificationReport,
)
from memoranda.types import (
    ANY,
    JSON,
    AnyUser,
    Association,
    Hit,
    Memory,
    Outcome,
    Outcomes,
    Progress,
    Recall,
    Related,
    WhyNot,
)
from memoranda.validation import check_type, make_filter

P = ParamSpec("P")
R = TypeVar("R")
Given: TypeAlias = dict[str, Any]
"""The arguments of a call by their names, those that were left out with their defaults."""
_READING = ("GET",)
_signature = functools.cache(inspect.signature)


@dataclass(frozen=True, slots=True)
class Call(Generic[R]):
    """A request that has not been sent."""

    method: str
    path: str
    read: Callable[[Any], R]
    body: bytes | None = None
    params: Mapping[str, str | int] | None = None
    progress: Progress | None = None
    total: int = 0

    @property
    def writes(self) -> bool:
        return self.method not in _READING

    def report(self, done: int) -> None:
        if self.progress is not None:
            self.progress(done, self.total)

    def result(self, answer: Any) -> R:
        value = self.read(answer)
        self.report(self.total)
        return value


def as_in(
    verb: Callable[Concatenate[Any, P], R],
) -> Callable[[Callable[[Given], Call[R]]], Callable[P, Call[R]]]:
    """Lets a request be made with the arguments of the manager's own method, whose words describe it too."""

    def taking(build: Callable[[Given], Call[R]]) -> Callable[P, Call[R]]:
        @functools.wraps(verb)
        def make(*args: P.args, **kwargs: P.kwargs) -> Call[R]:
            return build(given_to(verb, *args, **kwargs))

        make.__doc__ = build.__doc__ or verb.__doc__
        return make

    return taking


def given_to(method: Callable[..., object], /, *args: object, **kwargs: object) -> Given:
    """The arguments by the names they have in a method, which is called with something of its own first."""
    bound = _signature(method).bind(None, *args, **kwargs)
    bound.apply_defaults()
    return dict(list(bound.arguments.items())[1:])


def request(method: str, path: str, read: Callable[[Any], R], given: Given, *, total: int = 0) -> Call[R]:
    """The request that these arguments make: in its address where it only reads, else in its body."""
    progress, sent = given.pop("progress", None), as_sent(given)
    if method in _READING:
        return Call(method, path, read, params=query(sent))
    return Call(method, path, read, encode(sent), progress=progress, total=total)


def as_sent(given: Given) -> Given:
    """The arguments as the server takes them. Filters are checked by the manager's own rule, in the same words."""
    sent = dict(given)
    if "where" in given:
        name = "memory_types" if "memory_types" in given else "types"
        make_filter(given["where"], given[name])
        sent[name] = [given[name]] if isinstance(given[name], str) else listed(given[name])
    if given.get("user") is ANY:
        sent |= {"user": None, "all_users": True}
    return sent


def answer_of(kind: type[R]) -> Callable[[Any], R]:
    """Reads an answer as a value of this type."""
    return lambda answer: responses.build(kind, answer)


def field_of(name: str) -> Callable[[Any], Any]:
    return lambda answer: answer[name]


def encode(values: Mapping[str, object], *, nullable: str | None = None) -> bytes:
    """The arguments that were given as a JSON body; None is one only of the argument named `nullable`."""
    plain = {key: value for key, value in values.items() if value is not None or key == nullable}
    try:
        return json.dumps(plain, default=_plain, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the arguments hold a lone surrogate: not valid Unicode ({error.reason})") from error
    except ValueError as error:
        raise InvalidInput(f"the arguments cannot be sent as JSON: {error}") from error


def query(values: Mapping[str, object]) -> dict[str, str | int]:
    """The arguments that were given as they stand in an address."""
    return {key: _in_address(value) for key, value in values.items() if value is not None}


def listed(values: object) -> object:
    """Several as a list, one as it is."""
    return list(values) if isinstance(values, Sequence) and not isinstance(values, str | bytes) else values


def _in_address(value: object) -> str | int:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, int) else str(value)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Message):
        return value.to_dict()
    if isinstance(value, AnyUser):
        raise InvalidInput("a memory belongs to one user, or to none: ANY is for reading")
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return list(value)
    raise InvalidType(f"{type(value).__name__} cannot be sent as JSON: convert it first")


@as_in(Embedded.remember)
def remember(given: Given) -> Call[Outcomes]:
    content = given["content"]
    total = 1 if isinstance(content, str | Message | Mapping) else len(content)
    return request("POST", "/v1/remember", _outcomes, given | {"content": listed(content)}, total=total)


@as_in(Embedded.recall)
def recall(given: Given) -> Call[Recall]:
    return request("POST", "/v1/recall", answer_of(Recall), given)


@as_in(Embedded.why_not)
def why_not(given: Given) -> Call[WhyNot]:
    return request("POST", "/v1/why-not", answer_of(WhyNot), given)


@as_in(Embedded.context)
def context(given: Given) -> Call[Context]:
    return request("POST", "/v1/context", _context, given)


@as_in(Embedded.add_memory)
def add_memory(given: Given) -> Call[Memory]:
    return request("POST", "/v1/memories", answer_of(Memory), given)


@as_in(Embedded.add_memories)
def add_memories(given: Given) -> Call[list[Memory]]:
    contents = given["contents"]
    changed = given | {"contents": listed(contents)}
    return request("POST", "/v1/memories/batch", answer_of(list[Memory]), changed, total=len(contents))


@as_in(Embedded.get)
def get(given: Given) -> Call[Memory]:
    return request("GET", memory_address(given), answer_of(Memory), given)


@as_in(Embedded.update)
def update(given: Given) -> Call[Memory]:
    return request("PATCH", memory_address(given), answer_of(Memory), given)


@as_in(Embedded.delete)
def delete(given: Given) -> Call[int]:
    one = given.pop("memory_id")
    several = [one] if isinstance(one, int) else list(one)
    return request("POST", "/v1/memories/delete", field_of("count"), given | {"memory_ids": several})


@as_in(Embedded.list_memories)
def list_memories(given: Given) -> Call[list[Memory]]:
    page = given | {"cursor": str(given.pop("after"))}
    return request("POST", "/v1/memories/list", lambda answer: build(list[Memory], answer["items"]), page)


@as_in(Embedded.search_memories)
def search_memories(given: Given) -> Call[list[Hit]]:
    return request("POST", "/v1/search", answer_of(list[Hit]), given)


@as_in(Embedded.search_memory)
def search_memory(given: Given) -> Call[list[Hit]]:
    kind = given.pop("memory_type")
    return search_memories(**given, memory_types=None if kind is None else [kind])


@as_in(Embedded.search_similar)
def search_similar(given: Given) -> Call[list[Hit]]:
    return request("POST", "/v1/search/similar", answer_of(list[Hit]), given)


@as_in(Embedded.add_memory_association)
def add_memory_association(given: Given) -> Call[Association]:
    return request("POST", "/v1/associations", answer_of(Association), given)


@as_in(Embedded.get_related_memories)
def get_related_memories(given: Given) -> Call[list[Related]]:
    return request("GET", memory_address(given, "/related"), answer_of(list[Related]), given)


@as_in(Embedded.get_stats)
def get_stats(given: Given) -> Call[Stats]:
    return request("GET", "/v1/stats", answer_of(Stats), given)


@as_in(Embedded.health)
def health(given: Given) -> Call[Health]:
    return request("GET", "/v1/health", answer_of(Health), given)


def memory_address(given: Given, what: str = "") -> str:
    """Where a memory lies; its id is taken out of the arguments."""
    return f"/v1/memories/{given.pop('memory_id'):d}{what}"


def _outcomes(answer: Any) -> Outcomes:
    return Outcomes(build(list[Outcome], answer))


def _context(answer: Any) -> Context:
    return Context(
        answer["text"],
        hits=build(tuple[Hit, ...], answer["hits"]),
        left_out=answer["left_out"],
        tokens=answer["tokens"],
        recall_id=answer["recall_id"],
        answerable=answer["answerable"],
        degraded=tuple(answer["degraded"]),
    )


@as_in(Embedded.cleanup_old_memories)
def cleanup_old_memories(given: Given) -> Call[CleanupReport]:
    return request("POST", "/v1/upkeep/cleanup", answer_of(CleanupReport), given)


@as_in(Embedded.upkeep)
def upkeep(given: Given) -> Call[UpkeepReport]:
    """What was tidied, merged, summarised and put away, and why; all users' takes the admin scope."""
    if given.pop("llm") is not None or given.pop("every") is not None:
        raise InvalidInput("a server has its own model and its own schedule: leave out llm and every")
    given["settings"] = _plain_settings(given["settings"])
    return request("POST", "/v1/upkeep", answer_of(UpkeepReport), given, total=1)


@as_in(Embedded.forget)
def forget(given: Given) -> Call[ForgetReceipt]:
    """Erases memories and all that tells of them, down to the bytes of the server's file."""
    if isinstance(given["ids"], int):
        given["ids"] = [given["ids"]]
    return request("POST", "/v1/forget", answer_of(ForgetReceipt), given)


@as_in(Embedded.history)
def history(given: Given) -> Call[History]:
    return request("GET", memory_address(given, "/history"), answer_of(History), given)


@as_in(Embedded.archive)
def archive(given: Given) -> Call[Memory]:
    return request("POST", memory_address(given, "/archive"), answer_of(Memory), given)


@as_in(Embedded.restore)
def restore(given: Given) -> Call[Memory]:
    return request("POST", memory_address(given, "/restore"), answer_of(Memory), given)


@as_in(Embedded.pin)
def pin(given: Given) -> Call[Memory]:
    return request("POST", memory_address(given, "/pin"), answer_of(Memory), given)


@as_in(Embedded.unpin)
def unpin(given: Given) -> Call[Memory]:
    return request("POST", memory_address(given, "/unpin"), answer_of(Memory), given)


def _plain_settings(settings: UpkeepSettings | None) -> dict[str, object] | None:
    if settings is None:
        return None
    given = {each.name: getattr(settings, each.name) for each in fields(settings)}
    return {name: value.total_seconds() if isinstance(value, timedelta) else value for name, value in given.items()}


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


def export_report(draft: Path, target: Path, progress: Progress | None) -> ExportReport:
    """Counts the lines; `Unavailable` when the last one, which ends every export, is missing."""
    lines, last = 0, b""
    with draft.open("rb") as file:
        for line in file:
            lines, last = lines + 1, line
    try:
        end = json.loads(last)
        memories = int(end["memory"]) if end["kind"] == "end" else -1
    except (ValueError, KeyError, TypeError):
        memories = -1
    if memories < 0:
        raise Unavailable("the export broke off before its end: try again")
    if progress is not None:
        progress(memories, memories)
    return ExportReport(target, memories, lines)

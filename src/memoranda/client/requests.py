"""The requests of the client as values: what to send, and how to read the response.

The parameters of a request are those of the embedded manager's method, from which it is derived.

Documents are parsed by a module that is imported at its first use, since it loads SQLAlchemy.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeAlias, TypeVar
from urllib.parse import quote

from memoranda.client.responses import deserialize, parse_context, parse_list, parse_outcomes
from memoranda.errors import Conflict, InvalidInput, InvalidType
from memoranda.facts import Fact, FactConflict
from memoranda.items.base import Item, NamespaceActivity, check_values
from memoranda.manager.items import ItemMethods
from memoranda.manager.maintenance import UpkeepMethods
from memoranda.manager.memories import MemoryMethods
from memoranda.manager.workflows import ConversationMethods, ValueMethods, WorkflowMethods
from memoranda.messages.message import as_message, is_message, is_vendor_object
from memoranda.recalls import Replay
from memoranda.receipts import ForgetReceipt
from memoranda.results import (
    CleanupReport,
    ExecutionPage,
    ExecutionStats,
    Health,
    History,
    KnowledgeReport,
    KnowledgeSource,
    NameActivity,
    SessionMessage,
    SessionSummary,
    Stats,
    UpkeepReport,
    UserActivity,
    VerificationReport,
)
from memoranda.types import (
    ANY,
    JSON,
    AnyUser,
    Association,
    Hit,
    Memory,
    Outcomes,
    Progress,
    Recall,
    Related,
    WhyNot,
)
from memoranda.validation import CHANGEABLE_FIELDS, check_changed_fields, check_id, check_type, make_filter

P = ParamSpec("P")
R = TypeVar("R")
Arguments: TypeAlias = dict[str, Any]
"""The arguments of a call by parameter name, with the defaults of those left out."""
_MAX_TRIES: Final = 100
_signature = functools.cache(inspect.signature)


class Embedded(MemoryMethods, ItemMethods, ValueMethods, ConversationMethods, WorkflowMethods, UpkeepMethods):
    """The methods of the embedded manager, for their signatures. `MemoryManager` itself would load the engine."""


@dataclass(frozen=True, slots=True)
class HttpCall(Generic[R]):
    """A request that has not been sent, and how to read its response."""

    method: str
    path: str
    parse: Callable[[Any], R]
    body: bytes | None = None
    params: Mapping[str, str | int] | None = None
    progress: Progress | None = None
    total: int = 0

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    def report(self, done: int) -> None:
        if self.progress is not None:
            self.progress(done, self.total)

    def result(self, response: Any) -> R:
        value = self.parse(response)
        self.report(self.total)
        return value


Calls: TypeAlias = Generator[HttpCall[R], R, R]
"""Several calls that depend on each other: each is sent, and its result or its error goes back in."""


def derive_from(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[[Callable[[Arguments], HttpCall[R]]], Callable[P, HttpCall[R]]]:
    """Give a function that builds a call the signature and, unless it has its own, the docstring of a method."""

    def decorate(build: Callable[[Arguments], HttpCall[R]]) -> Callable[P, HttpCall[R]]:
        @functools.wraps(method)
        def make_call(*args: P.args, **kwargs: P.kwargs) -> HttpCall[R]:
            return build(bind_arguments(method, *args, **kwargs))

        make_call.__doc__ = build.__doc__ or method.__doc__
        return make_call

    return decorate


def derive_calls_from(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[[Callable[[Arguments], Calls[R]]], Callable[P, Calls[R]]]:
    """Give a function that yields several calls the signature and the docstring of a method."""

    def decorate(build: Callable[[Arguments], Calls[R]]) -> Callable[P, Calls[R]]:
        @functools.wraps(method)
        def make_calls(*args: P.args, **kwargs: P.kwargs) -> Calls[R]:
            return build(bind_arguments(method, *args, **kwargs))

        return make_calls

    return decorate


def endpoint(
    method: Callable[Concatenate[Any, P], R], http_method: str, path: str, parse: Callable[[Any], R]
) -> Callable[P, HttpCall[R]]:
    """Return a function that turns the arguments of a method into its call, unchanged.

    Args:
        method: The method of the embedded manager.
        http_method: The HTTP method.
        path: The path; `{memory_id:d}` stands for that argument.
        parse: Reads the result from the JSON of the response.
    """
    return derive_from(method)(lambda arguments: build_call(http_method, path, parse, arguments))


def bind_arguments(method: Callable[..., object], /, *args: object, **kwargs: object) -> Arguments:
    """Return the arguments by parameter name, without `self`."""
    bound = _signature(method).bind(None, *args, **kwargs)
    bound.apply_defaults()
    return dict(list(bound.arguments.items())[1:])


def build_call(
    http_method: str, path: str, parse: Callable[[Any], R], arguments: Arguments, *, total: int = 0
) -> HttpCall[R]:
    """Return the call for these arguments: in the query string of a GET, else in the body.

    Args:
        http_method: The HTTP method.
        path: The path; `{memory_id:d}` stands for that argument.
        parse: Reads the result from the JSON of the response.
        arguments: The arguments by parameter name.
        total: What to report to `progress` when the call is done.
    """
    progress = arguments.pop("progress", None)
    if "{memory_id" in path:
        path = path.format(memory_id=arguments.pop("memory_id"))
    arguments = to_server_arguments(arguments)
    if http_method == "GET":
        return HttpCall(http_method, path, parse, params=encode_query(arguments))
    return HttpCall(http_method, path, parse, encode_body(arguments), progress=progress, total=total)


def to_server_arguments(arguments: Arguments) -> Arguments:
    """Return the arguments as the server expects them; filters are validated as in the embedded manager."""
    converted = dict(arguments)
    if "where" in arguments:
        name = "memory_types" if "memory_types" in arguments else "types"
        make_filter(arguments["where"], arguments[name])
        types = arguments[name]
        converted[name] = [types] if isinstance(types, str) else _to_list(types)
    if arguments.get("user") is ANY:
        converted |= {"user": None, "all_users": True}
    return converted


def parse_as(kind: type[R]) -> Callable[[Any], R]:
    """Return a function that reads a response as a value of this type."""
    return lambda response: deserialize(kind, response)


def parse_field(name: str) -> Callable[[Any], Any]:
    """Return a function that reads one field of a response."""
    return lambda response: response[name]


def encode_body(values: Mapping[str, object], *, nullable: str | None = None) -> bytes:
    """Return the values that are not None as a JSON body; the one named `nullable` may be None."""
    plain = {key: value for key, value in values.items() if value is not None or key == nullable}
    try:
        return json.dumps(plain, default=_to_plain, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the arguments hold a lone surrogate: not valid Unicode ({error.reason})") from error
    except ValueError as error:
        raise InvalidInput(f"the arguments cannot be sent as JSON: {error}") from error


def encode_query(values: Mapping[str, object]) -> dict[str, str | int]:
    """Return the values that are not None as query parameters."""
    return {key: _to_parameter(value) for key, value in values.items() if value is not None}


def _to_list(values: object) -> object:
    return list(values) if isinstance(values, Sequence) and not isinstance(values, str | bytes) else values


def _to_parameter(value: object) -> str | int:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, int) else str(value)


def _to_plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if is_vendor_object(value):
        return as_message(value).to_dict()
    if isinstance(value, AnyUser):
        raise InvalidInput("a memory belongs to one user, or to none: ANY is for reading")
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return list(value)
    raise InvalidType(f"{type(value).__name__} cannot be sent as JSON: convert it first")


def _parse_items(response: Any) -> list[Memory]:
    return parse_list(list[Memory], "memory")(response["items"])


def _parse_changed(response: Any) -> bool:
    return bool(response["count"])


def _parse_nothing(_: object) -> None:
    return None


recall = endpoint(Embedded.recall, "POST", "/v1/recall", parse_as(Recall))
why_not = endpoint(Embedded.why_not, "POST", "/v1/why-not", parse_as(WhyNot))
replay = endpoint(Embedded.replay, "POST", "/v1/replay", parse_as(Replay))
context = endpoint(Embedded.context, "POST", "/v1/context", parse_context)


@derive_from(Embedded.remember)
def remember(arguments: Arguments) -> HttpCall[Outcomes]:
    content = arguments["content"]
    total = 1 if isinstance(content, str) or is_message(content) else len(content)
    arguments["content"] = _to_list(content)
    return build_call("POST", "/v1/remember", parse_outcomes, arguments, total=total)


add_memory = endpoint(Embedded.add_memory, "POST", "/v1/memories", parse_as(Memory))
get = endpoint(Embedded.get, "GET", "/v1/memories/{memory_id:d}", parse_as(Memory))
search_memories = endpoint(Embedded.search_memories, "POST", "/v1/search", parse_list(list[Hit], "hit"))
search_similar = endpoint(Embedded.search_similar, "POST", "/v1/search/similar", parse_list(list[Hit], "hit"))
add_memory_association = endpoint(Embedded.add_memory_association, "POST", "/v1/associations", parse_as(Association))
get_related_memories = endpoint(
    Embedded.get_related_memories,
    "GET",
    "/v1/memories/{memory_id:d}/related",
    parse_list(list[Related], "related memory"),
)
facts = endpoint(Embedded.facts, "GET", "/v1/facts", parse_list(list[Fact], "fact"))
conflicts = endpoint(Embedded.conflicts, "GET", "/v1/conflicts", parse_list(list[FactConflict], "conflict"))
release = endpoint(Embedded.release, "POST", "/v1/memories/{memory_id:d}/release", parse_as(Memory))
archive = endpoint(Embedded.archive, "POST", "/v1/memories/{memory_id:d}/archive", parse_as(Memory))
restore = endpoint(Embedded.restore, "POST", "/v1/memories/{memory_id:d}/restore", parse_as(Memory))
pin = endpoint(Embedded.pin, "POST", "/v1/memories/{memory_id:d}/pin", parse_as(Memory))
unpin = endpoint(Embedded.unpin, "POST", "/v1/memories/{memory_id:d}/unpin", parse_as(Memory))


@derive_from(Embedded.history)
def history(arguments: Arguments) -> HttpCall[History]:
    wanted = arguments.pop("memory_or_slot")
    if isinstance(wanted, str):
        return build_call("GET", "/v1/history", parse_as(History), {"slot": wanted, **arguments})
    path, memory_id = "/v1/memories/{memory_id:d}/history", check_id(wanted)
    return build_call("GET", path, parse_as(History), {"memory_id": memory_id, **arguments})


@derive_calls_from(Embedded.update)
def update(arguments: Arguments) -> Calls[Memory]:
    change, expected = arguments.pop("change"), arguments["expected_version"]
    if change is None:
        return (yield _update(arguments))
    if given := check_changed_fields({name: arguments.pop(name) for name in CHANGEABLE_FIELDS}):
        raise InvalidInput(f"give change, or {' and '.join(given)}, not both: change returns the fields")
    scope = {name: arguments[name] for name in ("agent", "user", "session")}
    for attempt in range(_MAX_TRIES):
        known = yield get(arguments["memory_id"], **scope)
        arguments["expected_version"] = known.version if expected is None else expected
        fields = check_changed_fields(change(known))
        try:
            return (yield _update(arguments | fields)) if fields else known
        except Conflict:
            if expected is not None or attempt == _MAX_TRIES - 1:
                raise
    raise AssertionError("unreachable")


def _update(arguments: Arguments) -> HttpCall[Memory]:
    return build_call("PATCH", "/v1/memories/{memory_id:d}", parse_as(Memory), dict(arguments))


@derive_from(Embedded.add_memories)
def add_memories(arguments: Arguments) -> HttpCall[list[Memory]]:
    contents = arguments["contents"]
    arguments["contents"] = _to_list(contents)
    return build_call("POST", "/v1/memories/batch", parse_list(list[Memory], "memory"), arguments, total=len(contents))


def _delete_by_id(path: str, arguments: Arguments) -> HttpCall[int]:
    ids = arguments.pop("memory_id")
    arguments["memory_ids"] = [ids] if isinstance(ids, int) else list(ids)
    return build_call("POST", path, parse_field("count"), arguments)


delete = derive_from(Embedded.delete)(lambda arguments: _delete_by_id("/v1/memories/delete", arguments))
discard = derive_from(Embedded.discard)(lambda arguments: _delete_by_id("/v1/memories/discard", arguments))


@derive_from(Embedded.list_memories)
def list_memories(arguments: Arguments) -> HttpCall[list[Memory]]:
    arguments["cursor"] = str(arguments.pop("after"))
    return build_call("POST", "/v1/memories/list", _parse_items, arguments)


@derive_from(Embedded.search_memory)
def search_memory(arguments: Arguments) -> HttpCall[list[Hit]]:
    memory_type = arguments.pop("memory_type")
    return search_memories(**arguments, memory_types=None if memory_type is None else [memory_type])


cleanup_old_memories = endpoint(Embedded.cleanup_old_memories, "POST", "/v1/upkeep/cleanup", parse_as(CleanupReport))
get_stats = endpoint(Embedded.get_stats, "GET", "/v1/stats", parse_as(Stats))
users = endpoint(Embedded.users, "GET", "/v1/users", parse_list(list[UserActivity], "user"))
agents = endpoint(Embedded.agents, "GET", "/v1/agents", parse_list(list[NameActivity], "agent"))
sessions = endpoint(Embedded.sessions, "GET", "/v1/sessions/names", parse_list(list[NameActivity], "session"))
get_item = endpoint(Embedded.get_item, "POST", "/v1/items/get", lambda found: found and deserialize(Item, found))
search_items = endpoint(Embedded.search_items, "POST", "/v1/items/search", parse_list(list[Item], "item"))
namespaces = endpoint(
    Embedded.namespaces, "POST", "/v1/items/namespaces", parse_list(list[NamespaceActivity], "namespace")
)


@derive_from(Embedded.put_many)
def put_many(arguments: Arguments) -> HttpCall[list[Item]]:
    arguments["values"] = check_values(arguments["values"])
    return build_call("POST", "/v1/items", parse_list(list[Item], "item"), arguments)


@derive_from(Embedded.put)
def put(arguments: Arguments) -> HttpCall[Item]:
    arguments["values"] = check_values({arguments.pop("key"): arguments.pop("value")})
    return build_call("POST", "/v1/items", lambda response: deserialize(list[Item], response)[0], arguments)


@derive_from(Embedded.delete_item)
def delete_item(arguments: Arguments) -> HttpCall[int]:
    keys = arguments.pop("key")
    arguments["keys"] = [keys] if isinstance(keys, str) else _to_list(keys)
    return build_call("POST", "/v1/items/delete", parse_field("count"), arguments)


health = endpoint(Embedded.health, "GET", "/v1/health", parse_as(Health))


@derive_from(Embedded.upkeep)
def upkeep(arguments: Arguments) -> HttpCall[UpkeepReport]:
    """Tidy, merge, summarize and archive memories, and report why; for all users it needs the admin scope."""
    if arguments.pop("llm") is not None or arguments.pop("every") is not None:
        raise InvalidInput("a server has its own model and its own schedule: leave out llm and every")
    if (settings := arguments["settings"]) is not None:
        values = {field.name: getattr(settings, field.name) for field in fields(settings)}
        arguments["settings"] = {
            name: value.total_seconds() if isinstance(value, timedelta) else value for name, value in values.items()
        }
    return build_call("POST", "/v1/upkeep", parse_as(UpkeepReport), arguments, total=1)


@derive_from(Embedded.forget)
def forget(arguments: Arguments) -> HttpCall[ForgetReceipt]:
    """Erase memories and everything derived from them, including their bytes in the server's file."""
    if isinstance(arguments["ids"], int):
        arguments["ids"] = [arguments["ids"]]
    return build_call("POST", "/v1/forget", parse_as(ForgetReceipt), arguments)


receipts = endpoint(Embedded.receipts, "GET", "/v1/receipts", parse_list(list[ForgetReceipt], "receipt"))


@derive_from(Embedded.receipt)
def receipt(arguments: Arguments) -> HttpCall[ForgetReceipt]:
    """Return one receipt by its id."""
    return HttpCall("GET", f"/v1/receipts/{quote(str(arguments['receipt_id']), safe='')}", parse_as(ForgetReceipt))


@derive_from(Embedded.verify_receipt)
def verify_receipt(arguments: Arguments) -> HttpCall[bool]:
    """Return whether the server's store signed a receipt, given itself or by its id, exactly as it is."""
    if isinstance(arguments["receipt"], ForgetReceipt):
        arguments["receipt"] = asdict(arguments["receipt"])
    return build_call("POST", "/v1/receipts/verify", parse_field("ok"), arguments)


def save_value(path: str, arguments: Arguments) -> HttpCall[bool]:
    """Store a value, of an agent or of a session, at its path."""
    return HttpCall("PUT", path, _parse_changed, encode_body(arguments, nullable="value"))


def retrieve_value(path: str, arguments: Arguments) -> HttpCall[JSON]:
    """Return a stored value, of an agent or of a session, from its path."""
    params = encode_query(arguments | {"memory_type": check_type(arguments["memory_type"]).value})
    return HttpCall("GET", path, parse_field("value"), params=params)


@derive_from(Embedded.save)
def save(arguments: Arguments) -> HttpCall[bool]:
    return save_value("/v1/values", arguments)


@derive_from(Embedded.retrieve)
def retrieve(arguments: Arguments) -> HttpCall[JSON]:
    return retrieve_value("/v1/values", arguments)


delete_value = endpoint(Embedded.delete_value, "POST", "/v1/values/delete", _parse_changed)
get_conversation_history = endpoint(
    Embedded.get_conversation_history, "GET", "/v1/sessions/history", parse_list(list[SessionMessage], "message")
)
clear_session = endpoint(Embedded.clear_session, "POST", "/v1/sessions/clear", _parse_changed)
get_sessions = endpoint(Embedded.get_sessions, "GET", "/v1/sessions", parse_list(list[SessionSummary], "session"))
save_execution_record = endpoint(Embedded.save_execution_record, "POST", "/v1/executions", parse_field("id"))
get_execution_records = endpoint(Embedded.get_execution_records, "GET", "/v1/executions", parse_as(ExecutionPage))
get_execution_stats = endpoint(Embedded.get_execution_stats, "GET", "/v1/executions/stats", parse_as(ExecutionStats))
verify_executions = endpoint(Embedded.verify_executions, "GET", "/v1/executions/verify", parse_as(VerificationReport))
remove_knowledge = endpoint(Embedded.remove_knowledge, "POST", "/v1/knowledge/remove", parse_field("count"))
get_knowledge_sources = endpoint(
    Embedded.get_knowledge_sources, "GET", "/v1/knowledge", parse_list(list[KnowledgeSource], "document")
)
set_retention_policy = endpoint(Embedded.set_retention_policy, "PUT", "/v1/conversations/retention", _parse_nothing)
end_run = endpoint(Embedded.end_run, "POST", "/v1/conversations/end-run", _parse_nothing)


@derive_from(Embedded.add_knowledge)
def add_knowledge(arguments: Arguments) -> HttpCall[list[KnowledgeReport]]:
    from memoranda.knowledge.knowledge import parse_documents  # loads the engine

    # Files are read on the client's machine: the server never opens a file that a caller names.
    progress = arguments.pop("progress")
    documents = [
        {name: value for name, value in dict(document).items() if value is not None}
        for document in parse_documents(arguments.pop("documents"), **arguments)
    ]
    body = {"documents": documents, "progress": progress}
    return build_call(
        "POST", "/v1/knowledge", parse_list(list[KnowledgeReport], "document"), body, total=len(documents)
    )


@derive_from(Embedded.clear_agent_memory)
def clear_agent_memory(arguments: Arguments) -> HttpCall[None]:
    """Empty an agent's conversations; needs a key with the admin scope."""
    return build_call("POST", "/v1/conversations/clear-agent", _parse_nothing, arguments)


@derive_from(Embedded.clear_all)
def clear_all(_: Arguments) -> HttpCall[None]:
    """Empty every conversation of this tenant; needs a key with the admin scope."""
    return HttpCall("POST", "/v1/conversations/clear", _parse_nothing)

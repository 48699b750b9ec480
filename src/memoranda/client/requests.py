"""The requests of the client as values: what to send, and how to read the response.

The parameters of a request are those of the embedded manager's method, from which it is derived.

Documents are parsed by a module that is imported at its first use, since it loads SQLAlchemy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote

from memoranda.client.calls import (
    Arguments,
    Calls,
    HttpCall,
    build_call,
    derive_calls_from,
    derive_from,
    deserialize,
    encode_body,
    encode_query,
    endpoint,
    parse_as,
    parse_context,
    parse_field,
    parse_list,
    parse_outcomes,
    to_list,
)
from memoranda.errors import Conflict, InvalidInput, InvalidType
from memoranda.items.base import Item, NamespaceActivity, check_values
from memoranda.manager.items import ItemMethods
from memoranda.manager.maintenance import UpkeepMethods
from memoranda.manager.memories import MemoryMethods, split_source
from memoranda.manager.workflows import ConversationMethods, ValueMethods, WorkflowMethods
from memoranda.messages.message import CONVERTERS, is_message
from memoranda.messages.parsing import as_text, as_texts, no_message
from memoranda.records import ResultList
from memoranda.results.maintenance import (
    CleanupReport,
    ForgetReceipt,
    Health,
    History,
    NameActivity,
    Stats,
    UpkeepReport,
    UserActivity,
)
from memoranda.results.recall import Fact, FactConflict, Replay, WhyNot
from memoranda.results.workflows import (
    ExecutionPage,
    ExecutionStats,
    KnowledgeReport,
    KnowledgeSource,
    SessionMessage,
    SessionSummary,
    VerificationReport,
)
from memoranda.text.checks import clean_text
from memoranda.types import JSON, Association, Hit, Memory, Outcomes, Recall, Related, name_source
from memoranda.validation import (
    CHANGEABLE_FIELDS,
    check_changed_fields,
    check_cursor,
    check_id,
    check_ids,
    check_limit,
    check_type,
)

_MAX_TRIES: Final = 100


class Embedded(MemoryMethods, ItemMethods, ValueMethods, ConversationMethods, WorkflowMethods, UpkeepMethods):
    """The methods of the embedded manager, for their signatures. `MemoryManager` itself would load the engine."""


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
    one = isinstance(content, str) or is_message(content)
    if not one and (isinstance(content, bytes | bytearray) or not isinstance(content, Sequence)):
        raise InvalidType(
            f"content must be a text, a message or a list of them, not {type(content).__name__}; {CONVERTERS}"
        )
    for each in () if one else content:
        if not isinstance(each, str) and not is_message(each):
            raise no_message(each)
    arguments["content"] = to_list(content)
    return build_call("POST", "/v1/remember", parse_outcomes, arguments, total=1 if one else len(content))


@derive_from(Embedded.add_memory)
def add_memory(arguments: Arguments) -> HttpCall[Memory]:
    return build_call("POST", "/v1/memories", parse_as(Memory), _to_written(arguments))


def _to_written(arguments: Arguments) -> Arguments:
    """Return the arguments of a write with a source, metadata and texts as the server reads them."""
    source, metadata = split_source(arguments["source"], arguments["metadata"])
    texts = {name: as_text(arguments[name]) for name in ("content",) if name in arguments}
    return arguments | texts | {"source": source, "metadata": metadata}


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
quarantine = endpoint(Embedded.quarantine, "POST", "/v1/memories/{memory_id:d}/quarantine", parse_as(Memory))
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
    content = arguments.get("content")
    changed = arguments | {"content": None if content is None else as_text(content)}
    return build_call("PATCH", "/v1/memories/{memory_id:d}", parse_as(Memory), changed)


@derive_from(Embedded.add_memories)
def add_memories(arguments: Arguments) -> HttpCall[list[Memory]]:
    contents = as_texts(arguments["contents"], "contents")
    arguments["contents"] = contents
    path = "/v1/memories/batch"
    return build_call("POST", path, parse_list(list[Memory], "memory"), _to_written(arguments), total=len(contents))


def _delete_by_id(path: str, arguments: Arguments) -> HttpCall[int]:
    ids = arguments.pop("memory_id")
    arguments["memory_ids"] = check_ids(ids)
    return build_call("POST", path, parse_field("count"), arguments)


delete = derive_from(Embedded.delete)(lambda arguments: _delete_by_id("/v1/memories/delete", arguments))
discard = derive_from(Embedded.discard)(lambda arguments: _delete_by_id("/v1/memories/discard", arguments))


@derive_calls_from(Embedded.list_memories)
def list_memories(arguments: Arguments) -> Calls[list[Memory]]:
    limit, cursor = check_limit(arguments["limit"]), str(check_cursor(arguments.pop("after"), "after"))
    found: list[Memory] = ResultList((), "memory")
    following: str | None = cursor

    def parse(response: Any) -> list[Memory]:
        nonlocal following
        following = response["next_cursor"]
        return _parse_items(response)

    while following is not None and len(found) < limit:  # a page of very long memories ends early
        page = {**arguments, "cursor": following, "limit": limit - len(found)}
        found += yield build_call("POST", "/v1/memories/list", parse, page)
        arguments["offset"] = 0
    return found


@derive_from(Embedded.search_memory)
def search_memory(arguments: Arguments) -> HttpCall[list[Hit]]:
    memory_type = arguments.pop("memory_type")
    call = search_memories(**arguments, memory_types=None if memory_type is None else [memory_type])
    return replace(call, parse=lambda response: [name_source(hit) for hit in call.parse(response)])


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
    arguments["keys"] = [keys] if isinstance(keys, str) else to_list(keys)
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
    return HttpCall(
        "GET",
        f"/v1/receipts/{quote(clean_text(arguments['receipt_id'], 'receipt_id'), safe='')}",
        parse_as(ForgetReceipt),
    )


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
    from memoranda.knowledge import parse_documents  # loads the engine

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

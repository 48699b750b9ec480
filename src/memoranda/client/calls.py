"""Every verb of the manager as a request: the same names, the same arguments, the same results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memoranda.client.call import Call, Given, answer_of, as_in, field_of, listed, request
from memoranda.client.rebuild import build
from memoranda.context.base import Context
from memoranda.manager import MemoryManager as Embedded
from memoranda.messages.message import Message
from memoranda.parts.status import Health, Stats
from memoranda.types import Association, Hit, Memory, Outcome, Outcomes, Recall, Related, WhyNot


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

"""Every verb of the manager as a request: the same names, the same arguments, the same results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from recollect.client.call import Call, answer_of, encode, field_of, listed, owner, which
from recollect.client.call import query as query_of
from recollect.client.rebuild import build
from recollect.context.base import Context
from recollect.messages.message import Message
from recollect.parts.drafts import Content
from recollect.parts.status import Health, Stats
from recollect.types import (
    JSON,
    AnyUser,
    Association,
    Hit,
    Memory,
    MemoryType,
    Outcome,
    Outcomes,
    Progress,
    Recall,
    Related,
    WhyNot,
)


def _outcomes(answer: Any) -> Outcomes:
    return Outcomes(build(list[Outcome], answer))


def remember(
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
    keep_all: bool = False,
    progress: Progress | None = None,
) -> Call[Outcomes]:
    """What became of each text and message, all in one commit; what is known already is not stored again."""
    given = {"content": listed(content), "type": type, "source": source, "importance": importance}
    given |= {"metadata": metadata, "at": at, "idempotency_key": idempotency_key, "keep_all": keep_all}
    given |= owner(agent, user, session)
    total = 1 if isinstance(content, str | Message | Mapping) else len(content)
    return Call("POST", "/v1/remember", _outcomes, encode(given), progress=progress, total=total)


def recall(
    query: str,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
    session: str | None = None,
    types: Sequence[MemoryType | str] | None = None,
    where: Mapping[str, Any] | None = None,
    limit: int = 10,
    now: datetime | str | None = None,
    as_of: datetime | str | None = None,
    mode: str | None = None,
    explain: bool = False,
    shared: bool = False,
) -> Call[Recall]:
    """The memories that fit a question, best first, and why each was found."""
    given: dict[str, object] = {"query": query, "limit": limit, "now": now, "as_of": as_of, "mode": mode}
    given |= which(where, types) | {"explain": explain, "shared": shared} | owner(agent, user, session)
    return Call("POST", "/v1/recall", answer_of(Recall), encode(given))


def why_not(
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
) -> Call[WhyNot]:
    """Which step left out a memory that one expected, or where it stands."""
    given: dict[str, object] = {"query": query, "memory_id": memory_id, "limit": limit, "now": now}
    given |= which(where, types) | owner(agent, user, session)
    return Call("POST", "/v1/why-not", answer_of(WhyNot), encode(given))


def context(
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
) -> Call[Context]:
    """What is remembered on a question as text for a prompt, at most `budget` tokens; "" when nothing was found."""
    given: dict[str, object] = {"query": query, "limit": limit, "now": now, "mode": mode}
    given |= which(where, types) | {"budget": budget} | owner(agent, user, session)
    return Call("POST", "/v1/context", _context, encode(given))


def add_memory(
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
) -> Call[Memory]:
    """The memory that was stored. Its importance may also stand in the metadata."""
    given: dict[str, object] = {"content": content, "memory_type": memory_type, "source": source, "metadata": metadata}
    given |= {"importance": importance, "at": at} | owner(agent, user, session)
    return Call("POST", "/v1/memories", answer_of(Memory), encode(given))


def add_memories(
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
) -> Call[list[Memory]]:
    """Many memories in one commit."""
    given = {"contents": listed(contents), "memory_type": memory_type, "source": source, "metadata": metadata}
    given |= {"importance": importance, "at": at} | owner(agent, user, session)
    body, total = encode(given), len(contents)
    return Call("POST", "/v1/memories/batch", answer_of(list[Memory]), body, progress=progress, total=total)


def get(
    memory_id: int,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
    session: str | None = None,
) -> Call[Memory]:
    """The memory of this id; `NotFound` when the scope has none."""
    return Call("GET", f"/v1/memories/{memory_id:d}", answer_of(Memory), params=query_of(owner(agent, user, session)))


def update(
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
) -> Call[Memory]:
    """The memory as it is now. What is not given stays; metadata is replaced as a whole."""
    given: dict[str, object] = {"content": content, "memory_type": memory_type, "source": source, "metadata": metadata}
    given |= {"importance": importance} | owner(agent, user, session)
    return Call("PATCH", f"/v1/memories/{memory_id:d}", answer_of(Memory), encode(given))


def delete(
    memory_id: int | Sequence[int],
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
    session: str | None = None,
) -> Call[int]:
    """How many memories went: all that were named, or none and `NotFound`."""
    several = [memory_id] if isinstance(memory_id, int) else list(memory_id)
    body = encode({"memory_ids": several} | owner(agent, user, session))
    return Call("POST", "/v1/memories/delete", field_of("count"), body)


def list_memories(
    limit: int = 100,
    after: int = 0,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
    session: str | None = None,
    types: Sequence[MemoryType | str] | None = None,
    where: Mapping[str, Any] | None = None,
) -> Call[list[Memory]]:
    """Memories in the order of their ids; to go on, give the last id as `after`."""
    given: dict[str, object] = {"limit": limit, "cursor": str(after)} | which(where, types)
    body = encode(given | owner(agent, user, session))
    return Call("POST", "/v1/memories/list", lambda page: answer_of(list[Memory])(page["items"]), body)


def search_memories(
    query: str,
    memory_types: Sequence[MemoryType | str] | None = None,
    limit: int = 5,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
    session: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> Call[list[Hit]]:
    """The hits alone, best first."""
    given: dict[str, object] = {"query": query, "limit": limit} | which(where, memory_types, "memory_types")
    return Call("POST", "/v1/search", answer_of(list[Hit]), encode(given | owner(agent, user, session)))


def search_memory(
    query: str,
    memory_type: MemoryType | str | None = None,
    limit: int = 5,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
    session: str | None = None,
) -> Call[list[Hit]]:
    """The hits of one memory type, best first."""
    types = None if memory_type is None else [memory_type]
    return search_memories(query, types, limit, agent=agent, user=user, session=session)


def search_similar(
    agent_id: str,
    query: str,
    top_k: int = 5,
    filter_metadata: Mapping[str, Any] | None = None,
    *,
    shared: bool = False,
) -> Call[list[Hit]]:
    """An agent's memories that fit a question, best first; with `shared`, the shared knowledge as well."""
    given = {"agent_id": agent_id, "query": query, "top_k": top_k, "filter_metadata": filter_metadata}
    return Call("POST", "/v1/search/similar", answer_of(list[Hit]), encode(given | {"shared": shared}))


def add_memory_association(
    memory_id: int,
    related_memory_id: int,
    relationship_type: str = "related_to",
    strength: float = 1.0,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
) -> Call[Association]:
    """A directed link between two memories of one scope; a repeated one takes the new strength."""
    given: dict[str, object] = {"memory_id": memory_id, "related_memory_id": related_memory_id}
    given |= {"relationship_type": relationship_type, "strength": strength} | owner(agent, user)
    return Call("POST", "/v1/associations", answer_of(Association), encode(given))


def get_related_memories(
    memory_id: int,
    relationship_type: str | None = None,
    depth: int = 1,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
) -> Call[list[Related]]:
    """Memories up to `depth` links away in either direction, nearest and strongest first."""
    params = query_of({"relationship_type": relationship_type, "depth": depth} | owner(agent, user))
    return Call("GET", f"/v1/memories/{memory_id:d}/related", answer_of(list[Related]), params=params)


def get_stats() -> Call[Stats]:
    """Counts of what this tenant has."""
    return Call("GET", "/v1/stats", answer_of(Stats))


def health() -> Call[Health]:
    """Whether everything works, and on what it runs."""
    return Call("GET", "/v1/health", answer_of(Health))


def _context(answer: Any) -> Context:
    hits = answer_of(tuple[Hit, ...])(answer["hits"])
    return Context(
        answer["text"],
        hits=hits,
        left_out=answer["left_out"],
        tokens=answer["tokens"],
        recall_id=answer["recall_id"],
        answerable=answer["answerable"],
        degraded=tuple(answer["degraded"]),
    )

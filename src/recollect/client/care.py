"""What keeps memory small and true, as requests: history, archive, pins, clean-up, upkeep, forgetting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Any

from recollect.client.call import Call, answer_of, encode, owner, query, which
from recollect.errors import InvalidInput
from recollect.lifecycle.base import PolicyName, UpkeepSettings
from recollect.llm.base import LLM
from recollect.parts.forgetting import ForgetReceipt
from recollect.parts.memories import CleanupReport
from recollect.parts.past import History
from recollect.parts.upkeep import UpkeepReport
from recollect.types import ANY, AnyUser, Memory, MemoryType, Progress


def cleanup_old_memories(
    max_age_days: float = 30,
    min_importance: float = 0.3,
    dry_run: bool = False,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
) -> Call[CleanupReport]:
    """Removes memories recorded more than `max_age_days` ago whose importance is below the minimum."""
    given: dict[str, object] = {"max_age_days": max_age_days, "min_importance": min_importance, "dry_run": dry_run}
    return Call("POST", "/v1/upkeep/cleanup", answer_of(CleanupReport), encode(given | owner(agent, user)))


def upkeep(
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
) -> Call[UpkeepReport]:
    """What was tidied, merged, summarised and put away, and why; all users' takes the admin scope."""
    if llm is not None or every is not None:
        raise InvalidInput("a server has its own model and its own schedule: leave out llm and every")
    given: dict[str, object] = {"policies": policies, "dry_run": dry_run, "settings": _plain(settings)}
    body = encode(given | owner(agent, user, session))
    return Call("POST", "/v1/upkeep", answer_of(UpkeepReport), body, progress=progress, total=1)


def forget(
    ids: int | Sequence[int] | None = None,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
    session: str | None = None,
    types: Sequence[MemoryType | str] | None = None,
    where: Mapping[str, Any] | None = None,
    containing: str | None = None,
    dry_run: bool = False,
) -> Call[ForgetReceipt]:
    """Erases memories and all that tells of them, down to the bytes of the server's file."""
    several = [ids] if isinstance(ids, int) else ids
    given: dict[str, object] = {"ids": several, "containing": containing, "dry_run": dry_run} | which(where, types)
    return Call("POST", "/v1/forget", answer_of(ForgetReceipt), encode(given | owner(agent, user, session)))


def history(
    memory_id: int,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
    session: str | None = None,
) -> Call[History]:
    """What a memory was before, what it was made from, and what took its place."""
    params = query(owner(agent, user, session))
    return Call("GET", f"/v1/memories/{memory_id:d}/history", answer_of(History), params=params)


def archive(
    memory_id: int,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
    session: str | None = None,
) -> Call[Memory]:
    """Takes a memory out of recall; `get` and `history` still have it, `restore` brings it back."""
    return _marked(memory_id, "archive", owner(agent, user, session))


def restore(
    memory_id: int,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
    session: str | None = None,
) -> Call[Memory]:
    """Brings an archived memory back into recall."""
    return _marked(memory_id, "restore", owner(agent, user, session))


def pin(
    memory_id: int,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
    session: str | None = None,
) -> Call[Memory]:
    """The memory, from now on never tidied away by upkeep."""
    return _marked(memory_id, "pin", owner(agent, user, session))


def unpin(
    memory_id: int,
    *,
    agent: str | None = None,
    user: str | AnyUser | None = None,
    session: str | None = None,
) -> Call[Memory]:
    """The memory, from now on like any other."""
    return _marked(memory_id, "unpin", owner(agent, user, session))


def _marked(memory_id: int, verb: str, whose: dict[str, object]) -> Call[Memory]:
    return Call("POST", f"/v1/memories/{memory_id:d}/{verb}", answer_of(Memory), encode(whose))


def _plain(settings: UpkeepSettings | None) -> dict[str, object] | None:
    if settings is None:
        return None
    given = {each.name: getattr(settings, each.name) for each in fields(settings)}
    return {name: value.total_seconds() if isinstance(value, timedelta) else value for name, value in given.items()}

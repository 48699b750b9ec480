"""What keeps memory small and true, as requests: history, archive, pins, clean-up, upkeep, forgetting."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

from memoranda.client.call import Call, Given, answer_of, as_in, request
from memoranda.client.calls import memory_address
from memoranda.errors import InvalidInput
from memoranda.lifecycle.base import UpkeepSettings
from memoranda.manager import MemoryManager as Embedded
from memoranda.parts.forgetting import ForgetReceipt
from memoranda.parts.memories import CleanupReport
from memoranda.parts.past import History
from memoranda.parts.upkeep import UpkeepReport
from memoranda.types import Memory


@as_in(Embedded.cleanup_old_memories)
def cleanup_old_memories(given: Given) -> Call[CleanupReport]:
    return request("POST", "/v1/upkeep/cleanup", answer_of(CleanupReport), given)


@as_in(Embedded.upkeep)
def upkeep(given: Given) -> Call[UpkeepReport]:
    """What was tidied, merged, summarised and put away, and why; all users' takes the admin scope."""
    if given.pop("llm") is not None or given.pop("every") is not None:
        raise InvalidInput("a server has its own model and its own schedule: leave out llm and every")
    given["settings"] = _plain(given["settings"])
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


def _plain(settings: UpkeepSettings | None) -> dict[str, object] | None:
    if settings is None:
        return None
    given = {each.name: getattr(settings, each.name) for each in fields(settings)}
    return {name: value.total_seconds() if isinstance(value, timedelta) else value for name, value in given.items()}

"""Where to look when something new is said of somebody. The claims themselves stand in the notes of their memories."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, delete, select, update

from recollect.storage.rows import MEMORY_COLUMNS, memory_from_row, name, to_json
from recollect.storage.schema import claims, memories
from recollect.storage.tables import insert_rows
from recollect.types import JSON, Memory, Scope

CLAIMS: Final = "claims"
_NOBODY: Final = frozenset(("user", "assistant", "tool", "system"))
_C = claims.c
_M = memories.c


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """A claim that holds, and the memory that makes it."""

    memory: Memory
    place: int
    claim: Mapping[str, Any]


def index_claims(connection: Connection, memory_id: int, owner: Scope, notes: Mapping[str, Any]) -> None:
    """From now on the claims of this memory that have not ended are found, and no other ones of it."""
    connection.execute(delete(claims).where(_C.memory_id == memory_id))
    held = [(place, claim) for place, claim in enumerate(notes.get(CLAIMS, ())) if not claim.get("valid_to")]
    rows = [(memory_id, place, question(owner, claim)) for place, claim in held]
    if rows:
        insert_rows(connection, claims.name, ("memory_id", "place", "question"), rows)


def held_on(connection: Connection, owner: Scope, about: Mapping[str, Any], *, but: int) -> list[HeldClaim]:
    """The claims of this owner on the same question, oldest first, but for those of one memory."""
    mine = (_C.question == question(owner, about), _C.memory_id != but, _M.archived_at.is_(None))
    rows = connection.execute(
        select(*MEMORY_COLUMNS, _C.place).join(claims, _C.memory_id == _M.id).where(*mine).order_by(_M.id, _C.place)
    )
    found = [(memory_from_row(row), row[-1]) for row in rows]
    return [HeldClaim(memory, place, claims_of(memory)[place]) for memory, place in found]


def end_claims(connection: Connection, memory: Memory, places: Iterable[int], at: datetime) -> dict[str, JSON]:
    """Writes into the notes of a memory when these of its claims stopped to be true; the notes as they are now."""
    ended = set(places)
    kept = [
        {**claim, "valid_to": at.isoformat()} if place in ended else dict(claim)
        for place, claim in enumerate(claims_of(memory))
    ]
    notes = {**memory.notes, CLAIMS: kept}
    connection.execute(update(memories).where(_M.id == memory.id).values(notes=to_json(notes)))
    connection.execute(delete(claims).where(_C.memory_id == memory.id, _C.place.in_(ended)))
    return notes


def claims_of(memory: Memory) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = memory.notes.get(CLAIMS, ())
    return found


def owner_of(memory: Memory) -> Scope:
    return Scope(memory.tenant, memory.agent, memory.user, memory.session)


def question(owner: Scope, claim: Mapping[str, Any]) -> bytes:
    """Sixteen bytes for whose memory it is, whom a claim is about and what it says of them.

    Somebody without a name is somebody else in every session.
    """
    subject = folded(claim["subject"])
    nameless = subject.partition("'")[0] in _NOBODY and owner.user is None
    where = name(owner.session) if nameless else ""
    parts = [owner.tenant, name(owner.agent), name(owner.user), where, subject, claim["attribute"]]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).digest()


def folded(words: str) -> str:
    """A name as it is compared: without case and kind of apostrophe."""
    return " ".join(words.casefold().replace("’", "'").split())

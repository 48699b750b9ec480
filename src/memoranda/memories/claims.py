"""Where to look when something is said of somebody. The claims themselves stand in the notes of their memories.

A claim in the notes that has `ended_by` was ended by the memory of that number: its `valid_to` is that memory's doing.
Without it, `valid_to` is what the words themselves say, or what somebody set, and is never changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, delete, select, text, update

from memoranda.memories.rows import MEMORY_COLUMNS, SELECT_MEMORY, all_named, memory_from_row, name, names_in, to_json
from memoranda.storage.schema import claims, memories
from memoranda.storage.sqlite.connections import chunked, fetch_on, insert_rows
from memoranda.types import JSON, Memory, Scope

CLAIMS: Final = "claims"
ENDED_BY: Final = "ended_by"
_NOBODY: Final = frozenset(("user", "assistant", "tool", "system"))
_C = claims.c
_M = memories.c
_OPEN: Final = text("json_extract(memories.notes, '$.claims[' || claims.place || '].valid_to') IS NULL")


Ends: TypeAlias = dict[int, tuple[int, str]]
"""Claims of one memory, by their number: the memory that ended each, and when."""


@dataclass(frozen=True, slots=True)
class MadeClaim:
    """A claim's number among those of the memory that makes it, and what it answers."""

    memory: Memory
    place: int
    question: bytes


def index_claims(connection: Connection, memory_id: int, owner: Scope, notes: Mapping[str, Any]) -> None:
    """From now on the claims of this memory are found, and no other ones of it."""
    connection.execute(delete(claims).where(_C.memory_id == memory_id))
    rows = [(memory_id, place, question(owner, claim)) for place, claim in enumerate(notes.get(CLAIMS, ()))]
    if rows:
        insert_rows(connection, claims.name, ("memory_id", "place", "question"), rows)


def held_on(connection: Connection, owner: Scope, about: Mapping[str, Any], *, but: int) -> list[MadeClaim]:
    """The claims of this owner on the same question that have not ended, oldest first, but for those of one memory."""
    mine = (_C.question == question(owner, about), _C.memory_id != but, _OPEN)
    rows = connection.execute(_SELECT_MADE.where(*mine).order_by(_M.id, _C.place))
    return [_made(row) for row in rows]


def claims_on(connection: Connection, questions: Collection[bytes]) -> list[MadeClaim]:
    """All claims on these questions, ended or not, in the order in which they were written."""
    found: list[MadeClaim] = []
    for part in chunked(sorted(questions)):
        found += [_made(row) for row in connection.execute(_SELECT_MADE.where(_C.question.in_(part)))]
    return sorted(found, key=lambda made: (made.memory.id, made.place))


def questions_of(connection: Connection, scope: Scope, ids: Sequence[int]) -> set[bytes]:
    """What these memories of a scope make claims on. Asked at every deletion, so as the driver takes it."""
    given = names_in(scope)
    statement = (
        "SELECT question FROM claims JOIN memories ON memories.id = memory_id "
        f"WHERE memory_id IN (SELECT value FROM json_each(?)) AND {all_named(tuple(given))}"
    )
    rows = fetch_on(connection)(statement, [to_json(list(ids)), *given.values()])
    return {bytes(row[0]) for row in rows}


def write_notes(connection: Connection, memory_id: int, notes: Mapping[str, JSON]) -> None:
    connection.execute(update(memories).where(_M.id == memory_id).values(notes=to_json(dict(notes))))


def claims_of(memory: Memory) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = memory.notes.get(CLAIMS, ())
    return found


def enders_of(memory: Memory) -> set[int]:
    """The memories that ended something this one says."""
    return {claim[ENDED_BY] for claim in claims_of(memory) if ENDED_BY in claim}


def as_said(claim: Mapping[str, Any]) -> dict[str, Any]:
    """The claim as its memory made it, whatever others said later."""
    said = dict(claim)
    return said | {"valid_to": None} if said.pop(ENDED_BY, None) is not None else said


def ends_in(notes: Mapping[str, Any]) -> Ends:
    """Which claims in the notes of a memory others ended."""
    return {
        place: (claim[ENDED_BY], claim["valid_to"])
        for place, claim in enumerate(notes.get(CLAIMS, ()))
        if claim.get(ENDED_BY) is not None
    }


def without_enders(notes: Mapping[str, Any]) -> dict[str, JSON]:
    """The notes with each end as it is, but for the memory behind it."""
    kept: list[JSON] = [
        {key: value for key, value in claim.items() if key != ENDED_BY} for claim in notes.get(CLAIMS, ())
    ]
    return {**notes, CLAIMS: kept} if kept else dict(notes)


def name_enders(connection: Connection, named: Mapping[int, Ends]) -> None:
    """Which memories ended the claims of these, where they have ended as said and nobody else is named."""
    for memory_id, ends in named.items():
        row = connection.execute(SELECT_MEMORY.where(_M.id == memory_id)).first()
        memory = None if row is None else memory_from_row(row)
        if memory is None:
            continue
        known = [dict(claim) for claim in claims_of(memory)]
        for place, (by, valid_to) in ends.items():
            if place < len(known) and known[place]["valid_to"] == valid_to:
                known[place].setdefault(ENDED_BY, by)
        write_notes(connection, memory_id, {**memory.notes, CLAIMS: [*known]})


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


_SELECT_MADE: Final = select(*MEMORY_COLUMNS, _C.place, _C.question).join(claims, _C.memory_id == _M.id)


def _made(row: Sequence[Any]) -> MadeClaim:
    return MadeClaim(memory_from_row(row), row[-2], row[-1])

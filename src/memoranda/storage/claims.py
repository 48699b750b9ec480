"""Claims: what a memory says about a person. Claims are stored in the notes of their memory.

A claim in the notes with `ended_by` was ended by the memory of that id, which also set its `valid_to`. Without it,
`valid_to` is what the text itself says, or what a caller set, and is never changed. The table `claims` finds
claims by their slot: owner, subject and attribute.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias, cast

from sqlalchemy import Boolean, ColumnElement, Text, delete, func, literal_column, select, type_coerce, update

from memoranda.messages.message import ROLES
from memoranda.storage.base import ReadTransaction, Row, Transaction, chunked
from memoranda.storage.row_hash import hash_with_notes
from memoranda.storage.rows import (
    MEMORY_COLUMNS,
    SELECT_MEMORY,
    by_dialect,
    in_scope,
    memory_from_row,
    not_expired,
    stored_json,
    stored_name,
    to_json,
)
from memoranda.storage.schema import claims, counters, memories
from memoranda.text.sentences import Span
from memoranda.types import JSON, Memory, Scope

CLAIMS: Final = "claims"
ENDED_BY: Final = "ended_by"
RETRACTED: Final = "taken_back"
"""The key in a claim that its speaker retracted, or may have ("doubt"): it is not a fact, but stays in recall."""
SAID_FROM: Final = "said_from"
"""The key in a claim that other claims make start at another time, for the start that it states itself."""
VOICE: Final = "voice"
"""The key in a memory's notes for the name of the user, where they speak without a name but have one."""
FRAMING: Final = "presented"
"""The key in a memory's notes for how earlier turns qualify it (`remember.base.Framing`)."""
_C = claims.c
_M = memories.c
_N = counters.c
_MAX_AGENTS: Final = 50
_OPEN: Final = by_dialect(
    literal_column("json_extract(memories.notes, '$.claims[' || claims.position || '].valid_to') IS NULL", Boolean),
    literal_column("(memories.notes::jsonb -> 'claims' -> claims.position::int ->> 'valid_to') IS NULL", Boolean),
)
_AS_JSON: Final = type_coerce(
    by_dialect(
        literal_column("json_extract(memories.notes, '$.claims[' || claims.position || ']')", Boolean),
        literal_column("(memories.notes::jsonb -> 'claims' -> claims.position::int)::text", Boolean),
    ),
    Text,
)

LONG_AGO: Final = datetime(1900, 1, 1, tzinfo=UTC)
"""The start of a state of which only the end is known: "Until 3 May I lived in Turku"."""
Ends: TypeAlias = dict[int, tuple[int, str]]
"""Claims of one memory by position: the memory that ended each, and when."""


THAT_PERSON: Final = "^"
"""The subject of a claim about "she": the write finds the person that the conversation mentioned just before."""
ANY_ATTRIBUTE: Final = "*"
"""The attribute of a change that names only values: "I switched from Spotify to Tidal", "I sold the boat"."""
MAX_FOLLOWED: Final = 20
"""The largest number of older claims, the latest ones, that refer to a newer one: a list of likes may be long."""
FOLLOWED: Final = "followed"
"""The key in a memory's notes that marks it as followed by a later memory about the same thing."""
DISPUTED: Final = "disputed"
"""The key in a memory's notes that marks a contradiction with a source of another trust."""
Operation: TypeAlias = Literal["state", "update", "end", "correct", "event", "retract", "doubt", "remark"]
"""The kind of a sentence: "I live in Berlin" (state), "I moved to Ghent" (update), "I no longer live in Berlin" (end),
"I meant Ghent" (correct), "I moved to Ghent ten years ago" (event), "Scratch that" (retract). After a change, "…in The
Sims" (doubt) and "Too expensive." (remark): both keep it from hiding anything; after a remark it is still the latest
statement."""
RETRACTIONS: Final = frozenset(("retract", "doubt", "remark"))
"""The operations of a sentence about its speaker's previous statement."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a sentence says about a person: subject, attribute, value, and when it holds."""

    subject: str
    """A speaker's name, or "Anna's sister"."""
    attribute: str
    value: str
    span: Span
    """The evidence: where in the message it is said."""
    said_at: datetime
    valid_from: datetime
    valid_to: datetime | None = None
    """When it stopped being true; None while it holds."""
    holds: bool = True
    """False for a denial: "I don't eat meat", "I no longer work at Acme"."""
    single: bool = False
    """Whether a subject has one value at a time, so that a newer value replaces an older one."""
    trust: str = "user"
    operation: Operation = "state"
    """Only an explicit change ("update", "end", "correct") may hide what was said before."""
    replaces: str | None = None
    """The value that a change says it replaces: "Siemens" in "I moved from Siemens to Bosch"."""
    reported: bool = False
    """Whether a page or file says it as "I": it may be about its author, so it is no fact, but it disputes one."""

    skips: int = 0
    """The number of messages of the speaker between a retraction and the retracted message."""

    doubted: bool = False
    """Whether earlier turns make it uncertain: it hides nothing, and is a fact only if nothing else fills its slot."""

    starts_by: datetime | None = None
    """When it began at the latest, where it names a period: "this year", "in March"; `valid_from` is its start."""

    def to_json(self) -> dict[str, JSON]:
        return {
            "subject": self.subject,
            "attribute": self.attribute,
            "value": self.value,
            "span": list(self.span),
            "said_at": self.said_at.isoformat(),
            "valid_from": self.valid_from.isoformat(),
            "valid_to": self.valid_to.isoformat() if self.valid_to else None,
            "holds": self.holds,
            "single": self.single,
            "trust": self.trust,
            **({} if self.operation == "state" else {"operation": self.operation}),
            **({} if self.replaces is None else {"replaces": self.replaces}),
            **({"reported": True} if self.reported else {}),
            **({"doubted": True} if self.doubted else {}),
            **({"skips": self.skips} if self.skips else {}),
            **({} if self.starts_by is None else {"starts_by": self.starts_by.isoformat()}),
        }


@dataclass(frozen=True, slots=True)
class StoredClaim:
    """A claim of a stored memory: the memory, its position among the memory's claims, and its slot."""

    memory: Memory
    position: int
    slot: bytes

    def as_made(self) -> Claim:
        """Return the claim as its memory made it, without the effects of later claims."""
        return claim_from_json(as_made(claims_of(self.memory)[self.position]))


def speaker_key(memory: Memory) -> str:
    """Return the name that identifies the speaker of a memory; empty for a note without a speaker."""
    name = fold(memory.speaker or "")
    if name and name not in ROLES:
        return name
    return fold(str(memory.notes.get(VOICE) or memory.user or "user")) if memory.trust == "user" else ""


def claims_in(notes: Mapping[str, Any]) -> tuple[Claim, ...]:
    """Return the claims in the notes of a memory."""
    found = notes.get(CLAIMS) or []
    return tuple(claim_from_json(item) for item in found if isinstance(item, dict)) if isinstance(found, list) else ()


def described_times(notes: Mapping[str, Any]) -> list[tuple[datetime, datetime | None]]:
    """Return the times that a memory describes: those of its claims, or without claims the times in its text.

    An event is true from its time on. A state that lasted until a time has no known start.
    """
    made = claims_in(notes)
    if made or not isinstance(notes.get("events"), list):
        return [(claim.valid_from, claim.valid_to) for claim in made]
    found: list[tuple[datetime, datetime | None]] = []
    for event in notes["events"]:
        start, end = (datetime.fromisoformat(str(event[key])) for key in ("start", "end"))
        found.append((LONG_AGO if event["kind"] == "until" else start, None if _has_no_end(event) else end))
    return found


def _has_no_end(event: Mapping[str, Any]) -> bool:
    return (event["kind"], event["precision"]) != ("at", "span") and event["kind"] != "until"


def claim_from_json(item: Mapping[str, Any]) -> Claim:
    start, end = cast("list[int]", item["span"])
    ended = item["valid_to"]
    return Claim(
        subject=str(item["subject"]),
        attribute=str(item["attribute"]),
        value=str(item["value"]),
        span=(start, end),
        said_at=datetime.fromisoformat(str(item["said_at"])),
        valid_from=datetime.fromisoformat(str(item["valid_from"])),
        valid_to=datetime.fromisoformat(str(ended)) if ended else None,
        holds=bool(item["holds"]),
        single=bool(item["single"]),
        trust=str(item["trust"]),
        operation=item.get("operation", "state"),
        replaces=item.get("replaces"),
        reported=bool(item.get("reported")),
        doubted=bool(item.get("doubted")),
        skips=int(item.get("skips", 0)),
        starts_by=datetime.fromisoformat(str(item["starts_by"])) if item.get("starts_by") else None,
    )


def claims_of(memory: Memory) -> Sequence[Mapping[str, Any]]:
    """Return the claims of a memory as its notes hold them."""
    found: Sequence[Mapping[str, Any]] = memory.notes.get(CLAIMS, ())
    return found


def as_made(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claim as its memory made it, without an end or a start that another memory gave it."""
    return with_start(without_end(claim), None)


def without_end(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claim without an end that another memory gave it."""
    made = dict(claim)
    made.pop(RETRACTED, None)
    return made | {"valid_to": None} if made.pop(ENDED_BY, None) is not None else made


def with_start(claim: Mapping[str, Any], start: datetime | None) -> dict[str, Any]:
    """Return the claim as one that holds from another time than it says; with None, from when it says itself."""
    made = dict(claim)
    made["valid_from"] = made.pop(SAID_FROM, made["valid_from"])
    return made if start is None else made | {"valid_from": start.isoformat(), SAID_FROM: made["valid_from"]}


def claim_time(claim: Claim | Mapping[str, Any]) -> datetime:
    """Return the time by which claims are ordered: when it was said, or when a dated event of long ago happened."""
    if isinstance(claim, Claim):
        return claim.valid_from if claim.operation == "event" else claim.said_at
    return datetime.fromisoformat(claim["valid_from" if claim.get("operation") == "event" else "said_at"])


def slot_words(claim: Claim) -> tuple[str, str]:
    """Return the subject and attribute of a claim as they are compared."""
    return fold(claim.subject), claim.attribute


def ended_when_said(claims: Iterable[Claim]) -> bool:
    """Return whether all of these claims were over when they were said."""
    return all(claim.valid_to is not None and claim.valid_to <= claim.said_at for claim in claims)


def enders_of(memory: Memory) -> set[int]:
    """Return the ids of the memories that ended a claim of this one."""
    return {claim[ENDED_BY] for claim in claims_of(memory) if ENDED_BY in claim}


def ends_in(notes: Mapping[str, Any]) -> Ends:
    """Return which claims in the notes were ended by other memories."""
    return {
        position: (claim[ENDED_BY], claim["valid_to"])
        for position, claim in enumerate(notes.get(CLAIMS, ()))
        if claim.get(ENDED_BY) is not None
    }


def without_enders(notes: Mapping[str, Any]) -> dict[str, JSON]:
    """Return the notes with each end, but without the id of the memory that set it."""
    kept: list[JSON] = [
        {key: value for key, value in claim.items() if key != ENDED_BY} for claim in notes.get(CLAIMS, ())
    ]
    return {**notes, CLAIMS: kept} if kept else dict(notes)


def map_enders(notes: Mapping[str, Any], change: Callable[[int], int]) -> dict[str, JSON]:
    """Return the notes with the ids of the memories that ended a claim changed."""
    if not any(isinstance(claim.get(ENDED_BY), int) for claim in notes.get(CLAIMS, ())):
        return dict(notes)
    return {
        **notes,
        CLAIMS: [
            {key: change(value) if key == ENDED_BY else value for key, value in claim.items()}
            for claim in notes[CLAIMS]
        ],
    }


def owner_of(memory: Memory) -> Scope:
    return Scope(memory.tenant, memory.agent, memory.user, memory.session)


def slot_of(owner: Scope, claim: Mapping[str, Any]) -> bytes:
    """Return sixteen bytes for the owner, subject and attribute of a claim.

    A speaker without a name is a different person in every session.
    """
    subject = fold(claim["subject"])
    unnamed = subject.partition("'")[0] in ROLES and owner.user is None
    session = stored_name(owner.session) if unnamed else ""
    parts = [owner.tenant, stored_name(owner.agent), stored_name(owner.user), session, subject, claim["attribute"]]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).digest()


def fold(words: str) -> str:
    """Return words as they are compared: without case, and with one kind of apostrophe."""
    return " ".join(words.casefold().replace("’", "'").split())


_SELECT_STORED: Final = select(*MEMORY_COLUMNS, _C.position, _C.slot).join(claims, _C.memory_id == _M.id)


def index_claims(tx: Transaction, memory_id: int, owner: Scope, notes: Mapping[str, Any]) -> None:
    """Replace the rows of `claims` for this memory by those of its notes."""
    tx.execute(delete(claims).where(_C.memory_id == memory_id))
    rows = [(memory_id, position, slot_of(owner, claim)) for position, claim in enumerate(notes.get(CLAIMS, ()))]
    if rows:
        tx.insert_rows(claims, ("memory_id", "position", "slot"), rows)


def open_claims(tx: ReadTransaction, owner: Scope, about: Mapping[str, Any], *, except_of: int) -> list[StoredClaim]:
    """Return the open claims in the slot of a claim to which it may relate, oldest first, except those of one memory.

    These are few, however many the slot holds: only their memories are read.
    """
    slot = slot_of(owner, about)
    conditions = (_C.slot == slot, _C.memory_id != except_of, _OPEN)
    query = select(_C.memory_id, _C.position, _AS_JSON).join(memories, _M.id == _C.memory_id).where(*conditions)
    found = [(memory_id, position, as_made(stored_json(claim))) for memory_id, position, claim in tx.execute(query)]
    wanted = {(memory_id, position) for memory_id, position, _ in _may_concern(about, found)}
    stored: list[StoredClaim] = []
    for part in chunked(sorted({memory_id for memory_id, _ in wanted})):
        stored += map(_stored_claim, tx.execute(_SELECT_STORED.where(_C.slot == slot, _C.memory_id.in_(part))))
    stored = [each for each in stored if (each.memory.id, each.position) in wanted]
    return sorted(stored, key=lambda each: (each.memory.id, each.position))


_ClaimRow: TypeAlias = tuple[int, int, Mapping[str, Any]]
"""A claim as JSON, after its memory and position."""


def _may_concern(about: Mapping[str, Any], found: Sequence[_ClaimRow]) -> list[_ClaimRow]:
    """Return the claims that one may end, follow or contradict, and the later ones, which may do so to it."""
    if about.get("replaces") is not None:  # any value may be the one that it names
        return list(found)
    time = claim_time(about)
    others, values = list[_ClaimRow](), list[_ClaimRow]()
    for each in found:
        if each[2]["holds"] != about["holds"] or claim_time(each[2]) > time:
            others.append(each)
        elif each[2]["single"] and about["single"]:
            values.append(each)
    if about.get("operation", "state") in ("state", "event"):
        values.sort(key=lambda each: (claim_time(each[2]), each[0], each[1]))
        values = values[-MAX_FOLLOWED:]
    return others + values


def slots_of_other_agents(tx: ReadTransaction, owner: Scope, about: Iterable[Mapping[str, Any]]) -> set[bytes]:
    """Return the slots of claims in what the user told other agents, the latest of the tenant, or no agent."""
    query = select(_N.name).where(_N.tenant == owner.tenant, _N.kind == "agent").order_by(_N.last_at.desc())
    agents = {None, *(name or None for name in tx.scalars(query.limit(_MAX_AGENTS)))} - {owner.agent}
    return {slot_of(replace(owner, agent=agent), claim) for agent in agents for claim in about}


def claims_in_slots(tx: ReadTransaction, slots: Collection[bytes]) -> list[StoredClaim]:
    """Return all claims in these slots, ended or not, in the order in which they were written."""
    found: list[StoredClaim] = []
    for part in chunked(sorted(slots)):
        found += [_stored_claim(row) for row in tx.execute(_SELECT_STORED.where(_C.slot.in_(part)))]
    return sorted(found, key=lambda stored: (stored.memory.id, stored.position))


def claims_of_memories(tx: ReadTransaction, owner: Scope, ids: Collection[int]) -> list[StoredClaim]:
    """Return the claims of these memories of the owner that have not ended."""
    found: list[StoredClaim] = []
    for part in chunked(sorted(ids)):
        query = _SELECT_STORED.where(_C.memory_id.in_(part), _OPEN)
        query = query.where(*in_scope(Scope(owner.tenant, user=owner.user)))
        found += [_stored_claim(row) for row in tx.execute(query)]
    return found


_DAY_NAME: Final = re.compile(
    r"(?:on\s+)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|today|tomorrow)",
    re.I,
)


def value_shape(value: str) -> str:
    """Return the shape of a value, by which a correction finds what it corrects: a year, a number, a name."""
    folded = value.strip()
    if "@" in folded:
        return "address"
    if re.fullmatch(r"(?:19|20)\d\d", folded):
        return "year"
    if re.search(r"\d", folded):
        return "time" if ":" in folded else "number"
    if _DAY_NAME.fullmatch(folded):
        return "day"
    return "name" if folded[:1].isupper() else "text"


def has_shape(text: str, shape: str) -> bool:
    """Return whether a text holds a value of a shape; a capital at the start of a sentence is no name."""
    return _SHAPES[shape].search(text) is not None


_SHAPES: Final = {
    "address": re.compile("@"),
    "year": re.compile(r"\b(?:19|20)\d\d\b"),
    "number": re.compile(r"\d"),
    "time": re.compile(r"\d"),
    "day": _DAY_NAME,
    "name": re.compile(r"(?<![.!?])(?<!^)\s(?!I\b)[^\W\d_a-z]\w"),
    "text": re.compile(r"\w"),
}
"""By which a value of a shape is found in a text: a number may be meant by any digits."""


def claims_in_scope(tx: ReadTransaction, scope: Scope, at: datetime, subject: str | None = None) -> list[StoredClaim]:
    """Return the claims of all memories of a scope that take part in recall at a time, ended ones included.

    With a subject, at least those about it.
    """
    visible = [_M.archived_at.is_(None), _M.quarantined_at.is_(None), not_expired(at)]
    if subject is not None:
        visible.append(mentions_subject(subject))
    return [_stored_claim(row, scope) for row in tx.execute(_SELECT_STORED.where(*in_scope(scope), *visible))]


def mentions_subject(subject: str) -> ColumnElement[bool]:
    """Return a condition that holds for every memory with a claim about this subject, and for a few others."""
    # Not every database can compare other letters without case.
    word = max(re.findall(r"[a-z0-9]+", subject.lower()), key=len, default="")
    return func.lower(_M.notes).contains(word, autoescape=True)


def slots_of(tx: ReadTransaction, scope: Scope, ids: Sequence[int]) -> set[bytes]:
    """Return the slots that these memories of a scope make claims in."""
    found: set[bytes] = set()
    for part in chunked(ids):
        query = select(_C.slot).join(memories, _M.id == _C.memory_id).where(_C.memory_id.in_(part), *in_scope(scope))
        found.update(bytes(slot) for slot in tx.scalars(query))
    return found


def write_notes(tx: Transaction, memory_id: int, notes: Mapping[str, JSON]) -> None:
    stored = to_json(dict(notes))
    values = {"notes": stored, "row_hash": hash_with_notes(stored)}
    tx.execute(update(memories).where(_M.id == memory_id).values(values))


def name_enders(tx: Transaction, named: Mapping[int, Ends]) -> None:
    """Record which memories ended the claims of these, where a claim ended as given and no other ender is named."""
    for memory_id, ends in named.items():
        row = tx.execute(SELECT_MEMORY.where(_M.id == memory_id)).first()
        if row is None:
            continue
        memory = memory_from_row(row)
        known = [dict(claim) for claim in claims_of(memory)]
        for position, (by, valid_to) in ends.items():
            if position < len(known) and known[position]["valid_to"] == valid_to:
                known[position].setdefault(ENDED_BY, by)
        write_notes(tx, memory_id, {**memory.notes, CLAIMS: [*known]})


def _stored_claim(row: Row, scope: Scope | None = None) -> StoredClaim:
    return StoredClaim(memory_from_row(row, scope), row[-2], row[-1])

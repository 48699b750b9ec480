"""Writing down which claims of a memory others have ended, and what follows for the memory itself.

A memory that says nothing but claims ends with the last of them, in favour of the memory that ended it. A memory that
was ended in another way, by hand or because another one repeats it, stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from memoranda.extraction.base import Span
from memoranda.extraction.lexicon import tells
from memoranda.extraction.notes import claims_in
from memoranda.reconcile.supersede import Ending
from memoranda.storage import lifecycle
from memoranda.storage.base import Link
from memoranda.storage.claims import CLAIMS, ENDED_BY, as_said, claims_of, enders_of, write_notes
from memoranda.storage.writing import apply_changes
from memoranda.types import Association, Memory, Scope

if TYPE_CHECKING:
    from sqlalchemy import Connection

SUPERSEDES: Final = "supersedes"
_End: TypeAlias = tuple[datetime | None, int | None]
"""`valid_to` and `superseded_by`."""


def rewrite(connection: Connection, memory: Memory, ends: Mapping[int, Ending | None], at: int) -> Memory:
    """The memory after these of its claims, by their numbers, have ended, or None: hold as they were made."""
    after = replace(memory, notes={**memory.notes, CLAIMS: _with_ends(claims_of(memory), ends)})
    if after.notes == memory.notes:
        return memory
    write_notes(connection, memory.id, after.notes)
    _link_enders(connection, memory, after, at)
    was, now = _end_of(memory), _end_of(after)
    if was == now or (memory.valid_to, memory.superseded_by) != was:
        return after
    lifecycle.set_end(connection, memory.id, now, at)
    return replace(after, valid_to=now[0], superseded_by=now[1])


def link(connection: Connection, association: Association, owner: Memory, at: int) -> None:
    scope = Scope(owner.tenant, user=owner.user)
    apply_changes(connection, [Link(scope, association)], at)


def _with_ends(claims: Sequence[Mapping[str, Any]], ends: Mapping[int, Ending | None]) -> list[dict[str, Any]]:
    return [_with_end(claim, ends[place]) if place in ends else dict(claim) for place, claim in enumerate(claims)]


def _with_end(claim: Mapping[str, Any], end: Ending | None) -> dict[str, Any]:
    said = as_said(claim)
    return said if end is None else said | {"valid_to": end.at.isoformat(), ENDED_BY: end.by}


def _link_enders(connection: Connection, before: Memory, after: Memory, at: int) -> None:
    were, are = enders_of(before), enders_of(after)
    lifecycle.unlink(connection, [(by, before.id) for by in were - are], SUPERSEDES)
    for by in sorted(are - were):
        link(connection, Association(by, before.id, SUPERSEDES, 1.0), before, at)


def _end_of(memory: Memory) -> _End:
    """When a memory ends by its claims, and by whom; twice None when it does not."""
    ended = [claim for claim in claims_of(memory) if ENDED_BY in claim]
    if not ended or not _tells_no_more(memory):
        return None, None
    last = max(ended, key=_valid_to)
    return max(map(_valid_to, claims_of(memory))), last[ENDED_BY]


def _valid_to(claim: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(claim["valid_to"])


def _tells_no_more(memory: Memory) -> bool:
    """Whether all that a memory says of anybody has ended, and it says nothing else."""
    claims = claims_in(memory.notes)
    if any(claim.valid_to is None for claim in claims):
        return False
    start, end = memory.evidence or (0, len(memory.content))
    if len(memory.content) != end - start:  # a model's own words for its evidence, which is all that it tells
        return True
    said = [(claim.span[0] - start, claim.span[1] - start) for claim in claims]
    return not tells(_without(memory.content, said), {word.lower() for word in (memory.speaker or "").split()})


def _without(text: str, spans: Sequence[Span]) -> str:
    return "".join(" " if any(start <= n < end for start, end in spans) else sign for n, sign in enumerate(text))

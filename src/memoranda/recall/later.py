"""Finds what was said later about the same thing as a hit, and puts it above the hit when the present is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from memoranda.storage.base import Store
from memoranda.storage.claim_resolution import CONTRADICTS, FOLLOWS, SUPERSEDES
from memoranda.storage.claims import DISPUTED, FOLLOWED, enders_of
from memoranda.storage.lifecycle import read_followers, read_opposed
from memoranda.types import Hit, Memory, Scope

_PAST: Final = re.compile(
    r"\b(?:used\s+to|before|previous(?:ly)?|former(?:ly)?|original(?:ly)?|first|initially|earlier|in\s+the\s+past|back\s+then"
    r"|old|once|ever|history|did|was|were|had)\b",
    re.I,
)


def asks_for_the_present(question: str) -> bool:
    """Return whether a question does not ask for what was."""
    return _PAST.search(question) is None


def attach_later(store: Store, scope: Scope, hits: Sequence[Hit], known_at: datetime | None) -> list[Hit]:
    """Return the hits with what was said later about the same thing, or against it, and was known at that time."""
    marked = [hit.id for hit in hits if hit.memory.notes.keys() & (FOLLOWED, DISPUTED) or enders_of(hit.memory)]
    if not marked:
        return list(hits)
    newer_ids = store.read(lambda tx: read_followers(tx, marked, (FOLLOWS, SUPERSEDES)))
    against_ids = store.read(lambda tx: read_opposed(tx, marked, CONTRADICTS))
    wanted = sorted({other for ids in (*newer_ids.values(), *against_ids.values()) for other in ids})
    found = {memory.id: memory for memory in store.get(scope, wanted) if memory and _counts(memory, known_at)}
    return [
        replace(
            hit,
            later=_in_order(hit.memory, [found[newer] for newer in newer_ids.get(hit.id, ()) if newer in found]),
            disputed=tuple(found[other] for other in against_ids.get(hit.id, ()) if other in found),
        )
        for hit in hits
    ]


def put_newer_first(hits: Sequence[Hit], make_hit: Callable[[Memory, Hit], Hit | None]) -> list[Hit]:
    """Return the hits with what was said later above what it follows.

    Args:
        hits: The hits, best first.
        make_hit: Returns a hit for a memory that is not among them, beside the hit that it follows, or None.
    """
    ordered: list[Hit] = []
    placed: set[int] = set()
    by_id = {hit.id: hit for hit in hits}
    for hit in hits:
        if hit.id in placed:
            continue
        for memory in reversed(hit.later):
            newer = by_id.get(memory.id) or make_hit(memory, hit)
            if newer is not None and newer.id not in placed:
                placed.add(newer.id)
                ordered.append(replace(newer, score=max(newer.score, hit.score)))
        placed.add(hit.id)
        ordered.append(hit)
    return ordered


def _counts(memory: Memory, known_at: datetime | None) -> bool:
    visible = memory.archived_at is None and memory.quarantined_at is None
    return visible and (known_at is None or memory.recorded_at <= known_at)


def _in_order(memory: Memory, newer: Sequence[Memory]) -> tuple[Memory, ...]:
    later = [each for each in newer if (each.valid_from, each.id) > (memory.valid_from, memory.id)]
    return tuple(sorted(later, key=lambda each: (each.valid_from, each.id)))

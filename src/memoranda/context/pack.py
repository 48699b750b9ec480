"""Hits → those that fit into a token budget, the best first and none twice. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from memoranda.context.base import TokenCounter
from memoranda.context.render import rendered
from memoranda.errors import InvalidInput
from memoranda.text import terms
from memoranda.types import Hit

_ELLIPSIS = " […]"
_LONGEST_TOKEN = 32  # characters, generously: a text that cannot fit is not counted


def distinct(hits: Sequence[Hit]) -> list[Hit]:
    """The first of each group that one speaker said in the same words; case and punctuation do not count."""
    seen: dict[tuple[str | None, tuple[str, ...] | str], Hit] = {}
    for hit in hits:
        words = tuple(terms(hit.content)) or hit.content.strip()
        seen.setdefault((hit.memory.speaker, words), hit)
    return list(seen.values())


def packed(hits: Sequence[Hit], marker: str, now: datetime, budget: int, count: TokenCounter) -> list[Hit]:
    """The hits whose text together takes at most `budget` tokens; one that is too long makes room for later ones.

    The best hit is always there, cut short where it alone is too long.
    """

    def fits(chosen: Sequence[Hit]) -> bool:
        if sum(len(hit.content) for hit in chosen) > _LONGEST_TOKEN * budget:
            return False
        return count(rendered(chosen, marker, now)) <= budget

    if fits(hits):
        return list(hits)
    chosen: list[Hit] = []
    for hit in hits:
        if fits([*chosen, hit]):
            chosen.append(hit)
        elif not chosen:
            chosen = [_cut(hit, fits, budget)]
    return chosen


def _cut(hit: Hit, fits: Callable[[Sequence[Hit]], bool], budget: int) -> Hit:
    """The hit with as much of its text as there is room for."""

    def shortened(length: int) -> Hit:
        return replace(hit, memory=replace(hit.memory, content=hit.content[:length].rstrip() + _ELLIPSIS))

    if not fits([shortened(0)]):
        raise InvalidInput(f"a budget of {budget} tokens has no room for even one memory: give more")
    room, beyond = 0, min(len(hit.content), _LONGEST_TOKEN * budget)
    while beyond - room > 1:
        middle = (room + beyond) // 2
        room, beyond = (middle, beyond) if fits([shortened(middle)]) else (room, middle)
    return shortened(room)

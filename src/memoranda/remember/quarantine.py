"""Screens new memories: a suspect is stored, but takes no part in recall until somebody releases it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from memoranda.remember.poison import find_poison
from memoranda.remember.poison_rules import Channel
from memoranda.storage.changes import QUARANTINE, NewMemory
from memoranda.storage.claims import CLAIMS
from memoranda.types import JSON

_OWN_SOURCES: Final = frozenset(("conversation", "chat", "user", "manual", "cli"))
_AGENT_SOURCES: Final = frozenset(("agent", "assistant", "summary", "upkeep"))
_EDITED: Final = "was changed while in quarantine"


def screen(new: Iterable[NewMemory]) -> None:
    """Put each new memory that looks like poison into quarantine, and keep those there that are in it already."""
    for each in new:
        _screen(each)


def find_channel(trust: str, source: str | None) -> Channel:
    """Return who wrote a text: what does not come from the user or an agent comes from outside."""
    if trust in ("assistant", "agent") or (source or "").lower() in _AGENT_SOURCES:
        return "agent"
    is_own = source is None or source.lower() in _OWN_SOURCES
    return "user" if trust == "user" and is_own else "outside"


def hold(new: NewMemory, reason: str, since: datetime) -> None:
    """Put a memory into quarantine at a person's word."""
    _hold(new, {"reason": reason}, since)


def _screen(new: NewMemory) -> None:
    channel = find_channel(new.trust, new.source)
    # The names of a speaker and of a source are shown in a prompt as well.
    names = (new.message.speaker if new.message else None, new.source)
    spoken = new.message is not None
    found = [find_poison(new.content, channel, spoken), *(find_poison(name, "outside") for name in names if name)]
    suspicion = max((each for each in found if each), key=lambda each: each.score, default=None)
    if suspicion is None and (new.quarantined_at is None or QUARANTINE in new.notes):
        return
    note: dict[str, JSON] = {"reason": suspicion.reason if suspicion else _EDITED}
    if suspicion is not None:
        note |= {"signs": list(suspicion.signs), "score": suspicion.score}
    _hold(new, note, new.recorded_at)


def _hold(new: NewMemory, note: dict[str, JSON], since: datetime) -> None:
    # A suspect ends nothing: its claims count only once it is released.
    claims = new.notes.get(CLAIMS)
    new.notes = {name: value for name, value in new.notes.items() if name != CLAIMS} | {
        QUARANTINE: note | ({CLAIMS: claims} if claims else {})
    }
    new.quarantined_at = new.quarantined_at or since

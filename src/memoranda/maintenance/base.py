"""Policy names, settings and input values of upkeep."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Final

from memoranda.errors import InvalidInput
from memoranda.results.maintenance import DerivationKind, PolicyName
from memoranda.types import Memory, MemoryType

POLICIES: Final[tuple[PolicyName, ...]] = (
    "extract",
    "expire",
    "merge",
    "summarize",
    "consolidate",
    "reflect",
    "window",
    "fade",
    "delete",
)
"""Every policy, in the order in which they run: new memories are derived before any are archived."""
DEFAULT_POLICIES: Final[tuple[PolicyName, ...]] = ("extract", "expire", "merge", "consolidate", "fade")
"""The policies that cost no recall and delete nothing that a person said.

Summaries and reflections take the place of their sources among the hits; `window` and `delete` take away what was said.
"""
SHORT_LIVED: Final = (MemoryType.SHORT_TERM, MemoryType.WORKING)
_FLAGS: Final = ("archive_sources", "small_talk_only")
_COUNTS: Final = ("keep_short_term", "cluster_least", "cluster_most", "session_least", "period_least")


@dataclass(frozen=True, slots=True)
class UpkeepItem:
    """A memory with the access and lineage data that policies use."""

    memory: Memory
    accesses: int = 0
    accessed_at: datetime | None = None
    derived: DerivationKind | None = None
    """How upkeep derived the memory; None when it did not."""
    consolidated: bool = False
    """Whether a consolidated memory was already made from it."""
    merged: bool = False
    """Whether it repeats the memory that it was merged into."""


def is_live(item: UpkeepItem, now: datetime) -> bool:
    """Return whether the memory takes part in recall: not archived or quarantined, not expired, still valid."""
    memory = item.memory
    ended = memory.valid_to is not None and memory.valid_to <= now
    return memory.archived_at is None and memory.quarantined_at is None and not memory.has_expired(now) and not ended


def owner_key(memory: Memory) -> tuple[str, str, str]:
    """Return tenant, agent and user as a sortable key."""
    return memory.tenant, memory.agent or "", memory.user or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepSettings:
    """Limits of the upkeep policies. With the defaults, only expired memories and small talk are archived."""

    recent: timedelta = timedelta(days=7)
    """A memory written or recalled within this time is protected."""
    recent_short_term: timedelta = timedelta(hours=1)
    """The same for short-term and working memories."""
    important: float = 0.7
    """A memory with at least this importance is never archived."""
    half_life: timedelta = timedelta(days=30)
    """After this time without use, the part of an importance that can fade has halved."""
    short_term_half_life: timedelta = timedelta(hours=6)
    """The same for short-term and working memories."""
    floor: float = 0.3
    """The share of an importance that never fades."""
    fade_below: float = 0.03
    """A memory whose faded importance is below this is archived."""
    small_talk_only: bool = True
    """Whether only small talk fades and is deleted; False also lets go of what a person said, by its importance."""
    keep_short_term: int = 200
    """How many short-term memories are kept per agent, user and session: the newest ones."""
    grace: timedelta = timedelta(days=30)
    """How long an archived memory can be restored before it is deleted."""
    same_day: timedelta = timedelta(days=1)
    """The same words said within this time are a repetition; said later, they are new information."""
    related: float = 0.5
    """How similar two texts in one cluster must be, from 0 (unrelated) to 1 (equal)."""
    same_session: float = 0.1
    """How much lower that limit is within one session."""
    cluster_span: timedelta = timedelta(days=30)
    """The longest time between two consecutive memories of one cluster."""
    cluster_least: int = 3
    """The smallest size of a cluster."""
    cluster_most: int = 8
    """The largest size of a cluster."""
    archive_sources: bool = False
    """Whether memories are archived once a consolidated memory was made from them."""
    session_timeout: timedelta = timedelta(hours=1)
    """A conversation without a new turn for this long is finished."""
    session_least: int = 8
    """A conversation with fewer turns gets no summary."""
    period: timedelta = timedelta(days=7)
    """The time that one reflection covers."""
    period_least: int = 20
    """A period with fewer memories gets no reflection."""

    def __post_init__(self) -> None:
        for spec in fields(self):
            _check(spec.name, getattr(self, spec.name))


def _check(name: str, value: object) -> None:
    if isinstance(value, timedelta):
        if value <= timedelta(0):
            raise InvalidInput(f"{name} must be longer than 0, not {value}")
    elif name in _COUNTS:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidInput(f"{name} must be an integer of at least 1, not {value!r}")
    elif name in _FLAGS:
        if not isinstance(value, bool):
            raise InvalidInput(f"{name} must be True or False, not {value!r}")
    elif not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number from 0 to 1 or a timedelta, not {value!r}")

"""The values of upkeep: what is looked at, what may be set, and what is decided about it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memoranda.results import DerivationKind
from memoranda.types import Memory, MemoryType

if TYPE_CHECKING:
    pass

from typing import Final

from memoranda.errors import InvalidInput
from memoranda.results import PolicyName

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
"""Every policy, in the order in which they run: what is worth keeping is made before anything is put away."""
DEFAULT_POLICIES: Final = tuple(name for name in POLICIES if name not in ("summarize", "reflect"))
"""Those that cost no recall. Summaries and reflections take places among the hits from the turns they are made of."""
PASSING: Final = (MemoryType.SHORT_TERM, MemoryType.WORKING)


def _check(name: str, value: object) -> None:
    if isinstance(value, timedelta):
        if value <= timedelta(0):
            raise InvalidInput(f"{name} must be longer than nothing, not {value}")
    elif name in ("keep_short_term", "cluster_least", "cluster_most", "session_least", "period_least"):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidInput(f"{name} must be a whole number from 1, not {value!r}")
    elif name != "archive_sources" and (not isinstance(value, int | float) or not 0 <= value <= 1):
        raise InvalidInput(f"{name} must be a number from 0 to 1 or a timedelta, not {value!r}")


@dataclass(frozen=True, slots=True)
class Subject:
    """One memory, and what upkeep must know of it beside its own fields."""

    memory: Memory
    accesses: int = 0
    accessed_at: datetime | None = None
    derived: DerivationKind | None = None
    """How it was made, when upkeep made it."""
    consolidated: bool = False
    """Whether a consolidated memory was made from it already."""


def is_live(subject: Subject, now: datetime) -> bool:
    """Whether a memory takes part in recall today."""
    memory = subject.memory
    return (
        memory.archived_at is None
        and not has_expired(memory, now)
        and (memory.valid_to is None or memory.valid_to > now)
    )


def has_expired(memory: Memory, now: datetime) -> bool:
    return memory.expires_at is not None and memory.expires_at <= now


def owner(memory: Memory) -> tuple[str, str, str]:
    """Tenant, agent and user, so that they can be sorted."""
    return memory.tenant, memory.agent or "", memory.user or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepSettings:
    """How upkeep decides; the defaults never put away what is pinned, recent, or of ordinary importance."""

    recent: timedelta = timedelta(days=7)
    """Written down or recalled within this time: not touched."""
    recent_short_term: timedelta = timedelta(hours=1)
    important: float = 0.7
    """From this importance on, a memory is never put away."""
    half_life: timedelta = timedelta(days=30)
    """After this time without use, what can fade of an importance has fallen to half."""
    short_term_half_life: timedelta = timedelta(hours=6)
    floor: float = 0.3
    """The share of an importance that never fades."""
    fade_below: float = 0.03
    """The faded importance below which a memory is archived."""
    keep_short_term: int = 200
    """How many short-term memories each agent, user and session keeps, the newest ones."""
    grace: timedelta = timedelta(days=30)
    """How long an archived memory can be restored before it is deleted."""
    same_day: timedelta = timedelta(days=1)
    """Words said again within this time repeat; later, they are news."""
    related: float = 0.5
    """How near two texts must be to stand in one cluster, 0 (nothing to do with each other) … 1 (the same)."""
    same_session: float = 0.1
    """How much less is enough within one session."""
    cluster_span: timedelta = timedelta(days=30)
    """The longest time between two memories of one cluster that follow each other."""
    cluster_least: int = 3
    cluster_most: int = 8
    archive_sources: bool = False
    """Whether memories that became one consolidated memory leave recall."""
    session_timeout: timedelta = timedelta(hours=1)
    """A conversation that has been silent for this long is finished."""
    session_least: int = 8
    """A conversation of fewer turns is short enough to be its own summary."""
    period: timedelta = timedelta(days=7)
    """What one reflection looks back on."""
    period_least: int = 20
    """Fewer memories are not worth a reflection."""

    def __post_init__(self) -> None:
        for spec in fields(self):
            _check(spec.name, getattr(self, spec.name))

"""The port of short-term values: whose they are, and what keeps them until they expire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Protocol, TypeAlias
from urllib.parse import quote, unquote

from memoranda.errors import InvalidInput, InvalidType
from memoranda.text import clean_text
from memoranda.types import DEFAULT_TENANT, JSON, MemoryType
from memoranda.validation import check_type, format_number

MAX_NAME = 512
"""Characters in the name of a tenant, workflow, agent or key."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """All values of one tenant, whatever the workflow and agent."""

    tenant: str = DEFAULT_TENANT
    path: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", f"{_piece(self.tenant, 'tenant')}/")


@dataclass(frozen=True, slots=True)
class Workflow:
    """All values of one workflow, whatever the agent."""

    tenant: str
    workflow: str
    path: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        path = f"{_piece(self.tenant, 'tenant')}/{_piece(self.workflow, 'workflow')}/"
        object.__setattr__(self, "path", path)


@dataclass(frozen=True, slots=True)
class Namespace:
    """Whose values they are: two values meet only where all three parts are exactly equal.

    No workflow means outside of any; no agent means what belongs to the workflow or tenant itself.
    """

    tenant: str = DEFAULT_TENANT
    workflow: str | None = None
    agent: str | None = None
    path: str = field(init=False, repr=False, compare=False)
    """The three parts as one text that no other namespace has, nor begins with."""

    def __post_init__(self) -> None:
        tenant = _piece(self.tenant, "tenant")
        workflow = "-" if self.workflow is None else _piece(self.workflow, "workflow")
        agent = "-" if self.agent is None else _piece(self.agent, "agent")
        object.__setattr__(self, "path", f"{tenant}/{workflow}/{agent}/")


Within: TypeAlias = Tenant | Workflow | Namespace


class ValueStore(Protocol):
    """JSON values under a namespace and a key, each until its time is up.

    What is returned is a copy. Bad names, values and times raise `InvalidInput` before anything is
    written; a store that cannot be reached raises `Unavailable`. Safe to call from several threads.
    Whoever opens a store closes it, so closing is not part of the port.
    """

    def set(self, namespace: Namespace, values: Mapping[str, JSON], *, ttl: float | None = None) -> None:
        """Stores the values for `ttl` seconds from now, or as long as the store's own setting says.

        A key already there gets the new value and the new time.
        """
        ...

    def get(self, namespace: Namespace, keys: Sequence[str]) -> dict[str, JSON]:
        """The values that are there, in the order asked; a key that is not there is absent."""
        ...

    def delete(self, namespace: Namespace, keys: Sequence[str]) -> int:
        """Removes what is there of these keys, and says how many that were."""
        ...

    def keys(self, namespace: Namespace) -> list[str]:
        """The keys of exactly this namespace, sorted."""
        ...

    def clear(self, within: Within) -> int:
        """Removes a namespace, a workflow with all its agents, or a tenant; says how many values went."""
        ...

    def count(self, within: Within) -> int:
        """How many values are there, without reading them."""
        ...


def named(namespace: Namespace, keys: Iterable[str]) -> dict[str, str]:
    """For each key, once and in order, the one text that stands for it in this namespace."""
    if isinstance(keys, str):
        raise InvalidType(f"keys must be several: write [{keys!r}]")
    path = namespace.path
    return {key: path + _quoted(key if type(key) is str else _text(key, "key"), "key") for key in keys}


def key_of(name: str) -> str:
    """The key inside a text that `named` made."""
    return unquote(name[name.rindex("/") + 1 :])


def _piece(name: str, what: str) -> str:
    # "=" sets a name apart from "-", which stands for none; quoting leaves no "/", "{" or ":" in it.
    return f"={_quoted(_text(name, what), what)}"


def _text(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise InvalidType(f"{what} must be a string, not {type(name).__name__}")
    return name


@lru_cache(maxsize=16_384)
def _quoted(name: str, what: str) -> str:
    if len(clean_text(name, what)) > MAX_NAME:
        raise InvalidInput(f"{what} has {len(name):,} characters; at most {MAX_NAME} fit: shorten it")
    return quote(name, safe="")


DEFAULT_TTL: Final = 86_400.0
"""Seconds a value lives when nobody says otherwise: a day."""
MAX_TTL: Final = 10 * 365 * 86_400.0


def is_short_term(memory_type: MemoryType | str, ttl: float | None = None) -> bool:
    """Whether a value of this type is kept for a while, or else for good; only the first can have a `ttl`."""
    kind = check_type(memory_type)
    if kind not in (MemoryType.SHORT_TERM, MemoryType.LONG_TERM):
        raise InvalidInput(f"memory_type must be 'short_term' or 'long_term', not {kind.value!r}")
    if kind is MemoryType.LONG_TERM and ttl is not None:
        raise InvalidInput("ttl is for short_term values; a long_term value stays until it is deleted")
    return kind is MemoryType.SHORT_TERM


def check_ttl(ttl: float) -> float:
    """The seconds a value may live, or `InvalidInput`."""
    if isinstance(ttl, bool) or not isinstance(ttl, int | float):
        raise InvalidType(f"ttl must be a number of seconds, not {type(ttl).__name__}")
    if not 0 < ttl <= MAX_TTL:
        raise InvalidInput(f"ttl is {format_number(ttl)} seconds: give more than 0 and at most {MAX_TTL:.0f}")
    return float(ttl)

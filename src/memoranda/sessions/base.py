"""The `ValueStore` protocol: short-term values by namespace and key, kept until they expire."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial, wraps
from inspect import Parameter, iscoroutinefunction, signature
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast, runtime_checkable
from urllib.parse import quote, unquote

from memoranda.display import shown
from memoranda.errors import InvalidInput, InvalidType
from memoranda.text.checks import clean_text
from memoranda.types import DEFAULT_TENANT, JSON, MemoryType
from memoranda.validation import MAX_NAME, check_ttl, check_type, copy_json

DEFAULT_TTL: Final = 86_400.0
"""Seconds that a value is kept by default: a day."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """All values of one tenant, in every workflow and of every agent."""

    tenant: str = DEFAULT_TENANT
    path: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", f"{_path_part(self.tenant, 'tenant')}/")


@dataclass(frozen=True, slots=True)
class Workflow:
    """All values of one workflow, of every agent."""

    tenant: str
    workflow: str
    path: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        path = f"{_path_part(self.tenant, 'tenant')}/{_path_part(self.workflow, 'workflow')}/"
        object.__setattr__(self, "path", path)


@dataclass(frozen=True, slots=True)
class Namespace:
    """The owner of values. Two namespaces are the same only if all three parts are exactly equal.

    Without a workflow, it is outside all workflows; without an agent, it belongs to the workflow or tenant itself.
    """

    tenant: str = DEFAULT_TENANT
    workflow: str | None = None
    agent: str | None = None
    path: str = field(init=False, repr=False, compare=False)
    """The three parts as one text that is unique, and not the beginning of another namespace's."""

    def __post_init__(self) -> None:
        tenant = _path_part(self.tenant, "tenant")
        workflow = "-" if self.workflow is None else _path_part(self.workflow, "workflow")
        agent = "-" if self.agent is None else _path_part(self.agent, "agent")
        object.__setattr__(self, "path", f"{tenant}/{workflow}/{agent}/")


ValueScope: TypeAlias = Tenant | Workflow | Namespace


@runtime_checkable
class ValueStore(Protocol):
    """JSON values by namespace and key, each kept until it expires.

    Returned values are copies. Bad names, values and times raise `InvalidInput` before anything is written; a store
    that cannot be reached raises `Unavailable`. Safe to call from several threads. Whoever opens a store closes it, so
    closing is not part of the protocol.
    """

    def set(self, namespace: Namespace, values: Mapping[str, JSON], *, ttl: float | None = None) -> None:
        """Store the values for `ttl` seconds, or for the store's default time.

        A key that exists gets the new value and the new time.
        """
        ...

    def get(self, namespace: Namespace, keys: Sequence[str]) -> dict[str, JSON]:
        """Return the values that exist, in the order of the keys; a missing key is absent."""
        ...

    def delete(self, namespace: Namespace, keys: Sequence[str]) -> int:
        """Delete those of the keys that exist; return how many there were."""
        ...

    def keys(self, namespace: Namespace) -> list[str]:
        """Return the keys of exactly this namespace, sorted."""
        ...

    def clear(self, within: ValueScope) -> int:
        """Delete a namespace, a workflow with all its agents, or a tenant; return how many values there were."""
        ...

    def count(self, within: ValueScope) -> int:
        """Return the number of values, without reading them."""
        ...


MemoryBackend = ValueStore
"""Another name for what keeps short-term values: `InMemoryBackend` and `RedisBackend` are two."""


def qualify_keys(namespace: Namespace, keys: Iterable[str]) -> dict[str, str]:
    """Return for each key, once and in order, its full name, which is unique in a store."""
    if isinstance(keys, str):
        raise InvalidType(f"keys must be several: write [{shown(keys)}]")
    path = namespace.path
    return {key: path + _quote(key if type(key) is str else _check_string(key, "key"), "key") for key in keys}


def parse_key(name: str) -> str:
    """Return the key of a full name."""
    return unquote(name[name.rindex("/") + 1 :])


def _path_part(name: str, what: str) -> str:
    # "=" distinguishes a name from "-", which means none; quoting leaves no "/", "{" or ":" in it.
    return f"={_quote(_check_string(name, what), what)}"


def _check_string(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise InvalidType(f"{what} must be a string, not {type(name).__name__}")
    return name


@lru_cache(maxsize=16_384)
def _quote(name: str, what: str) -> str:
    if len(clean_text(name, what)) > MAX_NAME:
        raise InvalidInput(f"{what} has {len(name):,} characters; at most {MAX_NAME} fit: shorten it")
    return quote(name, safe="")


def is_short_term(memory_type: MemoryType | str, ttl: float | None = None) -> bool:
    """Return whether a value of this type is short-term or else long-term; only short-term values can have a `ttl`."""
    kind = check_type(memory_type)
    if kind not in (MemoryType.SHORT_TERM, MemoryType.LONG_TERM):
        raise InvalidInput(f"memory_type must be 'short_term' or 'long_term', not {kind.value!r}")
    if kind is MemoryType.LONG_TERM and ttl is not None:
        raise InvalidInput("ttl is for short_term values; a long_term value stays until it is deleted")
    return kind is MemoryType.SHORT_TERM


_POSITIONAL: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_PLAIN: Final = Namespace("plain keys")
"""Where the values of plain keys are: no tenant of a manager sees them."""
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _set_plain(write: Callable[..., None], key: str, value: JSON, ttl: float | None = None) -> bool:
    write({key: value}, ttl=ttl)
    return True


_PLAIN_CALLS: Final[Mapping[str, Callable[..., Any]]] = {
    "get": lambda read, key: read([key]).get(key),
    "set": _set_plain,
    "delete": lambda remove, key: remove([key]) >= 0,
    "keys": lambda read, pattern="*": fnmatch.filter(read(), pattern),
    "clear": lambda clear: clear() >= 0,
}


def takes_namespaces(store: object) -> bool:
    """Return whether a store is a `ValueStore`; False for one that knows plain keys only, such as `get(key)`."""
    get: object = getattr(store, "get", None)
    if iscoroutinefunction(get):
        raise InvalidType("short_term must not be async: its methods are called without await")
    try:
        parameters = list(signature(get).parameters.values())  # type: ignore[arg-type]
    except (TypeError, ValueError):  # a function that shows none, such as one in C
        return True
    required = [each for each in parameters if each.default is each.empty and each.kind in _POSITIONAL]
    if len(required) > 2 or (not required and not any(each.kind is each.VAR_POSITIONAL for each in parameters)):
        raise InvalidType("short_term must have get(namespace, keys), or get(key) for one with plain keys")
    return len(required) != 1


class PlainKeyStore:
    """A `ValueStore` over a caller's own store of plain keys: get(key), set(key, value, ttl), delete(key), keys().

    A namespace is the beginning of a key.
    """

    def __init__(self, store: Any) -> None:
        self._store = store
        self._names_ttl = _binds(store.set, "key", 1, ttl=60.0)
        for name, arguments in {"get": ("key",), "delete": ("key",), "keys": (), "set": ("key", 1, 60.0)}.items():
            if not _binds(getattr(store, name), *arguments) and not (name == "set" and self._names_ttl):
                raise InvalidType(
                    "short_term has plain keys: it needs get(key), set(key, value, ttl), delete(key) and keys(); "
                    f"its {name} takes other arguments"
                )

    def set(self, namespace: Namespace, values: Mapping[str, JSON], *, ttl: float | None = None) -> None:
        seconds = None if ttl is None else check_ttl(ttl)
        for key, name in qualify_keys(namespace, values).items():
            value = copy_json(values[key], key)
            if self._names_ttl:
                self._store.set(name, value, ttl=seconds)
            else:
                self._store.set(name, value, seconds)

    def get(self, namespace: Namespace, keys: Sequence[str]) -> dict[str, JSON]:
        found = {key: self._store.get(name) for key, name in qualify_keys(namespace, keys).items()}
        return {key: copy_json(value, key) for key, value in found.items() if value is not None}

    def delete(self, namespace: Namespace, keys: Sequence[str]) -> int:
        return self._delete([name for name in qualify_keys(namespace, keys).values() if name in self._names(namespace)])

    def keys(self, namespace: Namespace) -> list[str]:
        return sorted(map(parse_key, self._names(namespace)))

    def clear(self, within: ValueScope) -> int:
        return self._delete(self._names(within))

    def count(self, within: ValueScope) -> int:
        return len(self._names(within))

    def _names(self, within: ValueScope) -> list[str]:
        return [name for name in map(str, self._store.keys()) if name.startswith(within.path)]

    def _delete(self, names: Sequence[str]) -> int:
        for name in names:
            self._store.delete(name)
        return len(names)


def _binds(function: Callable[..., Any], *args: object, **kwargs: object) -> bool:
    try:
        signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def with_plain_keys(method: _Method) -> _Method:
    """Let a method of a store take a plain key in place of a namespace too: `store.set("draft", "Spring", ttl=60)`."""
    plain = _PLAIN_CALLS[method.__name__]

    @wraps(method)
    def call(self: object, *args: Any, **kwargs: Any) -> Any:
        if (args and isinstance(args[0], Namespace | Workflow | Tenant)) or kwargs.keys() & {"namespace", "within"}:
            return method(self, *args, **kwargs)
        if args and not isinstance(args[0], str):
            raise InvalidType(f"give a Namespace or a plain key, which is a string, not {type(args[0]).__name__}")
        return plain(partial(method, self, _PLAIN), *args, **kwargs)

    return cast("_Method", call)

"""A connection to one Redis server or to a cluster, with foreign errors turned into ours, once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, Protocol, cast
from urllib.parse import urlsplit

from memoranda.errors import Closed, Incompatible, InvalidInput, InvalidType, MemorandaError, MissingExtra, Unavailable
from memoranda.session.redis_layout import Script

RETRY_AFTER: Final = 1.0
_SCHEMES: Final = ("redis", "rediss", "unix", "redis+cluster", "rediss+cluster")
_PASSING: Final = ("BUSY", "MISCONF", "NOREPLICAS")
"""What a server begins its refusal with when another time it would not refuse."""


class _Connection(Protocol):
    """What we use of redis-py's two clients, whose own types leave much open."""

    def execute_command(self, *command: str | int) -> Any: ...
    def pipeline(self, *, transaction: bool) -> Any: ...
    def close(self) -> None: ...


class RedisClient:
    """Commands and scripts over redis-py; comes back by itself once the server does."""

    def __init__(self, url: str, timeout: float) -> None:
        if not isinstance(url, str):
            raise InvalidType(f"the Redis URL must be a string, not {type(url).__name__}")
        if not timeout > 0:
            raise InvalidInput(f"timeout is {timeout} seconds: give more than 0")
        self.shown = masked(url)
        self._cluster = "+cluster:" in url
        self._closed = False
        self._unknown_script, self._errors = _load_errors()
        try:
            self._client = _connect(url, timeout)
            self._execute: Callable[..., Any] = self._client.execute_command
            self._execute("PING")
        except self._errors as error:
            raise self._translated(error) from error
        except (ValueError, TypeError):
            # The cause would show the URL as it is, password and all.
            raise InvalidInput(f"{self.shown} is no Redis URL: write redis://host:6379/0") from None

    def call(self, *command: str | int) -> Any:
        """The server's answer to one command."""
        try:
            return self._execute(*command)
        except self._errors as error:
            raise self._translated(error) from error

    def script(self, script: Script, keys: Sequence[str], *arguments: str | int) -> Any:
        """What a script answers; the server gets its text only when it does not know it yet."""
        try:
            return self._execute("EVALSHA", script.digest, len(keys), *keys, *arguments)
        except self._unknown_script:
            return self.call("EVAL", script.source, len(keys), *keys, *arguments)
        except self._errors as error:
            raise self._translated(error) from error

    def calls(self, commands: Sequence[Sequence[str | int]]) -> list[Any]:
        """The answers to several commands that are sent together."""
        if self._closed:
            self._refuse()
        try:
            with self._client.pipeline(transaction=False) as pipeline:
                for command in commands:
                    pipeline.execute_command(*command)
                return list(pipeline.execute())
        except self._errors as error:
            raise self._translated(error) from error

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._execute = self._refuse
            self._client.close()

    def _refuse(self, *_: str | int) -> NoReturn:
        raise Closed(f"this RedisBackend ({self.shown}) is closed: make a new one")

    def _translated(self, error: Exception) -> MemorandaError:
        from redis import exceptions as known

        if isinstance(error, known.AuthenticationError | known.NoPermissionError):
            return InvalidInput(f"Redis at {self.shown} refuses this user or password: {error}")
        if isinstance(error, known.MovedError) and not self._cluster:
            return Incompatible(f"Redis at {self.shown} is a node of a cluster: write redis+cluster:// in the URL")
        if isinstance(error, known.ResponseError) and not _is_passing(error):
            return Incompatible(f"Redis at {self.shown} does not do what it is asked: {error}")
        return Unavailable(
            f"Redis at {self.shown} does not answer ({type(error).__name__}: {error}): "
            "see that it runs and that the URL is right",
            retry_after=RETRY_AFTER,
        )


def _is_passing(error: Exception) -> bool:
    from redis.exceptions import AskError, ClusterError, OutOfMemoryError, ReadOnlyError, TryAgainError

    kinds = AskError | ClusterError | OutOfMemoryError | ReadOnlyError | TryAgainError
    return isinstance(error, kinds) or str(error).startswith(_PASSING)


def masked(url: str) -> str:
    """The URL without its password, as it may be shown."""
    scheme, separator, rest = url.partition("://")
    login, at, place = rest.rpartition("@")
    if ":" in login:
        login = f"{login.partition(':')[0]}:***"
    return re.sub(r"(password=)[^&]*", r"\1***", f"{scheme}{separator}{login}{at}{place}")


def _load_errors() -> tuple[type[Exception], tuple[type[Exception], ...]]:
    try:
        from redis.exceptions import NoScriptError, RedisClusterException, RedisError
    except ImportError as error:
        raise MissingExtra("RedisBackend", "redis") from error
    return NoScriptError, (RedisError, RedisClusterException)


def _connect(url: str, timeout: float) -> _Connection:
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.cluster import RedisCluster
    from redis.retry import Retry

    scheme = urlsplit(url).scheme
    if scheme not in _SCHEMES:
        raise InvalidInput(f"{masked(url)} is no Redis URL: it begins with one of {', '.join(_SCHEMES)}")
    # One more try at once: a pooled connection that died with a restarted server is replaced unnoticed.
    options: dict[str, Any] = {
        "retry": Retry(NoBackoff(), 1),
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
    }
    if scheme.endswith("+cluster"):
        return cast(_Connection, RedisCluster(**_cluster_nodes(url), **options))
    return cast(_Connection, Redis.from_url(url, **options))


def _cluster_nodes(url: str) -> dict[str, Any]:
    """Where a cluster begins, the first node as a URL: `redis+cluster://user:password@host:7000,host:7001`."""
    from redis.cluster import ClusterNode

    parts = urlsplit(url)
    login, at, hosts = parts.netloc.rpartition("@")
    first, *others = hosts.split(",")
    single = parts._replace(scheme=parts.scheme.removesuffix("+cluster"), netloc=f"{login}{at}{first}")
    places = [urlsplit(f"redis://{other}") for other in others]
    nodes = [ClusterNode(place.hostname, place.port or 6379) for place in places]  # type: ignore[no-untyped-call]
    return {"url": single.geturl(), "startup_nodes": nodes}

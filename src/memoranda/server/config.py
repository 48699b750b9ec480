"""What can be set about the server."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, replace

from memoranda.errors import InvalidInput
from memoranda.validation import MAX_DEPTH, check_integer

DEFAULT_PORT = 8700


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """Where the server listens, whom it answers, and how much it takes."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    allowed_hosts: tuple[str, ...] = ()
    """Names it may be called by, beside its own address and `localhost`; a port is not compared."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages that may call it, as `https://example.org`; none by default."""
    max_body: int = 8_000_000
    """Bytes of one request; an import is streamed and may be longer."""
    max_import: int = 4_000_000_000
    """Bytes of one import, which is kept in a file while it is checked."""
    max_import_line: int = 4_000_000
    max_depth: int = MAX_DEPTH + 10
    """How deep JSON may nest."""
    max_values: int = 100_000
    """How many values one JSON body may hold."""
    body_timeout: float = 20.0
    """Seconds that a client may take between two pieces of its request, and for its head twice that in all."""
    shutdown_timeout: int = 30
    """Seconds that requests under way are given when the server stops."""
    key_cache_seconds: float = 1.0
    """How long a key that was checked is trusted: a revoked one works no longer than this."""

    def __post_init__(self) -> None:
        check_integer(self.port, "port", minimum=0, maximum=65_535)
        for name in ("max_body", "max_import", "max_import_line", "max_depth", "max_values"):
            check_integer(getattr(self, name), name)
        for origin in self.allowed_origins:
            if "://" not in origin or origin.endswith("/"):
                raise InvalidInput(f"the origin {origin!r} must look like https://example.org, without a path")

    def with_environment(self) -> ServerConfig:
        """The same, with the names and web pages that the environment allows where none are given."""
        hosts = self.allowed_hosts or _listed(os.environ.get("MEMORY_SERVER_ALLOWED_HOSTS", ""))
        origins = self.allowed_origins or _listed(os.environ.get("MEMORY_SERVER_ALLOWED_ORIGINS", ""))
        return replace(self, allowed_hosts=hosts, allowed_origins=origins)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def answers_to(self, host: str) -> bool:
        """Whether a request may name this host."""
        name = _without_port(host).lower()
        own = {self.host.lower(), *(each.lower() for each in self.allowed_hosts)}
        if self.is_local or self.host in ("0.0.0.0", "::"):
            own |= {"localhost", "127.0.0.1", "::1"}
        return name in own


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host

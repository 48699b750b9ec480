"""The settings of the server."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, replace
from typing import Final

from memoranda.errors import InvalidInput
from memoranda.validation import MAX_DEPTH, check_integer

DEFAULT_PORT = 8700
_HOST_HEADER: Final = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{0,5})?")
"""A name or an address, and at most a port: nothing before it and nothing after it (RFC 9110, 7.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """Where the server listens, which callers it accepts, and how large a request may be."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    workers: int = 1
    """Processes that `run` starts to answer requests on the port. All share the database, and what it says."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names it accepts in addition to its own address and `localhost`; the port is ignored."""
    allow_unauthenticated: bool | None = None
    """Whether callers on this machine need no key until the first key is created. None: only where `run` listens on a
    loopback address; an application that another ASGI server runs answers nobody without a key."""
    local_owner: bool = False
    """Whether callers on this machine never need a key, even after keys were created: `memoranda ui`, which only the
    owner of the database runs, on a loopback address."""
    allowed_origins: tuple[str, ...] = ()
    """Origins of the web pages that may call it, such as `https://example.org`; none by default."""
    max_body: int = 8_000_000
    """Maximum bytes of a request; an import is streamed and may be longer."""
    max_import: int = 4_000_000_000
    """Maximum bytes of an import, which is kept in a temporary file while it is checked."""
    max_import_line: int = 4_000_000
    max_depth: int = MAX_DEPTH + 10
    """Maximum nesting depth of JSON."""
    max_values: int = 100_000
    """Maximum number of values in a JSON body."""
    max_fields: int = 10_000
    """Maximum number of fields of one object in a JSON body."""
    body_timeout: float = 20.0
    """Seconds that a client may take between two chunks of a request, to take what it is sent, and in total for a body
    with less than 2,000 bytes a second; headers may take twice as long in total."""
    shutdown_timeout: int = 30
    """Seconds that running requests have to finish when the server stops."""
    key_cache_seconds: float = 1.0
    """How long a checked key is cached: a revoked key works at most this much longer."""
    scrub_seconds: float = 60.0
    """Seconds between two checks of some rows for damage, in the background; `health` shows what they find."""

    def __post_init__(self) -> None:
        check_integer(self.port, "port", minimum=0, maximum=65_535)
        check_integer(self.workers, "workers", maximum=1_000)
        for name in ("max_body", "max_import", "max_import_line", "max_depth", "max_values", "max_fields"):
            check_integer(getattr(self, name), name)
        for origin in self.allowed_origins:
            if "://" not in origin or origin.endswith("/"):
                raise InvalidInput(f"the origin {origin!r} must look like https://example.org, without a path")

    def with_environment(self) -> ServerConfig:
        """Return a copy with the allowed hosts and origins of the environment where none are set."""
        hosts = self.allowed_hosts or _split_list(os.environ.get("MEMORY_SERVER_ALLOWED_HOSTS", ""))
        origins = self.allowed_origins or _split_list(os.environ.get("MEMORY_SERVER_ALLOWED_ORIGINS", ""))
        return replace(self, allowed_hosts=hosts, allowed_origins=origins)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    def answers_to(self, host: str) -> bool:
        """Whether a request with this Host header is accepted."""
        requested = strip_port(host).lower()
        accepted = {self.host.lower(), *(name.lower() for name in self.allowed_hosts)}
        if self.is_local or self.host in ("0.0.0.0", "::"):
            accepted |= {"localhost", "127.0.0.1", "::1"}
        return requested in accepted


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine itself."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # A socket for IPv4 and IPv6 shows an IPv4 peer as ::ffff:127.0.0.1.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _split_list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def strip_port(host: str) -> str:
    """Return the name or address in a Host header; "" when it is anything else, such as `127.0.0.1:1@other`."""
    found = _HOST_HEADER.fullmatch(host)
    return "" if found is None else found["ipv6"] or found["name"]

"""Loaded by every Python process of the offline regime: notes each connection that would leave this machine."""

from __future__ import annotations

import ipaddress
import os
import sys

_LOCAL = ("localhost", "127.0.0.1", "::1", "")


def _is_local(address: object) -> bool:
    if not isinstance(address, tuple):  # a Unix socket
        return True
    host = str(address[0])
    if host in _LOCAL:
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _is_known(host: str) -> bool:
    """Whether nobody is asked where a host is: it is this machine, or a number."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return _is_local((host,))
    return True


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect" and not _is_local(arguments[1]):
        where = repr(arguments[1])
    elif event == "socket.getaddrinfo" and arguments[0] is not None and not _is_known(str(arguments[0])):
        where = f"look up {arguments[0]!r}"
    else:
        return
    with open(os.environ["MEMORANDA_CONNECTS"], "a", encoding="utf-8") as file:  # noqa: PTH123 - as early as possible
        file.write(f"{where}\n")


if "MEMORANDA_CONNECTS" in os.environ:
    sys.addaudithook(_note)

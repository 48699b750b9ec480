"""Ports for the programs that tests start."""

from __future__ import annotations

import random
import socket

# Below the range from which Linux gives ports to outgoing connections: a connection of another test
# cannot take the port between this check and the start of the program.
_PORTS = range(12_000, 32_000)
_random = random.SystemRandom()
_given: set[int] = set()


def free_port() -> int:
    """Return a loopback port that nothing listens on and that this process was not given before."""
    while True:
        port = _random.choice(_PORTS)
        if port not in _given and _is_free(port):
            _given.add(port)
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

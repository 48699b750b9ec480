"""`memoranda mcp` in a process of its own, as a host starts it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp import StdioServerParameters
from tests.ports import free_port

_START_SECONDS = 30


def command(database: Path, *options: str) -> list[str]:
    return ["-m", "memoranda", "mcp", "--db", str(database), *options]


def environment() -> dict[str, str]:
    return {**os.environ, "EMBEDDING_MODEL": "fast"}


def over_stdio(database: Path, *options: str) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=command(database, *options), env=environment())


@contextmanager
def over_http(database: Path, *options: str) -> Iterator[str]:
    """Run `memoranda mcp` on a free local port; yield its address."""
    port = free_port()
    with _running(port, *command(database, "--transport", "http", "--port", str(port), *options)) as url:
        yield url


@contextmanager
def with_fixtures() -> Iterator[str]:
    """Run our server with the fixtures of the conformance runner; yield its address."""
    port = free_port()
    with _running(port, "-m", "tests.mcp.fixtures", str(port)) as url:
        yield url


@contextmanager
def _running(port: int, *arguments: str) -> Iterator[str]:
    program = subprocess.Popen([sys.executable, *arguments], env=environment(), stderr=subprocess.PIPE)
    try:
        _wait_until_open(port, program)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        program.terminate()
        _, stderr = program.communicate(timeout=_START_SECONDS)
        assert program.returncode == 0, stderr.decode()


def _wait_until_open(port: int, program: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and program.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"the server did not start: {program.poll()}")

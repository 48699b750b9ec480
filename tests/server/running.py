"""Servers that listen on a port: in a thread of this process, or in another process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from memoranda.server.config import ServerConfig
from memoranda.server.connections import make_protocol
from memoranda.server.run import create_app, uvicorn_config
from memoranda.testing.fakes import HashEmbedder
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
_SCRIPT = """
import sys
from memoranda.server import ServerConfig, run
run(ServerConfig(host=sys.argv[2], port=int(sys.argv[3]), key_cache_seconds=0.01), sys.argv[1])
"""


@contextmanager
def serving(folder: Path, **config: Any) -> Iterator[str]:
    """Run a server in a thread, with a fake embedder; yield its address."""
    settings = ServerConfig(port=free_port(), **{"allow_unauthenticated": True} | config)
    app = create_app(settings, f"sqlite:///{folder}/server.db", embedder=HashEmbedder(64))
    with listening(app, settings) as url:
        yield url


@contextmanager
def listening(app: Any, config: ServerConfig, most: int | None = None) -> Iterator[str]:
    """Serve an application in a thread of this process, as `run` would; yield its address.

    Args:
        app: The application.
        config: Its settings.
        most: How many connections there may be; as many as `run` allows by default.
    """
    settings = uvicorn_config(app, config)
    if most is not None:
        settings.http = make_protocol(config.body_timeout, most)
    port, server = config.port, uvicorn.Server(settings)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def process(folder: Path, host: str = "127.0.0.1", **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a server in a process of its own; yield the process and its address."""
    port = free_port()
    command = ["-c", _SCRIPT, f"sqlite:///{folder}/server.db", host, str(port)]
    with _started(folder, port, command, environment) as server:
        yield server


@contextmanager
def command_line(folder: Path, *options: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `memoranda serve`; yield the process and its address."""
    port = free_port()
    command = ["-m", "memoranda", "serve", "--db", f"{folder}/server.db", "--port", str(port), *options]
    with _started(folder, port, command, environment) as server:
        yield server


@contextmanager
def start(folder: Path, *command: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command of `memoranda`; yield the process."""
    with _started(folder, 0, ["-m", "memoranda", *command], environment) as (server, _):
        yield server


@contextmanager
def dashboard(folder: Path) -> Iterator[str]:
    """Run `memoranda ui`; yield its address once it answers."""
    port = free_port()
    command = ["-m", "memoranda", "ui", "--port", str(port), "--no-browser"]
    with _started(folder, port, command, {"MEMORY_DB_URL": f"sqlite:///{folder}/server.db"}) as (_, url):
        wait_for(url)
        yield url


@contextmanager
def _started(
    folder: Path, port: int, arguments: list[str], environment: dict[str, str]
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    # What this process was given comes first: it can name another copy of the package.
    paths = [path for path in (os.environ.get("PYTHONPATH"), str(ROOT / "src")) if path]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | environment
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True, cwd=folder) as server:
        try:
            yield server, f"http://127.0.0.1:{port}"
        finally:
            if server.poll() is None:
                server.kill()


def wait_for(url: str, seconds: float = 30.0) -> float:
    """Wait until the server answers; return the seconds it took."""
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        try:
            if httpx2.get(f"{url}/healthz", timeout=1).status_code == 200:
                return time.perf_counter() - started
        except httpx2.TransportError:
            time.sleep(0.02)
    raise TimeoutError(f"{url} did not come up in {seconds} seconds")

"""Real Redis processes on loopback: one server, or a cluster of three."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from tests.ports import free_port

PROGRAM = shutil.which("redis-server")
SLOTS = 16_384
# The shell kills the server when its own input is closed, so no server outlives the tests, even if they are killed.
GUARD = '"$@" & server=$!; read -r _; kill -9 "$server"; wait "$server" 2>/dev/null'


class Server:
    """One Redis process; `kill` is kill -9, and `start` starts it again on the same port."""

    def __init__(self, folder: Path, *, cluster: bool = False) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._settings: dict[str, object] = {"port": self.port, "bind": "127.0.0.1", "dir": folder, "save": ""}
        if cluster:
            self.bus_port = free_port()
            self._settings |= {"cluster-enabled": "yes", "cluster-port": self.bus_port, "cluster-node-timeout": 2000}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = [word for name, value in self._settings.items() for word in (f"--{name}", str(value))]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", GUARD, "sh", str(PROGRAM), *options],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )
        wait_until(self.is_ready, f"Redis on port {self.port}")

    def kill(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(timeout=10)
            self._process = None

    def suspend(self) -> None:
        info = self.execute("INFO", "server")
        assert isinstance(info, dict)
        self._suspended_pid = int(info["process_id"])
        os.kill(self._suspended_pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self._suspended_pid, signal.SIGCONT)

    def is_ready(self) -> bool:
        with Redis(port=self.port) as client:
            try:
                return bool(client.ping())
            except RedisError:
                return False

    def execute(self, *command: str | int) -> object:
        with Redis(port=self.port, decode_responses=True) as client:
            return client.execute_command(*command)


class Cluster:
    """Three nodes that share the slots."""

    def __init__(self, folder: Path) -> None:
        self.nodes = [Server(folder / str(number), cluster=True) for number in range(3)]
        self.url = "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def start(self) -> None:
        for node in self.nodes:
            node.start()
        step = SLOTS // len(self.nodes) + 1
        for number, node in enumerate(self.nodes):
            node.execute("CLUSTER", "ADDSLOTSRANGE", number * step, min((number + 1) * step, SLOTS) - 1)
            node.execute("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for node in self.nodes[1:]:
            node.execute("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port, self.nodes[0].bus_port)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        wait_until(lambda: all(_is_ready(node) for node in self.nodes), "the cluster")

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} was not ready within {seconds} s")
        time.sleep(0.02)


def _is_ready(node: Server) -> bool:
    state = str(node.execute("CLUSTER", "INFO"))
    return "cluster_state:ok" in state and "cluster_known_nodes:3" in state

"""Real Redis processes on loopback: one server, or a cluster of three."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

PROGRAM = shutil.which("redis-server")
SLOTS = 16_384
# The shell waits on its input and kills the server when that ends, so none outlives the tests, even killed ones.
GUARD = '"$@" & server=$!; read -r _; kill -9 "$server"; wait "$server" 2>/dev/null'


class Server:
    """One Redis process; `kill` is kill -9, and `start` brings it back on the same port."""

    def __init__(self, folder: Path, *, cluster: bool = False) -> None:
        self.port = _free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._settings: dict[str, object] = {"port": self.port, "bind": "127.0.0.1", "dir": folder, "save": ""}
        if cluster:
            self.bus_port = _free_port()
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
        wait_until(self.answers, f"Redis on port {self.port}")

    def kill(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(timeout=10)
            self._process = None

    def freeze(self) -> None:
        info = self.ask("INFO", "server")
        assert isinstance(info, dict)
        self._frozen = int(info["process_id"])
        os.kill(self._frozen, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self._frozen, signal.SIGCONT)

    def answers(self) -> bool:
        with Redis(port=self.port) as client:
            try:
                return bool(client.ping())
            except RedisError:
                return False

    def ask(self, *command: str | int) -> object:
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
            node.ask("CLUSTER", "ADDSLOTSRANGE", number * step, min((number + 1) * step, SLOTS) - 1)
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for node in self.nodes[1:]:
            node.ask("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port, self.nodes[0].bus_port)
        self.wait_until_whole()

    def wait_until_whole(self) -> None:
        wait_until(lambda: all(_is_whole(node) for node in self.nodes), "the cluster")

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()


def wait_until(happened: Callable[[], bool], what: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come up in {seconds} s")
        time.sleep(0.02)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_whole(node: Server) -> bool:
    state = str(node.ask("CLUSTER", "INFO"))
    return "cluster_state:ok" in state and "cluster_known_nodes:3" in state

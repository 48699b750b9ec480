"""Runs each system in its own process."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

from peers.systems import BENCHMARKS, CACHE, System, create_cache_folder, environment_of, python_of


class MeasurementFailed(Exception):
    """A request to a system failed; the message is the system's error."""


class Worker:
    """A process of `peers.worker` in the system's environment. A context manager."""

    def __init__(self, system: System, kept_in: Path | None = None) -> None:
        """Start the process; its files are deleted at the end, unless they are kept in a folder."""
        create_cache_folder()
        self.system = system
        self._is_kept = kept_in is not None
        # On the disk of the checkout: the system's temporary folder may be in memory, where a sync costs nothing.
        self._folder = str(kept_in) if kept_in is not None else tempfile.mkdtemp(dir=CACHE)
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in __exit__
        self._process = subprocess.Popen(
            [python_of(system), "-m", "peers.worker"],
            cwd=BENCHMARKS,
            env=environment_of(system),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def open(self, count: int, **options: Any) -> dict[str, Any]:
        """Start the system in an empty folder, for at most `count` memories."""
        return self.request("open", target=self.system.target, folder=self._folder, count=count, **options)

    def request(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a command to the worker and return its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer: dict[str, Any] = json.loads(line) if line else {"error": self._last_log_line()}
        if "error" in answer:
            raise MeasurementFailed(f"{self.system.name}, {command}: {answer['error']}")
        return answer

    def _last_log_line(self) -> str:
        self._process.wait()
        self._log.seek(0)
        return (self._log.read().strip() or "the process ended without an error message").splitlines()[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()
        if not self._is_kept:
            shutil.rmtree(self._folder, ignore_errors=True)


def import_seconds(system: System) -> float:
    """Return the time of the system's import line in a new interpreter."""
    code = f"import time; t = time.perf_counter(); {system.import_line}; print(time.perf_counter() - t)"
    command = [python_of(system), "-c", code]
    # With the bytecode that an installed package has: the first run writes it.
    environment = environment_of(system) | {"PYTHONDONTWRITEBYTECODE": ""}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=BENCHMARKS)
    return float(run.stdout.split()[-1])

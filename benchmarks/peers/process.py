"""A system's own process, seen from the benchmark."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from typing import Any, Self

from peers.systems import BENCHMARKS, CACHE, System, environment_of, ignore_cache, python_of


class MeasurementFailed(Exception):
    """The system could not do what was asked; the message is its own error."""


class Worker:
    """Sends orders to `peers.worker` in the system's environment. A context manager."""

    def __init__(self, system: System) -> None:
        ignore_cache()
        self.system = system
        # On the same disk as the checkout: a temporary folder may be kept in memory, where a sync costs nothing.
        self._folder = tempfile.mkdtemp(dir=CACHE)
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

    def open(self, count: int) -> dict[str, Any]:
        """Starts the system on an empty folder; it will be given at most `count` memories."""
        return self.order("open", target=self.system.target, folder=self._folder, count=count)

    def order(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """The worker's answer to one order."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": verb, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer: dict[str, Any] = json.loads(line) if line else {"error": self._last_words()}
        if "error" in answer:
            raise MeasurementFailed(f"{self.system.name}, {verb}: {answer['error']}")
        return answer

    def _last_words(self) -> str:
        self._process.wait()
        self._log.seek(0)
        return (self._log.read().strip() or "it ended without a word").splitlines()[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def import_seconds(system: System) -> float:
    """The time of its import line in a fresh interpreter."""
    code = f"import time; t = time.perf_counter(); {system.import_line}; print(time.perf_counter() - t)"
    command = [python_of(system), "-c", code]
    run = subprocess.run(
        command, env=environment_of(system), capture_output=True, text=True, check=True, cwd=BENCHMARKS
    )
    return float(run.stdout.split()[-1])

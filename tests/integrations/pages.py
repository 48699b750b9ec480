"""Run the page and the example of an adapter in the environment of its framework."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def run_page(name: str, folder: Path) -> str:
    """Run the Python blocks of a page below docs/integrations, and return what they print."""
    program = "\n".join(_BLOCK.findall((ROOT / "docs" / "integrations" / name).read_text("utf-8")))
    assert program
    return _run(["-c", program], folder)


def run_example(name: str, folder: Path) -> str:
    """Run an example, and return what it prints."""
    return _run([str(ROOT / "examples" / name)], folder)


def _run(arguments: list[str], folder: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MEMORY_", "EMBEDDING_"))}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

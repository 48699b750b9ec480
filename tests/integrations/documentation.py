"""Run the page and the example of an adapter, in the framework's environment."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def run_page(name: str, folder: Path) -> None:
    """Run the Python blocks of a page one after the other, in an empty folder."""
    text = (ROOT / "docs" / "integrations" / name).read_text(encoding="utf-8")
    _run(folder, "-c", "\n".join(_BLOCK.findall(text)))


def run_example(name: str, folder: Path) -> str:
    """Run an example in an empty folder, and return what it prints."""
    return _run(folder, str(ROOT / "examples" / name))


def _run(folder: Path, *program: str) -> str:
    done = subprocess.run([sys.executable, *program], cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout

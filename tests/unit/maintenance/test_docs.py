from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "upkeep.md"


def test_python_blocks_of_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMBEDDING_MODEL", "fast")
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page
    output = capsys.readouterr().out
    assert "merged 2 memory 1 says the same: 'The door code is 4711'" in output
    assert "I live in Bern" in output
    assert "database file erased" in output


def test_example_runs() -> None:
    example = [sys.executable, str(ROOT / "examples" / "upkeep.py")]
    output = subprocess.run(example, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "Second run: 0." in output
    assert "Erased: 2 memories, complete: True" in output

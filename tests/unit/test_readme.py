from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def test_the_python_of_the_readme_runs_as_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 1
    exec(compile(blocks[0], str(README), "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    assert "Velora" in printed.splitlines()[0]
    assert "cashews" not in printed

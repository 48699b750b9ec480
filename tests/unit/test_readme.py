from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def test_the_python_of_the_readme_runs_as_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    for block in blocks:
        exec(compile(block, str(README), "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    assert "Velora" in printed.splitlines()[0]
    assert "cashews" not in printed
    assert printed.splitlines()[2:] == [
        "rejected | only pleasantries: nothing is told",
        "stored | ",
        "stored | replaces what 1 said",
        "['I moved to Ghent last week.']",
        "['I live in Hamburg.']",
    ]

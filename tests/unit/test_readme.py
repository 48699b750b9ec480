from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def test_readme_chatbot_runs_as_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # the block creates its database in the current folder
    for block in re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        exec(compile(block, str(README), "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page
    assert capsys.readouterr().out.splitlines() == [
        "> Hi there!",
        "Noted.",
        "> I can't eat cashews.",
        "Noted.",
        "> I live in Hamburg.",
        "Noted.",
        "> I just moved to Ghent.",
        "Noted.",
        "> Where do I live?",
        "I just moved to Ghent.",
    ]


def test_readme_chatbot_has_at_most_fifteen_lines() -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len([line for line in block.splitlines() if line.strip()]) <= 15

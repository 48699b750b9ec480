from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("page", ["sessions.md", "executions.md", "knowledge.md"])
def test_page_blocks_run_in_order(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 3
    exec(compile("\n".join(blocks), page, "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page

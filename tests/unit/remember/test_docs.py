from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "remember.md"


def test_code_blocks_of_the_page_run_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page
    shown = capsys.readouterr().out
    for line in (
        "greeting - only pleasantries: nothing is said",
        "importance 0.8",
        "Ana city Lisbon",
        "replaces what 1 said",
        "I live in Faro. | I live in Porto now.",
        "['I live in Faro.']",
        "Ana adopted a cat on 11 June 2023.",
    ):
        assert line in shown

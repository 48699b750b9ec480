from __future__ import annotations

import re
from pathlib import Path

import memoranda

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"


def test_changelog_has_a_dated_section_for_this_version() -> None:
    sections = re.findall(r"^## \[(.+?)\] - \d{4}-\d\d-\d\d$", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE)
    assert sections[0] == memoranda.__version__

from __future__ import annotations

from pathlib import Path

from memoranda.cli.reference import updated

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"


def test_the_reference_is_up_to_date() -> None:
    page = PAGE.read_text("utf-8")
    assert page == updated(page), "run: python -m memoranda.cli.reference docs/cli.md"
    assert page.count("### memoranda ") > 30

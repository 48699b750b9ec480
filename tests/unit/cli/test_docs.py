from __future__ import annotations

from pathlib import Path

from memoranda.cli.reference import update_page

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"


def test_reference_page_is_up_to_date() -> None:
    page = PAGE.read_text("utf-8")
    assert page == update_page(page), "run: python -m memoranda.cli.reference docs/cli.md"
    assert page.count("### memoranda ") > 30


def test_reference_names_both_forms_of_a_switch() -> None:
    page = update_page("")
    assert "`--allow-unauthenticated` / `--require-key`" in page
    assert "`--browser` / `--no-browser`" in page

from __future__ import annotations

from scripts.reference import DOCS, make_reference_page, update_cli_page


def test_reference_of_names_is_up_to_date() -> None:
    assert (DOCS / "reference.md").read_text("utf-8") == make_reference_page(), "run: python scripts/reference.py"


def test_reference_of_commands_is_up_to_date() -> None:
    page = (DOCS / "cli.md").read_text("utf-8")
    assert page == update_cli_page(page), "run: python scripts/reference.py"
    assert page.count("### memoranda ") > 30


def test_reference_names_both_forms_of_a_switch() -> None:
    page = update_cli_page("")
    assert "`--allow-unauthenticated` / `--require-key`" in page
    assert "`--browser` / `--no-browser`" in page

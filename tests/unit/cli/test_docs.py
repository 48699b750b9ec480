from __future__ import annotations

import pytest
from scripts.reference import COMMON_HELPS, DOCS, make_reference_page, update_cli_page


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


@pytest.mark.parametrize("option", COMMON_HELPS)
def test_common_option_is_explained_once(option: str) -> None:
    _, common, commands = update_cli_page("").replace("## Commands", "## Common options").split("## Common options")
    assert common.count(f"| `{option}`") == 1
    assert f"`{option}`" in "".join(line for line in commands.splitlines() if line.startswith("Common options: "))
    assert [text for text in COMMON_HELPS[option] if f"| {text}" in commands] == []


def test_option_with_another_meaning_is_explained_at_its_command() -> None:
    page = update_cli_page("")
    assert "| `--user`, `-u` | Only memories of this user. Without it, of all users. |" in page
    assert "| `--tenant` | Only keys of this tenant. |" in page

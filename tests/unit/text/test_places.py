from __future__ import annotations

import pytest

from memoranda.text.places import is_place, place_level


@pytest.mark.parametrize(
    "name", ["Ghent", "ghent ", "New  York", "The Hague", "Berlin, Germany", "Bavaria", "12 Elm Street", "Elm Road"]
)
def test_city_country_region_or_address_is_a_place(name: str) -> None:
    assert is_place(name)


@pytest.mark.parametrize("name", ["Signal", "WhatsApp", "Siemens", "Plan B", "Postgres", "the back row", ""])
def test_product_company_or_anything_else_is_no_place(name: str) -> None:
    assert not is_place(name)


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("Germany", "region"),
        ("the United Kingdom", "region"),
        ("Berlin", "city"),
        ("Berlin, Germany", "city"),
        ("Brooklyn", "unknown"),
        ("Kreuzberg", "unknown"),
        ("12 Elm Street", "address"),
    ],
)
def test_place_has_a_level(name: str, level: str) -> None:
    assert place_level(name) == level

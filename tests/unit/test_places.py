from __future__ import annotations

import pytest

from memoranda.places import is_place


@pytest.mark.parametrize(
    "name", ["Ghent", "ghent ", "New  York", "The Hague", "Berlin, Germany", "Bavaria", "12 Elm Street", "Elm Road"]
)
def test_city_country_region_or_address_is_a_place(name: str) -> None:
    assert is_place(name)


@pytest.mark.parametrize("name", ["Signal", "WhatsApp", "Siemens", "Plan B", "Postgres", "the back row", ""])
def test_product_company_or_anything_else_is_no_place(name: str) -> None:
    assert not is_place(name)

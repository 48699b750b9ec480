from __future__ import annotations

import ast
from pathlib import Path

import pytest

import memoranda

NOT_IMPORTED = {"MemoryAssociation", "MemoryTypes", "__version__"}


def test_type_checkers_know_each_name_from_the_module_that_it_is_loaded_from() -> None:
    known_to_type_checkers = {
        alias.name: (node.module, alias.asname)
        for node in ast.walk(ast.parse(Path(memoranda.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memoranda")
        for alias in node.names
    }
    assert known_to_type_checkers == {
        name: (memoranda.home_of(name), name) for name in set(memoranda.__all__) - NOT_IMPORTED
    }


def test_all_lists_every_name_once() -> None:
    assert len(memoranda.__all__) == len(set(memoranda.__all__))
    assert dir(memoranda) == sorted(memoranda.__all__)


@pytest.mark.parametrize("name", memoranda.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(memoranda, name) is getattr(memoranda, name)


def test_aliases_are_the_same_classes() -> None:
    assert memoranda.MemoryTypes is memoranda.MemoryType
    assert memoranda.MemoryAssociation is memoranda.Association


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Memories"):
        memoranda.Memories  # noqa: B018

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import memoranda


def test_all_lists_the_names_that_type_checkers_know() -> None:
    assert len(memoranda.__all__) == len(set(memoranda.__all__))
    assert dir(memoranda) == sorted(memoranda.__all__)
    known_to_type_checkers = {
        alias.name
        for node in ast.walk(ast.parse(Path(memoranda.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memoranda")
        for alias in node.names
    }
    assert known_to_type_checkers | {"MemoryAssociation", "MemoryTypes", "__version__"} == set(memoranda.__all__)


@pytest.mark.parametrize("name", memoranda.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(memoranda, name) is getattr(memoranda, name)


def test_aliases_are_the_same_classes() -> None:
    assert memoranda.MemoryTypes is memoranda.MemoryType
    assert memoranda.MemoryAssociation is memoranda.Association


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Memories"):
        memoranda.Memories  # noqa: B018

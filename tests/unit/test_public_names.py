from __future__ import annotations

import ast
from pathlib import Path

import pytest

import recollect


def test_the_list_is_sorted_and_complete() -> None:
    assert recollect.__all__ == sorted(recollect.__all__)
    assert dir(recollect) == recollect.__all__
    known_to_type_checkers = {
        alias.name
        for node in ast.walk(ast.parse(Path(recollect.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("recollect")
        for alias in node.names
    }
    assert known_to_type_checkers | {"MemoryAssociation", "MemoryEntry", "MemoryTypes"} == set(recollect.__all__)


@pytest.mark.parametrize("name", recollect.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(recollect, name) is getattr(recollect, name)


def test_the_other_names_mean_the_same() -> None:
    assert recollect.MemoryEntry is recollect.Memory
    assert recollect.MemoryTypes is recollect.MemoryType
    assert recollect.MemoryAssociation is recollect.Association


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Memories"):
        recollect.Memories  # noqa: B018

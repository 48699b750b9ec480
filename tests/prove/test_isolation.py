from __future__ import annotations

import random
from pathlib import Path

import pytest

from memoranda import MemoryManager
from tests.prove.isolation import LEFT_OUT, QUERIES, REFUSED, ask, refused_names, tenant_names, two_owners


def test_every_public_method_is_asked_or_left_out_for_a_reason() -> None:
    public = {name for name in dir(MemoryManager) if not name.startswith("_")}
    assert public == {*QUERIES, *LEFT_OUT}
    assert not QUERIES.keys() & LEFT_OUT.keys()


def test_names_that_no_tenant_can_have_are_refused() -> None:
    assert list(refused_names()) == list(REFUSED)


def test_names_of_tenants_are_different_texts() -> None:
    assert len(set(tenant_names(200))) == 200


def test_every_method_answers_the_owner_itself_where_it_is_asked_for_rows(tmp_path: Path) -> None:
    """A regime whose queries find nothing would prove nothing: asked about themselves, tenants get rows."""
    rows = ("recall", "context", "list_memories", "get", "facts", "history", "export_jsonl", "retrieve", "get_sessions")
    with two_owners(tmp_path) as (mine, _):
        for name in rows:
            problems = [ask(name, replace_canary(mine), mine, random.Random(seed), tmp_path) for seed in range(12)]
            assert any(problem and "shows" in problem for problem in problems), name


def replace_canary(owner):  # type: ignore[no-untyped-def]
    """The same tenant under another canary: each row of its own then looks like a leak."""
    from dataclasses import replace

    return replace(owner, canary="canary9999x")


@pytest.mark.parametrize("name", QUERIES)
def test_no_method_shows_a_row_of_another_tenant(name: str, tmp_path: Path) -> None:
    with two_owners(tmp_path) as (mine, other):
        for seed in range(3):
            assert ask(name, mine, other, random.Random(seed), tmp_path) is None

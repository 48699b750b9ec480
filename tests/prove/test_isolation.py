from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memoranda import MemoryManager
from tests.prove.isolation import LEFT_OUT, QUERIES, REFUSED, Owner, ask, refused_names, tenant_names, two_owners


def test_every_public_method_is_asked_or_left_out_for_a_reason() -> None:
    public = {name for name in dir(MemoryManager) if not name.startswith("_")}
    assert public == {*QUERIES, *LEFT_OUT}
    assert not QUERIES.keys() & LEFT_OUT.keys()


def test_names_that_no_tenant_can_have_are_refused() -> None:
    assert list(refused_names()) == list(REFUSED)


def test_names_of_tenants_are_different_texts() -> None:
    assert len(set(tenant_names(200))) == 200


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Owner, Owner]]:
    with two_owners(tmp_path_factory.mktemp("owners")) as both:
        yield both


def test_asked_about_themselves_tenants_get_rows(owners: tuple[Owner, Owner], tmp_path: Path) -> None:
    """A regime whose queries find nothing would prove nothing."""
    rows = ("recall", "context", "list_memories", "get", "facts", "history", "export_jsonl", "retrieve", "get_sessions")
    mine = owners[0]
    # Under another canary, each row of its own looks like a leak.
    renamed = replace(mine, canary="canary9999x")
    for name in rows:
        problems = [ask(name, renamed, mine, random.Random(seed), tmp_path) for seed in range(12)]
        assert any(problem and "shows" in problem for problem in problems), name


@pytest.mark.parametrize("name", QUERIES)
def test_no_method_shows_a_row_of_another_tenant(name: str, owners: tuple[Owner, Owner], tmp_path: Path) -> None:
    before = owners[1].contents()
    for seed in range(3):
        assert ask(name, *owners, random.Random(seed), tmp_path) is None
    assert owners[1].contents() == before

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memoranda import ANY, MemoryManager
from memoranda.testing.fakes import HashEmbedder
from tests.prove import people
from tests.prove.isolation import LEFT_OUT, QUERIES, REFUSED, Owner, ask, refused_names, tenant_names, two_owners


def test_every_public_method_is_asked_or_left_out_for_a_reason() -> None:
    public = {name for name in dir(MemoryManager) if not name.startswith("_")}
    assert public == {*QUERIES, *LEFT_OUT}
    assert not QUERIES.keys() & LEFT_OUT.keys()


def test_every_method_with_a_user_is_asked_about_people_or_left_out_for_a_reason() -> None:
    public = {name: method for name, method in inspect.getmembers(MemoryManager) if not name.startswith("_")}
    with_user = {name for name, method in public.items() if "user" in inspect.signature(method).parameters}
    assert with_user == {name for name in {*people.QUERIES, *people.LEFT_OUT} if name in public}


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


@pytest.fixture(scope="module")
def tenant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[people.People]:
    folder = tmp_path_factory.mktemp("people")
    with MemoryManager(f"sqlite:///{folder}/people.db", embedder=HashEmbedder(16)) as manager:
        yield people.make_people(manager, random.Random(7), folder)


@pytest.mark.parametrize("name", people.QUERIES)
def test_no_method_shows_or_changes_a_row_of_a_place_it_does_not_name(name: str, tenant: people.People) -> None:
    assert [problem for seed in range(6) if (problem := tenant.ask_one(name, random.Random(seed)))] == []


def test_rows_of_another_user_agent_or_session_are_reported(tenant: people.People) -> None:
    """An oracle that tells nothing would prove nothing."""
    first = next(place for place in tenant.places if None not in place.names.values())
    for which in ("user", "agent", "session"):
        other = next(
            place for place in tenant.places if place.names == first.names | {which: place.names[which]} != first.names
        )
        for name in ("list_memories", "facts", "search_items", "get_memory"):
            told = tenant.problem(name, first, f"{first.canary} {other.canary}", name)
            assert told == f"{name} shows ['{other.canary}']"


def test_places_that_a_query_names_may_be_shown(tenant: people.People) -> None:
    everywhere = people.Place(ANY, None, None, "")
    everything = " ".join(place.canary for place in tenant.places)
    assert tenant.problem("list_memories", everywhere, everything, "it") is None
    assert tenant.problem("list_memories", everywhere, "", "it") is not None


def test_each_method_is_asked_once_in_a_round(tenant: people.People) -> None:
    asked = [tenant.ask(random.Random(number))[0] for number in range(len(people.QUERIES))]
    assert sorted(asked) == sorted(people.QUERIES)

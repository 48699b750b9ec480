from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.dashboard.insight import Insight
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import ANY, Scope

EVERYBODY = Scope("default", user=ANY)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/memories.db", embedder=HashEmbedder(64)) as manager:
        for user, name, content, at in (
            ("bo", "Zoe", "I live in Graz. My brother Max lives in Linz.", "2025-01-01T10:00:00Z"),
            ("bo", "Zoe", "I moved to Bern.", "2025-03-01T10:00:00Z"),
            ("ana", "Ana", "Zoe lives in Rome. I live in Oslo.", "2025-02-01T10:00:00Z"),
        ):
            manager.remember([{"role": "user", "name": name, "content": content, "timestamp": at}], user=user)
        yield manager


def test_speakers_are_those_who_are_no_users(memory: MemoryManager) -> None:
    found = Insight(memory, "default").speakers(EVERYBODY, 10, 0)
    assert [(each.name, each.memories) for each in found] == [("Zoe", 2)]


def test_person_is_known_by_what_everybody_said(memory: MemoryManager) -> None:
    zoe = Insight(memory, "default").person(EVERYBODY, "Zoe", None)
    assert (zoe.memories, zoe.spoken) == (0, 2)
    known = {(told.user, told.fact.value): [each.value for each in told.fact.replaced] for told in zoe.facts}
    assert known == {("ana", "Rome"): [], ("bo", "Bern"): ["Graz"]}
    then = Insight(memory, "default").person(EVERYBODY, "Zoe", "2025-02-02T00:00:00Z")
    assert {told.fact.value for told in then.facts} == {"Graz", "Rome"}


def test_person_in_one_scope_shows_nothing_of_other_users(memory: MemoryManager) -> None:
    zoe = Insight(memory, "default").person(Scope("default", user="ana"), "Zoe", None)
    assert [(told.user, told.fact.value) for told in zoe.facts] == [("ana", "Rome")]
    assert zoe.spoken == 0


def test_user_is_shown_with_everything_said(memory: MemoryManager) -> None:
    bo = Insight(memory, "default").person(EVERYBODY, "bo", None)
    assert bo.memories == 2
    assert {told.fact.subject for told in bo.facts} == {"Zoe", "Zoe's brother", "Zoe's brother Max"}


def test_relative_is_found_by_the_name_alone(memory: MemoryManager) -> None:
    known = Insight(memory, "default").person(EVERYBODY, "max", None)
    assert [(told.fact.subject, told.fact.value) for told in known.facts] == [("Zoe's brother Max", "Linz")]
    assert Insight(memory, "default").person(EVERYBODY, "ax", None).facts == ()

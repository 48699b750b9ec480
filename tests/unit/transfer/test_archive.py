from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memoranda import ANY, Conflict, EncryptionKeyError, Incompatible, InvalidInput, InvalidType, Memory, MemoryManager
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.copying import is_archive
from tests.fake_clock import FakeClock

YEAR = timedelta(days=365)
START = datetime(2024, 5, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(32), clock=clock) as manager:
        yield manager


def _rows(manager: MemoryManager) -> dict[int, dict[str, Any]]:
    found: list[Memory] = manager.list_memories(1000, user=ANY)
    return {each.id: dict(each) for each in found}


def _fill(memory: MemoryManager, clock: FakeClock) -> list[int]:
    """Add two old memories, linked and edited, and two a year later, one linked with an old one."""
    tea = memory.add_memory("Ann drinks tea", user="ann", metadata={"deep": [1, None, "ü"]})
    milk = memory.add_memory("The milk is from the farm", user="ann")
    memory.update(milk.id, "The milk is from the shop", user="ann")
    memory.add_memory_association(tea.id, milk.id, "goes_with", 0.4, user="ann")
    clock.advance(days=395)
    cup = memory.add_memory("The cup is green", user="ann")
    memory.add_memory_association(cup.id, tea.id, "holds", 0.7, user="ann")
    bob = memory.add_memory("Bob rows a boat", user="bob")
    return [tea.id, milk.id, cup.id, bob.id]


def test_removed_memories_come_back_with_ids_versions_and_links(
    memory: MemoryManager, clock: FakeClock, tmp_path: Path
) -> None:
    tea, milk, cup, bob = _fill(memory, clock)
    before = _rows(memory)
    links = [memory.get_related_memories(each, user="ann") for each in (tea, milk, cup)]
    file = tmp_path / "old.jsonl.zst"
    report = memory.archive_to(file, older_than=YEAR, remove=True)
    assert (report.memories, report.removed) == (2, 2)
    assert _rows(memory).keys() == {cup, bob}
    assert [hit.id for hit in memory.recall("tea", user="ann")] == [cup]
    later = memory.add_memory("Ann plays chess", user="ann")

    assert memory.restore_from(file).memories == 2
    assert {key: row for key, row in _rows(memory).items() if key != later.id} == before
    assert [memory.get_related_memories(each, user="ann") for each in (tea, milk, cup)] == links
    assert [version.content for version in memory.history(milk, user="ann").versions] == ["The milk is from the farm"]
    assert memory.recall("who drinks tea", user="ann")[0].id == tea
    assert memory.restore_from(file).memories == 0
    assert memory.check().problems == ()


def test_archive_without_remove_is_a_copy_that_another_store_reads(
    memory: MemoryManager, clock: FakeClock, tmp_path: Path
) -> None:
    _fill(memory, clock)
    file = tmp_path / "ann.jsonl.zst"
    assert memory.archive_to(file, user="ann").memories == 3
    assert len(_rows(memory)) == 4
    assert memory.restore_from(file).known == 3
    with MemoryManager(f"sqlite:///{tmp_path}/b.db", embedder=HashEmbedder(32)) as other:
        other.add_memory("here before")
        report = other.restore_from(file)
        assert (report.memories, report.associations) == (3, 2)
        assert other.recall("who drinks tea", user="ann")[0].content == "Ann drinks tea"


def test_only_what_left_recall_is_archived_when_asked(memory: MemoryManager, clock: FakeClock, tmp_path: Path) -> None:
    tea, milk, cup, bob = _fill(memory, clock)
    memory.archive(milk, user="ann")
    memory.pin(memory.archive(bob, user="bob").id, user="bob")
    report = memory.archive_to(tmp_path / "a.zst", archived=True, remove=True)
    assert (report.memories, report.removed) == (2, 1)  # what is pinned stays
    assert _rows(memory).keys() == {tea, cup, bob}
    memory.restore_from(tmp_path / "a.zst")
    assert memory.get(milk, user="ann").archived_at is not None
    memory.restore(milk, user="ann")
    assert memory.recall("milk", user="ann")[0].id == milk


def test_what_replaced_a_memory_that_stays_is_not_removed(
    memory: MemoryManager, clock: FakeClock, tmp_path: Path
) -> None:
    said = [
        memory.remember([{"role": "user", "content": text}], user="ann", session=session)[0].memory
        for session, text in (("one", "I live in Basel."), ("two", "I moved to Bern."))
    ]
    assert said[0] is not None
    assert said[1] is not None
    facts = [(fact.slot, fact.value) for fact in memory.facts(user="ann")]
    assert memory.archive_to(tmp_path / "two.zst", user="ann", session="two", remove=True).removed == 0
    assert [(fact.slot, fact.value) for fact in memory.facts(user="ann")] == facts
    assert memory.archive_to(tmp_path / "all.zst", user="ann", remove=True).removed == 2
    assert not memory.facts(user="ann")
    assert memory.restore_from(tmp_path / "all.zst").memories == 2
    assert [(fact.slot, fact.value) for fact in memory.facts(user="ann")] == facts
    assert memory.get(said[0].id, user="ann").superseded_by == said[1].id


def test_replaced_memory_alone_comes_back_replaced(memory: MemoryManager, clock: FakeClock, tmp_path: Path) -> None:
    for session, text in (("one", "I live in Basel."), ("two", "I moved to Bern.")):
        memory.remember([{"role": "user", "content": text}], user="ann", session=session)
    before = _rows(memory)
    assert memory.archive_to(tmp_path / "one.zst", user="ann", session="one", remove=True).removed == 1
    memory.restore_from(tmp_path / "one.zst")
    assert _rows(memory) == before


def test_what_changed_while_the_file_was_written_stays(memory: MemoryManager, clock: FakeClock, tmp_path: Path) -> None:
    ids = [memory.add_memory(f"The boat number {number} is blue", user="ann").id for number in range(600)]

    def change(done: int, total: int) -> None:
        if memory.get(ids[5], user="ann").version == 1:
            memory.update(ids[5], "The boat number 5 is red", user="ann")
            memory.add_memory_association(ids[7], ids[9], "beside", 0.5, user="ann")

    assert memory.archive_to(tmp_path / "a.zst", remove=True, progress=change).removed == 597
    assert _rows(memory).keys() == {ids[5], ids[7], ids[9]}
    memory.restore_from(tmp_path / "a.zst")
    assert _rows(memory).keys() == set(ids)  # the edited one is not doubled
    assert memory.get(ids[5], user="ann").content == "The boat number 5 is red"


def test_forgotten_memories_stay_forgotten(memory: MemoryManager, clock: FakeClock, tmp_path: Path) -> None:
    tea, *_ = _fill(memory, clock)
    memory.archive_to(tmp_path / "a.zst", user="ann")
    memory.forget(tea, user="ann")
    assert memory.restore_from(tmp_path / "a.zst").skipped >= 1
    assert tea not in _rows(memory)


def test_archives_of_one_tenant_never_take_ids_of_another(memory: MemoryManager, tmp_path: Path) -> None:
    memory.add_memory("Ann drinks tea", user="ann")
    memory.archive_to(tmp_path / "a.zst")
    other = memory.for_tenant("other")
    assert other.restore_from(tmp_path / "a.zst").memories == 1
    assert len({*_rows(memory), *_rows(other)}) == 2


def test_wrong_arguments_are_refused_and_change_nothing(memory: MemoryManager, tmp_path: Path) -> None:
    memory.add_memory("Ann drinks tea", user="ann")
    memory.archive_to(tmp_path / "a.zst")
    content = (tmp_path / "a.zst").read_bytes()
    wrong: list[tuple[type[Exception], dict[str, Any]]] = [
        (Conflict, {"target": tmp_path / "a.zst", "remove": True}),
        (InvalidInput, {"target": tmp_path / "a.jsonl", "remove": True}),
        (InvalidType, {"target": 7}),
        (InvalidType, {"target": tmp_path / "b.zst", "older_than": 7}),
        (InvalidInput, {"target": tmp_path / "b.zst", "remove": "yes"}),
    ]
    for error, arguments in wrong:
        with pytest.raises(error):
            memory.archive_to(**arguments)
    assert (tmp_path / "a.zst").read_bytes() == content
    assert len(_rows(memory)) == 1
    assert not (tmp_path / "b.zst").exists()
    (tmp_path / "a.zst").write_bytes(content[:-9])
    with pytest.raises(Incompatible):
        memory.restore_from(tmp_path / "a.zst")


def test_encrypted_archive_needs_its_key(memory: MemoryManager, tmp_path: Path) -> None:
    said = memory.add_memory("Ann drinks tea", user="ann")
    report = memory.archive_to(tmp_path / "a.zst", remove=True, encryption_key="a passphrase for archives")
    assert (report.encrypted, is_archive(tmp_path / "a.zst")) == (True, True)
    with pytest.raises(EncryptionKeyError):
        memory.restore_from(tmp_path / "a.zst")
    assert memory.restore_from(tmp_path / "a.zst", encryption_key="a passphrase for archives").memories == 1
    assert memory.get(said.id, user="ann").content == "Ann drinks tea"


def test_value_that_was_saved_again_stays_the_new_one(memory: MemoryManager, tmp_path: Path) -> None:
    memory.save("writer", "plan", {"v": 1}, "long_term")
    memory.archive_to(tmp_path / "a.zst", remove=True)
    memory.save("writer", "plan", {"v": 2}, "long_term")
    assert memory.restore_from(tmp_path / "a.zst").known == 1
    assert memory.retrieve("writer", "plan", "long_term") == {"v": 2}

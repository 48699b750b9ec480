from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.types import MemoryRecord

from memoranda import MemoryManager
from memoranda.integrations.crewai import MemorandaStorage


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(tmp_path / "memories.db") as manager:
        yield manager


def record(id: str, scope: str = "/", vector: tuple[float, ...] = (1.0, 0.0), **fields: object) -> MemoryRecord:
    return MemoryRecord(id=id, content=f"Text of {id}", scope=scope, embedding=list(vector), **fields)


def ids(found: list[tuple[MemoryRecord, float]]) -> list[str]:
    return [each.id for each, _ in found]


def test_storage_is_a_backend_and_returns_records_as_they_were(memory: MemoryManager) -> None:
    storage = MemorandaStorage(memory)
    assert isinstance(storage, StorageBackend)
    original = record(
        "a", "/x", metadata={"n": [1, {"b": None}]}, categories=["c"], private=True, created_at=datetime(2026, 1, 2)
    )
    storage.save([original])
    assert storage.get_record("a") == original
    assert storage.search([1.0, 0.0]) == [(original, pytest.approx(1.0))]
    assert storage.get_record("b") is None


def test_scope_ends_at_a_slash(memory: MemoryManager) -> None:
    storage = MemorandaStorage(memory)
    storage.save([record("ann", "/user/ann"), record("anna", "/user/anna"), record("child", "/user/ann/notes")])
    assert set(ids(storage.search([1.0, 0.0], "/user/ann"))) == {"ann", "child"}
    assert storage.list_scopes("/user") == ["/user/ann", "/user/anna"]
    storage.reset("/user/ann/")
    assert [each.id for each in storage.list_records()] == ["anna"]


def test_search_sees_what_other_storages_of_the_same_database_do(memory: MemoryManager) -> None:
    first, second = MemorandaStorage(memory), MemorandaStorage(memory)
    first.save([record("a"), record("b", vector=(0.0, 1.0))])
    assert ids(second.search([1.0, 0.1])) == ["a", "b"]
    first.delete(record_ids=["a"])
    first.save([record("c")])
    assert ids(second.search([1.0, 0.1])) == ["c", "b"]
    first.update(record("b", vector=(1.0, 0.1)))
    assert ids(second.search([1.0, 0.1])) == ["b", "c"]
    assert second.count() == 2


def test_limit_is_honoured_under_filters(memory: MemoryManager) -> None:
    storage = MemorandaStorage(memory)
    near = [record(f"near{number}") for number in range(20)]
    storage.save([*near, record("far", vector=(0.2, 1.0), categories=["rare"], metadata={"k": 1})])
    assert ids(storage.search([1.0, 0.0], categories=["rare"], limit=1)) == ["far"]
    assert ids(storage.search([1.0, 0.0], metadata_filter={"k": 1}, limit=1)) == ["far"]
    assert ids(storage.search([1.0, 0.0], categories=["rare"], min_score=0.9)) == []


async def test_owners_and_namespaces_share_nothing(memory: MemoryManager) -> None:
    await MemorandaStorage(memory, user="ann").asave([record("a")])
    for other in (MemorandaStorage(memory, user="bob"), MemorandaStorage(memory, user="ann", namespace=("other",))):
        assert await other.asearch([1.0, 0.0]) == []
        assert await other.adelete() == 0
    assert memory.recall("Text of a", user="ann")[0].metadata["key"] == "a"


def test_vector_of_another_length_is_an_error_and_changes_nothing(memory: MemoryManager) -> None:
    storage = MemorandaStorage(memory)
    storage.save([record("a")])
    for call in (lambda: storage.save([record("b", vector=(1.0,))]), lambda: storage.search([1.0, 2.0, 3.0])):
        with pytest.raises(EmbeddingDimensionMismatchError):
            call()
    assert storage.count() == 1


def test_deletion_of_no_ids_deletes_nothing(memory: MemoryManager) -> None:
    storage = MemorandaStorage(memory)
    storage.save([record("old", created_at=datetime(2020, 1, 1)), record("new")])
    assert storage.delete(record_ids=[]) == 0
    assert storage.delete(older_than=datetime(2021, 1, 1)) == 1
    assert [each.id for each in storage.list_records()] == ["new"]

from __future__ import annotations

import os
import pickle
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient, models

from memoranda import Incompatible, InvalidInput, MemoryManager, NotFound
from memoranda.integrations.mem0 import import_mem0, read
from memoranda.testing.fakes import HashEmbedder

BERLIN, TEA = "930eb825-b9a3-4f4a-9069-cf677c6c5149", "42a3a22a-1232-4255-9431-5b950832aaa4"


def payload(text: str, **fields: Any) -> dict[str, Any]:
    times = {"created_at": "2024-05-04T10:00:00+00:00", "updated_at": "2024-05-04T10:00:00+00:00"}
    return {"data": text, "hash": "0" * 32, "text_lemmatized": text, "role": "user", **times, **fields}


def write_store(folder: Path, points: dict[str, dict[str, Any]], collection: str = "mem0") -> None:
    """Write a folder like mem0's default store: Qdrant's own client, one dense and one sparse vector."""
    client = QdrantClient(path=str(folder))
    client.create_collection(
        collection,
        vectors_config=models.VectorParams(size=4, distance=models.Distance.COSINE),
        sparse_vectors_config={"bm25": models.SparseVectorParams()},
    )
    vector = {"": [1.0, 0, 0, 0], "bm25": models.SparseVector(indices=[1], values=[0.5])}
    client.upsert(
        collection, [models.PointStruct(id=id, vector=vector, payload=payload) for id, payload in points.items()]
    )
    client.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "qdrant"
    write_store(
        path,
        {
            TEA: payload("Ann likes green tea", user_id="ann", created_at="2024-05-05T10:00:00"),
            BERLIN: payload(
                "I live in Berlin",
                user_id="ann",
                agent_id="a1",
                run_id="r1",
                actor_id="ann",
                topic="home",
                deep={"x": [1]},
            ),
        },
    )
    return path


@pytest.fixture
def history(tmp_path: Path) -> Path:
    file = tmp_path / "history.db"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE history (id, memory_id, old_memory, new_memory, event, created_at, updated_at)")
    connection.execute("INSERT INTO history VALUES ('1', ?, NULL, 'Ann likes tea', 'ADD', '1', '1')", (TEA,))
    connection.execute("INSERT INTO history VALUES ('2', ?, 'Ann likes tea', 'x', 'UPDATE', '1', '2')", (TEA,))
    connection.commit()
    connection.close()
    return file


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        yield manager


def test_read_returns_names_times_and_metadata(folder: Path, history: Path) -> None:
    berlin, tea = read(folder, history=history)
    assert (berlin.content, berlin.agent, berlin.user, berlin.session) == ("I live in Berlin", "a1", "ann", "r1")
    assert (berlin.speaker, berlin.role, berlin.metadata) == ("ann", "user", {"topic": "home", "deep": {"x": [1]}})
    assert berlin.created_at == datetime(2024, 5, 4, 10, tzinfo=UTC)
    assert (tea.id, tea.earlier, tea.agent) == (TEA, ("Ann likes tea",), None)
    assert tea.created_at == datetime(2024, 5, 5, 10, tzinfo=UTC)


def test_read_changes_no_file(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    read(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_import_keeps_scopes_separate_and_second_import_adds_nothing(
    folder: Path, history: Path, manager: MemoryManager
) -> None:
    calls: list[tuple[int, int]] = []
    first = import_mem0(manager, folder, history=history, progress=lambda done, total: calls.append((done, total)))
    assert dict(first) == {"read": 2, "stored": 2, "known": 0, "rejected": 0, "quarantined": 0, "forgotten": 0}
    assert calls[-1] == (2, 2)
    assert dict(import_mem0(manager, folder)) == {
        "read": 2,
        "stored": 0,
        "known": 2,
        "rejected": 0,
        "quarantined": 0,
        "forgotten": 0,
    }
    (found,) = manager.recall("Berlin", user="ann", agent="a1")
    assert (found.content, found.source, found.memory.type) == ("I live in Berlin", "mem0", "semantic")
    assert (found.memory.valid_from, found.session) == (datetime(2024, 5, 4, 10, tzinfo=UTC), "r1")
    assert list(manager.recall("tea Berlin", user="bob")) == []
    assert manager.recall("green tea", user="ann", limit=1)[0].metadata == {"mem0_earlier": ["Ann likes tea"]}


def test_missing_folder_collection_or_history_is_rejected(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no meta\.json"):
        read(tmp_path)
    with pytest.raises(NotFound, match="has no collection 'other': it has mem0"):
        read(folder, collection="other")
    with pytest.raises(NotFound, match="no mem0 history"):
        read(folder, history=tmp_path / "none.db")


def test_collection_without_mem0_memories_is_rejected(tmp_path: Path) -> None:
    write_store(tmp_path / "q", {TEA: {"title": "no memory"}})
    with pytest.raises(Incompatible, match="not a collection of mem0 memories"):
        read(tmp_path / "q")


@pytest.mark.parametrize("file", ["meta.json", "collection/mem0/storage.sqlite"])
def test_damaged_folder_is_rejected(folder: Path, file: str) -> None:
    (folder / file).write_bytes(b"\x00damaged" * 200)
    with pytest.raises(Incompatible):
        read(folder)


class Exploit:
    def __reduce__(self) -> Any:
        return os.mkdir, ("owned",)


class Getter:
    def __reduce__(self) -> Any:
        return getattr, ("x", "upper")


@pytest.mark.parametrize("malicious", [Exploit(), [Exploit()], {"x": Getter()}, 5, "text", None, models.PointStruct])
def test_code_in_a_point_is_never_executed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, malicious: object
) -> None:
    monkeypatch.chdir(tmp_path)
    connection = sqlite3.connect(folder / "collection" / "mem0" / "storage.sqlite")
    connection.execute("UPDATE points SET point = ?", (pickle.dumps(malicious),))
    connection.commit()
    connection.close()
    with pytest.raises(Incompatible, match="not plain data"):
        read(folder)
    assert not (tmp_path / "owned").exists()

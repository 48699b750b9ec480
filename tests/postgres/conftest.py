from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.postgres.pgbouncer import run_pgbouncer
from tests.postgres.server import PostgresServer, run_server


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    with run_server() as server:
        yield server


@pytest.fixture(scope="session")
def shared_url(server: PostgresServer) -> Iterator[str]:
    url = server.new_database()
    if not os.environ.get("MEMORANDA_PGBOUNCER"):
        yield url
        return
    with run_pgbouncer(server) as port:
        yield url.replace(f":{server.port}/", f":{port}/")


@pytest.fixture
def url(server: PostgresServer, shared_url: str) -> str:
    """The URL of a database without rows, for one test."""
    server.clear(shared_url)
    return shared_url

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres.server import PostgresServer, run_server


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    with run_server() as server:
        yield server


@pytest.fixture(scope="session")
def shared_url(server: PostgresServer) -> str:
    return server.new_database()


@pytest.fixture
def url(server: PostgresServer, shared_url: str) -> str:
    """The URL of a database without rows, for one test."""
    server.clear(shared_url)
    return shared_url

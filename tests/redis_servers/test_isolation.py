from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from memoranda.sessions.base import Namespace
from memoranda.sessions.redis import RedisBackend
from tests.redis_servers.servers import Server
from tests.unit.sessions.confusable import Contents, check_isolation, contents, namespaces


@pytest.fixture(scope="module")
def store(redis_server: Server) -> Iterator[RedisBackend]:
    redis_server.execute("FLUSHALL")
    with RedisBackend(redis_server.url) as store:
        yield store


@settings(max_examples=25, deadline=None)
@given(contents=contents, other=namespaces)
def test_namespaces_are_isolated(store: RedisBackend, contents: Contents, other: Namespace) -> None:
    # Every example clears what it wrote, so the next one starts with an empty server.
    check_isolation(store, contents, other)

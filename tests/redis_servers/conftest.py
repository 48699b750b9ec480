"""Real Redis servers and a real cluster, which run as long as the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.redis_servers.servers import PROGRAM, Cluster, Server

S = TypeVar("S", Server, Cluster)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from _run_service(Server, tmp_path_factory.mktemp("redis"))


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server for one test, which may kill it."""
    yield from _run_service(Server, tmp_path)


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    yield from _run_service(Cluster, tmp_path)


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    yield from _run_service(Cluster, tmp_path_factory.mktemp("cluster"))


def _run_service(factory: Callable[[Path], S], folder: Path) -> Iterator[S]:
    if PROGRAM is None:
        pytest.skip("redis-server is not installed: run scripts/system-packages as root")
    service = factory(folder)
    try:
        service.start()
        yield service
    finally:
        service.kill()
